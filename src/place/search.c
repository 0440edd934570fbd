// SPDX-License-Identifier: BSD-3-Clause
//
// Local search finds a mapping that no single move or swap makes better. With
// few threads that is sometimes far from the best there is: a node cannot give
// a thread away before another has made room. So it begins again, *kicked*, from the
// best mapping with a few threads moved at random. With many threads there is always
// one of a fitting size, and the first result is near the optimum.
//
// A mapping with more moves must be better by GAIN, for moving costs.
//
// I1  best_s is the predicted time of best, and never grows but by rounding.
#include "place/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "place/answer.h"
#include "place/lower_bound.h"
#include "place/refine.h"

#define FEW_MAX 128u           ///< threads with which the search begins again
#define N_KICKS 32u            ///< in a row that win nothing
#define GAIN 0.002             ///< that moving yet more threads must bring
#define GOOD_ENOUGH 1.002      ///< of the lower bound
#define ROUNDING 1e-9          ///< relative: times that are as good as equal
#define TRIALS 10000u          ///< of refine, by default
#define FEWER_MOVES_MAX 16384u ///< threads

struct state {
    struct search *search;
    struct load_table table;
    double bound_s;
    uint64_t n_trials; ///< left
    uint64_t random;
};

// ---- offers ----

void search_offer(struct search *search)
{
    const struct place_request *request = search->request;
    double time_s;

    answer_pins(request->view, request->current, search->candidate);
    time_s = answer_time(request, search->candidate);
    if (time_s < search->best_s * (1 - search->margin)) {
        search->best_s = time_s;
        memcpy(search->best, search->candidate,
               request->view->n_threads * sizeof *search->best);
    }
}

static int is_good_enough(const struct state *state)
{
    return state->n_trials == 0 ||
           state->search->best_s <= GOOD_ENOUGH * state->bound_s;
}

/** The time of what is in the table, which knows it unless the order of use counts. */
static double time_of_table(const struct state *state)
{
    const struct place_request *request = state->search->request;

    return cost_model_needs_order(request->model)
               ? answer_time(request, state->table.node_of)
               : load_table_longest(&state->table, NULL);
}

static void take_table(struct state *state, double time_s)
{
    struct search *search = state->search;

    search->best_s = time_s;
    memcpy(search->best, state->table.node_of,
           search->request->view->n_threads * sizeof *search->best);
}

/** Refine what is in the table and make it the best if it is. */
static void offer_refined(struct state *state)
{
    struct search *search = state->search;
    struct refine_limits limits = {state->n_trials,
                                   GOOD_ENOUGH * state->bound_s};
    double time_s;

    refine(&state->table, search->request->current, &limits);
    state->n_trials = limits.n_trials;
    time_s = time_of_table(state);
    if (time_s < search->best_s * (1 - search->margin - ROUNDING)) {
        take_table(state, time_s);
    }
}

// ---- kicks ----

static uint32_t draw(struct state *state, uint32_t limit)
{
    return (uint32_t)random_index(&state->random, limit);
}

static void move_at_random(struct state *state)
{
    const struct cluster_view *view = state->search->request->view;
    const uint32_t thread = draw(state, view->n_threads);

    if (!view->threads[thread].is_pinned) {
        load_table_move(&state->table, thread, draw(state, view->n_nodes));
    }
}

static void kick(struct state *state)
{
    load_table_put_all(&state->table, state->search->best);
    for (uint32_t n = 2 + draw(state, 4); n > 0; n--) {
        move_at_random(state);
    }
    load_table_settle(&state->table);
    offer_refined(state);
}

static void begin_again(struct state *state)
{
    unsigned n_in_vain = 0;

    state->search->margin = GAIN;
    while (n_in_vain < N_KICKS && !is_good_enough(state)) {
        const double before_s = state->search->best_s;

        kick(state);
        n_in_vain = state->search->best_s < before_s ? 0 : n_in_vain + 1;
    }
}

// ---- all ----

/** The same time with fewer moves, if that can be had. */
static void offer_fewer_moves(struct state *state)
{
    struct search *search = state->search;
    double time_s;

    load_table_put_all(&state->table, search->best);
    load_table_settle(&state->table);
    refine_fewer_moves(&state->table, search->request->current);
    time_s = time_of_table(state);
    if (time_s <= search->best_s * (1 + 2 * ROUNDING)) {
        take_table(state, time_s);
    }
}

static void run(struct state *state)
{
    const struct cluster_view *view = state->search->request->view;

    if (!is_good_enough(state)) {
        load_table_put_all(&state->table, state->search->best);
        load_table_settle(&state->table);
        offer_refined(state);
    }
    if (!is_good_enough(state) && view->n_threads <= FEW_MAX) {
        begin_again(state);
    }
    if (view->n_threads <= FEWER_MOVES_MAX) {
        offer_fewer_moves(state);
    }
}

void search_refine(struct search *search)
{
    const struct place_request *request = search->request;
    struct state state = {
        .search = search,
        .n_trials = request->effort > 0 ? request->effort * 1000ull : TRIALS,
        .random = request->seed,
    };

    if (!load_table_fits(request->view)) {
        return;
    }
    state.bound_s = lower_bound_iteration(request->view, request->model);
    load_table_init(&state.table, request->view, request->model);
    run(&state);
    load_table_release(&state.table);
}
