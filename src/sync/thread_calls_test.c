// SPDX-License-Identifier: BSD-3-Clause
//
// One fact a test, on small clusters of sync_world.c: threads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sync/sync_world.h"

#define check(condition) world_check(self->world, condition)

static void do_nothing(struct actor *self, uint64_t arg)
{
    self->result = arg;
}

static void main_of_numbers(struct actor *self, uint64_t arg)
{
    (void)arg;
    check(must_create(self, do_nothing, 0, 0) == 1);
    check(must_create(self, do_nothing, 0, 1) == 2);
    check(must_create(self, do_nothing, 0, 2) == 3);
    must_join(self, 2);
    must_join(self, 1);
    check(must_create(self, do_nothing, 0, 0) == (1ull << 32 | 1));
    check(must_create(self, do_nothing, 0, 0) == (1ull << 32 | 2));
    check(must_create(self, do_nothing, 0, 0) == (1ull << 32 | 4));
    must_join(self, 1ull << 32 | 2);
    check(must_create(self, do_nothing, 0, 0) == (2ull << 32 | 2));
    do_launch(self);
}

static void numbers_are_unique_and_slots_the_lowest_free(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_numbers);
}

static void main_of_joins(struct actor *self, uint64_t arg)
{
    uint64_t result;
    uint64_t thread = must_create(self, do_nothing, 7, 0);

    (void)arg;
    check(must_join(self, thread) == 7);
    check(do_join(self, thread, &result) == TM_ENOTHREAD);
    check(do_join(self, 50, &result) == TM_ENOTHREAD);
    check(do_migrate(self, 0, 1) == TM_EINVAL);
    check(do_migrate(self, thread, 1) == TM_ENOTHREAD);
    thread = must_create(self, do_nothing, 7, 0);
    check(do_migrate(self, thread, 2) == TM_EINVAL);
    check(self->world->n_starts[0] == 0);
    check(do_migrate(self, thread, 0) == TM_OK); // held: it starts there
    must_join(self, thread);
    check(self->world->n_starts[0] == 1);
}

static void a_thread_is_joined_once(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_joins);
}

static void set_leaving(struct world *world, node_id node)
{
    for (unsigned i = 0; i < world->config.sim.n_nodes; i++) {
        sim_port(world->sim, (node_id)i)->roster.leaving = node;
    }
}

static void main_of_leaver(struct actor *self, uint64_t arg)
{
    uint64_t thread = must_create(self, do_nothing, 7, 0);

    (void)arg;
    check(do_migrate(self, thread, 1) == TM_OK); // held: it would start there
    set_leaving(self->world, 1);
    check(must_join(self, thread) == 7);
    check(self->world->n_starts[1] == 0);
    set_leaving(self->world, NODE_NONE);
}

static void no_thread_starts_on_a_node_that_leaves(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_leaver);
}

static void wait_long(struct actor *self, uint64_t arg)
{
    do_compute(self, arg);
}

static void join_also(struct actor *self, uint64_t arg)
{
    uint64_t result;

    self->result = (uint64_t)(int64_t)do_join(self, arg, &result);
}

static void main_of_two_joiners(struct actor *self, uint64_t arg)
{
    uint64_t thread = must_create(self, wait_long, 20000000, 2);
    uint64_t other = must_create(self, join_also, thread, 1);
    uint64_t itself = must_create(self, join_also, 3, 1);

    (void)arg;
    check((int64_t)must_join(self, itself) == TM_ENOTHREAD);
    do_compute(self, 5000000);
    check(do_join(self, thread, &thread) == TM_ENOTHREAD);
    check((int64_t)must_join(self, other) == TM_OK);
}

static void a_second_joiner_and_the_thread_itself_are_refused(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_two_joiners);
}

static void main_of_limit(struct actor *self, uint64_t arg)
{
    uint64_t threads[5];
    uint64_t thread;

    (void)arg;
    for (int i = 0; i < 4; i++) {
        threads[i] = must_create(self, wait_long, 1000000, 0);
    }
    check(do_create(self, do_nothing, 0, 0, &thread) == TM_ELIMIT);
    do_launch(self);
    do_compute(self, 5000000);
    // Ended, and never joined: their slots serve again, their results stay.
    for (uint64_t i = 0; i < 40; i++) {
        thread = must_create(self, do_nothing, i, 1);
        if (i == 10) {
            threads[4] = thread;
        }
        do_compute(self, 1000000);
    }
    for (int i = 0; i < 4; i++) {
        check(must_join(self, threads[i]) == 0);
    }
    check(must_join(self, threads[4]) == 10);
    check(do_join(self, threads[4], &thread) == TM_ENOTHREAD);
}

static void only_living_threads_count_against_the_limit(void **state)
{
    struct world_config config = world_config_of(2);

    (void)state;
    config.max_threads = 4;
    world_run_program(config, main_of_limit);
}

static void main_of_placement(struct actor *self, uint64_t arg)
{
    struct world *world = self->world;
    uint64_t threads[11];

    (void)arg;
    for (int i = 0; i < 10; i++) {
        threads[i] = must_create(self, wait_long, 30000000, 0);
    }
    do_launch(self);
    do_compute(self, 5000000);
    check(world->n_starts[0] == 2 && world->n_starts[1] == 3 &&
          world->n_starts[2] == 2 && world->n_starts[3] == 3);
    threads[10] = must_create(self, wait_long, 30000000, 3); // node 2
    do_compute(self, 1000000);
    check(world->n_starts[2] == 3);
    do_compute(self, 1000000);
    must_create(self, do_nothing, 0, 0); // fewest are on node 0
    do_launch(self);
    do_compute(self, 1000000);
    check(world->n_starts[0] == 3);
    for (int i = 0; i < 11; i++) {
        must_join(self, threads[i]);
    }
}

static void a_batch_is_spread_in_equal_blocks(void **state)
{
    (void)state;
    world_run_program(world_config_of(4), main_of_placement);
}

// main() and one thread less than there are nodes, in a batch and one by one; then as
// many as there are nodes, of which one is main()'s.
static void keep_company(struct actor *self, int one_by_one)
{
    const struct world *world = self->world;
    uint64_t threads[7];

    for (int i = 0; i < 7; i++) {
        threads[i] = must_create(self, wait_long, 30000000, 0);
        if (one_by_one || i == 2 || i == 6) {
            do_launch(self);
            do_compute(self, 1000000);
        }
        if (i == 2) {
            check(world->n_starts[0] == 0 && world->n_starts[1] == 1 &&
                  world->n_starts[2] == 1 && world->n_starts[3] == 1);
        }
    }
    check(world->n_starts[0] == 1 && world->n_starts[1] == 2 &&
          world->n_starts[2] == 2 && world->n_starts[3] == 2);
    for (int i = 0; i < 7; i++) {
        must_join(self, threads[i]);
    }
}

static void main_of_a_batch(struct actor *self, uint64_t arg)
{
    (void)arg;
    keep_company(self, 0);
}

static void main_of_one_by_one(struct actor *self, uint64_t arg)
{
    (void)arg;
    keep_company(self, 1);
}

static void main_is_one_of_the_threads_of_its_node(void **state)
{
    (void)state;
    world_run_program(world_config_of(4), main_of_a_batch);
    world_run_program(world_config_of(4), main_of_one_by_one);
}

// Two batches of 32, each in two parts, as on a busy machine; the first has been
// moved away meanwhile.
static void main_of_parts(struct actor *self, uint64_t arg)
{
    struct world *world = self->world;
    uint64_t threads[32];

    (void)arg;
    for (int i = 0; i < 64; i++) {
        uint64_t thread = must_create(self, wait_long, 50000000, 0);

        if (i < 32) {
            threads[i] = thread;
        }
        if (i == 26 || i == 31 || i == 40 || i == 63) {
            do_launch(self);
            do_compute(self, 1000000);
        }
        if (i % 32 == 31) {
            for (int node = 0; node < 4; node++) {
                check(world->n_starts[node] == (unsigned)(i + 1) / 4);
            }
        }
        if (i == 31) {
            for (int k = 0; k < 8; k++) {
                check(do_migrate(self, threads[k], 3) == TM_OK);
            }
        }
    }
    for (int i = 0; i < 32; i++) {
        must_join(self, threads[i]);
    }
}

static void batches_of_a_creator_are_even_together(void **state)
{
    (void)state;
    world_run_program(world_config_of(4), main_of_parts);
}

static void main_of_launch(struct actor *self, uint64_t arg)
{
    (void)arg;
    must_create(self, do_nothing, 0, 0);
    must_create(self, do_nothing, 0, 0);
    do_compute(self, 1000000);
    check(self->world->n_started == 0);
    do_compute(self, 4000000);
    check(self->world->n_started == 2);
    must_create(self, do_nothing, 0, 0);
    do_launch(self);
    do_compute(self, 500000);
    check(self->world->n_started == 3);
}

static void created_threads_start_at_the_launch_or_after_2_ms(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_launch);
}

static void create_and_end(struct actor *self, uint64_t arg)
{
    (void)arg;
    self->result = must_create(self, do_nothing, 1, 0);
}

static void main_of_orphans(struct actor *self, uint64_t arg)
{
    uint64_t thread = must_create(self, create_and_end, 0, 2);

    (void)arg;
    thread = must_join(self, thread);
    check(must_join(self, thread) == 1);
}

static void what_a_thread_created_starts_when_it_ends(void **state)
{
    struct world_config config = world_config_of(2);

    (void)state;
    config.no_polls = true;
    world_run_program(config, main_of_orphans);
}

/* ---- moving ---- */

enum { N_MOVERS = 4, N_MOVES = 60 };

static void move_about(struct actor *self, uint64_t arg)
{
    node_id wanted = (node_id)arg;
    unsigned n_nodes = self->world->config.sim.n_nodes;

    for (int i = 0; i < N_MOVES; i++) {
        do_arrive(self, 1, ARRIVE_ITERATION, TM_SUM, 0);
        if (self->target >= 0) {
            wanted = (node_id)self->target;
            self->result = wanted;
            do_move(self, wanted);
        } else if (i < 20) {
            do_move(self, (node_id)world_random(self->world, n_nodes));
        } else {
            do_compute(self, 100000);
        }
    }
}

static void main_of_movers(struct actor *self, uint64_t arg)
{
    struct world *world = self->world;
    uint64_t threads[N_MOVERS];
    node_id targets[N_MOVERS] = {0};

    (void)arg;
    do_barrier_init(self, 1, N_MOVERS);
    for (uint64_t i = 0; i < N_MOVERS; i++) {
        threads[i] = must_create(self, move_about, 99, 0);
    }
    do_launch(self);
    for (int i = 0; i < 12; i++) {
        uint64_t which = world_random(world, N_MOVERS);

        targets[which] =
            (node_id)world_random(world, world->config.sim.n_nodes);
        do_compute(self, world_random(world, 1000000));
        check(do_migrate(self, threads[which], targets[which]) == TM_OK);
    }
    for (int i = 0; i < N_MOVERS; i++) {
        check(must_join(self, threads[i]) == targets[i]);
    }
}

static void a_target_reaches_its_thread_wherever_it_has_moved(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct world_config config = world_config_of(2 + seed % 4);

        config.sim.seed = seed;
        config.sim.delay_max_ns = seed % 2 == 0 ? 3000000 : 300000;
        world_run_program(config, main_of_movers);
    }
}

/* ---- keys ---- */

static uint64_t create_key(struct actor *self, uint64_t destructor)
{
    sync_key_create(actor_begin(self), destructor, &self->waiter);
    check(actor_finish(self) == TM_OK);
    return self->waiter.result;
}

static tm_status delete_key(struct actor *self, uint64_t key)
{
    sync_key_delete(actor_begin(self), key, &self->waiter);
    return actor_finish(self);
}

static uint64_t destructor_of(struct actor *self, uint64_t key)
{
    sync_key_destructor(actor_begin(self), key, &self->waiter);
    check(actor_finish(self) == TM_OK);
    return self->waiter.result;
}

static void use_keys(struct actor *self, uint64_t first)
{
    uint64_t key = create_key(self, 77);
    uint64_t newer;

    check(key != first && (uint32_t)key == 2);
    check(destructor_of(self, first) == 55);
    check(destructor_of(self, key) == 77);
    check(delete_key(self, key) == TM_OK);
    check(delete_key(self, key) == TM_EINVAL);
    check(destructor_of(self, key) == 0);
    newer = create_key(self, 88);
    check(newer != key && (uint32_t)newer == 2);
    check(destructor_of(self, key) == 0);
    check(destructor_of(self, newer) == 88);
    check(delete_key(self, newer) == TM_OK);
    check(delete_key(self, 0) == TM_EINVAL);
}

static void main_of_keys(struct actor *self, uint64_t arg)
{
    uint64_t first = create_key(self, 55);

    (void)arg;
    for (int on_node = 1; on_node <= 3; on_node++) {
        must_run_on(self, use_keys, first, on_node);
    }
    for (unsigned i = 1; i < SYNC_KEYS_MAX; i++) {
        create_key(self, 1);
    }
    sync_key_create(actor_begin(self), 1, &self->waiter);
    check(actor_finish(self) == TM_ELIMIT);
    check(delete_key(self, first) == TM_OK);
    check(create_key(self, 1) != first);
}

static void a_key_that_is_gone_is_not_found_under_a_new_one(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_is_gone_is_not_found_under_a_new_one),
        cmocka_unit_test(numbers_are_unique_and_slots_the_lowest_free),
        cmocka_unit_test(a_thread_is_joined_once),
        cmocka_unit_test(no_thread_starts_on_a_node_that_leaves),
        cmocka_unit_test(a_second_joiner_and_the_thread_itself_are_refused),
        cmocka_unit_test(only_living_threads_count_against_the_limit),
        cmocka_unit_test(a_batch_is_spread_in_equal_blocks),
        cmocka_unit_test(main_is_one_of_the_threads_of_its_node),
        cmocka_unit_test(batches_of_a_creator_are_even_together),
        cmocka_unit_test(created_threads_start_at_the_launch_or_after_2_ms),
        cmocka_unit_test(what_a_thread_created_starts_when_it_ends),
        cmocka_unit_test(a_target_reaches_its_thread_wherever_it_has_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
