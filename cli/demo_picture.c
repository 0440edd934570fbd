// SPDX-License-Identifier: BSD-3-Clause
// The picture of `teamster demo`, as SVG: times of iterations over time, a curve for each
// policy, and below for each policy the threads of each node when it was over. Readable
// without colour: curves differ in their dashes, and are named where they end.
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "demo.h"

enum {
    WIDTH = 760,
    HEIGHT = 500,
    LEFT = 70, ///< of the curves
    RIGHT = 650,
    TOP = 60,
    BOTTOM = 310,
    BARS_TOP = 370,
    BAR_HEIGHT = 18,
    BARS_WIDTH = 190, ///< of a policy's
    THREAD_WIDTH = 7,
};

static const struct {
    const char *color;
    const char *dashes;
} looks[DEMO_N_RUNS] = {
    {"#b2182b", "2 3"}, {"#e08214", "7 4"}, {"#2166ac", "none"}};

__attribute__((format(printf, 4, 5))) static void put_text(FILE *file, double x,
                                                           double y,
                                                           const char *format,
                                                           ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(file, "<text x=\"%.0f\" y=\"%.0f\">", x, y);
    vfprintf(file, format, arguments);
    fputs("</text>\n", file);
    va_end(arguments);
}

/** A round number, 1, 2 or 5 with zeros, of which about four make `most`. */
static double step_of(double most)
{
    double step = 1;

    while (step * 5 < most) {
        if (step * 2 * 5 >= most) {
            return step * 2;
        }
        if (step * 5 * 5 >= most) {
            return step * 5;
        }
        step *= 10;
    }
    return step;
}

struct scale {
    double s;  ///< at the right edge
    double ms; ///< at the top
};

static double x_of(const struct scale *scale, double s)
{
    return LEFT + (RIGHT - LEFT) * (s < scale->s ? s / scale->s : 1);
}

static double y_of(const struct scale *scale, double ms)
{
    return BOTTOM - (BOTTOM - TOP) * (ms < scale->ms ? ms / scale->ms : 1);
}

/** Twice the time that the slowest has settled at: a single iteration may have taken any
 * time, and is cut off. */
static struct scale scale_of(const struct demo_run *runs)
{
    struct scale scale = {1, 1};

    for (unsigned i = 0; i < DEMO_N_RUNS; i++) {
        const struct demo_run *run = &runs[i];
        const double ms = 2 * demo_run_ms(run);

        scale.ms = ms > scale.ms ? ms : scale.ms;
        if (run->n > 0 && run->at_s[run->n - 1] > scale.s) {
            scale.s = run->at_s[run->n - 1];
        }
    }
    return scale;
}

static void put_axes(FILE *file, const struct scale *scale)
{
    const double step_ms = step_of(scale->ms);
    const double step_s = step_of(scale->s);

    fprintf(file, "<g stroke=\"#ccc\" stroke-width=\"1\">\n");
    for (double ms = 0; ms <= scale->ms; ms += step_ms) {
        fprintf(file, "<path d=\"M%d %.1fH%d\"/>\n", LEFT, y_of(scale, ms),
                RIGHT);
    }
    fprintf(file, "</g>\n");
    for (double ms = 0; ms <= scale->ms; ms += step_ms) {
        put_text(file, 20, y_of(scale, ms) + 4, "%.0f ms", ms);
    }
    for (double s = 0; s <= scale->s; s += step_s) {
        put_text(file, x_of(scale, s) - 8, BOTTOM + 18, "%.0f s", s);
    }
}

static void put_curve(FILE *file, const struct scale *scale,
                      const struct demo_run *run, unsigned look)
{
    const double y = y_of(scale, demo_run_ms(run));

    fprintf(file,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
            "stroke-dasharray=\"%s\" points=\"",
            looks[look].color, looks[look].dashes);
    for (unsigned i = 0; i < run->n; i++) {
        fprintf(file, "%.1f,%.1f ", x_of(scale, run->at_s[i]),
                y_of(scale, run->ms[i]));
    }
    fprintf(file, "\"/>\n<g fill=\"%s\">\n", looks[look].color);
    put_text(file, RIGHT + 8, y + 4, "%s", run->policy);
    fprintf(file, "</g>\n");
}

/** The threads of each node under one policy. */
static void put_bars(FILE *file, const struct demo_run *run, unsigned look)
{
    const double left = LEFT + look * (BARS_WIDTH + 30.0);

    put_text(file, left, BARS_TOP - 10, "%s: %.0f ms", run->policy,
             demo_run_ms(run));
    for (unsigned i = 0; i < DEMO_N_NODES; i++) {
        const double y = BARS_TOP + i * (BAR_HEIGHT + 6.0);
        const double width = run->threads[i] * (double)THREAD_WIDTH;

        fprintf(file,
                "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%d\" "
                "fill=\"%s\"/>\n",
                left, y, width, BAR_HEIGHT, looks[look].color);
        put_text(file, left + width + 5, y + 14, "%u%s", run->threads[i],
                 run->page_rate[i] >= 1 ? ", pages" : "");
        if (look == 0) {
            put_text(file, 20, y + 14, "%s%s", demo_nodes[i].name,
                     demo_nodes[i].is_short ? " *" : "");
        }
    }
}

void demo_picture_write(FILE *file, const struct demo_run *runs)
{
    const struct scale scale = scale_of(runs);
    const double first = demo_run_ms(&runs[0]);
    const double last = demo_run_ms(&runs[DEMO_N_RUNS - 1]);

    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\" "
            "fill=\"#222\">\n"
            "<title>teamster demo: times of iterations on four unequal "
            "nodes</title>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_text(file, 20, 28,
             "Heat in a plate, 32 threads on four unequal nodes: %.0f ms an "
             "iteration, then %.0f: %.1f times as fast",
             first, last, last > 0 ? first / last : 0);
    put_text(file, 20, 46, "Time of an iteration, as time goes by");
    put_axes(file, &scale);
    for (unsigned i = 0; i < DEMO_N_RUNS; i++) {
        put_curve(file, &scale, &runs[i], i);
    }
    for (unsigned i = 0; i < DEMO_N_RUNS; i++) {
        put_bars(file, &runs[i], i);
    }
    put_text(file, 20, HEIGHT - 14,
             "Threads of each node at the end. * has less memory than an equal "
             "share of the plate: what does not fit, it pages.");
    fprintf(file, "</svg>\n");
}
