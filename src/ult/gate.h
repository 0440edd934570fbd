// SPDX-License-Identifier: BSD-3-Clause
#ifndef ULT_GATE_H
#define ULT_GATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/mutex.h"

/*
 * While it is closed, one worker of a node at a time runs a thread: gate.c.
 */
struct gate {
    _Atomic int is_closed;
    _Atomic uint32_t changes; ///< futex: whoever waits looks again

    struct mutex mutex;
    uint32_t generation; ///< REQUIRES(mutex), as the rest: how often closed
    uint64_t n_tickets;  ///< given out since then
    uint64_t n_done;     ///< of them; the next one is inside, if it is given
    uint64_t since_ns;   ///< when that one got in
};

void gate_init(struct gate *gate);
void gate_release(struct gate *gate);

/** Close or open it. Who waits may pass when it is opened; who is inside when it
 * is closed was not let in: it stays out until it asks.
 * Context: any kernel thread that holds no mutex below the node lock. */
void gate_close(struct gate *gate);
void gate_open(struct gate *gate);

static inline int gate_is_closed(const struct gate *gate)
{
    return __builtin_expect(
        atomic_load_explicit(&gate->is_closed, memory_order_acquire), 0);
}

/** Wait for one's turn, in the order of asking. Ends when those before have left
 * or the gate opens.
 * @param[in,out] ticket  of this worker; 0: none
 * @return 1 if it has the gate now and had not before, 0 */
int gate_enter(struct gate *gate, uint32_t *ticket);

/** Let the next one in. Does nothing without a ticket. */
void gate_leave(struct gate *gate, uint32_t *ticket);

/** Has somebody waited while the same one was inside for so long? */
int gate_is_stuck(struct gate *gate, uint64_t ns);

#endif
