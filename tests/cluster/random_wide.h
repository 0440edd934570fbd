// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_CLUSTER_RANDOM_WIDE_H
#define TESTS_CLUSTER_RANDOM_WIDE_H
#include "random_plan.h"

/** How the phases of a program are. */
enum wide_style {
    NARROW, ///< what random_program has done from the first
    MIXED,  ///< that, and all of this file
    REGULAR ///< many short iterations alike, of uneven threads
};

/** Draw the style, and fill the arrays that are filled before tm_init(), of a plan
 * whose seed is set: on every node, so not in shared memory yet. */
void wide_draw(const struct plan *plan);

enum wide_style wide_style(void);

/** @return how many phases, if nobody says how many */
unsigned wide_phases(void);

/** Allocate and fill the other arrays. All of the plan is set.
 * @param has_named_nodes  nodes stay: placements may name them */
void wide_open(const struct plan *plan, int has_named_nodes);

/** Things that a thread does in a phase. None waits for another thread, but for a
 * lock. */
void act_streams(unsigned me, unsigned phase);
void act_boards(unsigned me, unsigned phase);
void act_own(unsigned me, unsigned phase);
void act_churn(unsigned me, unsigned phase);
void act_load(unsigned me, unsigned phase);

/** One step of a chain of all threads, which wait for each other.
 * @param is_by_condition  by mutexes and condition variables, not by semaphores */
void act_pipeline(unsigned me, unsigned phase, int is_by_condition);

/** When all threads have ended: are all arrays as they must be? They are freed.
 * @return a checksum of them */
uint64_t wide_check(unsigned n_phases);

#endif
