// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_ROUNDS_H
#define RUNTIME_ROUNDS_H

#include <stdint.h>

#include "base/status.h"

/*
 * In which order each worker of a node gives its threads their turns, found out from
 * their arrivals at barriers: rounds.c. Under the node lock.
 */

/** A worker's round: its threads, in the order in which they arrived in it. */
struct round {
    uint32_t *threads; ///< [n] of `room`: numbers, none twice
    uint32_t n;
    uint32_t room;
    uint32_t number; ///< rounds before it
};

struct rounds {
    struct round *of_worker; ///< [n_workers]
    unsigned n_workers;
};

/** Where a thread has arrived last; zeros: nowhere on this node. */
struct round_place {
    uint32_t worker;
    uint32_t round; ///< of that worker, + 1; 0: of none
};

/** Begin the first round of each worker. @return TM_OK, TM_ENOMEM */
tm_status rounds_init(struct rounds *rounds, unsigned n_workers);
/** Give the memory back; also of one that is all zeros. */
void rounds_release(struct rounds *rounds);

/** Will the worker's round be over when a thread arrives that is at this place? It has
 * arrived in it before. */
int rounds_is_over(const struct rounds *rounds, unsigned worker,
                   const struct round_place *place);
/** The next round of a worker begins, with no thread. */
void rounds_next(struct rounds *rounds, unsigned worker);
/** A thread arrives, which has not done so in this round of this worker. If it was in
 * the round of another worker it is there no more.
 * @param place  the thread's; set */
void rounds_arrive(struct rounds *rounds, unsigned worker, uint32_t thread,
                   struct round_place *place);
/** A thread leaves the node, or ends. @param place  the thread's; set to none */
void rounds_leave(struct rounds *rounds, uint32_t thread,
                  struct round_place *place);

#endif
