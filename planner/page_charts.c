// SPDX-License-Identifier: BSD-3-Clause
//
// Charts of a page, as SVG in it. Each says in words what it shows, for who does not see it;
// what colours tell patterns tell as well.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "planner/report_page_priv.h"

#define WIDTH 760.0

// ---- where each node's time went ----

enum { N_PARTS = 5 };

/** The parts of a node's time, in their order in a bar. */
static const struct {
    const char *name;
    const char *fill;
} parts_of_time[N_PARTS] = {
    {"computing", "var(--ink)"},
    {"waiting for memory", "url(#memory)"},
    {"releases: sending what was written", "url(#release)"},
    {"faults and other waits of its own", "url(#other)"},
    {"waiting for other nodes", "var(--bg)"},
};

static void put_patterns(FILE *file)
{
    fputs("<defs>"
          "<pattern id=\"memory\" width=\"6\" height=\"6\" "
          "patternUnits=\"userSpaceOnUse\"><rect width=\"6\" height=\"6\" "
          "style=\"fill:var(--bg)\" /><path d=\"M0 6L6 0\" "
          "style=\"stroke:var(--warm);stroke-width:2.6\" /></pattern>"
          "<pattern id=\"release\" width=\"5\" height=\"5\" "
          "patternUnits=\"userSpaceOnUse\"><rect width=\"5\" height=\"5\" "
          "style=\"fill:var(--bg)\" /><circle cx=\"2.5\" cy=\"2.5\" r=\"1.4\" "
          "style=\"fill:var(--fg)\" /></pattern>"
          "<pattern id=\"other\" width=\"5\" height=\"5\" "
          "patternUnits=\"userSpaceOnUse\"><rect width=\"5\" height=\"5\" "
          "style=\"fill:var(--pale)\" /><path d=\"M0 2.5H5\" "
          "style=\"stroke:var(--soft);stroke-width:1\" /></pattern></defs>\n",
          file);
}

// Of a node with several workers: of the mean of them. @param[out] parts  [N_PARTS], sum 1
static void split_time(const struct record_node *node, double *parts)
{
    const struct record_sums *sums = &node->sums;
    const double own_s = sums->busy_s;
    double left_s;

    parts[0] = sums->computing_s / node->n_workers;
    parts[1] = sums->paging_s / node->n_workers;
    left_s = fmax(0, own_s - parts[0] - parts[1]);
    parts[2] = fmin(sums->release_s, left_s);
    parts[3] = left_s - parts[2];
    parts[4] =
        fmax(0, sums->time_s - parts[0] - parts[1] - parts[2] - parts[3]);
    left_s = 0;
    for (unsigned k = 0; k < N_PARTS; k++) {
        left_s += parts[k];
    }
    for (unsigned k = 0; k < N_PARTS; k++) {
        parts[k] /= left_s;
    }
}

static void put_bar(FILE *file, const struct record_node *node, double y)
{
    const double left = 130;
    const double width = WIDTH - left - 10;
    double parts[N_PARTS];
    double at = left;

    split_time(node, parts);
    fprintf(file, "<text x=\"0\" y=\"%.0f\">", y + 15);
    page_text(file, node->name);
    fputs("</text>", file);
    for (unsigned k = 0; k < N_PARTS; k++) {
        char percent[16];

        page_percent(parts[k], percent);
        fprintf(file,
                "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"22\" "
                "style=\"fill:%s;stroke:var(--fg)\"><title>",
                at, y, parts[k] * width, parts_of_time[k].fill);
        page_text(file, node->name);
        fprintf(file, ": %s, %s</title></rect>", parts_of_time[k].name,
                percent);
        if (parts[k] >= 0.08) {
            fprintf(file,
                    "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\" "
                    "style=\"paint-order:stroke;stroke:var(--bg);"
                    "stroke-width:4px\">%s</text>",
                    at + parts[k] * width / 2, y + 15, percent);
        }
        at += parts[k] * width;
    }
    putc('\n', file);
}

static void put_legend(FILE *file)
{
    fputs("<p class=\"soft\">", file);
    for (unsigned k = 0; k < N_PARTS; k++) {
        fprintf(file,
                "<svg width=\"16\" height=\"12\" aria-hidden=\"true\" "
                "style=\"display:inline-block;margin:0 .3rem 0 %s\"><rect "
                "width=\"15\" height=\"11\" style=\"fill:%s;stroke:var(--fg)\" "
                "/></svg>%s",
                k == 0 ? "0" : "1rem", parts_of_time[k].fill,
                parts_of_time[k].name);
    }
    fputs("</p>\n", file);
}

void page_node_bars(FILE *file, const struct record *record)
{
    unsigned n = 0;
    double y = 2;

    for (size_t i = 0; i < record->n_nodes; i++) {
        n += record->nodes[i].sums.time_s > 0 && n < PAGE_NODES;
    }
    fprintf(file,
            "<svg viewBox=\"0 0 %.0f %u\" width=\"%.0f\" role=\"img\" "
            "aria-label=\"Where each node's time went; the table below has "
            "the numbers\">\n",
            WIDTH, n * 28 + 4, WIDTH);
    put_patterns(file);
    for (size_t i = 0; i < record->n_nodes && n > 0; i++) {
        if (record->nodes[i].sums.time_s > 0) {
            put_bar(file, &record->nodes[i], y);
            y += 28;
            n--;
        }
    }
    fputs("</svg>\n", file);
    put_legend(file);
}

// ---- iterations ----

#define CHART_LEFT 70.0
#define CHART_TOP 34.0
#define CHART_HEIGHT 190.0
#define CHART_WIDTH (WIDTH - CHART_LEFT - 12)

/** The next of 1, 2, 5, 10, ... that is not below. */
static double round_up(double value)
{
    const double ten = pow(10, floor(log10(value)));

    for (unsigned i = 0; i < 3; i++) {
        static const double steps[] = {1, 2, 5};

        if (steps[i] * ten >= value * 0.999999) {
            return steps[i] * ten;
        }
    }
    return 10 * ten;
}

struct chart {
    double most_s; ///< at its top
    double n;      ///< iterations
};

static double x_of(const struct chart *chart, double iteration)
{
    return CHART_LEFT + CHART_WIDTH * (iteration - 1) / fmax(1, chart->n);
}

static double y_of(const struct chart *chart, double seconds)
{
    return CHART_TOP + CHART_HEIGHT * (1 - fmin(1, seconds / chart->most_s));
}

// A few iterations, tracked ones say, take many times as long as others: they go beyond.
static double top_of(const struct record *record)
{
    double *all = memory_new(record->n_points + 1, sizeof *all);
    size_t n = 0;
    double top = 0;

    for (size_t i = 0; i < record->n_points; i++) {
        if (record->points[i].time_s > 0) {
            all[n++] =
                record->points[i].time_s / record->points[i].n_iterations;
        }
    }
    if (n > 0) {
        qsort(all, n, sizeof *all, compare_doubles);
        top = fmin(all[n - 1], 1.6 * all[(n - 1) * 95 / 100]);
    }
    free(all);
    return top;
}

static void put_axes(FILE *file, const struct chart *chart)
{
    const double step_s = round_up(chart->most_s / 5);
    const double step = fmax(1, round_up(chart->n / 8));

    for (double s = 0; s <= chart->most_s * 1.0001; s += step_s) {
        char text[24];

        fprintf(file,
                "<path d=\"M%.0f %.1fH%.0f\" style=\"stroke:var(--line)\" />"
                "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                CHART_LEFT, y_of(chart, s), CHART_LEFT + CHART_WIDTH,
                CHART_LEFT - 6, y_of(chart, s) + 4,
                s > 0 ? page_time(s, text) : "0");
    }
    for (double i = step; i <= chart->n; i += step) {
        char text[32];

        fprintf(file,
                "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s"
                "</text>\n",
                x_of(chart, i + 0.5), CHART_TOP + CHART_HEIGHT + 16,
                page_count(i, text));
    }
    fprintf(file,
            "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">iteration</text>"
            "\n",
            CHART_LEFT + CHART_WIDTH, CHART_TOP + CHART_HEIGHT + 32);
}

// Points that are means of several: between the shortest and the longest.
static void put_range(FILE *file, const struct chart *chart,
                      const struct record *record)
{
    for (size_t i = 0; i < record->n_points; i++) {
        const struct record_point *p = &record->points[i];

        if (p->time_s > 0 && p->longest_s > p->shortest_s) {
            fprintf(file, "<path d=\"M%.1f %.1fV%.1f\" />",
                    x_of(chart, p->first + p->n_iterations / 2),
                    y_of(chart, p->shortest_s), y_of(chart, p->longest_s));
        }
    }
}

static void put_line(FILE *file, const struct chart *chart,
                     const struct record *record)
{
    int is_begun = 0;

    fputs("<path style=\"fill:none;stroke:var(--ink);stroke-width:1.8\" d=\"",
          file);
    for (size_t i = 0; i < record->n_points; i++) {
        const struct record_point *p = &record->points[i];

        if (p->time_s > 0) {
            fprintf(file, "%s%.1f %.1f", is_begun ? "L" : "M",
                    x_of(chart, p->first + p->n_iterations / 2),
                    y_of(chart, p->time_s / p->n_iterations));
            is_begun = 1;
        }
    }
    fputs("\" />\n", file);
}

// Moves as lines with how many, tracked iterations as triangles.
static void put_marks(FILE *file, const struct chart *chart,
                      const struct record *record)
{
    double last_label = -100;

    for (size_t i = 0; i < record->n_points; i++) {
        const struct record_point *p = &record->points[i];
        const double x = x_of(chart, p->first);

        if (p->n_moved > 0) {
            const int is_free = x > last_label + 62;

            fprintf(file,
                    "<path d=\"M%.1f %.0fV%.0f\" style=\"stroke:var(--warm);"
                    "stroke-width:1.5;stroke-dasharray:4 3\"><title>iteration "
                    "%.0f: %.0f threads were told to move</title></path>",
                    x, CHART_TOP - 6, CHART_TOP + CHART_HEIGHT, p->first,
                    p->n_moved);
            if (is_free) {
                fprintf(file,
                        "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">"
                        "%.0f move</text>",
                        fmin(x, WIDTH - 30), CHART_TOP - 10, p->n_moved);
                last_label = x;
            }
        }
        if (p->n_tracked > 0) {
            fprintf(file,
                    "<path d=\"M%.1f %.0fl-5 -9h10z\" "
                    "style=\"fill:var(--bg);stroke:var(--fg)\"><title>"
                    "iteration %.0f: tracked</title></path>",
                    x, CHART_TOP + CHART_HEIGHT, p->first);
        }
    }
    putc('\n', file);
}

void page_iterations(FILE *file, const struct record *record)
{
    struct chart chart = {.most_s = top_of(record), .n = record->n_iterations};

    if (chart.most_s <= 0) {
        fputs("<p>No iteration's time is known: there was one only.</p>\n",
              file);
        return;
    }
    fprintf(file,
            "<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" role=\"img\" "
            "aria-label=\"The time of each iteration, with moves of threads "
            "marked; decisions are listed below\">\n",
            WIDTH, CHART_TOP + CHART_HEIGHT + 38, WIDTH);
    put_axes(file, &chart);
    fputs("<g style=\"stroke:var(--soft);stroke-width:1\">", file);
    put_range(file, &chart, record);
    fputs("</g>\n", file);
    put_line(file, &chart, record);
    put_marks(file, &chart, record);
    fputs("</svg>\n", file);
    fputs("<p class=\"soft\">Dashed: threads were told to move. Triangles: an "
          "iteration was tracked, to find out who uses which pages. Thin "
          "lines: from the shortest to the longest of the iterations that are "
          "drawn as one point. What is above the top took longer.</p>\n",
          file);
}

// ---- the mapping ----

enum { COLUMNS = 128 };

/** A cell is drawn if that part of its threads are there. */
#define LEAST_PART 0.25

static uint32_t where(const struct record_thread *thread, int is_after)
{
    return is_after ? thread->after : thread->before;
}

// Threads of a column that are on the node.
// @param[out] n_changed  of them, those that are elsewhere in the other chart
static unsigned count_cell(const struct record *record, size_t first,
                           size_t end, uint32_t node, int is_after,
                           unsigned *n_changed)
{
    unsigned n = 0;

    *n_changed = 0;
    for (size_t i = first; i < end; i++) {
        const struct record_thread *thread = &record->threads[i];

        if (where(thread, is_after) == node) {
            n++;
            *n_changed += where(thread, !is_after) != node;
        }
    }
    return n;
}

static void put_cells(FILE *file, const struct record *record, uint32_t node,
                      int is_after, double y)
{
    const size_t n = record->n_threads;
    const size_t n_columns = n < COLUMNS ? n : COLUMNS;
    const double width = fmin(22, (WIDTH - 130) / (double)n_columns);

    for (size_t c = 0; c < n_columns; c++) {
        const size_t first = c * n / n_columns;
        const size_t end = (c + 1) * n / n_columns;
        unsigned n_changed;
        const unsigned here =
            count_cell(record, first, end, node, is_after, &n_changed);
        const double part = (double)here / (double)(end - first);

        if (here == 0 || part < LEAST_PART) {
            continue;
        }
        fprintf(file,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" "
                "style=\"fill:%s;fill-opacity:%.2f;stroke:var(--fg)\" />",
                130 + (double)c * width, y, width - 1,
                n_changed > 0 ? "url(#moved)" : "var(--ink)", part);
    }
}

void page_mapping(FILE *file, const struct record *record, int is_after)
{
    const size_t n_nodes =
        record->n_nodes < PAGE_NODES ? record->n_nodes : PAGE_NODES;

    fprintf(file,
            "<svg viewBox=\"0 0 %.0f %zu\" width=\"%.0f\" role=\"img\" "
            "aria-label=\"Which threads are on which node %s; the table below "
            "has the numbers\">\n",
            WIDTH, n_nodes * 18 + 4, WIDTH,
            is_after ? "at the end" : "at first");
    fputs("<defs><pattern id=\"moved\" width=\"5\" height=\"5\" "
          "patternUnits=\"userSpaceOnUse\"><rect width=\"5\" height=\"5\" "
          "style=\"fill:var(--bg)\" /><path d=\"M0 5L5 0\" "
          "style=\"stroke:var(--warm);stroke-width:2.4\" /></pattern></defs>\n",
          file);
    for (size_t x = 0; x < n_nodes; x++) {
        const double y = (double)x * 18 + 2;

        fprintf(file, "<text x=\"0\" y=\"%.0f\">", y + 12);
        page_text(file, record->nodes[x].name);
        fprintf(file,
                "</text><path d=\"M130 %.1fH%.0f\" "
                "style=\"stroke:var(--line)\" />",
                y + 7, WIDTH);
        put_cells(file, record, (uint32_t)x, is_after, y);
        putc('\n', file);
    }
    fputs("</svg>\n", file);
}
