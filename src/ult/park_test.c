// SPDX-License-Identifier: BSD-3-Clause
// Park, unpark and suspend: no wake-up is lost, none wakes the wrong wait.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>

#include "ult/node_test.h"

/* Two threads hand a ball to each other, on one worker or on two. */
struct game {
    struct ult *players[2];
    _Atomic int ball; // whose turn it is
    int n_rounds;
    int may_switch[2];
};

static void play(struct game *game, int me)
{
    for (int round = 0; round < game->n_rounds; round++) {
        while (atomic_load(&game->ball) != me) {
            ult_park(game->may_switch[me]);
        }
        atomic_store(&game->ball, !me);
        ult_unpark(game->players[!me]);
    }
    count_and_exit(NULL);
}

static void play_first(void *game)
{
    play(game, 0);
}

static void play_second(void *game)
{
    play(game, 1);
}

static void play_a_game(unsigned n_workers, int first_switches,
                        int second_switches)
{
    struct game game = {
        .ball = -1,
        .n_rounds = 3000,
        .may_switch = {first_switches, second_switches},
    };

    start(n_workers, 3, NULL);
    game.players[0] = spawn(1, play_first, &game);
    game.players[1] = spawn(2, play_second, &game);
    atomic_store(&game.ball, 0);
    ult_unpark(game.players[0]);
    wait_for(&n_after, 2);
    stop();
}

static void no_wake_up_is_lost_on_one_worker(void **state)
{
    (void)state;
    play_a_game(1, 1, 1);
}

static void no_wake_up_is_lost_between_workers(void **state)
{
    (void)state;
    play_a_game(3, 1, 1);
}

static void no_wake_up_is_lost_when_one_waits_in_place(void **state)
{
    (void)state;
    play_a_game(3, 0, 1);
}

static void no_wake_up_is_lost_when_both_wait_in_place(void **state)
{
    (void)state;
    play_a_game(3, 0, 0);
}

static void an_unpark_before_the_park_counts_once(void **state)
{
    uint64_t n_returns = 0;
    unsigned n_threads;
    unsigned n_parked;

    (void)state;
    start(1, 2, NULL);
    ult_unpark(main_thread);
    ult_unpark(main_thread);
    ult_park(1);
    ult_unpark(main_thread);
    ult_park(0);
    n_returns++;
    ult_census(ults, &n_threads, &n_parked);
    assert_int_equal(n_threads, 1);
    assert_int_equal(n_parked, 0);
    assert_int_equal(n_returns, 1);
    // The token is gone: this park ends by the thread's exit.
    spawn(1, count_and_exit, NULL);
    ult_park(1);
    assert_int_equal(atomic_load(&n_done), 1);
    stop();
}

static void *unpark_at_random(void *arg)
{
    struct game *game = arg;
    unsigned seed = 1;

    while (atomic_load(&n_done) < 2) {
        ult_unpark(game->players[rand_r(&seed) % 2]);
    }
    return NULL;
}

static void stray_unparks_do_no_harm(void **state)
{
    struct game game = {.ball = -1, .n_rounds = 2000, .may_switch = {1, 1}};
    pthread_t stranger;

    (void)state;
    start(2, 3, NULL);
    game.players[0] = spawn(1, play_first, &game);
    game.players[1] = spawn(2, play_second, &game);
    pthread_create(&stranger, NULL, unpark_at_random, &game);
    atomic_store(&game.ball, 0);
    ult_unpark(game.players[0]);
    wait_for(&n_after, 2);
    pthread_join(stranger, NULL);
    stop();
}

static _Atomic int n_actions;

static void unpark_in_action(void *owner, struct ult *thread)
{
    assert_ptr_equal(ult_user(thread), owner);
    assert_null(ult_self());
    atomic_fetch_add(&n_actions, 1);
    ult_unpark(thread);
}

static void suspend_often(void *arg)
{
    for (int i = 0; i < 100; i++) {
        ult_suspend(unpark_in_action, arg);
    }
    count_and_exit(NULL);
}

static void a_suspended_thread_is_resumed_by_its_action(void **state)
{
    struct game strays = {.n_rounds = 0};
    pthread_t stranger;

    (void)state;
    atomic_store(&n_actions, 0);
    start(2, 3, NULL);
    strays.players[0] = spawn(1, suspend_often, &strays);
    strays.players[1] = spawn(2, suspend_often, &strays);
    pthread_create(&stranger, NULL, unpark_at_random, &strays);
    wait_for(&n_after, 2);
    pthread_join(stranger, NULL);
    assert_int_equal(atomic_load(&n_actions), 200);
    stop();
}

static struct ult *kept;

static void keep(void *owner, struct ult *thread)
{
    (void)owner;
    kept = thread;
    ult_unpark(main_thread);
}

static void be_kept(void *arg)
{
    ult_suspend(keep, arg);
}

static void an_unpark_does_not_resume_a_suspended_thread(void **state)
{
    struct ult_packed packed;

    (void)state;
    start(1, 2, NULL);
    kept = NULL;
    spawn(1, be_kept, NULL);
    while (kept == NULL) {
        ult_park(1);
    }
    ult_unpark(kept);
    for (int i = 0; i < 10; i++) {
        ult_yield();
    }
    ult_pack(kept, &packed); // ensures that it is still suspended
    assert_int_equal(packed.slot, 1);
    assert_ptr_equal(packed.bytes, (void *)(uintptr_t)packed.context);
    assert_in_range(packed.size, 1, STACK_SIZE / 2);
    ult_forget(kept);
    spawn(1, count_and_exit, NULL); // the slot is free
    wait_for(&n_after, 1);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wake_up_is_lost_on_one_worker),
        cmocka_unit_test(no_wake_up_is_lost_between_workers),
        cmocka_unit_test(no_wake_up_is_lost_when_one_waits_in_place),
        cmocka_unit_test(no_wake_up_is_lost_when_both_wait_in_place),
        cmocka_unit_test(an_unpark_before_the_park_counts_once),
        cmocka_unit_test(stray_unparks_do_no_harm),
        cmocka_unit_test(a_suspended_thread_is_resumed_by_its_action),
        cmocka_unit_test(an_unpark_does_not_resume_a_suspended_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
