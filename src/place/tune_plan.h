// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_TUNE_PLAN_H
#define PLACE_TUNE_PLAN_H

#include "place/tune_search.h"

/*
 * Which value each tuned parameter has in which iteration. For an iteration there is one
 * answer, whoever asks and however late. One parameter is searched at a time, in the order
 * in which they came.
 */

/** From this iteration on, up to the next change. */
struct tune_change {
    uint64_t from;
    uint32_t index;
};

/** What the plan knows of one parameter. */
struct tune_item {
    struct tune_search search;
    struct tune_change *changes; ///< [n_changes], rising
    uint32_t n_changes;
    uint32_t n_room;
    uint64_t from;  ///< where the sample that runs has begun
    uint64_t until; ///< iterations before this one have their answer
    uint64_t asked; ///< the latest iteration that was asked for
    uint64_t
        began_ns;   ///< when `from` was first asked for; 0: that tells nothing
    uint32_t epoch; ///< of the roster then
    int was_busy;   ///< threads were moved then
    uint32_t n_disturbed; ///< rounds of this search that were begun again
};

struct tune_plan {
    struct tune_item *items; ///< [n]
    uint32_t n;
    uint32_t n_room;
    uint32_t turn;   ///< which is searched, if that is not over
    uint64_t latest; ///< the latest iteration that anybody has asked for
};

/** How things are when somebody asks. */
struct tune_now {
    uint64_t ns;
    uint32_t
        epoch; ///< of the roster: times before and after a change do not compare
    int is_busy; ///< nor while threads are moved, and settle
};

/** In iterations `from` to before `until` it is this one. */
struct tune_answer {
    uint64_t from;
    uint64_t until;
    uint32_t index;
};

/** What has come of a sample, for reports. */
struct tune_told {
    enum tune_event event;     ///< TUNE_GOES_ON: nothing to report
    struct tune_search before; ///< the search before the event; else not set
};

/** A parameter more, that begins from its first value. @return its number
 *
 * Context: any thread; pure but for memory, as all below. */
uint32_t tune_plan_add(struct tune_plan *plan, uint32_t n_values);

/** What is to be so after a restart.
 *
 * @param search  as tune_search_begin() or tune_search_know() leave it
 * @param index   the value in force ...
 * @param until   ... in the iterations before this one */
void tune_plan_resume(struct tune_plan *plan, uint32_t number,
                      const struct tune_search *search, uint32_t index,
                      uint64_t until);

/** A thread is in this iteration, and asks. @param[out] told  for reports */
struct tune_answer tune_plan_ask(struct tune_plan *plan, uint32_t number,
                                 uint64_t iteration, const struct tune_now *now,
                                 struct tune_told *told);

/** The value in force in the latest iteration that has an answer. */
uint32_t tune_plan_index(const struct tune_plan *plan, uint32_t number);

void tune_plan_release(struct tune_plan *plan);

#endif
