// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// The queues without kernel threads behind the workers: the test plays all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ult/ult_priv.h"

enum { N_WORKERS = 4, N_THREADS = 64 };

static struct ult threads[N_THREADS];
static struct ult_system *ults;

static int setup(void **state)
{
    struct ult_config config = {
        .n_workers = N_WORKERS,
        .stack_size = 64 * 1024,
        .n_slots = 1,
    };

    (void)state;
    memset(threads, 0, sizeof threads);
    return ult_open(&ults, &config) != TM_OK;
}

static int teardown(void **state)
{
    (void)state;
    ult_close(ults);
    return 0;
}

static void new_threads_are_spread_evenly(void **state)
{
    unsigned n_on[N_WORKERS] = {0};

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        queue_add_fresh(ults, &threads[i]);
        n_on[threads[i].worker->index]++;
    }
    for (unsigned worker = 0; worker < N_WORKERS; worker++) {
        assert_int_equal(n_on[worker], 10);
    }
}

static void the_worker_of_an_adopted_thread_comes_last(void **state)
{
    (void)state;
    ults->has_adopted = 1;
    for (unsigned i = 0; i < N_WORKERS; i++) {
        queue_add_fresh(ults, &threads[i]);
        assert_int_equal(threads[i].worker->index == 0, i == N_WORKERS - 1);
    }
    ults->has_adopted = 0;
}

static void new_threads_start_in_their_order(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3 * N_WORKERS; i++) {
        queue_add_fresh(ults, &threads[i]);
    }
    for (unsigned i = 0; i < 3 * N_WORKERS; i++) {
        assert_ptr_equal(queue_next(threads[i].worker), &threads[i]);
    }
}

static void a_worker_with_as_many_threads_takes_none(void **state)
{
    struct worker *first;
    struct worker *second;
    int later;

    (void)state;
    queue_add_fresh(ults, &threads[0]);
    queue_add_fresh(ults, &threads[1]);
    first = threads[0].worker;
    second = threads[1].worker;
    assert_ptr_equal(queue_next(first), &threads[0]);
    assert_null(queue_next(first)); // it has one, and so has the second
    assert_false(queue_has_next(first, &later));
    assert_true(later);
    threads[1].made_ns = clock_now_ns() - PATIENCE_NS;
    assert_ptr_equal(queue_next(first), &threads[1]);
    assert_ptr_equal(threads[1].worker, first);
    assert_int_equal(atomic_load(&first->n_threads), 2);
    assert_int_equal(atomic_load(&second->n_threads), 0);
    assert_null(queue_next(second));
}

static void a_worker_with_fewer_threads_takes_a_new_one(void **state)
{
    struct worker *thief;
    int later;

    (void)state;
    for (unsigned i = 0; i < 2 * N_WORKERS; i++) {
        queue_add_fresh(ults, &threads[i]);
    }
    thief = threads[0].worker;
    assert_ptr_equal(queue_next(thief), &threads[0]);
    assert_ptr_equal(queue_next(thief), &threads[N_WORKERS]);
    atomic_fetch_sub(&thief->n_threads, 2); // both have ended
    assert_true(queue_has_next(thief, &later));
    assert_non_null(queue_next(thief));
    assert_int_equal(atomic_load(&thief->n_threads), 1);
    assert_non_null(queue_next(thief));
    assert_int_equal(atomic_load(&thief->n_threads), 2);
    assert_null(queue_next(thief));
}

static void who_may_take_a_new_thread_is_woken(void **state)
{
    struct worker *workers = ults->workers;

    (void)state;
    atomic_store(&workers[0].n_threads, 5);
    atomic_store(&workers[0].asleep, 1);
    atomic_store(&workers[2].asleep, 1);
    queue_add_fresh(ults, &threads[0]);
    assert_ptr_equal(threads[0].worker, &workers[1]); // which runs another one
    assert_int_equal(atomic_load(&workers[0].asleep), 1);
    assert_int_equal(atomic_load(&workers[2].asleep), 0);
    assert_ptr_equal(queue_next(&workers[2]), &threads[0]);
    queue_add_fresh(ults, &threads[1]);
    // Who has more threads than all others may after a while.
    assert_int_equal(atomic_load(&workers[0].asleep), 0);
}

static void new_and_ready_threads_take_turns(void **state)
{
    struct worker *worker = &ults->workers[0];
    unsigned n_fresh = 0;

    (void)state;
    for (unsigned i = 0; i < 8 * N_WORKERS; i++) {
        queue_add_fresh(ults, &threads[i]);
    }
    for (unsigned i = 8 * N_WORKERS; i < 8 * N_WORKERS + 8; i++) {
        threads[i].worker = worker;
        queue_make_ready(&threads[i]);
    }
    for (unsigned i = 0; i < 8; i++) {
        n_fresh += queue_next(worker) < &threads[8 * N_WORKERS];
    }
    assert_int_equal(n_fresh, 4);
}

static void ready_threads_run_in_the_order_of_their_unparks(void **state)
{
    struct worker *worker = &ults->workers[1];
    unsigned seed = (unsigned)time(NULL);
    unsigned first = 0;
    unsigned end = 0;

    (void)state;
    print_message("seed %u\n", seed);
    srand(seed);
    for (unsigned i = 0; i < N_THREADS; i++) {
        threads[i].worker = worker;
    }
    for (unsigned step = 0; step < 5000; step++) {
        if (rand() % 2 == 0 && end - first < N_THREADS) {
            queue_make_ready(&threads[end++ % N_THREADS]);
        } else if (first < end) {
            assert_false(queue_is_empty(worker));
            assert_ptr_equal(queue_next(worker), &threads[first++ % N_THREADS]);
        } else {
            assert_true(queue_is_empty(worker));
            assert_null(queue_next(worker));
        }
    }
}

// A barrier lets all threads of a worker go in the order in which they came.
static void threads_run_forwards_and_backwards_in_turn(void **state)
{
    struct worker *worker = &ults->workers[0];
    unsigned order[] = {0, 1, 2, 3, 4};

    (void)state;
    ult_reverse(ults, 1);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 5; i++) {
            threads[order[i]].worker = worker;
            queue_make_ready(&threads[order[i]]);
        }
        for (unsigned i = 0; i < 5; i++) {
            order[i] = (unsigned)(queue_next(worker) - threads);
            assert_int_equal(order[i], round % 2 == 0 ? 4 - i : i);
        }
    }
    ult_reverse(ults, 0);
    for (unsigned i = 0; i < 5; i++) {
        queue_make_ready(&threads[i]);
    }
    for (unsigned i = 0; i < 5; i++) {
        assert_ptr_equal(queue_next(worker), &threads[i]);
    }
}

static void queueing_wakes_who_sleeps(void **state)
{
    struct worker *worker = &ults->workers[2];
    int later;

    (void)state;
    assert_false(queue_wake(worker));
    atomic_store(&worker->asleep, 1);
    assert_false(queue_has_next(worker, &later));
    assert_false(later);
    threads[0].worker = worker;
    queue_make_ready(&threads[0]);
    assert_int_equal(atomic_load(&worker->asleep), 0);
    assert_true(queue_has_next(worker, &later));
    // A busy worker's new thread wakes another one.
    for (unsigned i = 0; i < N_WORKERS; i++) {
        atomic_store(&ults->workers[i].asleep, i == 2);
    }
    queue_add_fresh(ults, &threads[1]);
    assert_ptr_not_equal(threads[1].worker, worker);
    assert_int_equal(atomic_load(&worker->asleep), 0);
}

int main(void)
{
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(new_threads_are_spread_evenly),
        TEST(the_worker_of_an_adopted_thread_comes_last),
        TEST(new_threads_start_in_their_order),
        TEST(a_worker_with_as_many_threads_takes_none),
        TEST(a_worker_with_fewer_threads_takes_a_new_one),
        TEST(who_may_take_a_new_thread_is_woken),
        TEST(new_and_ready_threads_take_turns),
        TEST(ready_threads_run_in_the_order_of_their_unparks),
        TEST(threads_run_forwards_and_backwards_in_turn),
        TEST(queueing_wakes_who_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
