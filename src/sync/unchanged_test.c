// SPDX-License-Identifier: BSD-3-Clause
//
// What only programs ask of sync/ that were not written for Teamster: mutexes that anyone unlocks,
// and waits that are interrupted. One fact a test, as in sync_test.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sync/sync_world.h"

#define check(condition) world_check(self->world, condition)

enum { SHORT_NS = 3000000, LONG_NS = 1000000000 };

static void wait_until_interrupted(struct actor *self, uint64_t arg)
{
    const unsigned sem = (unsigned)arg;

    check(do_sem_wait_or_interrupt(self, sem, 0) == TM_ETIMEDOUT);
    check(do_sem_wait_or_interrupt(self, sem, LONG_NS) == TM_ETIMEDOUT);
    check(sim_now_ns(self->world->sim) < LONG_NS);
    check(do_sem_wait(self, sem) == TM_OK);
    check(do_sem_wait_or_interrupt(self, sem, 0) == TM_OK);
}

static void main_of_interrupted(struct actor *self, uint64_t arg)
{
    uint64_t threads[3];
    uint64_t value;

    (void)arg;
    for (unsigned i = 0; i < 3; i++) {
        check(do_sem_init(self, i, 0) == TM_OK);
        threads[i] = must_create(self, wait_until_interrupted, i, (int)i + 1);
    }
    do_compute(self, 10 * SHORT_NS);
    for (int n = 0; n < 3; n++) { // the third finds who may not be interrupted
        for (unsigned i = 0; i < 3; i++) {
            do_interrupt(self, threads[i]);
        }
        do_compute(self, 10 * SHORT_NS);
    }
    do_interrupt(self, 0);
    for (unsigned i = 0; i < 3; i++) {
        check(do_sem_post(self, i) == TM_OK);
        check(do_sem_post(self, i) == TM_OK);
        must_join(self, threads[i]);
        check(do_sem_ask(self, i, &value) == TM_OK && value == 0);
    }
}

static void who_waits_for_a_semaphore_is_interrupted(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_interrupted);
}

static void run_where_anyone_unlocks(void (*program)(struct actor *, uint64_t))
{
    struct world_config config = world_config_of(3);

    config.anyone_unlocks = true;
    world_run_program(config, program);
}

static void unlock_for_another(struct actor *self, uint64_t arg)
{
    do_write(self);
    check(do_unlock_for_another(self, (unsigned)arg) == TM_OK);
}

static void main_of_anyone_unlocks(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) {
        for (int on_node = 1; on_node <= 3; on_node++) {
            must_run_on(self, unlock_for_another, lock, on_node); // not held
            check(do_lock(self, lock) == TM_OK);
            check(do_trylock(self, lock) == TM_EBUSY);
            check(do_timedlock(self, lock, 50000) == TM_ETIMEDOUT);
            must_run_on(self, unlock_for_another, lock, on_node);
            check(do_trylock(self, lock) == TM_OK);
            must_create(self, unlock_for_another, lock, on_node);
            check(do_lock(self, lock) == TM_OK); // which it holds
            do_check(self);
            check(do_unlock(self, lock) == TM_OK);
        }
    }
}

static void a_usual_mutex_is_unlocked_by_anyone(void **state)
{
    (void)state;
    run_where_anyone_unlocks(main_of_anyone_unlocks);
}

static void unlock_of_its_kind(struct actor *self, uint64_t arg)
{
    check(do_unlock(self, (unsigned)arg) == TM_EPERM);
}

static void main_of_other_kinds(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) {
        do_lock(self, lock);
        check(do_set_type(self, lock, TM_MUTEX_ERRORCHECK) == TM_OK);
        check(do_lock(self, lock) == TM_EDEADLK);
        must_run_on(self, unlock_of_its_kind, lock, 1 + (int)lock % 3);
        check(do_unlock(self, lock) == TM_OK);
        must_run_on(self, unlock_of_its_kind, lock, 1 + (int)lock % 3);
    }
}

static void mutexes_of_other_kinds_are_their_holders(void **state)
{
    (void)state;
    run_where_anyone_unlocks(main_of_other_kinds);
}

static void use(struct actor *self, uint64_t arg)
{
    check(do_lock(self, (unsigned)arg) == TM_OK);
    check(do_unlock(self, (unsigned)arg) == TM_OK);
}

static void keep(struct actor *self, uint64_t arg)
{
    check(do_lock(self, (unsigned)arg) == TM_OK);
    if (arg % 2 != 0) {
        check(do_set_type(self, (unsigned)arg, TM_MUTEX_RECURSIVE) == TM_OK);
        self->world->holders[arg] = NULL;
        check(do_lock(self, (unsigned)arg) == TM_OK);
    }
}

static void make_anew(struct actor *self, uint64_t arg)
{
    const unsigned lock = (unsigned)arg;

    check(do_renew(self, lock) == TM_OK);
    check(do_trylock(self, lock) == TM_OK);
    check(do_timedlock(self, lock, 50000) ==
          TM_ETIMEDOUT); // it is of the usual kind
    check(do_unlock(self, lock) == TM_OK);
}

// Who makes a mutex anew has used it before, or manages it.
static void main_of_made_anew(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) {
        for (int i = 0; i < 9; i++) {
            must_run_on(self, use, lock, 1 + i % 3);
            must_run_on(self, keep, lock, 1 + i / 3);
            must_run_on(self, make_anew, lock, 1 + i % 3);
        }
    }
}

static void a_mutex_that_is_made_anew_is_held_by_nobody(void **state)
{
    (void)state;
    run_where_anyone_unlocks(main_of_made_anew);
}

static void main_of_unheard(struct actor *self, uint64_t arg)
{
    const uint64_t sent = self->world->n_sent;

    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) {
        check(do_renew(self, lock) == TM_OK);
    }
    check(self->world->n_sent == sent);
}

static void a_mutex_that_was_never_used_is_made_without_a_message(void **state)
{
    (void)state;
    run_where_anyone_unlocks(main_of_unheard);
}

static void unlock_while_it_waits(struct actor *self, uint64_t arg)
{
    do_compute(self, 1000 * (arg / 8));
    check(do_unlock_for_another(self, 1) == TM_OK);
    do_cond_signal(self, (unsigned)arg % 8, 0);
}

// From some moment on the mutex is another's affair while it is being given back.
static void main_of_unlocked_in_a_wait(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned i = 0; i < 8 * 40; i++) {
        check(do_lock(self, 1) == TM_OK);
        must_create(self, unlock_while_it_waits, i, 1);
        (void)do_cond_timedwait(self, i % 8, 1, 300000);
        check(do_unlock(self, 1) == TM_OK);
        do_compute(self, 300000);
    }
}

static void a_mutex_may_be_unlocked_while_its_holder_begins_to_wait(
    void **state)
{
    (void)state;
    run_where_anyone_unlocks(main_of_unlocked_in_a_wait);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_a_semaphore_is_interrupted),
        cmocka_unit_test(a_usual_mutex_is_unlocked_by_anyone),
        cmocka_unit_test(mutexes_of_other_kinds_are_their_holders),
        cmocka_unit_test(a_mutex_that_is_made_anew_is_held_by_nobody),
        cmocka_unit_test(a_mutex_that_was_never_used_is_made_without_a_message),
        cmocka_unit_test(
            a_mutex_may_be_unlocked_while_its_holder_begins_to_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
