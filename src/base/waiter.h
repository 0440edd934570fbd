// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_WAITER_H
#define BASE_WAITER_H

#include <stdint.h>

#include "base/list.h"
#include "base/status.h"

/**
 * Somebody who waits for an event of a state machine (pages, protocol, sync): a thread
 * parked on its stack's waiter, or a test. The machine calls wake() once, under
 * the node lock, with status and result set; the waiter's memory may be gone as
 * soon as that returns. wake() must not call the machine back.
 */
struct waiter {
    void (*wake)(struct waiter *waiter);
    struct waiter *next; ///< of the machine while it holds the waiter
    uint64_t thread;     ///< who waits, for reports
    int is_late;         ///< of the machine: to be woken before others
    uint64_t place;      ///< where the program called, for reports; 0: unknown
    uint64_t
        until_ns; ///< of sync: when to give up, by the port's clock; 0: never
    int is_over;  ///< of sync: that time has come, and it wants its mutex
    int may_interrupt; ///< of sync: sync_interrupt() ends the wait
    tm_status status;
    uint64_t result;
    uint64_t result2;
    uint64_t since; ///< of pages: the messages of its node by then (stall.c)
    uint64_t count; ///< of barriers: as sync_barrier_arrive() says
    void *answer; ///< where calls with more results put them; set by the caller
};

/** Set status and result, then wake: the waiter may be gone afterwards. */
static inline void waiter_wake(struct waiter *waiter, tm_status status,
                               uint64_t result)
{
    waiter->status = status;
    waiter->result = result;
    waiter->wake(waiter);
}

/** Wake all of a list. */
static inline void waiter_wake_all(struct waiter *waiters)
{
    list_take_each (waiter, waiters) {
        waiter_wake(waiter, TM_OK, 0);
    }
}

#endif
