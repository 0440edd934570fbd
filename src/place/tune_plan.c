// SPDX-License-Identifier: BSD-3-Clause
//
// Tuned parameters: which value in which iterations, and how long these took.
//
// Somebody asks when a thread comes to an iteration for which there is no answer yet. That
// begins it: what lies between that and the one to ask for the iterations before is how
// long these took, and goes to the search (tune_search.h), which says what is next, and
// for how many iterations. Each change of the value is kept with the iteration that began
// with it, so that a thread that lags behind is told what all were told.
//
// Whose turn it is: that of the first search that is not over, for as long as the program
// asks for it. The others keep their values, and look away, as times are not theirs. When
// the program does not ask any more, and another wants it, the turn goes on; who asks
// again waits, and begins the round again. So it does when threads were moved, or nodes
// came or went, as values tried before and after do not compare; but not more often than
// RESTARTS_MAX times in a search, or one of a program whose threads always move would not
// end.
#include "place/tune_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define CHANGES_MAX 4096u ///< that are kept; then the older half is forgotten
#define RESTARTS_MAX 8u
#define PATIENT_SPANS                                                          \
    4u ///< for a search that nobody asks for: so many spans ...
#define PATIENT_MORE 16u ///< ... and so many iterations more

// ---- the record ----

static uint32_t last_index(const struct tune_item *item)
{
    return item->n_changes > 0 ? item->changes[item->n_changes - 1].index : 0;
}

static void forget_half(struct tune_item *item)
{
    const uint32_t n = item->n_changes / 2;

    memmove(item->changes, item->changes + n,
            (item->n_changes - n) * sizeof *item->changes);
    item->n_changes -= n;
}

static void note_change(struct tune_item *item, uint64_t from, uint32_t index)
{
    if (last_index(item) == index) {
        return;
    }
    if (item->n_changes == CHANGES_MAX) {
        forget_half(item);
    }
    vector_reserve(item->changes, item->n_room, item->n_changes + 1);
    item->changes[item->n_changes++] = (struct tune_change){from, index};
}

/** Before the first change it is the first value. */
static struct tune_answer answer_for(const struct tune_item *item,
                                     uint64_t iteration)
{
    struct tune_answer answer = {.until = item->until};

    for (uint32_t k = item->n_changes; k > 0; k--) {
        const struct tune_change *change = &item->changes[k - 1];

        if (change->from <= iteration) {
            answer.from = change->from;
            answer.index = change->index;
            return answer;
        }
        answer.until = change->from;
    }
    return answer;
}

// ---- whose turn it is ----

static int wants_the_turn(const struct tune_plan *plan,
                          const struct tune_item *item)
{
    return !item->search.is_over &&
           plan->latest <= item->asked +
                               PATIENT_SPANS * tune_search_span(&item->search) +
                               PATIENT_MORE;
}

/** While nothing is searched all may watch. */
static int has_the_turn(struct tune_plan *plan, const struct tune_item *item)
{
    if (wants_the_turn(plan, &plan->items[plan->turn])) {
        return item == &plan->items[plan->turn];
    }
    for (uint32_t i = 0; i < plan->n; i++) {
        if (wants_the_turn(plan, &plan->items[i])) {
            plan->turn = i;
            return item == &plan->items[i];
        }
    }
    return 1;
}

/** A search has ended: iterations take another time, for all others as well. */
static void forget_times(struct tune_plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        if (plan->items[i].search.is_over) {
            tune_search_forget(&plan->items[i].search);
        }
        plan->items[i].began_ns = 0;
    }
}

// ---- samples ----

static void take_sample(struct tune_plan *plan, struct tune_item *item,
                        uint64_t iteration, uint64_t now_ns,
                        struct tune_told *told)
{
    const uint64_t n = iteration - item->from;

    told->before = item->search;
    told->event = tune_search_take(
        &item->search, (double)(now_ns - item->began_ns) * 1e-9 / (double)n,
        n < UINT32_MAX ? (uint32_t)n : UINT32_MAX);
    if (told->event == TUNE_FOUND || told->event == TUNE_KEPT) {
        item->n_disturbed = 0;
        forget_times(plan);
    }
}

/** The iterations before tell nothing; if others were at it, or something has changed, nor
 * does the round so far. */
static void leave_out(struct tune_item *item)
{
    if (!item->search.is_over &&
        (item->began_ns == 0 || item->n_disturbed < RESTARTS_MAX)) {
        item->n_disturbed += item->began_ns != 0;
        tune_search_again(&item->search);
    }
}

/** An iteration begins for which there is no answer yet. */
static void begin_iteration(struct tune_plan *plan, struct tune_item *item,
                            uint64_t iteration, const struct tune_now *now,
                            struct tune_told *told)
{
    const int was_busy =
        item->was_busy || now->is_busy || item->epoch != now->epoch;
    uint64_t began_ns = 0;

    if (has_the_turn(plan, item)) {
        if (item->began_ns == 0 || was_busy) {
            leave_out(item);
        } else {
            take_sample(plan, item, iteration, now->ns, told);
        }
        began_ns = now->ns;
    }
    item->began_ns = began_ns;
    item->from = iteration;
    item->until = iteration + tune_search_span(&item->search);
    item->epoch = now->epoch;
    item->was_busy = now->is_busy;
    note_change(item, iteration,
                item->search.is_over || has_the_turn(plan, item)
                    ? item->search.index
                    : item->search.before);
}

struct tune_answer tune_plan_ask(struct tune_plan *plan, uint32_t number,
                                 uint64_t iteration, const struct tune_now *now,
                                 struct tune_told *told)
{
    struct tune_item *item = &plan->items[number];

    told->event = TUNE_GOES_ON;
    if (plan->latest < iteration) {
        plan->latest = iteration;
    }
    if (item->asked < iteration) {
        item->asked = iteration;
    }
    if (iteration >= item->until) {
        begin_iteration(plan, item, iteration, now, told);
    }
    return answer_for(item, iteration);
}

// ---- parameters ----

uint32_t tune_plan_add(struct tune_plan *plan, uint32_t n_values)
{
    struct tune_item *item;

    vector_reserve(plan->items, plan->n_room, plan->n + 1);
    item = &plan->items[plan->n];
    *item = (struct tune_item){.until = 0};
    tune_search_begin(&item->search, n_values, 0);
    return plan->n++;
}

void tune_plan_resume(struct tune_plan *plan, uint32_t number,
                      const struct tune_search *search, uint32_t index,
                      uint64_t until)
{
    struct tune_item *item = &plan->items[number];

    free(item->changes);
    *item = (struct tune_item){.search = *search, .until = until};
    note_change(item, 0, index);
}

uint32_t tune_plan_index(const struct tune_plan *plan, uint32_t number)
{
    return last_index(&plan->items[number]);
}

void tune_plan_release(struct tune_plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        free(plan->items[i].changes);
    }
    free(plan->items);
    *plan = (struct tune_plan){0};
}
