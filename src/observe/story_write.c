// SPDX-License-Identifier: BSD-3-Clause
//
// The story of a page as text, and as a sequence diagram: lifelines of the nodes, a box for
// each fault, an arrow for each message from who sent it to who handles it, at the time at
// which it is handled.
#include "observe/story.h"

#include <string.h>

enum {
    TEXT_MAX = 256,
    STATE_MAX = 96,
    WIDTH_TIME = 90, // pixels
    WIDTH_NODE = 330,
    HEIGHT_STEP = 34,
    HEIGHT_HEAD = 70,
};

// ---- text

void story_write_text(FILE *file, const struct story *story)
{
    char text[TEXT_MAX];
    char state[STATE_MAX];

    fprintf(file, "the story of %s\n", story->title);
    fprintf(file, "%12s  %-14s %-60s %s\n", "ms", "node", "what happens",
            "what the node has then");
    if (story->n_lost > 0) {
        fprintf(file, "  %llu steps before these were not kept\n",
                (unsigned long long)story->n_lost);
    }
    for (size_t i = 0; i < story->n; i++) {
        const struct story_line *line = &story->lines[i];
        char who[32];

        snprintf(who, sizeof who,
                 line->step.thread != EVENT_OF_NODE ? "n%u" : "n%u <- n%u",
                 line->node, line->step.from);
        story_say_step(line, text, sizeof text);
        story_say_state(&line->step, state, sizeof state);
        fprintf(file, "%12.3f  %-14s %-60s %s\n", line->ms, who, text, state);
    }
    if (story->n == 0) {
        fprintf(file, "  nothing has happened to it: no thread has had a fault "
                      "there, and no message was about it\n");
    }
}

// ---- a picture

struct picture {
    FILE *file;
    const struct story *story;
    size_t n; ///< steps that are drawn
    unsigned n_columns;
    int column_of[TM_MAX_NODES]; ///< -1: none
};

static void put_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        default:
            fputc(*text, file);
        }
    }
}

static void put_text(const struct picture *picture, int x, int y,
                     const char *class, const char *text)
{
    fprintf(picture->file, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y,
            class);
    put_escaped(picture->file, text);
    fputs("</text>\n", picture->file);
}

static int x_of(const struct picture *picture, unsigned node)
{
    return WIDTH_TIME + WIDTH_NODE / 2 +
           picture->column_of[node < TM_MAX_NODES ? node : 0] * WIDTH_NODE;
}

static int y_of(size_t step)
{
    return HEIGHT_HEAD + (int)step * HEIGHT_STEP + HEIGHT_STEP / 2;
}

static void note_node(struct picture *picture, unsigned node)
{
    if (node < TM_MAX_NODES) {
        picture->column_of[node] = 0;
    }
}

static void lay_out(struct picture *picture)
{
    memset(picture->column_of, -1, sizeof picture->column_of);
    for (size_t i = 0; i < picture->n; i++) {
        const struct story_line *line = &picture->story->lines[i];

        note_node(picture, line->node);
        if (line->step.thread == EVENT_OF_NODE) {
            note_node(picture, line->step.from);
        }
    }
    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        if (picture->column_of[i] == 0) {
            picture->column_of[i] = (int)picture->n_columns++;
        }
    }
}

static void draw_nodes(const struct picture *picture)
{
    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        if (picture->column_of[i] >= 0) {
            char name[32];

            snprintf(name, sizeof name, "node %u", i);
            put_text(picture, x_of(picture, i), HEIGHT_HEAD - 14, "head", name);
            fprintf(picture->file, "<path class=\"life\" d=\"M%d %dV%d\"/>\n",
                    x_of(picture, i), HEIGHT_HEAD, y_of(picture->n));
        }
    }
}

static void draw_fault(const struct picture *picture, size_t i,
                       const struct story_line *line)
{
    fprintf(picture->file,
            "<circle class=\"fault\" cx=\"%d\" cy=\"%d\" r=\"5\"/>\n",
            x_of(picture, line->node), y_of(i));
}

static void draw_message(const struct picture *picture, size_t i,
                         const struct story_line *line)
{
    const int to = x_of(picture, line->node);
    const int from = x_of(picture, line->step.from);
    const int tip = from < to ? to - 3 : to + 3;

    if (from == to) { // a node to itself
        fprintf(picture->file, "<path class=\"way\" d=\"M%d %dh18v8h-15\"/>\n",
                to, y_of(i) - 8);
        return;
    }
    fprintf(picture->file, "<path class=\"way\" d=\"M%d %dL%d %d\"/>\n", from,
            y_of(i) - 8, tip, y_of(i));
}

static void draw_step(const struct picture *picture, size_t i)
{
    const struct story_line *line = &picture->story->lines[i];
    char text[TEXT_MAX];
    char when[32];

    snprintf(when, sizeof when, "%.3f ms", line->ms);
    put_text(picture, WIDTH_TIME - 8, y_of(i) + 4, "time", when);
    if (line->step.thread != EVENT_OF_NODE) {
        draw_fault(picture, i, line);
    } else {
        draw_message(picture, i, line);
    }
    story_say_step(line, text, sizeof text);
    put_text(picture, x_of(picture, line->node) + 10, y_of(i) + 1, "step",
             text);
    story_say_state(&line->step, text, sizeof text);
    put_text(picture, x_of(picture, line->node) + 10, y_of(i) + 13, "state",
             text);
}

static void begin(const struct picture *picture)
{
    const int width =
        WIDTH_TIME + (int)picture->n_columns * WIDTH_NODE + WIDTH_NODE / 2;
    const int height = y_of(picture->n) + HEIGHT_STEP;

    fprintf(picture->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
            width, height, width, height);
    put_escaped(picture->file, picture->story->title);
    fputs("</title>\n<style>text{font:11px system-ui,sans-serif;fill:#222;"
          "paint-order:stroke;stroke:#fff;stroke-width:4px}"
          ".head{font-weight:bold;font-size:13px;text-anchor:middle}"
          ".time{text-anchor:end;fill:#666}.state{fill:#666;font-size:10px}"
          ".life{stroke:#bbb;fill:none}.way{stroke:#0060a0;fill:none;"
          "marker-end:url(#tip)}.fault{fill:#c04000}</style>\n"
          "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" "
          "refX=\"6\" refY=\"3\" orient=\"auto\"><path d=\"M0 0L7 3L0 6z\" "
          "fill=\"#0060a0\"/></marker></defs>\n"
          "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          picture->file);
    put_text(picture, 12, 22, "step", picture->story->title);
}

void story_write_svg(FILE *file, const struct story *story)
{
    struct picture picture = {
        .file = file,
        .story = story,
        .n = story->n < STORY_DRAWN ? story->n : STORY_DRAWN,
    };
    char rest[64];

    lay_out(&picture);
    begin(&picture);
    draw_nodes(&picture);
    for (size_t i = 0; i < picture.n; i++) {
        draw_step(&picture, i);
    }
    if (story->n > picture.n) {
        snprintf(rest, sizeof rest, "and %zu steps more", story->n - picture.n);
        put_text(&picture, WIDTH_TIME, y_of(picture.n) + 16, "step", rest);
    }
    fputs("</svg>\n", file);
}
