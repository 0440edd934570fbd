// SPDX-License-Identifier: BSD-3-Clause
//
// One fact a test, on small clusters of sync_world.c: mutexes, condition variables,
// semaphores, reports. Barriers: barrier_test.c; what only programs ask
// for that were not written for Teamster: unchanged_test.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sync/sync_world.h"

#define check(condition) world_check(self->world, condition)

/* ---- mutexes ---- */

static void lock_many_times(struct actor *self, uint64_t arg)
{
    uint64_t n_messages;

    (void)arg;
    do_lock(self, 1);
    do_unlock(self, 1);
    n_messages = sim_n_delivered(self->world->sim);
    for (int i = 0; i < 100; i++) {
        check(do_lock(self, 1) == TM_OK);
        check(do_unlock(self, 1) == TM_OK);
        check(do_trylock(self, 1) == TM_OK);
        check(do_unlock(self, 1) == TM_OK);
    }
    check(sim_n_delivered(self->world->sim) == n_messages);
}

static void main_of_locks(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (int on_node = 1; on_node <= 3; on_node++) {
        must_run_on(self, lock_many_times, 0, on_node);
    }
}

static void a_mutex_used_by_one_node_costs_no_messages(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_locks);
}

static void lock_twice(struct actor *self, uint64_t arg)
{
    (void)arg;
    check(do_lock(self, 1) == TM_OK);
    check(do_lock(self, 1) == TM_EDEADLK);
    check(do_trylock(self, 1) == TM_EBUSY);
    check(do_unlock(self, 1) == TM_OK);
}

static void locking_what_the_caller_holds_is_refused(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), lock_twice);
}

static void try_once(struct actor *self, uint64_t arg)
{
    self->result = (uint64_t)(int64_t)do_trylock(self, (unsigned)arg);
    if (self->result == TM_OK) {
        do_unlock(self, (unsigned)arg);
    }
}

static void main_of_trylock(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) { // of different managers
        for (int on_node = 1; on_node <= 3; on_node++) {
            do_lock(self, lock);
            check((int64_t)must_run_on(self, try_once, lock, on_node) ==
                  TM_EBUSY);
            do_unlock(self, lock);
            check((int64_t)must_run_on(self, try_once, lock, on_node) == TM_OK);
        }
    }
}

static void trylock_fails_only_while_somebody_holds_the_mutex(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_trylock);
}

/* ---- waiting for a time, recursive mutexes, records ---- */

enum { SHORT_NS = 3000000, MANY = 3000, FEW = 50 };

static void lock_in_vain(struct actor *self, uint64_t arg)
{
    check(do_timedlock(self, (unsigned)arg, SHORT_NS) == TM_ETIMEDOUT);
}

static void lock_in_vain_for_long(struct actor *self, uint64_t arg)
{
    check(do_timedlock(self, (unsigned)arg, 4 * SHORT_NS) == TM_ETIMEDOUT);
}

// Of the threads that wait at one node some have given up, others wait on.
static void main_of_two_times(struct actor *self, uint64_t arg)
{
    uint64_t late;

    (void)arg;
    check(do_lock(self, 0) == TM_OK);
    late = must_create(self, lock_in_vain_for_long, 0, 2);
    must_run_on(self, lock_in_vain, 0, 2);
    must_join(self, late);
    check(do_unlock(self, 0) == TM_OK);
}

static void each_waits_for_its_own_time(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_two_times);
}

static void main_of_times(struct actor *self, uint64_t arg)
{
    uint64_t n_messages;

    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) {      // of different managers
        check(do_timedlock(self, lock, 0) == TM_OK); // over, but free
        must_run_on(self, lock_in_vain, lock, 2);
        must_run_on(self, lock_in_vain, lock, 3);
        do_compute(self, SHORT_NS); // until that is known everywhere
        check(world_waits(self->world)[0] == '\0');
        check((int64_t)must_run_on(self, try_once, lock, 2) == TM_EBUSY);
        n_messages = sim_n_delivered(self->world->sim);
        check(do_unlock(self, lock) == TM_OK); // nobody wants it any more
        check(do_lock(self, lock) == TM_OK);
        check(sim_n_delivered(self->world->sim) == n_messages);
        check(do_unlock(self, lock) == TM_OK);
        check((int64_t)must_run_on(self, try_once, lock, 3) == TM_OK);
    }
    for (unsigned i = 0; i < 3; i++) {
        check(!sync_has_timed(self->world->nodes[i].sync));
    }
}

static void who_gives_up_a_mutex_leaves_no_trace(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_times);
}

static void wait_on_sem_in_vain(struct actor *self, uint64_t arg)
{
    check(do_sem_trywait(self, (unsigned)arg) == TM_EBUSY);
    check(do_sem_timedwait(self, (unsigned)arg, SHORT_NS) == TM_ETIMEDOUT);
    check(do_lock(self, 9) == TM_OK);
    check(do_cond_timedwait(self, (unsigned)arg, 9, SHORT_NS) == TM_ETIMEDOUT);
    check(do_unlock(self, 9) == TM_OK);
}

static void ask_for_value(struct actor *self, uint64_t wanted)
{
    uint64_t value = 99;

    check(do_sem_ask(self, 1, &value) == TM_OK && value == wanted);
}

static void main_of_values(struct actor *self, uint64_t arg)
{
    uint64_t value;

    (void)arg;
    check(do_sem_ask(self, 2, &value) == TM_EINVAL);
    check(do_sem_init(self, 1, 7) == TM_OK);
    must_run_on(self, ask_for_value, 7, 2);
    check(do_sem_trywait(self, 1) == TM_OK);
    check(do_sem_post(self, 1) == TM_OK);
    check(do_sem_post(self, 1) == TM_OK);
    must_run_on(self, ask_for_value, 8, 1);
    check(do_sem_trywait(self, 1) == TM_OK);
    must_run_on(self, ask_for_value, 7, 3);
}

static void who_asks_for_a_value_takes_nothing(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_values);
}

static void main_of_lost_posts(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned sem = 0; sem < 6; sem++) {
        check(do_sem_init(self, sem, 0) == TM_OK);
        must_run_on(self, wait_on_sem_in_vain, sem, 2);
        must_run_on(self, wait_on_sem_in_vain, sem, 3);
        check(do_sem_post(self, sem) == TM_OK); // goes to nobody who has left
        check(do_cond_signal(self, sem, 0) == TM_OK);
        check(do_sem_trywait(self, sem) == TM_OK);
        check(do_sem_trywait(self, sem) == TM_EBUSY);
    }
}

static void a_post_does_not_go_to_one_who_has_given_up(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_lost_posts);
}

static void lock_recursively(struct actor *self, uint64_t arg)
{
    unsigned lock = (unsigned)arg;

    for (int i = 0; i < 3; i++) {
        check(i == 1 ? do_trylock(self, lock) == TM_OK
                     : do_lock(self, lock) == TM_OK);
        self->world->holders[lock] = NULL;
    }
    check(do_set_type(self, lock, TM_MUTEX_NORMAL) == TM_EBUSY);
    for (int i = 0; i < 3; i++) {
        check(do_unlock(self, lock) == TM_OK);
    }
    check(do_unlock(self, lock) == TM_EPERM); // not an error of the program
}

static void set_type(struct actor *self, uint64_t arg)
{
    check(do_lock(self, (unsigned)arg) == TM_OK);
    check(do_set_type(self, (unsigned)arg, TM_MUTEX_RECURSIVE) == TM_OK);
    check(do_unlock(self, (unsigned)arg) == TM_OK);
    check(do_set_type(self, (unsigned)arg, TM_MUTEX_NORMAL) == TM_EPERM);
}

static void main_of_recursion(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) {
        must_run_on(self, set_type, lock, (int)(1 + lock % 3));
        for (int on_node = 1; on_node <= 3; on_node++) {
            must_run_on(self, lock_recursively, lock, on_node);
        }
    }
}

static void a_recursive_mutex_is_one_on_all_nodes(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_recursion);
}

/* Takes and gives back mutexes of which nobody else knows. */
static void lock_and_forget(struct actor *self, uint64_t arg)
{
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t key = KEY(1000 + MANY * arg + i);

        for (int step = 0; step < 2; step++) {
            struct sync *sync = actor_begin(self);

            if (step == 0) {
                sync_lock(sync, key, 0, &self->waiter);
            } else {
                sync_unlock(sync, key, &self->waiter);
            }
            check(actor_finish(self) == TM_OK);
        }
    }
}

static void main_of_many(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (uint64_t i = 0; i < 3; i++) {
        must_run_on(self, lock_and_forget, i, (int)(1 + i));
    }
    for (unsigned i = 0; i < 3; i++) {
        check(sync_n_locks(self->world->nodes[i].sync) < 8 * FEW);
    }
}

static void mutexes_that_nobody_uses_cost_no_memory(void **state)
{
    struct world_config config = world_config_of(3);

    (void)state;
    config.n_locks_kept = FEW;
    world_run_program(config, main_of_many);
}

static void main_of_bound(struct actor *self, uint64_t arg)
{
    lock_and_forget(self, arg);
    check(sync_n_locks(self->world->nodes[0].sync) >= MANY);
}

static void mutexes_with_data_stay_known(void **state)
{
    struct world_config config = world_config_of(1);

    (void)state;
    config.n_locks_kept = FEW;
    config.has_data = true;
    world_run_program(config, main_of_bound);
}

static void lock_once(struct actor *self, uint64_t arg)
{
    check(do_lock(self, (unsigned)arg) == TM_OK);
    check(do_unlock(self, (unsigned)arg) == TM_OK);
}

static uint64_t sees_it_busy(struct actor *self, unsigned lock)
{
    return (uint64_t)sync_lock_is_busy(self->world->nodes[self->node].sync,
                                       KEY(lock), self->thread);
}

static void look_at_it(struct actor *self, uint64_t arg)
{
    self->result = sees_it_busy(self, (unsigned)arg);
}

static void main_of_busy(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) { // of different managers
        uint64_t thread;

        check(!sees_it_busy(self, lock));
        check(do_lock(self, lock) == TM_OK);
        check(!sees_it_busy(self, lock)); // it holds it itself
        check(must_run_on(self, look_at_it, lock, 1) == 1);
        check(must_run_on(self, look_at_it, lock, 2) == 0);
        thread = must_create(self, lock_once, lock, 1 + (int)lock % 2);
        do_launch(self);
        do_compute(self, 10 * SHORT_NS);
        check(must_run_on(self, look_at_it, lock, 1) == 0); // that is in line
        check(do_unlock(self, lock) == TM_OK);
        must_join(self, thread);
        check(!sees_it_busy(self, lock));
    }
}

static void a_mutex_is_busy_while_it_is_held_here_and_nobody_waits(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_busy);
}

static void main_of_waited(struct actor *self, uint64_t arg)
{
    uint64_t thread;

    (void)arg;
    check(do_lock(self, 0) == TM_OK);
    thread = must_create(self, lock_once, 0, 2);
    must_run_on(self, lock_and_forget, 1, 2);
    check(do_unlock(self, 0) == TM_OK);
    must_join(self, thread);
}

static void mutexes_that_are_waited_for_stay_known(void **state)
{
    struct world_config config = world_config_of(3);

    (void)state;
    config.n_locks_kept = FEW;
    world_run_program(config, main_of_waited);
}

static uint64_t wrong_place; // where the last wrong unlock was

static void unlock_wrongly(struct actor *self, uint64_t arg)
{
    check(do_unlock(self, (unsigned)arg) == TM_EPERM);
    wrong_place = self->waiter.place;
}

/* % stands for the place of the last wrong unlock. */
static void expect_text(const struct actor *self, const char *text)
{
    const char *percent = strchr(text, '%');
    char expected[320];

    snprintf(expected, sizeof expected, "%.*s%llu%s", (int)(percent - text),
             text, (unsigned long long)wrong_place, percent + 1);
    check(strstr(self->world->error, expected) != NULL);
}

static void main_of_wrong_unlock(struct actor *self, uint64_t arg)
{
    char text[256];
    uint64_t place;

    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) {
        unsigned long long key = KEY(lock);

        must_run_on(self, unlock_wrongly, lock, 1 + (int)lock % 3);
        expect_text(self,
                    "which nobody holds, in place %; nobody has locked it "
                    "yet");
        for (int on_node = 1; on_node <= 3; on_node++) {
            do_lock(self, lock);
            place = self->waiter.place;
            must_run_on(self, unlock_wrongly, lock, on_node);
            snprintf(text, sizeof text,
                     "unlocks the mutex at 0x%llx which thread 0 holds, in "
                     "place %%; thread 0 locked it in place %d",
                     key, (int)place);
            expect_text(self, text);
            do_unlock(self, lock);
            place = self->waiter.place;
            must_run_on(self, unlock_wrongly, lock, on_node);
            snprintf(text, sizeof text,
                     "unlocks the mutex at 0x%llx which nobody holds, in place "
                     "%%; thread 0 unlocked it last, in place %d",
                     key, (int)place);
            expect_text(self, text);
            check(strncmp(self->world->error, "thread ", 7) == 0);
        }
    }
    check(self->world->n_errors == 42);
}

static void a_wrong_unlock_names_thread_mutex_and_holder(void **state)
{
    struct world_config config = world_config_of(3);

    (void)state;
    config.expects_errors = true;
    world_run_program(config, main_of_wrong_unlock);
}

static void lock_move_and_unlock(struct actor *self, uint64_t arg)
{
    struct world *world = self->world;

    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) {
        do_lock(self, lock);
        check(sync_thread_holds(world->nodes[self->node].sync, self->thread));
        self->node = (self->node + 1) % 3; // do_move() would refuse
        sync_thread_arrived(world->nodes[self->node].sync, self->thread,
                            ++self->moves);
        check(do_unlock(self, lock) == TM_OK);
        check(do_lock(self, lock) == TM_OK);
        check(do_unlock(self, lock) == TM_OK);
    }
}

static void main_of_moved_holder(struct actor *self, uint64_t arg)
{
    (void)arg;
    must_run_on(self, lock_move_and_unlock, 0, 2);
}

static void a_holder_that_has_moved_can_unlock(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_moved_holder);
}

/* Those who wait take turns: the holder's node does not keep the mutex. */
static void lock_and_note(struct actor *self, uint64_t arg)
{
    static int last = -1;

    for (int i = 0; i < 10; i++) {
        do_lock(self, 1);
        check(i == 0 || i == 9 || last != self->node);
        last = self->node;
        do_compute(self, 400000);
        do_unlock(self, 1);
    }
    (void)arg;
}

static void main_of_turns(struct actor *self, uint64_t arg)
{
    uint64_t threads[4];

    (void)arg;
    do_barrier_init(self, 1, 2);
    for (int i = 0; i < 4; i++) {
        threads[i] = must_create(self, lock_and_note, 0, 1 + i % 2);
    }
    for (int i = 0; i < 4; i++) {
        must_join(self, threads[i]);
    }
}

static void two_nodes_that_want_a_mutex_take_turns(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_turns);
}

/* ---- how many messages a mutex takes from node to node ---- */

enum { TURNS = 60, QUITE_LONG_NS = 50 * 1000 * 1000 };

static struct {
    unsigned n_turns;
    bool is_hasty; // each node wants it again before it has gone
} contest;

static void take_turns(struct actor *self, uint64_t lock)
{
    for (unsigned i = 0; i < TURNS; i++) {
        check(do_lock(self, (unsigned)lock) == TM_OK);
        contest.n_turns++;
        do_compute(self, 400000);
        check(do_unlock(self, (unsigned)lock) == TM_OK);
        if (!contest.is_hasty) {
            do_compute(self, 50000);
        }
    }
}

/* Messages between nodes, of a hundred turns. */
static uint64_t contend(struct actor *self, unsigned lock, int n_nodes)
{
    const unsigned n_threads = (unsigned)n_nodes * (contest.is_hasty ? 2 : 1);
    const uint64_t n_sent = self->world->n_sent;
    uint64_t threads[2 * WORLD_NODES];

    contest.n_turns = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        threads[i] = must_create(self, take_turns, lock, 1 + (int)i % n_nodes);
    }
    for (unsigned i = 0; i < n_threads; i++) {
        must_join(self, threads[i]);
    }
    check(contest.n_turns == n_threads * TURNS);
    return 100 * (self->world->n_sent - n_sent) / contest.n_turns;
}

/* With a few for the threads themselves. By the manager, as it was until now, it was 400
 * for two nodes that do not manage the mutex, and no less for the others. */
static void main_of_contests(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) { // of different managers
        contest.is_hasty = false;
        check(contend(self, lock, 2) < 310);
        check(contend(self, lock, 3) < 310);
        check(contend(self, lock, 5) < 210);
        contest.is_hasty = true;
        check(contend(self, lock, 2) < 210);
        check(contend(self, lock, 3) < 210);
        check(contend(self, lock, 5) < 170);
    }
}

static void a_contended_mutex_takes_three_messages_a_turn(void **state)
{
    (void)state;
    world_run_program(world_config_of(5), main_of_contests);
}

static void lock_while_held(struct actor *self, uint64_t lock)
{
    check(do_lock(self, (unsigned)lock) == TM_OK);
    contest.n_turns++;
    do_compute(self, QUITE_LONG_NS);
    check(do_unlock(self, (unsigned)lock) == TM_OK);
}

/* The mutex is held long enough for ask and recall to arrive. */
static void hold_for_one(struct actor *self, uint64_t lock)
{
    uint64_t thread;
    uint64_t n_sent;

    check(do_lock(self, (unsigned)lock) == TM_OK);
    contest.n_turns = 0;
    thread = must_create(self, lock_while_held, lock, 3);
    do_launch(self);
    do_compute(self, QUITE_LONG_NS);
    n_sent = self->world->n_sent;
    check(do_unlock(self, (unsigned)lock) == TM_OK);
    while (contest.n_turns == 0) {
        do_compute(self, 1000);
    }
    check(self->world->n_sent - n_sent == 1);
    must_join(self, thread);
}

static void main_of_one_hand_over(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned lock = 0; lock < 6; lock++) {
        must_run_on(self, hold_for_one, lock, 2);
    }
}

static void one_message_goes_from_the_unlock_to_the_next_node(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_one_hand_over);
}

/* ---- condition variables, semaphores ---- */

static void wait_without_mutex(struct actor *self, uint64_t arg)
{
    (void)arg;
    check(do_cond_wait(self, 1, 2) == TM_EPERM);
    do_lock(self, 2);
    do_unlock(self, 2);
    check(do_cond_wait(self, 1, 2) == TM_EPERM);
}

static void cond_wait_without_the_mutex_is_refused(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), wait_without_mutex);
}

enum { N_WAITERS = 6 };

static struct {
    unsigned n_begun;
    unsigned n_woken;
    struct writes must; // what is written before a signal, without the mutex
} waiting;

static void wait_for_signal(struct actor *self, uint64_t arg)
{
    (void)arg;
    do_lock(self, 1);
    waiting.n_begun++;
    check(do_cond_wait(self, 1, 1) == TM_OK);
    waiting.n_woken++;
    actor_must_see(self, &waiting.must);
    do_check(self);
    do_unlock(self, 1);
}

/* The mutex is free only when the last one's call is noted. */
static void await_all_waiters(struct actor *self)
{
    bool are_there = false;

    while (!are_there) {
        do_compute(self, 100000);
        do_lock(self, 1);
        are_there = waiting.n_begun == N_WAITERS;
        do_unlock(self, 1);
    }
}

static void signal_and_count(struct actor *self, int all, unsigned n_woken)
{
    do_write(self);
    waiting.must = self->must;
    do_cond_signal(self, 1, all);
    do_compute(self, QUITE_LONG_NS);
    check(waiting.n_woken == n_woken);
}

static void main_of_signals(struct actor *self, uint64_t arg)
{
    uint64_t threads[N_WAITERS];

    (void)arg;
    memset(&waiting, 0, sizeof waiting);
    for (int i = 0; i < N_WAITERS; i++) {
        threads[i] = must_create(self, wait_for_signal, 0, 1 + i % 3);
    }
    await_all_waiters(self);
    signal_and_count(self, 0, 1);
    signal_and_count(self, 0, 2);
    signal_and_count(self, 1, N_WAITERS);
    for (int i = 0; i < N_WAITERS; i++) {
        must_join(self, threads[i]);
    }
}

static void a_signal_wakes_one_and_a_broadcast_all(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_signals);
}

static void wait_on_sem(struct actor *self, uint64_t arg)
{
    check(do_sem_wait(self, (unsigned)arg) == TM_OK);
}

static void main_of_sem(struct actor *self, uint64_t arg)
{
    uint64_t thread;

    (void)arg;
    check(do_sem_wait(self, 1) == TM_EINVAL);
    check(do_sem_post(self, 1) == TM_EINVAL);
    check(do_sem_init(self, 1, 1) == TM_OK);
    check(do_sem_wait(self, 1) == TM_OK);
    thread = must_create(self, wait_on_sem, 1, 2);
    do_compute(self, 3000000);
    check(do_sem_init(self, 1, 5) == TM_EBUSY);
    check(do_sem_post(self, 1) == TM_OK);
    must_join(self, thread);
    check(do_sem_init(self, 1, 5) == TM_OK);
}

static void a_semaphore_is_initialised_first_and_not_under_waiters(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_sem);
}

enum { EXCHANGES = 50 };

static void post_and_wait(struct actor *self, uint64_t own)
{
    for (unsigned i = 0; i < EXCHANGES; i++) {
        check(do_sem_post(self, (unsigned)own) == TM_OK);
        check(do_sem_wait(self, 1 - (unsigned)own) == TM_OK);
    }
}

/* A hand-over is one message if the waiter's node manages the semaphore, and two if the
 * poster's does: who waits there is answered. Each semaphore is used both ways. */
static void main_of_exchange(struct actor *self, uint64_t arg)
{
    uint64_t thread;
    uint64_t n_sent;

    (void)arg;
    check(do_sem_init(self, 0, 0) == TM_OK);
    check(do_sem_init(self, 1, 0) == TM_OK);
    n_sent = self->world->n_sent;
    for (unsigned own = 0; own < 2; own++) {
        thread = must_create(self, post_and_wait, 1 - own, 2);
        post_and_wait(self, own);
        must_join(self, thread);
    }
    check(self->world->n_sent - n_sent < (2 * (1 + 2) + 1) * EXCHANGES);
}

static void a_post_between_two_nodes_is_one_message(void **state)
{
    (void)state;
    world_run_program(world_config_of(2), main_of_exchange);
}

/* What a thread has posted is there for whom it tells of that, wherever they are. */
static void find_posted(struct actor *self, uint64_t sem)
{
    check(do_sem_trywait(self, (unsigned)sem) == TM_OK);
}

static void post_and_tell(struct actor *self, uint64_t on_node)
{
    for (unsigned sem = 0; sem < 6; sem++) {
        for (int i = 0; i < 20; i++) {
            check(do_sem_post(self, sem) == TM_OK);
            must_run_on(self, find_posted, sem, (int)on_node);
        }
    }
}

static void main_of_posts(struct actor *self, uint64_t arg)
{
    (void)arg;
    for (unsigned sem = 0; sem < 6; sem++) {
        check(do_sem_init(self, sem, 0) == TM_OK);
    }
    for (unsigned on_node = 1; on_node <= 3; on_node++) {
        post_and_tell(self, on_node);
    }
}

static void a_post_is_there_for_whom_it_is_told(void **state)
{
    (void)state;
    world_run_program(world_config_of(3), main_of_posts);
}

/* ---- reports ---- */

static void lock_both(struct actor *self, uint64_t arg)
{
    do_lock(self, 1 + (unsigned)arg);
    do_compute(self, 10000000);
    do_lock(self, 2 - (unsigned)arg);
}

static void wait_for_ever(struct actor *self, uint64_t arg)
{
    if (arg == 0) {
        do_sem_init(self, 3, 0);
        do_sem_wait(self, 3);
    } else {
        do_lock(self, 4);
        do_cond_wait(self, 5, 4);
    }
}

static void meet(struct actor *self, uint64_t arg)
{
    (void)arg;
    do_arrive(self, 1, ARRIVE_WAIT, TM_SUM, 1);
}

static void main_of_deadlock(struct actor *self, uint64_t arg)
{
    do_barrier_init(self, 1, 2);
    for (uint64_t i = 0; i < 2; i++) {
        must_create(self, lock_both, i, 1 + (int)(i * arg));
        must_create(self, wait_for_ever, i, 2);
    }
    must_create(self, meet, 0, 2);
    must_join(self, 1);
}

static void who_waits_for_what_is_listed(void **state)
{
    static const char *const lines[] = {
        "thread 0 waits for the end of thread 1\n",
        "thread 1 waits for mutex 0x7e8000000080",
        "thread 3 waits for mutex 0x7e8000000040",
        "thread 2 waits for semaphore 0x7e80000000c0\n",
        "thread 4 waits for condition variable 0x7e8000000140 with mutex "
        "0x7e8000000100\n",
        "thread 5 waits at barrier 0x7e8000000040\n",
        "barrier 0x7e8000000040: 1 of 2 threads have arrived\n",
    };

    (void)state;
    for (uint64_t nodes = 0; nodes < 2; nodes++) {
        struct world_config config = world_config_of(2);
        struct world *world = world_new(&config);
        const char *waits;

        world_check(world, !world_run(world, main_of_deadlock, nodes));
        waits = world_waits(world);
        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
            if (strstr(waits, lines[i]) == NULL) {
                fail_msg("\"%s\" is not in:\n%s", lines[i], waits);
            }
        }
        assert_non_null(strstr(
            waits, nodes == 0 ? "held by thread 1\n"
                              : "thread 1 holds mutex 0x7e8000000040, which "
                                "another node waits for\n"));
        world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_used_by_one_node_costs_no_messages),
        cmocka_unit_test(locking_what_the_caller_holds_is_refused),
        cmocka_unit_test(trylock_fails_only_while_somebody_holds_the_mutex),
        cmocka_unit_test(
            a_mutex_is_busy_while_it_is_held_here_and_nobody_waits),
        cmocka_unit_test(who_gives_up_a_mutex_leaves_no_trace),
        cmocka_unit_test(who_asks_for_a_value_takes_nothing),
        cmocka_unit_test(a_post_does_not_go_to_one_who_has_given_up),
        cmocka_unit_test(a_recursive_mutex_is_one_on_all_nodes),
        cmocka_unit_test(mutexes_that_nobody_uses_cost_no_memory),
        cmocka_unit_test(mutexes_with_data_stay_known),
        cmocka_unit_test(mutexes_that_are_waited_for_stay_known),
        cmocka_unit_test(each_waits_for_its_own_time),
        cmocka_unit_test(a_wrong_unlock_names_thread_mutex_and_holder),
        cmocka_unit_test(a_holder_that_has_moved_can_unlock),
        cmocka_unit_test(two_nodes_that_want_a_mutex_take_turns),
        cmocka_unit_test(a_contended_mutex_takes_three_messages_a_turn),
        cmocka_unit_test(one_message_goes_from_the_unlock_to_the_next_node),
        cmocka_unit_test(cond_wait_without_the_mutex_is_refused),
        cmocka_unit_test(a_signal_wakes_one_and_a_broadcast_all),
        cmocka_unit_test(
            a_semaphore_is_initialised_first_and_not_under_waiters),
        cmocka_unit_test(a_post_between_two_nodes_is_one_message),
        cmocka_unit_test(a_post_is_there_for_whom_it_is_told),
        cmocka_unit_test(who_waits_for_what_is_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
