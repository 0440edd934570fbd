// SPDX-License-Identifier: BSD-3-Clause
#ifndef ULT_NODE_TEST_H
#define ULT_NODE_TEST_H

/*
 * For tests: a node whose main thread is the test. Include cmocka.h before.
 */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "ult/ult.h"

enum { STACK_SIZE = 64 * 1024, DEADLINE_S = 60 };

static struct ult_system *ults;
static _Atomic int n_done;
static _Atomic int n_after;
static struct ult *main_thread;

static inline void end_test(void *owner, struct ult *thread)
{
    (void)thread;
    atomic_fetch_add(&n_after, 1);
    if (owner != NULL) {
        ult_unpark(owner);
    }
}

static inline void start(unsigned n_workers, unsigned n_slots,
                         int (*idle)(void *owner, unsigned worker))
{
    struct ult_config config = {
        .n_workers = n_workers,
        .stack_size = STACK_SIZE,
        .n_slots = n_slots,
        .idle = idle,
    };

    atomic_store(&n_done, 0);
    atomic_store(&n_after, 0);
    alarm(DEADLINE_S);
    assert_int_equal(ult_open(&ults, &config), TM_OK);
    assert_int_equal(ult_adopt(ults, &main_thread), TM_OK);
    assert_int_equal(ult_start_workers(ults), TM_OK);
}

static inline void stop(void)
{
    ult_stop(ults, 10000);
    ult_close(ults);
    ults = NULL;
    alarm(0);
}

static inline struct ult *spawn(unsigned slot, void (*entry)(void *), void *arg)
{
    struct ult *thread;

    assert_int_equal(ult_spawn(ults, slot, entry, arg, arg, &thread), TM_OK);
    return thread;
}

static inline void wait_for(_Atomic int *counter, int value)
{
    while (atomic_load(counter) < value) {
        ult_park(1);
    }
}

static inline void count_and_exit(void *arg)
{
    (void)arg;
    atomic_fetch_add(&n_done, 1);
    ult_exit(end_test, main_thread);
}

#endif
