// SPDX-License-Identifier: BSD-3-Clause
//
// What `teamster plan` prints. Tables of nodes come from model/explain.h, as
// those of --explain do; of large clusters they are given an excerpt.
#include "planner/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/explain.h"
#include "place/profile_fields.h"
#include "planner/excerpt.h"
#include "planner/report_advice.h"

#define N_COUNTS_MAX 12 ///< nodes whose threads are listed in one line

#define TEXT_OF(number) #number
#define JOINED(major, minor, patch)                                            \
    TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)
#define VERSION JOINED(TM_VERSION_MAJOR, TM_VERSION_MINOR, TM_VERSION_PATCH)

// ---- what explain.h says ----

/** Print what a function of explain.h makes of these arguments. */
#define PRINT_TEXT(file, explain, ...)                                         \
    do {                                                                       \
        const size_t size = explain(__VA_ARGS__, NULL, 0) + 1;                 \
        char *text = memory_new(size, 1);                                      \
                                                                               \
        explain(__VA_ARGS__, text, size);                                      \
        fputs(text, (file));                                                   \
        free(text);                                                            \
    } while (0)

// ---- threads ----

/** The threads of each node, those in a row as a range. */
static void print_threads(FILE *file, const struct cluster_view *view,
                          const uint32_t *node_of)
{
    uint32_t *first = memory_new(view->n_nodes + 1ull, sizeof *first);
    uint32_t *sorted = memory_new(view->n_threads, sizeof *sorted);

    cluster_view_list_threads(view, node_of, first, sorted);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        fprintf(file, "%s: threads", view->nodes[x].name);
        for (uint32_t k = first[x]; k < first[x + 1];) {
            const uint32_t begin = k++;

            while (k < first[x + 1] && sorted[k] == sorted[k - 1] + 1) {
                k++;
            }
            fprintf(file, k - begin > 1 ? " %u-%u" : " %u", sorted[begin],
                    sorted[k - 1]);
        }
        fputs(first[x] == first[x + 1] ? " none\n" : "\n", file);
    }
    free(first);
    free(sorted);
}

/** "11 9 9 3", or of many nodes the least and the most. */
static void print_counts(FILE *file, const struct cluster_view *view,
                         const struct prediction *prediction)
{
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const uint32_t n = prediction->nodes[x].n_threads;

        least = n < least ? n : least;
        most = n > most ? n : most;
        if (view->n_nodes <= N_COUNTS_MAX) {
            fprintf(file, "%s%u", x == 0 ? "" : " ", n);
        }
    }
    if (view->n_nodes > N_COUNTS_MAX) {
        fprintf(file, "%u to %u", least, most);
    }
}

// ---- parts of the report ----

/** Percents above the lower bound, or "-" if there is none. */
static void print_above(FILE *file, int width, const struct plan *plan,
                        double time_s)
{
    const double above = plan_above_bound(plan, time_s);

    if (isnan(above)) {
        fprintf(file, "%*s", width + 2, "-");
    } else {
        fprintf(file, "%*.1f %%", width, above * 100);
    }
}

static void print_model(const struct report *report, FILE *file)
{
    const struct cost_model *model = &report->now->scenario->model;

    fprintf(file, "model %s", profile_kinds.all[model->kind]);
    if (model->kind == COST_MEASURED) {
        fprintf(file, ", %s", profile_replacements.all[model->replacement]);
    }
    fprintf(file, "%s%s",
            model->overlap == OVERLAP_COMM ? ", communication overlaps" : "",
            model->corrections != NULL ? ", corrected" : "");
    if (model->kind != report->profile->model.kind) {
        fprintf(file, "; that of the run was %s",
                profile_kinds.all[report->profile->model.kind]);
    }
    putc('\n', file);
}

static void print_head(const struct report *report, FILE *file)
{
    const struct profile *profile = report->profile;

    fprintf(file, "%s: %s%siteration %ju, %u nodes, %u threads, ", report->name,
            profile->program, profile->program[0] != '\0' ? ", " : "",
            (uintmax_t)profile->iteration, profile->view.n_nodes,
            profile->view.n_threads);
    fprintf(file, "%u groups of pages\n", profile->view.n_groups);
    print_model(report, file);
    if (profile->measured.nodes != NULL && profile->measured.iteration_s > 0) {
        fprintf(
            file,
            "mapping in force: %.3f ms predicted, %.3f ms measured, "
            "%+.1f %%\n",
            report->now->in_force.iteration_s * 1e3,
            profile->measured.iteration_s * 1e3,
            (report->now->in_force.iteration_s / profile->measured.iteration_s -
             1) *
                100);
    }
}

static void print_changes(const struct report *report, FILE *file)
{
    const char *line = report->then->scenario->notes;

    fputs("what if\n", file);
    while (line != NULL && *line != '\0') {
        const int length = (int)strcspn(line, "\n");

        fprintf(file, "  %.*s\n", length, line);
        line += length + 1;
    }
}

static void print_bound(const struct plan *plan, FILE *file)
{
    if (plan->bound_s > 0) {
        fprintf(file, "%.3f ms", plan->bound_s * 1e3);
    } else {
        fputs("none", file);
    }
}

static void print_distance(const struct plan *plan, const struct answer *answer,
                           FILE *file)
{
    fputs("lower bound: ", file);
    print_bound(plan, file);
    if (plan->bound_s > 0) {
        fprintf(file, "; %s%s is ", answer->policy != NULL ? "" : "that ",
                answer->name);
        print_above(file, 0, plan, answer->after.iteration_s);
        fputs(" above it", file);
    }
    fputs(answer->mapping.is_proven ? ", and nothing better exists\n" : "\n",
          file);
}

/** A policy's answer, node by node. */
static void print_answer(const struct report *report, const struct plan *plan,
                         const struct answer *answer, FILE *file)
{
    const struct cluster_view *view = &plan->scenario->view;
    struct excerpt excerpt;

    excerpt_make(&excerpt, view, &plan->in_force, &answer->after,
                 report->is_verbose);
    fprintf(file, "before: the mapping in force%s; after: that %s%s\n\n",
            plan == report->then ? " on the changed cluster" : "",
            answer->policy != NULL ? "of " : "", answer->name);
    PRINT_TEXT(file, explain_change, &excerpt.view, &excerpt.before,
               &excerpt.after);
    if (excerpt.view.n_nodes < view->n_nodes) {
        fprintf(file, "these are the slowest of %u nodes; -v shows all\n\n",
                view->n_nodes);
        report_classes_print(report->profile, plan, answer, file);
    }
    excerpt_release(&excerpt);
    fprintf(
        file, "moves: %u of %u threads%s\n", answer->n_moves, view->n_threads,
        answer->mapping.owners_move ? ", and the owners of their pages" : "");
    print_distance(plan, answer, file);
}

/** All terms, and who is where. */
static void print_details(const struct plan *plan, const struct answer *answer,
                          const struct measurement *measured, FILE *file)
{
    const struct cluster_view *view = &plan->scenario->view;

    fputs("\nmapping in force\n", file);
    PRINT_TEXT(file, explain_prediction, view, &plan->in_force, measured);
    fprintf(file, "\n%s\n", answer->name);
    PRINT_TEXT(file, explain_prediction, view, &answer->after, NULL);
    fputs("\nmoves\n", file);
    PRINT_TEXT(file, explain_moves, view, NULL, plan->scenario->node_of,
               answer->mapping.node_of);
    fputs("\nmapping\n", file);
    print_threads(file, view, answer->mapping.node_of);
}

static void print_repeated(const struct report *report, FILE *file)
{
    const struct profile_decision *decision = &report->profile->decision;
    const char *line = report->differences;

    if (report->then == NULL && decision->policy[0] == '\0') {
        fputs("the run had not decided anything yet\n", file);
    }
    if (report->repeated == NULL) {
        return;
    }
    if (line[0] == '\0') {
        fprintf(file, "as the run decided: the same mapping and times%s\n",
                decision->is_carried_out ? "; it was carried out"
                : decision->was_weighed
                    ? "; it was not carried out, for it would have cost more "
                      "than it brings"
                    : "; it was not carried out");
        return;
    }
    fputs("not as the run decided:\n", file);
    if (strcmp(report->profile->teamster, VERSION) != 0) {
        fprintf(file, "  (the run was of Teamster %s, this is %s)\n",
                report->profile->teamster, VERSION);
    }
    while (*line != '\0') {
        const int length = (int)strcspn(line, "\n");

        fprintf(file, "  %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

// ---- now and then ----

/** Of an answer, or NAN if there is none; bound_of() likewise. */
static double time_of(const struct answer *answer)
{
    return answer != NULL ? answer->after.iteration_s : NAN;
}

static double bound_of(const struct plan *plan)
{
    return plan->bound_s > 0 ? plan->bound_s : NAN;
}

/** Milliseconds; of NAN "-". */
static void print_ms(FILE *file, int width, double time_s)
{
    if (isnan(time_s)) {
        fprintf(file, "%*s", width, "-");
    } else {
        fprintf(file, "%*.3f", width, time_s * 1e3);
    }
}

static void print_both(FILE *file, const char *what, double now_s,
                       double then_s)
{
    fprintf(file, "%-20s", what);
    print_ms(file, 12, now_s);
    print_ms(file, 12, then_s);
    if (now_s > 0 && !isnan(then_s)) {
        const double change = round((then_s / now_s - 1) * 1000) / 10;

        fprintf(file, "%+9.1f %%", change + 0.0); // not -0.0
    }
    putc('\n', file);
}

static uint32_t find_name(const struct cluster_view *view, const char *name,
                          uint32_t expected)
{
    if (expected < view->n_nodes &&
        strcmp(view->nodes[expected].name, name) == 0) {
        return expected;
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        if (strcmp(view->nodes[x].name, name) == 0) {
            return x;
        }
    }
    return NO_NODE;
}

static void print_node_half(FILE *file, const struct answer *answer, uint32_t x)
{
    if (x == NO_NODE) {
        fprintf(file, "%9s%12s", "-", "-");
    } else {
        fprintf(file, "%9u%12.3f", answer->after.nodes[x].n_threads,
                answer->after.nodes[x].time_s * 1e3);
    }
}

/** Each node now and then, those first that are in both. */
static void print_nodes_of_both(const struct report *report,
                                const struct answer *now,
                                const struct answer *then, FILE *file)
{
    const struct cluster_view *old = &report->now->scenario->view;
    const struct cluster_view *new = &report->then->scenario->view;

    fprintf(file, "\n%-20s%21s%21s\n%-20s%9s%12s%9s%12s\n", "", "now", "then",
            "node", "threads", "ms", "threads", "ms");
    for (uint32_t x = 0; x < old->n_nodes; x++) {
        fprintf(file, "%-20s", old->nodes[x].name);
        print_node_half(file, now, now != NULL ? x : NO_NODE);
        print_node_half(file, then, find_name(new, old->nodes[x].name, x));
        putc('\n', file);
    }
    for (uint32_t x = 0; x < new->n_nodes; x++) {
        if (find_name(old, new->nodes[x].name, x) == NO_NODE) {
            fprintf(file, "%-20s", new->nodes[x].name);
            print_node_half(file, NULL, NO_NODE);
            print_node_half(file, then, x);
            putc('\n', file);
        }
    }
}

static int is_small(const struct plan *plan)
{
    return excerpt_is_all(&plan->scenario->view);
}

static void print_comparison(const struct report *report, FILE *file)
{
    const struct answer *then = &report->then->answers[0];
    const struct answer *now = plan_answer_of(report->now, then->policy);

    fprintf(file, "\n%-20s%12s%12s\n", "iteration, ms", "now", "then");
    print_both(file, "mapping in force", report->now->in_force.iteration_s,
               report->then->in_force.iteration_s);
    print_both(file, then->name, time_of(now), time_of(then));
    print_both(file, "lower bound", bound_of(report->now),
               bound_of(report->then));
    if (is_small(report->now) && is_small(report->then)) {
        print_nodes_of_both(report, now, then, file);
    }
    putc('\n', file);
}

// ---- several policies ----

static void print_policy(const struct report *report,
                         const struct answer *answer, FILE *file)
{
    const struct plan *plan = report->then ? report->then : report->now;

    fprintf(file, "%-12s", answer->name);
    if (report->then != NULL) {
        print_ms(file, 14,
                 time_of(plan_answer_of(report->now, answer->policy)));
    }
    print_ms(file, 14, time_of(answer));
    print_above(file, 10, plan, answer->after.iteration_s);
    fprintf(file, "%9u   ", answer->n_moves);
    print_counts(file, &plan->scenario->view, &answer->after);
    fputs(answer->mapping.is_proven ? "   (nothing better exists)\n" : "\n",
          file);
}

static void print_policies(const struct report *report, FILE *file)
{
    const struct plan *plan = report->then ? report->then : report->now;

    putc('\n', file);
    fprintf(file, "%-12s", "policy");
    if (report->then != NULL) {
        fprintf(file, "%14s%14s", "now ms", "then ms");
    } else {
        fprintf(file, "%14s", "iteration ms");
    }
    fprintf(file, "%12s%9s   %s\n", "above bound", "moves",
            plan->scenario->view.n_nodes <= N_COUNTS_MAX
                ? "threads of each node"
                : "threads of a node");
    for (unsigned i = 0; i < plan->n_answers; i++) {
        print_policy(report, &plan->answers[i], file);
    }
    fprintf(file, "%-12s", "(in force)");
    if (report->then != NULL) {
        fprintf(file, "%14.3f", report->now->in_force.iteration_s * 1e3);
    }
    fprintf(file, "%14.3f", plan->in_force.iteration_s * 1e3);
    print_above(file, 10, plan, plan->in_force.iteration_s);
    fprintf(file, "%9u   ", plan->n_homeless);
    print_counts(file, &plan->scenario->view, &plan->in_force);
    fputs("\nlower bound: ", file);
    print_bound(plan, file);
    if (report->then != NULL) {
        fputs("; now ", file);
        print_bound(report->now, file);
    }
    putc('\n', file);
}

void report_print(const struct report *report, FILE *file)
{
    const struct plan *plan = report->then ? report->then : report->now;

    print_head(report, file);
    if (report->then != NULL) {
        print_changes(report, file);
    }
    if (plan->n_answers > 1) {
        print_policies(report, file);
    } else {
        if (report->then != NULL) {
            print_comparison(report, file);
        }
        print_answer(report, plan, &plan->answers[0], file);
    }
    print_repeated(report, file);
    for (unsigned i = 0; report->is_verbose && i < plan->n_answers; i++) {
        print_details(plan, &plan->answers[i],
                      report->then == NULL && report->profile->measured.nodes
                          ? &report->profile->measured
                          : NULL,
                      file);
    }
}
