// SPDX-License-Identifier: BSD-3-Clause
// While the gate is closed one thread at a time runs, and none waits for ever.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ult/gate.h"
#include "ult/node_test.h"

enum { N_WORKERS = 3, N_THREADS = 9, N_ROUNDS = 200 };

static _Atomic int n_inside;
static _Atomic int n_together; // most at one time
static _Atomic int n_turns;
static _Atomic int is_closed;
static struct ult *_Atomic turn_of;

static void turn(void *owner, struct ult *thread)
{
    (void)owner;
    atomic_fetch_add(&n_turns, 1);
    atomic_store(&turn_of, thread);
}

static void start_with_turns(void)
{
    struct ult_config config = {
        .n_workers = N_WORKERS,
        .stack_size = STACK_SIZE,
        .n_slots = N_THREADS + 1,
        .turn = turn,
    };

    atomic_store(&n_done, 0);
    atomic_store(&n_after, 0);
    atomic_store(&n_inside, 0);
    atomic_store(&n_together, 0);
    atomic_store(&n_turns, 0);
    alarm(DEADLINE_S);
    assert_int_equal(ult_open(&ults, &config), TM_OK);
    assert_int_equal(ult_adopt(ults, &main_thread), TM_OK);
    assert_int_equal(ult_start_workers(ults), TM_OK);
}

// Be inside for a while, and see who else is.
static void look_around(void)
{
    int n = atomic_fetch_add(&n_inside, 1) + 1;

    for (volatile int i = 0; i < 200; i++) {
    }
    if (n > atomic_load(&n_together)) {
        atomic_store(&n_together, n);
    }
    if (atomic_load(&turn_of) != ult_self()) {
        atomic_store(&n_together, 99);
    }
    atomic_fetch_sub(&n_inside, 1);
}

static void look_and_yield(void *arg)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        look_around();
        ult_yield();
    }
    count_and_exit(arg);
}

static void one_thread_runs_at_a_time(void **state)
{
    (void)state;
    start_with_turns();
    ult_close_gate(ults);
    for (unsigned i = 1; i <= N_THREADS; i++) {
        spawn(i, look_and_yield, NULL);
    }
    wait_for(&n_after, N_THREADS);
    assert_int_equal(atomic_load(&n_together), 1);
    assert_true(atomic_load(&n_turns) >= N_THREADS * N_ROUNDS);
    stop();
}

static void spin_until_closed(void *arg)
{
    atomic_fetch_add(&n_done, 1);
    while (!atomic_load(&is_closed)) {
    }
    ult_enter_gate();
    look_and_yield(arg);
}

// Two workers run threads when the gate is closed; each of them asks.
static void those_that_run_before_wait_for_their_turn(void **state)
{
    (void)state;
    start_with_turns();
    atomic_store(&is_closed, 0);
    for (unsigned i = 1; i < N_WORKERS; i++) {
        spawn(i, spin_until_closed, NULL);
    }
    while (atomic_load(&n_done) < N_WORKERS - 1) {
        usleep(100);
    }
    ult_close_gate(ults);
    atomic_store(&is_closed, 1);
    wait_for(&n_after, N_WORKERS - 1);
    assert_int_equal(atomic_load(&n_together), 1);
    stop();
}

/* Threads in a ring, each of which wakes the next. */
static struct ult *ring[N_THREADS];
static _Atomic unsigned ball;

static void pass_the_ball(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;

    for (unsigned i = 0; i < N_ROUNDS; i++) {
        while (atomic_load(&ball) % N_THREADS != me) {
            ult_park(1);
        }
        look_around();
        atomic_fetch_add(&ball, 1);
        ult_unpark(ring[(me + 1) % N_THREADS]);
    }
    count_and_exit(NULL);
}

static void who_parks_lets_others_run(void **state)
{
    (void)state;
    start_with_turns();
    atomic_store(&ball, N_THREADS - 1);
    for (unsigned i = 0; i < N_THREADS; i++) {
        ring[i] = spawn(i + 1, pass_the_ball, (void *)(uintptr_t)i);
    }
    ult_close_gate(ults);
    atomic_fetch_add(&ball, 1);
    ult_unpark(ring[0]);
    wait_for(&n_after, N_THREADS);
    assert_int_equal(atomic_load(&n_together), 1);
    stop();
}

static _Atomic int may_end;

static void spin_inside(void *arg)
{
    atomic_fetch_add(&n_done, 1);
    while (!atomic_load(&may_end)) {
    }
    ult_exit(end_test, arg);
}

static void set_may_end(void *arg)
{
    atomic_store(&may_end, 1);
    ult_exit(end_test, arg);
}

// One spins for another, on another worker, as it may without the gate.
static void a_gate_that_is_stuck_can_be_opened(void **state)
{
    (void)state;
    start_with_turns();
    atomic_store(&may_end, 0);
    ult_close_gate(ults);
    spawn(1, spin_inside, main_thread);
    while (atomic_load(&n_done) == 0) {
        usleep(100);
    }
    spawn(2, set_may_end, main_thread);
    while (!ult_gate_is_stuck(ults, 1000)) {
        usleep(100);
    }
    assert_int_equal(atomic_load(&may_end), 0);
    ult_open_gate(ults);
    wait_for(&n_after, 2);
    stop();
}

static void the_gate_opens_and_closes_all_the_time(void **state)
{
    (void)state;
    start_with_turns();
    for (unsigned i = 1; i <= N_THREADS; i++) {
        spawn(i, look_and_yield, NULL);
    }
    while (atomic_load(&n_after) < N_THREADS) {
        ult_close_gate(ults);
        ult_yield();
        ult_open_gate(ults);
        ult_yield();
    }
    stop();
}

static void tickets_of_an_earlier_time_are_void(void **state)
{
    uint32_t first = 0;
    uint32_t second = 0;
    struct gate gate;

    (void)state;
    gate_init(&gate);
    gate_close(&gate);
    assert_true(gate_enter(&gate, &first));
    assert_false(gate_enter(&gate, &first)); // is inside
    gate_open(&gate);
    gate_close(&gate);
    assert_true(gate_enter(&gate, &second));
    gate_leave(&gate, &first); // lets nobody in
    assert_int_equal(gate.n_done, 0);
    gate_leave(&gate, &second);
    assert_int_equal(gate.n_done, 1);
    assert_true(gate_enter(&gate, &first));
    gate_open(&gate);
    assert_false(gate_enter(&gate, &second));
    gate_release(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_runs_at_a_time),
        cmocka_unit_test(those_that_run_before_wait_for_their_turn),
        cmocka_unit_test(who_parks_lets_others_run),
        cmocka_unit_test(a_gate_that_is_stuck_can_be_opened),
        cmocka_unit_test(the_gate_opens_and_closes_all_the_time),
        cmocka_unit_test(tickets_of_an_earlier_time_are_void),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
