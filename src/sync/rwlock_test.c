// SPDX-License-Identifier: BSD-3-Clause
//
// One fact a test, on small clusters of sync_world.c: reader-writer locks, and what is
// done once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sync/sync_world.h"

#define check(condition) world_check(self->world, condition)

enum { N_NODES = 3, LONG_NS = 3000000, N_OBJECTS = 6 };

#define FOR_EVER UINT64_MAX

static void read_for_long(struct actor *self, uint64_t lock)
{
    check(do_rwlock(self, (unsigned)lock, HOLD_TO_READ, FOR_EVER) == TM_OK);
    do_compute(self, LONG_NS);
    self->result = self->world->rwlocks[lock].n_readers;
    check(do_rwlock_unlock(self, (unsigned)lock) == TM_OK);
}

static void write_after(struct actor *self, uint64_t lock)
{
    check(do_rwlock(self, (unsigned)lock, HOLD_TO_WRITE, FOR_EVER) == TM_OK);
    self->result = sim_now_ns(self->world->sim);
    do_write(self);
    check(do_rwlock_unlock(self, (unsigned)lock) == TM_OK);
}

static void main_of_readers(struct actor *self, uint64_t arg)
{
    uint64_t threads[N_NODES];

    (void)arg;
    for (unsigned lock = 0; lock < N_OBJECTS; lock++) {
        unsigned most = 0;

        for (int i = 0; i < N_NODES; i++) {
            threads[i] = must_create(self, read_for_long, lock, i + 1);
        }
        for (int i = 0; i < N_NODES; i++) {
            unsigned n = (unsigned)must_join(self, threads[i]);

            most = n > most ? n : most;
        }
        check(most == N_NODES);
    }
}

static void readers_of_all_nodes_hold_it_together(void **state)
{
    (void)state;
    world_run_program(world_config_of(N_NODES), main_of_readers);
}

/* A reader that comes behind a writer that waits. */
static void read_late(struct actor *self, uint64_t lock)
{
    check(do_rwlock(self, (unsigned)lock, HOLD_TO_READ, 0) == TM_EBUSY);
    check(do_rwlock(self, (unsigned)lock, HOLD_TO_READ, LONG_NS) ==
          TM_ETIMEDOUT);
    check(do_rwlock(self, (unsigned)lock, HOLD_TO_READ, FOR_EVER) == TM_OK);
    self->result = sim_now_ns(self->world->sim);
    check(do_rwlock_unlock(self, (unsigned)lock) == TM_OK);
}

static void main_of_order(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < N_OBJECTS; lock++) {
        uint64_t writer;
        uint64_t reader;

        check(do_rwlock(self, lock, HOLD_TO_READ, FOR_EVER) == TM_OK);
        writer = must_create(self, write_after, lock, 2);
        do_launch(self);
        do_compute(self, LONG_NS);
        reader = must_create(self, read_late, lock, 3);
        do_launch(self);
        do_compute(self, 3 * LONG_NS);
        // Who reads already may go on.
        check(do_rwlock(self, lock, HOLD_TO_READ, 0) == TM_OK);
        check(do_rwlock_unlock(self, lock) == TM_OK);
        check(do_rwlock_unlock(self, lock) == TM_OK);
        check(must_join(self, writer) < must_join(self, reader));
    }
}

static void a_reader_waits_behind_a_writer_that_waits(void **state)
{
    (void)state;
    world_run_program(world_config_of(N_NODES), main_of_order);
}

static void write_in_vain(struct actor *self, uint64_t lock)
{
    check(do_rwlock(self, (unsigned)lock, HOLD_TO_WRITE, 0) == TM_EBUSY);
    check(do_rwlock(self, (unsigned)lock, HOLD_TO_WRITE, 4 * LONG_NS) ==
          TM_ETIMEDOUT);
}

static void read_at_last(struct actor *self, uint64_t lock)
{
    check(do_rwlock(self, (unsigned)lock, HOLD_TO_READ, FOR_EVER) == TM_OK);
    check(do_rwlock_unlock(self, (unsigned)lock) == TM_OK);
}

static void main_of_giving_up(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < N_OBJECTS; lock++) {
        uint64_t writer;

        check(do_rwlock(self, lock, HOLD_TO_READ, FOR_EVER) == TM_OK);
        writer = must_create(self, write_in_vain, lock, 2);
        do_launch(self);
        do_compute(self, LONG_NS);
        must_run_on(self, read_at_last, lock, 3); // when the writer has gone
        must_join(self, writer);
        check(do_rwlock_unlock(self, lock) == TM_OK);
        check(world_waits(self->world)[0] != '\0' ||
              self->world->rwlocks[lock].n_readers == 0);
    }
}

static void a_writer_that_gives_up_lets_readers_go_on(void **state)
{
    (void)state;
    world_run_program(world_config_of(N_NODES), main_of_giving_up);
}

static void main_of_twice(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < N_OBJECTS; lock++) {
        check(do_rwlock(self, lock, HOLD_TO_WRITE, FOR_EVER) == TM_OK);
        check(do_rwlock(self, lock, HOLD_TO_WRITE, FOR_EVER) == TM_EDEADLK);
        check(do_rwlock(self, lock, HOLD_TO_READ, FOR_EVER) == TM_EDEADLK);
        check(do_rwlock(self, lock, HOLD_TO_READ, 0) == TM_EBUSY);
        check(do_rwlock_unlock(self, lock) == TM_OK);
        check(do_rwlock(self, lock, HOLD_TO_READ, FOR_EVER) == TM_OK);
        check(do_rwlock(self, lock, HOLD_TO_WRITE, LONG_NS) == TM_EDEADLK);
        check(do_rwlock(self, lock, HOLD_TO_WRITE, 0) == TM_EBUSY);
        check(do_rwlock_unlock(self, lock) == TM_OK);
    }
}

static void who_holds_it_gets_it_again_only_to_read(void **state)
{
    (void)state;
    world_run_program(world_config_of(N_NODES), main_of_twice);
}

/* ---- errors and reports ---- */

static void unlock_wrongly(struct actor *self, uint64_t lock)
{
    check(do_rwlock_unlock(self, (unsigned)lock) == TM_EPERM);
}

static void expect_error(const struct actor *self, const char *text)
{
    check(strstr(self->world->error, text) != NULL);
}

static void main_of_wrong_unlock(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < N_OBJECTS; lock++) {
        must_run_on(self, unlock_wrongly, lock, 1 + (int)lock % N_NODES);
        expect_error(self, "which nobody holds, in place ");
        check(do_rwlock(self, lock, HOLD_TO_WRITE, FOR_EVER) == TM_OK);
        must_run_on(self, unlock_wrongly, lock, 1 + (int)lock % N_NODES);
        expect_error(self, "which it does not hold, in place ");
        expect_error(self, "; thread 0 locked it to write in place ");
        check(do_rwlock_unlock(self, lock) == TM_OK);
    }
    check(self->world->n_errors == 2 * N_OBJECTS);
}

static void a_wrong_unlock_names_thread_lock_and_holder(void **state)
{
    struct world_config config = world_config_of(N_NODES);

    (void)state;
    config.expects_errors = true;
    world_run_program(config, main_of_wrong_unlock);
}

static void cross(struct actor *self, uint64_t arg)
{
    do_rwlock(self, (unsigned)arg, HOLD_TO_READ, FOR_EVER);
    do_compute(self, LONG_NS);
    do_rwlock(self, 1 - (unsigned)arg, HOLD_TO_WRITE, FOR_EVER);
}

static void main_of_deadlock(struct actor *self, uint64_t arg)
{
    (void)arg;
    must_create(self, cross, 0, 2);
    must_create(self, cross, 1, 3);
    must_join(self, 1);
}

static void who_holds_it_and_who_waits_is_listed(void **state)
{
    static const char *const lines[] = {
        "thread 1 holds reader-writer lock 0x7e8000000000 to read, which "
        "others wait for\n",
        "thread 2 holds reader-writer lock 0x7e8000000040 to read, which "
        "others wait for\n",
        "thread 1 waits for reader-writer lock 0x7e8000000040 to write\n",
        "thread 2 waits for reader-writer lock 0x7e8000000000 to write\n",
    };
    struct world_config config = world_config_of(N_NODES);
    struct world *world = world_new(&config);
    const char *waits;

    (void)state;
    world_check(world, !world_run(world, main_of_deadlock, 0));
    waits = world_waits(world);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strstr(waits, lines[i]) == NULL) {
            fail_msg("\"%s\" is not in:\n%s", lines[i], waits);
        }
    }
    world_free(world);
}

/* ---- once ---- */

static void do_it(struct actor *self, uint64_t object)
{
    check(do_once(self, (unsigned)object, LONG_NS) == TM_OK);
    do_check(self);
    self->result = sim_now_ns(self->world->sim);
}

static void main_of_once(struct actor *self, uint64_t arg)
{
    uint64_t threads[2 * N_NODES];
    uint64_t n_messages;

    (void)arg;
    for (unsigned object = 0; object < N_OBJECTS; object++) {
        for (int i = 0; i < 2 * N_NODES; i++) {
            threads[i] = must_create(self, do_it, object, 1 + i % N_NODES);
        }
        for (int i = 0; i < 2 * N_NODES; i++) {
            check(must_join(self, threads[i]) >= LONG_NS);
        }
        check(self->world->n_done[object] == 1);
        check(do_once(self, object, 0) == TM_OK);
        n_messages = sim_n_delivered(self->world->sim);
        check(do_once(self, object, 0) == TM_OK); // the node knows
        check(sim_n_delivered(self->world->sim) == n_messages);
    }
}

static void what_is_done_once_is_awaited_by_all(void **state)
{
    (void)state;
    world_run_program(world_config_of(N_NODES), main_of_once);
}

static void main_of_recursion(struct actor *self, uint64_t arg)
{
    (void)arg;
    sync_once_begin(actor_begin(self), KEY(1), &self->waiter);
    check(actor_finish(self) == TM_OK && self->waiter.result == 0);
    sync_once_begin(actor_begin(self), KEY(1), &self->waiter);
    check(actor_finish(self) == TM_EDEADLK);
}

static void doing_it_once_within_itself_is_refused(void **state)
{
    (void)state;
    world_run_program(world_config_of(N_NODES), main_of_recursion);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_of_all_nodes_hold_it_together),
        cmocka_unit_test(a_reader_waits_behind_a_writer_that_waits),
        cmocka_unit_test(a_writer_that_gives_up_lets_readers_go_on),
        cmocka_unit_test(who_holds_it_gets_it_again_only_to_read),
        cmocka_unit_test(a_wrong_unlock_names_thread_lock_and_holder),
        cmocka_unit_test(who_holds_it_and_who_waits_is_listed),
        cmocka_unit_test(what_is_done_once_is_awaited_by_all),
        cmocka_unit_test(doing_it_once_within_itself_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
