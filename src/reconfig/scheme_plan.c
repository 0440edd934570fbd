// SPDX-License-Identifier: BSD-3-Clause
//
// A plan: asked for, made, and judged before it is carried out. It must promise enough
// gain, more than what measured times differ by anyway, and more than it costs.
#include <math.h>
#include <string.h>

#include "base/ensure.h"
#include "reconfig/scheme_priv.h"

#define POSTPONE_MAX 256u ///< iterations

/** A part of the iteration that must be gained for a change to be worth it. Without an
 * imbalance it is more, the more threads move: up to five times as much for all. */
#define LEAST_GAIN 0.02
#define LEAST_GAIN_AGAIN 0.04
#define GAIN_FOR_MOVES 4.0

/** More than this part of a node's time is paging: it pages. */
#define PAGES 0.05

/** Moved bytes are taken to travel at this rate until it is measured. */
#define BYTES_PER_S 200e6
#define STACK_BYTES 16384.0

/** A node has told what memory it has now. What was learned of the one before does
 * not hold for it. */
static void look_at_memory(struct scheme *scheme, unsigned i, uint64_t before)
{
    struct node_view *node = &scheme->nodes[i];

    if (scheme->memory[i].now > 0) {
        node->memory_pages = scheme->memory[i].now;
    }
    if (scheme_is_other_memory(node->memory_pages, before)) {
        scheme->learned[i].memory = 1;
    }
}

// M_free, as the node has told it last.
static void look_at_free(struct scheme *scheme, unsigned i)
{
    const uint64_t bytes = history_free_bytes(scheme->history, (node_id)i);

    if (bytes > 0) {
        scheme->nodes[i].free_pages = bytes / TM_PAGE_SIZE;
    }
}

// Costs are measured while the program runs; power is known from the start.
static void look_at_nodes(struct scheme *scheme)
{
    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        const uint64_t before = scheme->nodes[i].memory_pages;

        scheme->ops.describe(scheme->ops.owner, i, &scheme->nodes[i]);
        look_at_memory(scheme, i, before);
        look_at_free(scheme, i);
    }
}

// Threads compute longer where nodes page: by how much they compute it cannot be said
// how much work the program has.
static int is_paging(const struct remap *plan)
{
    for (uint32_t x = 0; x < plan->view.n_nodes; x++) {
        if (node_pages_more(&plan->measured.nodes[x], PAGES)) {
            return 1;
        }
    }
    return 0;
}

static tm_status begin_plan(const struct scheme *scheme, struct remap *plan,
                            const struct policy *policy,
                            const struct correction *corrections)
{
    const tm_status status =
        remap_begin(plan, policy, &scheme->config.model, scheme->history,
                    scheme->nodes, scheme->config.n_nodes, corrections);

    if (status == TM_OK && scheme->is_tracked) {
        remap_set_uses(plan, scheme->ops.uses, scheme->ops.owner);
    }
    return status;
}

void scheme_ask(struct scheme *scheme)
{
    look_at_nodes(scheme);
    if (begin_plan(scheme, &scheme->next, scheme->config.policy,
                   scheme->next_corrections) != TM_OK) {
        trigger_refused(&scheme->trigger);
        return;
    }
    scheme->is_again = scheme->is_kept;
    scheme->is_kept = 0;
    scheme->planned_ideal_s =
        is_paging(&scheme->next) ? 0 : scheme_ideal_s(scheme);
    scheme->state = THINKING;
    scheme->stats.n_plans++;
    scheme->ops.think(scheme->ops.owner);
}

// Is what the history has told since its restart all of one mapping, with nothing beside?
static int is_settled(const struct scheme *scheme)
{
    return (scheme->state == WATCHING || scheme->state == THINKING ||
            scheme->state == OFF) &&
           history_n_since_restart(scheme->history) > 0;
}

// Learn first from how the mapping in force is, then ask again.
// @param corrections  [n_nodes] of the plan's model
static tm_status make_learning(struct remap *plan,
                               struct correction *corrections)
{
    tm_status status = remap_make(plan);

    if (status == TM_OK && cost_model_is_corrected(&plan->model)) {
        correct(&plan->view, &plan->before, &plan->measured, SCHEME_GAIN,
                corrections);
        status = remap_make(plan);
    }
    return status;
}

tm_status scheme_look_back(struct scheme *scheme, struct remap *plan,
                           struct correction *corrections)
{
    // S1: what is being thought is not touched.
    const struct correction *learned =
        scheme->state == THINKING ? scheme->corrections : scheme->learned;
    tm_status status;

    if (!is_settled(scheme)) {
        return TM_ESTATE;
    }
    if (scheme->state != THINKING) {
        look_at_nodes(scheme);
    }
    memcpy(corrections, learned, scheme->config.n_nodes * sizeof *corrections);
    *plan = (struct remap){0};
    status = begin_plan(scheme, plan, policy_find("initial"), corrections);
    if (status != TM_OK) {
        return status;
    }
    status = make_learning(plan, corrections);
    if (status != TM_OK) {
        remap_release(plan);
    }
    return status;
}

static double gain_s(const struct remap *plan)
{
    return plan->before.iteration_s - plan->after.iteration_s;
}

static int is_better(const struct scheme *scheme)
{
    const struct remap *plan = &scheme->plan;

    double moved = (double)plan->n_moves / plan->view.n_threads;
    double least = scheme->is_again
                       ? LEAST_GAIN_AGAIN * (1 + GAIN_FOR_MOVES * moved)
                       : LEAST_GAIN;

    return plan->n_moves > 0 && gain_s(plan) > plan->before.iteration_s * least;
}

static int is_wanted(const struct scheme *scheme)
{
    return scheme->config.policy->held_to == HELD_TO_NOTHING
               ? scheme->plan.n_moves > 0
               : is_better(scheme);
}

static double change_cost_s(const struct remap *plan)
{
    return plan->n_moves * STACK_BYTES / BYTES_PER_S + plan->warm_up_s;
}

// Iterations so far are a guess of how many are left.
static int is_worth(struct scheme *scheme)
{
    struct remap *plan = &scheme->plan;

    plan->was_weighed = 1;
    plan->acceptance = (struct profile_acceptance){
        .now_s = plan->before.iteration_s,
        .predicted_s = plan->after.iteration_s,
        .iterations_left = history_n_closed(scheme->history),
        .moved_bytes = plan->n_moves * STACK_BYTES,
        .bytes_per_s = BYTES_PER_S,
        .warm_up_s = plan->warm_up_s,
    };
    return trigger_accepts(&plan->acceptance);
}

void scheme_think(struct scheme *scheme)
{
    const size_t size = scheme->config.n_nodes * sizeof *scheme->learned;

    ensure(scheme->state == THINKING); // S1
    memcpy(scheme->next_corrections, scheme->learned, size);
    scheme->plan_status =
        make_learning(&scheme->next, scheme->next_corrections);
    memcpy(scheme->learned, scheme->next_corrections, size);
}

// What was being made is the plan now.
static void take_next(struct scheme *scheme)
{
    struct correction *corrections = scheme->corrections;

    remap_release(&scheme->plan);
    scheme->plan = scheme->next;
    scheme->next = (struct remap){0};
    scheme->corrections = scheme->next_corrections;
    scheme->next_corrections = corrections;
    scheme->has_plan = 1;
}

// The program has not run for long, so it may end soon. The trigger will ask for a
// plan again when it has run for long enough.
static void postpone(struct scheme *scheme)
{
    uint64_t n = history_n_closed(scheme->history);
    double n_needed = change_cost_s(&scheme->plan) / gain_s(&scheme->plan);
    unsigned n_rest = 1;

    scheme_say_now(scheme,
                   "%.3f ms would do instead of %.3f ms, but a change "
                   "costs %.3f s: later",
                   scheme->plan.after.iteration_s * 1e3,
                   scheme->plan.before.iteration_s * 1e3,
                   change_cost_s(&scheme->plan));
    if (n_needed > (double)n) {
        n_rest = (unsigned)fmin(n_needed - (double)n + 1, POSTPONE_MAX);
    }
    scheme->not_before = n + n_rest;
}

// So that the next plan is surer. Those samples that it was asked for because of say more
// than they should: in the end they are left out.
static void want_more(struct scheme *scheme)
{
    const uint32_t n = history_n_since_restart(scheme->history);

    if (scheme->is_again || scheme->n_wanted == HISTORY_WINDOW) {
        trigger_refused(&scheme->trigger);
        scheme->change = CHANGE_NONE;
    } else if (2 * n < HISTORY_WINDOW) {
        scheme->n_wanted = 2 * n;
    } else {
        history_restart(scheme->history);
        scheme->n_wanted = HISTORY_WINDOW;
    }
}

// Measured times differ too much for what the plan promises.
static void doubt(struct scheme *scheme)
{
    const struct remap *plan = &scheme->plan;

    scheme_say_now(scheme,
                   "%.3f ms would do instead of %.3f ms, but times "
                   "are off by %.3f ms: not sure",
                   plan->after.iteration_s * 1e3,
                   plan->before.iteration_s * 1e3,
                   remap_gain_error_s(plan) * 1e3);
    want_more(scheme);
}

// What a node says of its memory is no chance.
static int is_sure(const struct scheme *scheme)
{
    const double error_s = remap_gain_error_s(&scheme->plan);

    if (scheme->change == CHANGE_TOLD) {
        return 1;
    }
    return scheme->is_again || scheme->n_wanted == HISTORY_WINDOW
               ? trigger_is_sure(gain_s(&scheme->plan), error_s)
               : trigger_is_sure_soon(gain_s(&scheme->plan), error_s);
}

// Is the plan not sure, or not worth its cost yet?
static int put_off(struct scheme *scheme)
{
    if (!is_sure(scheme)) {
        doubt(scheme);
        return 1;
    }
    if (!is_worth(scheme)) {
        postpone(scheme);
        return 1;
    }
    return 0;
}

static void note_before(struct scheme *scheme)
{
    const struct measurement *measured = &scheme->plan.measured;
    const struct node_measurement *slowest = &measured->nodes[0];

    for (uint32_t x = 1; x < scheme->plan.view.n_nodes; x++) {
        if (measured->nodes[x].time_s > slowest->time_s) {
            slowest = &measured->nodes[x];
        }
    }
    scheme->before =
        (struct time_parts){slowest->comp_s + slowest->mem_s, slowest->comm_s,
                            scheme->planned_ideal_s};
    scheme->before_error_s = scheme->plan.slowest_error_s;
}

static void say_untracked(const struct scheme *scheme)
{
    const struct remap *plan = &scheme->plan;

    if (scheme->config.policy->wants_uses && plan->n_untracked > 0) {
        scheme_say_now(scheme,
                       "which pages %u of %u threads use is not "
                       "known; the plan takes them to use none",
                       plan->n_untracked, plan->view.n_threads);
    }
}

// Or, if what it is known of is old, find out first what threads use now.
static void give_up(struct scheme *scheme)
{
    if (!scheme->is_again && scheme_is_tracking_old(scheme)) {
        scheme_say_now(scheme, "nothing better is known by what threads used "
                               "a while ago; one iteration is tracked");
        scheme_track(scheme);
        return;
    }
    scheme->change = CHANGE_NONE;
    scheme_say_now(scheme, "nothing better is known");
    trigger_refused(&scheme->trigger);
}

void scheme_thought(struct scheme *scheme, double seconds)
{
    ensure(scheme->state == THINKING);
    scheme->state = WATCHING;
    scheme->stats.thinking_s += seconds;
    if (scheme->plan_status != TM_OK) {
        remap_release(&scheme->next);
        trigger_refused(&scheme->trigger);
        return;
    }
    take_next(scheme);
    say_untracked(scheme);
    scheme_note_predicted(scheme, &scheme->plan.before);
    if (!is_wanted(scheme)) {
        give_up(scheme);
        return;
    }
    if (scheme->config.policy->held_to != HELD_TO_NOTHING && put_off(scheme)) {
        return;
    }
    scheme_say_now(scheme, "%u threads move, policy %s", scheme->plan.n_moves,
                   scheme->config.policy->name);
    scheme_explain_plan(scheme);
    note_before(scheme);
    scheme->change = CHANGE_NONE;
    scheme->is_undoing = 0;
    scheme->stats.n_remaps++;
    scheme->plan.is_carried_out = 1;
    scheme_move_all(scheme);
}
