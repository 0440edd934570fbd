// SPDX-License-Identifier: BSD-3-Clause
//
// One iteration after the other goes into the history (history.c); what is to be done
// about it says the trigger (place/trigger.h). The states, and what each closed
// iteration does in them:
//
//   SEARCHING  the program has not said where its iterations end; the period of
//              its barriers is looked for; again, if it goes on to others
//   UNKNOWN    there was none: until the program says where they end
//   WATCHING   feed the trigger; it may ask to track, to plan or to undo
//   TRACKING   until all nodes have told who uses what; these iterations are
//              slower, as is the next: they do not count
//   THINKING   the plan is being made elsewhere; iterations do not count
//   MOVING     threads go to where they should be, at their iteration ends
//   SETTLING   the first iterations in a new place fetch pages: do not count
//   OFF        no iterations in common, or the mapping was given by hand: threads
//              stay where they are
//
//   SEARCHING -> WATCHING -> TRACKING -> WATCHING -> THINKING -> MOVING -> SETTLING ->
//   WATCHING, which judges the change: kept, or taken back
//
// A policy that is held to nothing (place/policy.h) goes through the same states once,
// without a trigger.
//
// All this goes by samples (history.h): an iteration each, or several short ones; the
// first, in which pages come for the first time, does not count. A plan is made as soon
// as one is asked for; if what it promises could be chance, by what samples differ by, of
// twice as many, and so on, in the end of a whole window of others; and if it still could
// be, it is not carried out. What a change teaches may show a better one,
// so after each change that is kept there is one more plan, up to LOOKS of them; it is
// carried out if it promises enough.
//
// When the times of a node shift, or it says that it has other memory, what was before tells
// nothing of it. So samples begin anew, and there is a plan as soon as they can bear one,
// whether there is an imbalance or not: what a node has more, nobody waits for. What was
// tracked a while ago is taken for it; if it finds nothing, an iteration is tracked, and it is
// asked for again.
//
// A policy that looks at pages makes no plan without them: if tracking was given up, or
// has missed threads, it is tried again, TRACKINGS_MAX times in all. Then a plan is made
// if most threads are known, else none until the next imbalance, which is tracked once.
//
// S1 `next`, `next_corrections` and `learned` belong to scheme_think() while THINKING.
// S2 No plan of a policy that wants_uses is begun while it is unknown of most threads.
#include "reconfig/scheme.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reconfig/scheme_priv.h"

enum {
    SKIP_TRACKED = 1,   // samples that are slow after tracking
    SETTLE_MOVED = 6,   // and after a move
    MOVE_PATIENCE = 4,  // samples in which all should have moved
    COLD = 1,           // samples in which pages come for the first time
    LEAST_SAMPLES = 8,  // that a policy is asked with which is held to nothing
    PATIENCE_LEAST = 2, // samples by which a shift of times is seen
    PATIENCE_MOST = 8,
    LEAST_CHANGED = 2, // after a change of conditions, for a plan
    CALM = 64, // samples without a shift, after which the next is seen soon
    LOOKS = 3, // plans after a change, until the next imbalance
    RAGGED_MAX = 8,    // of 16 iterations
    TRACKINGS_MAX = 3, // until all threads that take part are known
};

static void copy_counts(struct scheme *scheme)
{
    const size_t n = scheme->config.n_nodes;

    if (scheme->config.counts != NULL) {
        scheme->counts = memory_new(n, sizeof *scheme->counts);
        memcpy(scheme->counts, scheme->config.counts,
               n * sizeof *scheme->counts);
    }
}

static void start_trigger(struct scheme *scheme)
{
    trigger_init(&scheme->trigger,
                 scheme->config.policy->held_to != HELD_TO_TIMES);
}

void scheme_begin_anew(struct scheme *scheme)
{
    start_trigger(scheme);
    history_restart(scheme->history);
    history_drop_open(scheme->history);
    history_skip(scheme->history, COLD);
    scheme->is_tracked = 0;
    scheme->n_trackings = 0;
    scheme->is_kept = 0;
    scheme->not_before = 0;
    scheme->predicted = (struct time_parts){0};
    scheme->usual_s = 0;
    scheme->extra_s = 0;
}

static void start_history(struct scheme *scheme)
{
    const unsigned n = scheme->config.n_nodes;
    double *power = memory_new(n, sizeof *power);
    uint32_t *n_workers = memory_new(n, sizeof *n_workers);

    for (unsigned i = 0; i < n; i++) {
        power[i] = scheme->nodes[i].power;
        n_workers[i] = scheme->nodes[i].n_processors;
    }
    scheme->history = history_new(n, power);
    if (scheme->config.crowds != NULL) {
        history_set_crowds(scheme->history, scheme->config.crowds, n_workers);
    }
    scheme->config.crowds = NULL; // the caller's
    history_skip(scheme->history, COLD);
    free(power);
    free(n_workers);
}

struct scheme *scheme_new(const struct scheme_config *config,
                          const struct scheme_ops *ops)
{
    const size_t n = config->n_nodes;
    struct scheme *scheme = memory_new(1, sizeof *scheme);

    scheme->config = *config;
    scheme->ops = *ops;
    scheme->nodes = memory_new(n, sizeof *scheme->nodes);
    scheme->memory = memory_new(n, sizeof *scheme->memory);
    scheme->corrections = memory_new(n, sizeof *scheme->corrections);
    scheme->next_corrections = memory_new(n, sizeof *scheme->next_corrections);
    scheme->learned = memory_new(n, sizeof *scheme->learned);
    scheme->peers = memory_new(n, sizeof *scheme->peers);
    scheme->predicted_s = memory_new(n, sizeof *scheme->predicted_s);
    for (unsigned i = 0; i < n; i++) {
        ops->describe(ops->owner, i, &scheme->nodes[i]);
        correction_init(&scheme->corrections[i]);
        correction_init(&scheme->learned[i]);
    }
    copy_counts(scheme);
    start_history(scheme);
    start_trigger(scheme);
    scheme->patience = PATIENCE_LEAST;
    scheme->state = config->is_marked ? WATCHING : SEARCHING;
    return scheme;
}

void scheme_free(struct scheme *scheme)
{
    if (scheme != NULL) {
        remap_release(&scheme->plan);
        remap_release(&scheme->next);
        history_free(scheme->history);
        free(scheme->nodes);
        free(scheme->memory);
        free(scheme->corrections);
        free(scheme->next_corrections);
        free(scheme->learned);
        free(scheme->counts);
        free(scheme->peers);
        free(scheme->predicted_s);
        free(scheme->arrivals);
        free(scheme);
    }
}

int scheme_is_busy(const struct scheme *scheme)
{
    return scheme->state == TRACKING || scheme->state == THINKING ||
           scheme->state == MOVING;
}

int scheme_is_settling(const struct scheme *scheme)
{
    return scheme->state == SETTLING;
}

// ---- steps

// How many of so many samples are enough.
static unsigned enough(const struct scheme *scheme, unsigned most)
{
    return trigger_enough(most, scheme->usual_s *
                                    history_n_together(scheme->history));
}

static void settle(struct scheme *scheme, unsigned most)
{
    scheme->state = SETTLING;
    scheme->countdown = enough(scheme, most);
}

// What tracking or moving has cost: the time of these iterations beyond the usual.
// The next will cost about as much.
static void count_cost(struct scheme *scheme)
{
    double extra_s = (history_latest_s(scheme->history) - scheme->usual_s) *
                     history_n_together(scheme->history);

    if (scheme->state == WATCHING) {
        scheme->usual_s = history_iteration_s(scheme->history);
        if (scheme->extra_s > 0) {
            *(scheme->extra_is_tracking ? &scheme->tracking_cost_s
                                        : &scheme->moving_cost_s) =
                scheme->extra_s;
            scheme->stats.overhead_s += scheme->extra_s;
        }
        scheme->extra_s = 0;
        scheme->extra_is_tracking = 0;
    } else if (extra_s > 0 && scheme->usual_s > 0) {
        scheme->extra_s += extra_s;
    }
}

void scheme_track(struct scheme *scheme)
{
    scheme->n_trackings++;
    scheme->state = TRACKING;
    scheme->extra_is_tracking = 1;
    history_skip(scheme->history, UINT32_MAX);
    scheme->ops.track(scheme->ops.owner);
}

static void track_again(struct scheme *scheme)
{
    scheme_say_now(scheme, "which pages some threads use is not known; "
                           "one more iteration is tracked");
    scheme_track(scheme);
}

static void do_without(struct scheme *scheme)
{
    scheme_say_now(
        scheme,
        "no plan: which pages most threads use could "
        "not be found out, and policy %s wants to know; --policy=cpu "
        "does not",
        scheme->config.policy->name);
    trigger_undecided(&scheme->trigger);
}

// It is time for a plan, if it is known what it is to be made of: S2.
static void decide(struct scheme *scheme)
{
    uint32_t n;
    const uint32_t n_unknown = scheme_count_unknown(scheme, &n);

    if (n_unknown == 0) {
        scheme->n_trackings = 0;
        scheme_ask(scheme);
    } else if (scheme->n_trackings < TRACKINGS_MAX) {
        track_again(scheme);
    } else if (2 * n_unknown > n) {
        do_without(scheme);
    } else {
        scheme_ask(scheme);
    }
}

static void collect(struct scheme *scheme)
{
    scheme->change = CHANGE_NONE;
    scheme->n_looks = LOOKS;
    scheme->n_wanted = 1;
    if (!scheme_needs_tracking(scheme)) {
        trigger_collected(&scheme->trigger);
        decide(scheme);
        return;
    }
    scheme_say_now(scheme, "nodes differ; one iteration is tracked");
    scheme_track(scheme);
}

// As many samples as were asked for?
static void decide_if_enough(struct scheme *scheme)
{
    if (history_n_closed(scheme->history) >= scheme->not_before &&
        history_n_since_restart(scheme->history) >=
            enough(scheme, scheme->n_wanted)) {
        decide(scheme);
    }
}

void scheme_tracked(struct scheme *scheme, int is_ok)
{
    if (scheme->state != TRACKING) {
        return;
    }
    scheme->is_tracked |= is_ok;
    scheme->tracked_at = history_n_samples(scheme->history);
    scheme->stats.n_tracked++;
    scheme->state = WATCHING;
    history_skip(scheme->history, SKIP_TRACKED);
    trigger_collected(&scheme->trigger);
    if (is_ok) {
        decide_if_enough(scheme);
    }
}

static const uint32_t *mapping_before(const struct scheme *scheme)
{
    return scheme->is_undoing ? scheme->plan.wanted : scheme->plan.current;
}

static const uint32_t *mapping_after(const struct scheme *scheme)
{
    return scheme->is_undoing ? scheme->plan.current : scheme->plan.wanted;
}

void scheme_move_all(struct scheme *scheme)
{
    const struct remap *plan = &scheme->plan;
    const uint32_t *node_of = mapping_after(scheme);

    scheme->ops.leave(scheme->ops.owner, plan, mapping_before(scheme), node_of,
                      0);
    for (uint32_t i = 0; i < plan->view.n_threads; i++) {
        if (plan->current[i] != plan->wanted[i]) {
            scheme->stats.n_moves++;
            scheme->ops.move(scheme->ops.owner, plan->numbers[i],
                             (node_id)node_of[i]);
        }
    }
    scheme->state = MOVING;
    scheme->countdown = MOVE_PATIENCE;
}

// What the model did not know of the mapping that is taken back.
static void learn_from_result(struct scheme *scheme)
{
    const struct remap *plan = &scheme->plan;
    struct measurement measured = {
        .nodes = memory_new(plan->view.n_nodes, sizeof *measured.nodes)};

    remap_measure(scheme->history, plan->view.n_nodes, &measured);
    correct(&plan->view, &plan->after, &measured, SCHEME_GAIN, scheme->learned);
    free(measured.nodes);
}

static void undo(struct scheme *scheme)
{
    scheme_say_verdict(scheme, "taken back");
    scheme_explain_result(scheme);
    if (cost_model_is_corrected(&scheme->config.model)) {
        learn_from_result(scheme);
    }
    scheme->is_undoing = 1;
    scheme->is_tracked &= !scheme_is_tracking_old(scheme);
    scheme->stats.n_undone++;
    scheme_move_all(scheme);
}

static int compare_numbers(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static int have_all_moved(const struct scheme *scheme)
{
    const struct remap *plan = &scheme->plan;
    const uint32_t *node_of = mapping_after(scheme);
    uint32_t n;
    const struct history_thread *threads = history_threads(scheme->history, &n);

    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *at =
            bsearch(&threads[i].number, plan->numbers, plan->view.n_threads,
                    sizeof *plan->numbers, compare_numbers);

        if (at != NULL && threads[i].node != node_of[at - plan->numbers]) {
            return 0;
        }
    }
    return 1;
}

// Reports of some threads may be late: the counts are of all.
static int may_impose(const struct scheme *scheme, uint32_t n_threads)
{
    uint32_t n_counted = 0;

    for (uint32_t i = 0; i < scheme->config.n_nodes; i++) {
        n_counted += scheme->counts[i];
    }
    return n_threads >= n_counted || history_n_since_restart(scheme->history) >=
                                         enough(scheme, HISTORY_WINDOW);
}

// The mapping that was given by hand: blocks of threads in the order of their
// numbers, as far as the counts go; the rest is the last node's.
static void impose(struct scheme *scheme)
{
    struct remap plan = {0};
    uint32_t node = 0;
    uint32_t n_left = scheme->counts[0];

    if (remap_begin(&plan, scheme->config.policy, &scheme->config.model,
                    scheme->history, scheme->nodes, scheme->config.n_nodes,
                    scheme->corrections) != TM_OK) {
        return;
    }
    if (!may_impose(scheme, plan.view.n_threads)) {
        remap_release(&plan);
        return;
    }
    for (uint32_t i = 0; i < plan.view.n_threads; i++) {
        while (n_left == 0 && node + 1 < scheme->config.n_nodes) {
            n_left = scheme->counts[++node];
        }
        n_left -= n_left > 0;
        plan.wanted[i] = node;
        plan.n_moves += plan.current[i] != node;
    }
    remap_release(&scheme->plan);
    scheme->plan = plan;
    scheme_move_all(scheme);
}

static void arrive(struct scheme *scheme)
{
    if (scheme->counts != NULL) {
        scheme->state = OFF;
        return;
    }
    if (scheme->is_undoing) {
        trigger_undone(&scheme->trigger);
        scheme_note_predicted(scheme, &scheme->plan.before);
    } else {
        trigger_changed(&scheme->trigger, scheme_time_s(&scheme->before));
        scheme_note_predicted(scheme, &scheme->plan.after);
    }
    scheme->ops.leave(scheme->ops.owner, &scheme->plan, mapping_before(scheme),
                      mapping_after(scheme), 1);
    settle(scheme, SETTLE_MOVED);
}

void scheme_see_change(struct scheme *scheme, enum change change, unsigned n)
{
    trigger_wake(&scheme->trigger);
    if (scheme->state == WATCHING) {
        history_restart_at(scheme->history, n);
        scheme->change = change;
        scheme->n_wanted = LEAST_CHANGED;
    }
}

// After a change of threads, when there is a whole window of what it is like; after one of
// conditions, soon, and again if that was too soon.
static int may_look_again(const struct scheme *scheme)
{
    const uint32_t n = history_n_since_restart(scheme->history);
    uint32_t n_threads;

    return scheme->trigger.state == TRIGGER_RESTING &&
           ((scheme->is_kept && scheme->n_looks > 0 &&
             n >= enough(scheme, HISTORY_WINDOW)) ||
            (scheme->change != CHANGE_NONE &&
             n >= enough(scheme, scheme->n_wanted))) &&
           scheme_count_unknown(scheme, &n_threads) == 0;
}

// A node says that it has other memory, and what it takes is not known.
static int must_track_first(const struct scheme *scheme)
{
    return scheme->change == CHANGE_TOLD &&
           scheme->trigger.state == TRIGGER_RESTING &&
           scheme_needs_tracking(scheme);
}

static void look_again(struct scheme *scheme)
{
    if (must_track_first(scheme)) {
        scheme_say_now(scheme, "a node has other memory; one iteration is "
                               "tracked");
        scheme->n_looks = LOOKS;
        scheme_track(scheme);
    } else if (may_look_again(scheme)) {
        scheme->n_looks -= scheme->n_looks > 0;
        scheme_ask(scheme);
    }
}

// A policy that is held to nothing is asked once, as soon as there is enough to ask it
// with; what it answers is never judged by the trigger.
static void insist(struct scheme *scheme)
{
    scheme_judge(scheme);
    if (scheme->stats.n_plans > 0) {
        return;
    }
    if (scheme->trigger.state == TRIGGER_RESTING) {
        if (scheme->n_trackings < TRACKINGS_MAX) { // else it was in vain
            collect(scheme);
        }
    } else if (scheme->trigger.state == TRIGGER_DECIDING &&
               history_n_since_restart(scheme->history) >=
                   enough(scheme, LEAST_SAMPLES)) {
        decide(scheme);
    }
}

static void watch(struct scheme *scheme)
{
    enum trigger_state before = scheme->trigger.state;
    struct trigger_sample measured;
    enum trigger_advice advice;

    scheme_judge(scheme);
    scheme_sample(scheme, &measured);
    advice = trigger_feed(&scheme->trigger, &measured);
    if (before == TRIGGER_WATCHING &&
        scheme->trigger.state == TRIGGER_RESTING && advice != TRIGGER_UNDO) {
        scheme_say_verdict(scheme, "kept");
        scheme_explain_result(scheme);
        scheme->is_kept = 1;
    }
    switch (advice) {
    case TRIGGER_REST:
        look_again(scheme);
        break;
    case TRIGGER_COLLECT:
        collect(scheme);
        break;
    case TRIGGER_REMAP:
        decide_if_enough(scheme);
        break;
    case TRIGGER_UNDO:
        undo(scheme);
        break;
    }
}

// Another job has come to a node, or has gone: what was before tells nothing of it. Times
// that shift again and again are the program's, and usual.
static void look_for_shift(struct scheme *scheme)
{
    const uint64_t now = history_n_samples(scheme->history);
    unsigned n;
    int is_rough;

    if (now >= scheme->shifted_at + CALM) {
        scheme->patience = PATIENCE_LEAST;
    }
    n = scheme->patience +
        (scheme->rough_at > 0 && now < scheme->rough_at + CALM);
    while (n < PATIENCE_MOST && !scheme_has_evidence(scheme, n)) {
        n++;
    }
    if (history_has_shifted(scheme->history, n, &is_rough)) {
        scheme_see_change(scheme, CHANGE_SEEN, n);
        scheme->shifted_at = now;
        scheme->patience = scheme->patience < PATIENCE_MOST
                               ? 2 * scheme->patience
                               : PATIENCE_MOST;
    }
    scheme->rough_at = is_rough ? now : scheme->rough_at;
}

// A sample has been closed.
void scheme_step(struct scheme *scheme)
{
    count_cost(scheme);
    if (scheme->config.only_watches) {
        return;
    }
    if (scheme->state != OFF &&
        history_n_ragged(scheme->history) > RAGGED_MAX &&
        scheme->state != THINKING) {
        scheme_say_now(scheme, "the threads have no iterations in common; "
                               "they stay where they are");
        scheme->state = OFF;
    }
    switch (scheme->state) {
    case WATCHING:
        if (scheme->counts != NULL) {
            impose(scheme);
        } else if (scheme->config.policy->held_to == HELD_TO_NOTHING) {
            insist(scheme);
        } else {
            look_for_shift(scheme);
            history_follow_bursts(scheme->history);
            watch(scheme);
        }
        break;
    case MOVING:
        scheme->countdown--;
        if (have_all_moved(scheme) || scheme->countdown == 0) {
            arrive(scheme);
        }
        break;
    case SETTLING:
        scheme->countdown--;
        if (scheme->countdown == 0) {
            scheme->state = WATCHING;
            history_restart(scheme->history);
        }
        break;
    default:
        break;
    }
}

void scheme_stats(const struct scheme *scheme, struct scheme_stats *stats)
{
    *stats = scheme->stats;
    stats->n_iterations = history_n_closed(scheme->history);
}

struct history *scheme_history(struct scheme *scheme)
{
    return scheme->history;
}

const struct remap *scheme_latest(const struct scheme *scheme)
{
    return scheme->has_plan ? &scheme->plan : NULL;
}
