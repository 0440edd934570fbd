// SPDX-License-Identifier: BSD-3-Clause
//
// Two runs beside each other. Which is faster is told by their iterations after the last
// moves: of each, the middle half is an interval, and only if these have nothing in common is
// there a verdict. A run's points are means of iterations that were measured together; each
// counts as often as it has iterations.
#include "planner/compare_runs.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "planner/report_page_priv.h"
#include "planner/run_advice.h"

/** Of a run, so many iterations show what they are like. */
#define FEW_ITERATIONS 8

struct weighed {
    double value;
    double weight;
};

static int compare_values(const void *left, const void *right)
{
    const struct weighed *a = left;
    const struct weighed *b = right;

    return (a->value > b->value) - (a->value < b->value);
}

static double quantile(const struct weighed *sorted, size_t n, double sum,
                       double part)
{
    double passed = 0;

    for (size_t i = 0; i < n; i++) {
        passed += sorted[i].weight;
        if (passed >= sum * part) {
            return sorted[i].value;
        }
    }
    return sorted[n - 1].value;
}

// @param first  the first point that counts
static struct spread spread_of(const struct record *record, size_t first)
{
    struct weighed *all = memory_new(record->n_points + 1, sizeof *all);
    struct spread spread = {0};
    size_t n = 0;

    for (size_t i = first; i < record->n_points; i++) {
        const struct record_point *point = &record->points[i];

        if (point->time_s > 0) {
            all[n++] = (struct weighed){point->time_s / point->n_iterations,
                                        point->n_iterations};
            spread.n += point->n_iterations;
        }
    }
    if (n > 0) {
        qsort(all, n, sizeof *all, compare_values);
        spread.quarter_s = quantile(all, n, spread.n, 0.25);
        spread.median_s = quantile(all, n, spread.n, 0.5);
        spread.three_quarters_s = quantile(all, n, spread.n, 0.75);
    }
    free(all);
    return spread;
}

/** The point behind the last in which something was moved or tracked. */
static size_t first_settled(const struct record *record)
{
    size_t first = record->n_points;

    while (first > 0 && record->points[first - 1].n_moved <= 0 &&
           record->points[first - 1].n_tracked <= 0) {
        first--;
    }
    return first;
}

static void look_at_side(struct side *side, const char *name,
                         const struct record *record)
{
    struct efficiency_sums sums;

    *side = (struct side){.name = name, .record = record};
    side->all = spread_of(record, 0);
    side->settled = spread_of(record, first_settled(record));
    side->has_efficiency =
        run_record_efficiency(record, &sums, &side->efficiency);
    if (record->n_timed > 0) {
        side->parts = (struct parts){
            sums.longest_s / record->n_timed,
            (sums.longest_busy_s - sums.longest_s) / record->n_timed,
            fmax(0, sums.time_s - sums.longest_busy_s) / record->n_timed};
    }
}

void compare_runs(struct comparison *comparison, const char *name_a,
                  const struct record *a, const char *name_b,
                  const struct record *b)
{
    const struct spread *first = &comparison->sides[0].settled;
    const struct spread *second = &comparison->sides[1].settled;

    *comparison = (struct comparison){0};
    look_at_side(&comparison->sides[0], name_a, a);
    look_at_side(&comparison->sides[1], name_b, b);
    if (first->n < FEW_ITERATIONS || second->n < FEW_ITERATIONS) {
        comparison->verdict = VERDICT_TOO_FEW;
    } else if (first->three_quarters_s < second->quarter_s) {
        comparison->verdict = VERDICT_FIRST;
        comparison->factor = second->median_s / first->median_s;
    } else if (second->three_quarters_s < first->quarter_s) {
        comparison->verdict = VERDICT_SECOND;
        comparison->factor = first->median_s / second->median_s;
    } else {
        comparison->verdict = VERDICT_OVERLAP;
    }
}

// ---- words ----

static void add_spread(struct text *line, const struct spread *spread)
{
    char low[24];
    char high[24];

    text_add(line, "%s to %s", page_time(spread->quarter_s, low),
             page_time(spread->three_quarters_s, high));
}

static void say_faster(const struct side *fast, const struct side *slow,
                       double factor, struct text *line)
{
    text_add(line,
             "%s is faster by a factor of %.2f: half of its iterations "
             "take ",
             fast->name, factor);
    add_spread(line, &fast->settled);
    text_add(line, ", half of those of %s ", slow->name);
    add_spread(line, &slow->settled);
    text_add(line, ".");
}

void compare_say(const struct comparison *comparison, char *text, size_t size)
{
    const struct side *sides = comparison->sides;
    struct text line = {text, size, 0};

    text[0] = '\0';
    switch (comparison->verdict) {
    case VERDICT_FIRST:
        say_faster(&sides[0], &sides[1], comparison->factor, &line);
        break;
    case VERDICT_SECOND:
        say_faster(&sides[1], &sides[0], comparison->factor, &line);
        break;
    case VERDICT_OVERLAP:
        text_add(&line, "Which is faster cannot be told: half of the "
                        "iterations take ");
        add_spread(&line, &sides[0].settled);
        text_add(&line, " here and ");
        add_spread(&line, &sides[1].settled);
        text_add(&line, " there.");
        break;
    case VERDICT_TOO_FEW:
        text_add(&line,
                 "Which is faster cannot be told: iterations after the last "
                 "moves are %.0f and %.0f; %d of each are needed.",
                 sides[0].settled.n, sides[1].settled.n, FEW_ITERATIONS);
        break;
    }
}

static void print_row(FILE *file, const char *what, const char *a,
                      const char *b)
{
    fprintf(file, "%-26s %18s %18s\n", what, a, b);
}

static void print_times(FILE *file, const char *what, double a_s, double b_s)
{
    char a[24];
    char b[24];

    print_row(file, what, a_s > 0 ? page_time(a_s, a) : "-",
              b_s > 0 ? page_time(b_s, b) : "-");
}

static void print_numbers(FILE *file, const char *what, double a, double b)
{
    char first[32];
    char second[32];

    print_row(file, what, page_count(a, first), page_count(b, second));
}

static void print_factor(FILE *file, const char *what, const struct side *sides,
                         double a, double b)
{
    char first[16];
    char second[16];

    print_row(file, what,
              sides[0].has_efficiency ? page_percent(a, first) : "-",
              sides[1].has_efficiency ? page_percent(b, second) : "-");
}

static void print_efficiencies(FILE *file, const struct side *sides)
{
    for (unsigned i = 0; i < N_FACTORS; i++) {
        print_factor(file, factor_name((enum factor)i), sides,
                     factor_value(&sides[0].efficiency, (enum factor)i),
                     factor_value(&sides[1].efficiency, (enum factor)i));
    }
    print_factor(file, "efficiency", sides, sides[0].efficiency.total,
                 sides[1].efficiency.total);
}

void compare_print(FILE *file, const struct comparison *comparison)
{
    const struct side *a = &comparison->sides[0];
    const struct side *b = &comparison->sides[1];

    fprintf(file, "A: %s: %s\nB: %s: %s\n\n", a->name, a->record->program,
            b->name, b->record->program);
    print_row(file, "", "A", "B");
    print_times(file, "whole run", a->record->seconds, b->record->seconds);
    print_numbers(file, "nodes", (double)a->record->n_nodes,
                  (double)b->record->n_nodes);
    print_numbers(file, "iterations", a->record->n_iterations,
                  b->record->n_iterations);
    print_numbers(file, "threads moved", a->record->n_moved,
                  b->record->n_moved);
    print_times(file, "iteration, median", a->all.median_s, b->all.median_s);
    print_times(file, "  after the last moves", a->settled.median_s,
                b->settled.median_s);
    print_times(file, "    one in four below", a->settled.quarter_s,
                b->settled.quarter_s);
    print_times(file, "    one in four above", a->settled.three_quarters_s,
                b->settled.three_quarters_s);
    print_times(file, "mean: computing", a->parts.computing_s,
                b->parts.computing_s);
    print_times(file, "      paging", a->parts.paging_s, b->parts.paging_s);
    print_times(file, "      waiting", a->parts.waiting_s, b->parts.waiting_s);
    print_efficiencies(file, comparison->sides);
}
