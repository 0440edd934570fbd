// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that sleep: nothing but the time wakes them, so no message is needed.
//
// I1  Each is in sync->sleepers, and counted in sync->n_timed.
#include "sync/sync_priv.h"

void sync_sleep(struct sync *sync, struct waiter *waiter)
{
    list_push(sync->sleepers, waiter);
    time_begins(sync, waiter->until_ns); // I1
}

void sleep_poll(struct sync *sync, uint64_t now_ns)
{
    struct waiter *left = sync->sleepers;

    sync->sleepers = NULL;
    list_take_each (waiter, left) {
        if (waiter->until_ns <= now_ns) {
            sync->n_timed--; // I1
            waiter_wake(waiter, TM_OK, 0);
        } else {
            list_push(sync->sleepers, waiter);
            time_goes_on(sync, waiter->until_ns);
        }
    }
}
