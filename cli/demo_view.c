// SPDX-License-Identifier: BSD-3-Clause
// What one sees of `teamster demo` while it runs. On a terminal a few lines that are
// drawn over; elsewhere one line for each policy, when it is over.
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "demo.h"

#define REDRAW_NS 100000000u

#define BOLD "\033[1m"
#define RED "\033[31m"
#define PLAIN "\033[0m"
#define CLEAR_LINE "\033[K"

static const char *in_style(const struct demo_view *view, const char *style)
{
    return view->has_color ? style : "";
}

void demo_view_open(struct demo_view *view)
{
    const char *terminal = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");

    setlocale(LC_CTYPE, "");
    *view = (struct demo_view){
        .is_live = isatty(STDOUT_FILENO) && terminal != NULL &&
                   strcmp(terminal, "dumb") != 0,
        .has_blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
    setlocale(LC_CTYPE, "C");
    view->has_color =
        view->is_live && (no_color == NULL || no_color[0] == '\0');
}

/** Begin to draw over what was drawn last. */
static void go_back(const struct demo_view *view)
{
    if (view->n_lines > 0) {
        printf("\033[%uA\r", view->n_lines);
    }
}

static void draw_bar(const struct demo_view *view, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        fputs(view->has_blocks ? "\u2588" : "#", stdout);
    }
}

static void draw_node(const struct demo_view *view, const struct demo_run *run,
                      unsigned i)
{
    const struct demo_node *node = &demo_nodes[i];

    printf("  %s  speed %u, %2u MiB  ", node->name, node->speed,
           node->memory_mib);
    draw_bar(view, run->threads[i]);
    printf(" %u", run->threads[i]);
    if (run->page_rate[i] >= 1) {
        printf("  %spages: %.0f/s%s", in_style(view, RED), run->page_rate[i],
               in_style(view, PLAIN));
    }
    printf(CLEAR_LINE "\n");
}

static void draw_run(struct demo_view *view, const struct demo_run *run)
{
    const double at_s = run->n > 0 ? run->at_s[run->n - 1] : 0;

    go_back(view);
    printf("%s%s%s: %s" CLEAR_LINE "\n", in_style(view, BOLD), run->policy,
           in_style(view, PLAIN), run->about);
    printf("  %2.0f of %.0f s   ", at_s, run->seconds);
    if (run->n > 0) {
        printf("iteration %u: %.0f ms" CLEAR_LINE "\n", run->n,
               run->ms[run->n - 1]);
    } else {
        printf("starts" CLEAR_LINE "\n");
    }
    for (unsigned i = 0; i < DEMO_N_NODES; i++) {
        draw_node(view, run, i);
    }
    view->n_lines = DEMO_N_NODES + 2;
    fflush(stdout);
}

void demo_view_update(struct demo_view *view, const struct demo_run *run)
{
    const uint64_t now_ns = clock_now_ns();

    if (view->is_live && now_ns - view->drawn_ns >= REDRAW_NS) {
        view->drawn_ns = now_ns;
        draw_run(view, run);
    }
}

void demo_view_end(struct demo_view *view, const struct demo_run *run)
{
    if (view->is_live) {
        go_back(view);
        printf("\033[J");
        view->n_lines = 0;
    }
    printf("%s%-8s%s %6.1f ms an iteration; threads", in_style(view, BOLD),
           run->policy, in_style(view, PLAIN), demo_run_ms(run));
    for (unsigned i = 0; i < DEMO_N_NODES; i++) {
        printf(" %2u", run->threads[i]);
    }
    printf("; %s\n", run->about);
    fflush(stdout);
}
