// SPDX-License-Identifier: BSD-3-Clause
//
// teamster top on a terminal, by ncurses:
//
//   job 4711: jacobi, 12 s, iteration 124, 1.2 ms each      what is known of the job
//   a line of the last minute's iteration times
//   heads, and a row for each node; a bar below if there is room
//   what has happened lately
//   keys
#include "top.h"

#ifdef TM_HAS_NCURSES

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curses.h>

/** Parts of a node's bar, in their order. */
enum part { PART_COMPUTE, PART_WAIT, PART_SYNC, PART_SWAP, N_PARTS };

static const struct {
    char letter; ///< without colours it is told by these
    short color;
    const char *name;
} parts[N_PARTS] = {
    [PART_COMPUTE] = {'#', COLOR_GREEN, "computes"},
    [PART_WAIT] = {'=', COLOR_BLUE, "waits for pages"},
    [PART_SYNC] = {'.', COLOR_YELLOW, "waits in calls"},
    [PART_SWAP] = {'!', COLOR_RED, "waits for the disk"},
};

static int has_blocks;

const char *top_view_lacks(void)
{
    return NULL;
}

int top_view_open(void)
{
    const char *terminal = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    SCREEN *screen;

    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || terminal == NULL) {
        return 0;
    }
    setlocale(LC_CTYPE, "");
    has_blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    screen = newterm(NULL, stdout, stdin);
    if (screen == NULL) {
        return 0; // it knows no such terminal
    }
    set_term(screen);
    cbreak();
    noecho();
    nodelay(stdscr, TRUE);
    keypad(stdscr, TRUE);
    curs_set(0);
    if (has_colors() && (no_color == NULL || no_color[0] == '\0')) {
        start_color();
        use_default_colors();
        for (short i = 0; i < N_PARTS; i++) {
            init_pair((short)(i + 1), parts[i].color, -1);
        }
    }
    return 1;
}

void top_view_close(void)
{
    endwin();
}

int top_view_key(void)
{
    int ends = 0;
    int key;

    while ((key = getch()) != ERR) {
        ends |= key == 'q' || key == 'Q' || key == 27;
    }
    return ends;
}

static void draw_text(int row, attr_t attributes, const char *text)
{
    attron(attributes);
    mvaddnstr(row, 0, text, COLS);
    attroff(attributes);
}

/** The last minute, each second a column as high as its iterations took. */
static void draw_history(int row, const struct top *top)
{
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583",
                                         "\u2584", "\u2585", "\u2586",
                                         "\u2587", "\u2588"};
    static const char letters[] = "_.-:=+*#";
    double most_s = 0;

    for (unsigned i = 0; i < top->n_history; i++) {
        most_s = top->iteration_s[i] > most_s ? top->iteration_s[i] : most_s;
    }
    move(row, 0);
    for (unsigned i = 0; i < top->n_history; i++) {
        const unsigned level = (unsigned)(7 * top->iteration_s[i] / most_s);

        if (has_blocks) {
            addstr(blocks[level]);
        } else {
            addch((chtype)letters[level]);
        }
    }
    if (top->n_history > 0) {
        printw("  up to %.3g ms an iteration", most_s * 1e3);
    }
}

static void draw_bar(int row, const struct top *top, size_t i)
{
    const struct top_rates rates = top_rates(top, i);
    const double values[N_PARTS] = {rates.compute, rates.wait, rates.sync,
                                    rates.swap};
    const int width = COLS - 4;
    double sum = 0;
    int at = 0;

    mvaddstr(row, 2, "");
    for (unsigned part = 0; part < N_PARTS; part++) {
        sum += values[part];
        attron(COLOR_PAIR(part + 1));
        for (; at < width && at < (int)(sum * width + 0.5); at++) {
            addch((chtype)parts[part].letter);
        }
        attroff(COLOR_PAIR(part + 1));
    }
}

static void draw_legend(int row)
{
    move(row, 0);
    for (unsigned part = 0; part < N_PARTS; part++) {
        attron(COLOR_PAIR(part + 1));
        addch((chtype)parts[part].letter);
        attroff(COLOR_PAIR(part + 1));
        printw(" %s   ", parts[part].name);
    }
    addstr("   q ends this; the job goes on");
}

static int draw_nodes(int row, const struct top *top)
{
    const int has_bars = row + 2 * (int)top->now.n_nodes + 4 < LINES;
    char text[256];

    for (size_t i = 0; i < top->now.n_nodes && row < LINES - 2; i++) {
        top_describe_node(top, i, text, sizeof text);
        draw_text(row++, A_NORMAL, text);
        if (has_bars) {
            draw_bar(row++, top, i);
        }
    }
    return row;
}

void top_view_draw(const struct top *top)
{
    char text[256];
    int row;

    erase();
    top_describe_job(top, text, sizeof text);
    draw_text(0, A_BOLD, text);
    draw_history(1, top);
    top_describe_heads(text, sizeof text);
    draw_text(3, A_UNDERLINE, text);
    row = draw_nodes(4, top) + 1;
    for (unsigned i = 0; i < top->n_events && row < LINES - 2; i++) {
        draw_text(row++, A_NORMAL, top->events[i]);
    }
    draw_legend(LINES - 1);
    refresh();
}

#else

int top_view_open(void)
{
    return 0;
}

void top_view_draw(const struct top *top)
{
    (void)top;
}

int top_view_key(void)
{
    return 0;
}

void top_view_close(void)
{
}

const char *top_view_lacks(void)
{
    return "this teamster was built without ncurses";
}

#endif
