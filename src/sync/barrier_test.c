// SPDX-License-Identifier: BSD-3-Clause
//
// One fact a test, on small clusters of sync_world.c: barriers. Of many nodes:
// barrier_relay_test.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sync/sync_world.h"

#define check(condition) world_check(self->world, condition)

static void arrive(struct actor *self, uint64_t arg)
{
    do_arrive(self, 1, (enum sync_arrival)(arg & 0xff), (tm_op)(arg >> 8), 1);
}

static void main_of_barrier_init(struct actor *self, uint64_t arg)
{
    uint64_t thread;

    (void)arg;
    check(do_barrier_init(self, 1, 0) == TM_EINVAL);
    check(do_barrier_init(self, 1, 2) == TM_OK);
    thread = must_create(self, arrive, ARRIVE_WAIT, 2);
    do_compute(self, 5000000);
    check(do_barrier_init(self, 1, 3) == TM_ECOUNT);
    check(do_barrier_init(self, 1, 2) == TM_OK);
    do_arrive(self, 1, ARRIVE_WAIT, TM_SUM, 0);
    must_join(self, thread);
    check(do_barrier_init(self, 1, 1) == TM_OK);
    do_arrive(self, 1, ARRIVE_WAIT, TM_SUM, 0);
}

static void a_barrier_keeps_its_count_while_threads_wait(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_barrier_init);
}

/* Runs a program that hangs with an error, and returns the error's text. */
static void expect_error(unsigned n_nodes, actor_fn *body, uint64_t arg,
                         const char *text)
{
    struct world_config config = world_config_of(n_nodes);
    struct world *world;

    config.expects_errors = true;
    world = world_new(&config);
    world_check(world, !world_run(world, body, arg));
    if (strstr(world->error, text) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", world->error, text);
    }
    world_free(world);
}

static void meet_differently(struct actor *self, uint64_t arg)
{
    uint64_t threads[2];

    do_barrier_init(self, 1, 2);
    threads[0] = must_create(self, arrive, arg & 0xffff, 1);
    threads[1] = must_create(self, arrive, arg >> 16,
                             (int)self->world->config.sim.n_nodes);
    must_join(self, threads[0]);
    must_join(self, threads[1]);
}

static void mixed_calls_at_a_barrier_are_reported(void **state)
{
    uint64_t product = ARRIVE_DOUBLE | (uint64_t)TM_PRODUCT << 8;

    (void)state;
    expect_error(2, meet_differently, ARRIVE_WAIT | ARRIVE_ITERATION << 16,
                 "by different calls, tm_");
    expect_error(1, meet_differently, ARRIVE_INT64 | ARRIVE_DOUBLE << 16,
                 "by different calls, tm_");
    expect_error(2, meet_differently, ARRIVE_DOUBLE | product << 16,
                 "with different operations, TM_");
}

static void a_barrier_that_was_never_initialised_is_reported(void **state)
{
    (void)state;
    expect_error(2, arrive, ARRIVE_WAIT,
                 "thread 0 waits at the barrier at 0x7e8000000040 which was "
                 "never initialised, in place 1");
}

static void too_few_arrive(struct actor *self, uint64_t arg)
{
    uint64_t threads[4];

    do_barrier_init(self, 1, 5);
    for (int i = 0; i < 4; i++) {
        threads[i] = must_create(self, arrive, ARRIVE_WAIT, 0);
    }
    for (int i = 0; i < 4 && arg == 0; i++) {
        must_join(self, threads[i]);
    }
    do_compute(self, 2000000000);
    check(self->world->n_errors == 0); // the fifth may still come
    must_join(self, threads[0]);
}

static void a_barrier_that_nobody_can_complete_is_reported(void **state)
{
    (void)state;
    expect_error(3, too_few_arrive, 0,
                 "the barrier at 0x7e8000000040 counts 5 threads, but only 4 "
                 "have arrived and no thread is left that could; the count is "
                 "given in place 1, the first waits in place ");
    expect_error(3, too_few_arrive, 1, "no thread is left that could");
}

static void main_of_crowd(struct actor *self, uint64_t arg)
{
    uint64_t threads[9];

    // The harness' own count: it cannot tell who passes with whom.
    (void)arg;
    do_barrier_init(self, 1, 3);
    self->world->barriers[1].count = 1;
    for (int i = 0; i < 9; i++) {
        threads[i] = must_create(self, arrive, ARRIVE_WAIT, 0);
    }
    for (int i = 0; i < 9; i++) {
        must_join(self, threads[i]);
    }
}

static void more_threads_than_a_barrier_counts_pass_in_groups(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_crowd);
}

static const uint64_t begin_counts[] = {3, 100, 0, 7};

// Whoever was behind goes on from where the others are.
static void count_together(struct actor *self, uint64_t arg)
{
    self->counted = begin_counts[arg];
    for (unsigned i = 1; i <= 12; i++) {
        do_arrive(self, 1, i % 2 ? ARRIVE_ITERATION : ARRIVE_WAIT, TM_SUM, 0);
        check(self->counted == 100 + i);
        do_compute(self, 30000 * (arg + 1));
    }
}

static void main_of_counts(struct actor *self, uint64_t arg)
{
    uint64_t threads[4];

    (void)arg;
    do_barrier_init(self, 1, 4);
    for (uint64_t i = 0; i < 4; i++) {
        threads[i] = must_create(self, count_together, i, (int)(1 + i % 3));
    }
    for (int i = 0; i < 4; i++) {
        must_join(self, threads[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        check(sync_most_counted(self->world->nodes[i].sync) == 112);
    }
}

static void who_meets_at_a_barrier_goes_on_with_the_same_count(void **state)
{
    struct world_config config = world_config_of(3);

    (void)state;
    for (int changes = 0; changes < 2; changes++) {
        config.changes_managers = changes != 0;
        for (config.sim.seed = 1; config.sim.seed <= 50; config.sim.seed++) {
            world_run_program(config, main_of_counts);
        }
    }
}

static void main_of_singles(struct actor *self, uint64_t arg)
{
    uint64_t threads[8];

    (void)arg;
    do_barrier_init(self, 1, 1);
    for (uint64_t i = 0; i < 8; i++) { // all four kinds, on one node
        threads[i] = must_create(self, arrive, i % 4, 0);
    }
    for (int i = 0; i < 8; i++) {
        must_join(self, threads[i]);
    }
}

static void arrivals_of_several_kinds_may_follow_each_other(void **state)
{
    (void)state;
    world_run_program(world_config_of(1), main_of_singles);
}

static void wait_long(struct actor *self, uint64_t arg)
{
    do_compute(self, arg);
}

static void meet_often(struct actor *self, uint64_t arg)
{
    uint64_t n_messages = 0;
    uint64_t began_ns = 0;

    for (int i = 0; i < 10; i++) {
        do_arrive(self, 1, ARRIVE_WAIT, TM_SUM, 0);
        if (i == 2 && arg == 0) {
            n_messages = sim_n_delivered(self->world->sim);
            began_ns = sim_now_ns(self->world->sim);
        }
        do_compute(self, 100000);
    }
    if (arg == 0) {
        // An arrival and a departure of each of the two nodes; and nobody
        // waited for the 1 ms after which arrivals travel at the latest.
        n_messages = sim_n_delivered(self->world->sim) - n_messages;
        check(n_messages >= 7 * 4 - 2 && n_messages <= 7 * 4 + 2);
        check(sim_now_ns(self->world->sim) - began_ns < 7 * 500000);
    }
    do_arrive(self, 1, ARRIVE_WAIT, TM_SUM, 0);
}

static void main_of_batches(struct actor *self, uint64_t arg)
{
    uint64_t threads[10];

    (void)arg;
    do_barrier_init(self, 1, 8);
    for (uint64_t i = 0; i < 8; i++) {
        threads[i] = must_create(self, meet_often, i, 0);
    }
    for (int i = 8; i < 10; i++) { // these never arrive
        threads[i] = must_create(self, wait_long, 30000000, i - 7);
    }
    for (int i = 0; i < 10; i++) {
        must_join(self, threads[i]);
    }
}

static void arrivals_of_a_node_travel_in_one_message(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_batches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_keeps_its_count_while_threads_wait),
        cmocka_unit_test(mixed_calls_at_a_barrier_are_reported),
        cmocka_unit_test(a_barrier_that_was_never_initialised_is_reported),
        cmocka_unit_test(a_barrier_that_nobody_can_complete_is_reported),
        cmocka_unit_test(who_meets_at_a_barrier_goes_on_with_the_same_count),
        cmocka_unit_test(more_threads_than_a_barrier_counts_pass_in_groups),
        cmocka_unit_test(arrivals_of_several_kinds_may_follow_each_other),
        cmocka_unit_test(arrivals_of_a_node_travel_in_one_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
