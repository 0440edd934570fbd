// SPDX-License-Identifier: BSD-3-Clause
//
// What the scheme sees of the program, and what it says to who wants to know.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/explain.h"
#include "reconfig/scheme_priv.h"

enum {
    TRACKED_FOR = 64,      // samples that tracked pages are good for
    TRACKED_MOST = 1024,   // that they may be looked at first
    JUDGED_FROM = 8,       // samples that are held against a prediction
    TEXT_BYTES = 1u << 16, // of an explanation
};

/** What else a machine does takes it for so long at a time, s: less tells nothing. */
#define EVIDENCE_S 0.05

/** Work that has changed by less than this part has not: it was noise. */
#define SAME_WORK 0.15

// ---- words

void scheme_say(const struct scheme *scheme, const char *format, ...)
{
    char text[256];
    va_list arguments;

    if (scheme->config.explains) {
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        scheme->ops.explain(scheme->ops.owner, text);
    }
}

void scheme_explain_plan(const struct scheme *scheme)
{
    const struct remap *plan = &scheme->plan;
    char *text;
    size_t n;

    if (!scheme->config.explains) {
        return;
    }
    text = memory_new(TEXT_BYTES, 1);
    scheme_explain_collected(scheme);
    explain_prediction(&plan->view, &plan->before, &plan->measured, text,
                       TEXT_BYTES);
    scheme->ops.explain(scheme->ops.owner, text);
    n = explain_change(&plan->view, &plan->before, &plan->after, text,
                       TEXT_BYTES);
    if (n < TEXT_BYTES) {
        explain_moves(&plan->view, plan->numbers, plan->current, plan->wanted,
                      text + n, TEXT_BYTES - n);
    }
    scheme->ops.explain(scheme->ops.owner, text);
    free(text);
}

// ---- what the trigger gets to see

// All work over all power: no mapping is faster.
double scheme_ideal_s(const struct scheme *scheme)
{
    uint32_t n;
    const struct history_thread *threads = history_threads(scheme->history, &n);
    double work_s = 0;
    double power = 0;

    for (uint32_t i = 0; i < n; i++) {
        work_s += history_work_s(scheme->history, &threads[i]);
    }
    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        power += scheme->nodes[i].power * scheme->nodes[i].n_processors;
    }
    return work_s / power;
}

uint32_t scheme_count_unknown(const struct scheme *scheme, uint32_t *n)
{
    const struct history_thread *threads = history_threads(scheme->history, n);
    uint32_t n_unknown = 0;

    for (uint32_t i = 0; scheme->config.policy->wants_uses && i < *n; i++) {
        size_t n_uses;

        n_unknown += !scheme->is_tracked ||
                     scheme->ops.uses(scheme->ops.owner, threads[i].number,
                                      &n_uses) == NULL;
    }
    return n_unknown;
}

static int was_tracked_within(const struct scheme *scheme, unsigned n_samples)
{
    return scheme->is_tracked &&
           history_n_samples(scheme->history) <= scheme->tracked_at + n_samples;
}

int scheme_needs_tracking(const struct scheme *scheme)
{
    uint32_t n;

    return scheme->config.policy->wants_uses &&
           (!was_tracked_within(scheme, TRACKED_MOST) ||
            scheme_count_unknown(scheme, &n) > 0);
}

int scheme_is_tracking_old(const struct scheme *scheme)
{
    return scheme->config.policy->wants_uses &&
           !was_tracked_within(scheme, TRACKED_FOR);
}

double scheme_time_s(const struct time_parts *parts)
{
    return parts->work_s + parts->rest_s;
}

// Programs whose work grows or shrinks: what was so long would now be.
static double as_of_now_s(const struct scheme *scheme,
                          const struct time_parts *then)
{
    double now_s;

    if (then->ideal_s <= 0) {
        return scheme_time_s(then); // not known
    }
    now_s = scheme_ideal_s(scheme);
    return fabs(now_s - then->ideal_s) > SAME_WORK * then->ideal_s
               ? then->work_s * now_s / then->ideal_s + then->rest_s
               : scheme_time_s(then);
}

// Of the slowest node, as a plan's measured.iteration_s. Not the usual time of who
// is slowest: what disturbs now this node, now that one, would count each time.
static double usual_s(const struct scheme *scheme)
{
    double most_s = 0;

    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        struct history_node usual;

        history_node(scheme->history, (node_id)i, &usual);
        most_s = fmax(most_s, usual.busy_s);
    }
    return most_s;
}

int scheme_has_evidence(const struct scheme *scheme, unsigned n)
{
    return n * history_n_together(scheme->history) *
               history_latest_s(scheme->history) >=
           EVIDENCE_S;
}

// How long the nodes take, lately: one sample alone says little.
static void look_at_times(const struct scheme *scheme,
                          struct trigger_sample *sample)
{
    const unsigned n = trigger_enough(TRIGGER_WATCHED, sample->length_s);

    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        double busy_s = history_busy_s(scheme->history, (node_id)i, n);

        sample->mean_s += busy_s / scheme->config.n_nodes;
        sample->max_s = fmax(sample->max_s, busy_s);
    }
    sample->error_s = history_slowest_error_s(scheme->history, n);
}

static double tracking_cost_s(const struct scheme *scheme)
{
    return scheme->tracking_cost_s > 0
               ? scheme->tracking_cost_s
               : scheme->ops.tracking_s(scheme->ops.owner);
}

// What takes medians of all threads is left out where nobody looks at it: a program
// in balance should not pay for it.
void scheme_sample(const struct scheme *scheme, struct trigger_sample *sample)
{
    const uint32_t n = history_n_together(scheme->history);

    *sample = (struct trigger_sample){
        .n_iterations = n,
        .length_s = history_iteration_s(scheme->history) * n,
        .cost_s = scheme->moving_cost_s,
    };
    look_at_times(scheme, sample);
    if (scheme_has_evidence(scheme, history_n_since_restart(scheme->history))) {
        sample->n_left = (double)history_n_closed(scheme->history);
    }
    if (trigger_sees_imbalance(sample)) {
        sample->attainable_s = fmin(scheme_ideal_s(scheme), sample->max_s);
        sample->cost_s +=
            scheme_needs_tracking(scheme) ? tracking_cost_s(scheme) : 0;
    }
    if (scheme->trigger.state == TRIGGER_WATCHING) {
        sample->usual_s = usual_s(scheme);
        sample->before_s = as_of_now_s(scheme, &scheme->before);
        sample->error_s = hypot(scheme->before_error_s, sample->error_s);
    }
}

// ---- predictions and what came of them

void scheme_note_predicted(struct scheme *scheme,
                           const struct prediction *in_force)
{
    double comm_s = in_force->nodes[in_force->slowest].comm_s;

    scheme->predicted = (struct time_parts){in_force->iteration_s - comm_s,
                                            comm_s, scheme->planned_ideal_s};
    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        scheme->predicted_s[i] = in_force->nodes[i].time_s;
    }
}

void scheme_forecast(const struct scheme *scheme, struct scheme_forecast *whole,
                     struct scheme_forecast *nodes)
{
    struct history_node usual;

    *whole = (struct scheme_forecast){0, usual_s(scheme)};
    if (scheme_time_s(&scheme->predicted) > 0) {
        whole->predicted_s = as_of_now_s(scheme, &scheme->predicted);
    }
    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        history_node(scheme->history, (node_id)i, &usual);
        nodes[i] =
            (struct scheme_forecast){scheme->predicted_s[i], usual.busy_s};
    }
}

void scheme_set_explains(struct scheme *scheme, int explains)
{
    scheme->config.explains = explains;
}

// How the mapping in force was predicted, against how it is.
void scheme_judge(struct scheme *scheme)
{
    const double length_s = history_iteration_s(scheme->history) *
                            history_n_together(scheme->history);
    double measured_s;

    if (scheme_time_s(&scheme->predicted) <= 0 ||
        history_n_since_restart(scheme->history) <
            trigger_enough(JUDGED_FROM, length_s)) {
        return;
    }
    measured_s = usual_s(scheme);
    if (measured_s > 0) {
        double error = as_of_now_s(scheme, &scheme->predicted) / measured_s - 1;

        scheme->stats.n_judged++;
        scheme->stats.error_sum += error < 0 ? -error : error;
    }
}

void scheme_say_verdict(const struct scheme *scheme, const char *verdict)
{
    scheme_say_now(scheme,
                   "%s; measured %.3f ms before, %.3f ms now, predicted "
                   "%.3f ms",
                   verdict, as_of_now_s(scheme, &scheme->before) * 1e3,
                   usual_s(scheme) * 1e3,
                   as_of_now_s(scheme, &scheme->predicted) * 1e3);
}

// What the mapping in force was predicted to be like, and what it is like.
void scheme_explain_result(const struct scheme *scheme)
{
    const unsigned n = scheme->config.n_nodes;
    struct measurement measured;
    char *text;

    if (!scheme->config.explains) {
        return;
    }
    measured.nodes = memory_new(n, sizeof *measured.nodes);
    text = memory_new(TEXT_BYTES, 1);
    scheme_explain_collected(scheme);
    remap_measure(scheme->history, n, &measured);
    explain_prediction(&scheme->plan.view, &scheme->plan.after, &measured, text,
                       TEXT_BYTES);
    scheme->ops.explain(scheme->ops.owner, text);
    free(measured.nodes);
    free(text);
}
