// SPDX-License-Identifier: BSD-3-Clause
#include "base/mutex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

enum { N_THREADS = 4, N_ROUNDS = 20000 };

struct counter {
    struct mutex mutex;
    long value; // guarded by mutex
};

static void *count(void *argument)
{
    struct counter *counter = argument;

    for (int i = 0; i < N_ROUNDS; i++) {
        if (i % 3 != 0 || !mutex_trylock(&counter->mutex)) {
            mutex_lock(&counter->mutex);
        }
        counter->value++;
        mutex_unlock(&counter->mutex);
    }
    return NULL;
}

static void mutex_lets_one_thread_in_at_a_time(void **state)
{
    struct counter counter = {.value = 0};
    pthread_t threads[N_THREADS];

    (void)state;
    mutex_init(&counter.mutex, RANK_NODE);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count, &counter), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(counter.value, (long)N_THREADS * N_ROUNDS);
    mutex_release(&counter.mutex);
}

static void *try_once(void *argument)
{
    struct mutex *mutex = argument;

    if (!mutex_trylock(mutex)) {
        return NULL;
    }
    mutex_unlock(mutex);
    return mutex;
}

static void *result_of_try_elsewhere(struct mutex *mutex)
{
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, try_once, mutex), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    return result;
}

static void trylock_fails_while_another_thread_holds_the_mutex(void **state)
{
    struct mutex mutex;

    (void)state;
    mutex_init(&mutex, RANK_LOG);
    mutex_lock(&mutex);
    assert_null(result_of_try_elsewhere(&mutex));
    mutex_unlock(&mutex);
    assert_ptr_equal(result_of_try_elsewhere(&mutex), &mutex);
    mutex_release(&mutex);
}

static void ranks_may_be_locked_downwards_and_unlocked_in_any_order(
    void **state)
{
    struct mutex mutexes[RANK_END];

    (void)state;
    for (int rank = RANK_NODE; rank < RANK_END; rank++) {
        mutex_init(&mutexes[rank], (enum mutex_rank)rank);
        mutex_lock(&mutexes[rank]);
    }
    for (int rank = RANK_NODE; rank < RANK_END; rank++) {
        mutex_unlock(&mutexes[rank]);
    }
    mutex_lock(&mutexes[RANK_SCHED]);
    mutex_unlock(&mutexes[RANK_SCHED]);
    for (int rank = RANK_NODE; rank < RANK_END; rank++) {
        mutex_release(&mutexes[rank]);
    }
}

#ifdef TM_DEBUG
/* Runs breach() in a process of its own; its exit code and stderr. */
static int exit_code_of(void (*breach)(void), char *text, size_t size)
{
    int pipe_fds[2];
    pid_t child;
    int status;
    ssize_t length;

    assert_int_equal(pipe(pipe_fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipe_fds[1], STDERR_FILENO);
        breach();
        _exit(0);
    }
    close(pipe_fds[1]);
    length = read(pipe_fds[0], text, size - 1);
    close(pipe_fds[0]);
    text[length > 0 ? length : 0] = '\0';
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void lock_upwards(void)
{
    struct mutex node;
    struct mutex sched;

    mutex_init(&node, RANK_NODE);
    mutex_init(&sched, RANK_SCHED);
    mutex_lock(&sched);
    mutex_lock(&node);
}

static void lock_two_of_one_rank(void)
{
    struct mutex first;
    struct mutex second;

    mutex_init(&first, RANK_SCHED);
    mutex_init(&second, RANK_SCHED);
    mutex_lock(&first);
    mutex_lock(&second);
}

static void try_upwards(void)
{
    struct mutex node;
    struct mutex log;

    mutex_init(&node, RANK_NODE);
    mutex_init(&log, RANK_LOG);
    mutex_lock(&log);
    (void)mutex_trylock(&node);
}

static void unlock_what_is_not_held(void)
{
    struct mutex mutex;

    mutex_init(&mutex, RANK_NODE);
    mutex_unlock(&mutex);
}

static void debug_builds_stop_on_a_breach_of_the_order(void **state)
{
    char text[512];

    (void)state;
    assert_int_equal(exit_code_of(lock_upwards, text, sizeof text),
                     EXIT_INTERNAL);
    assert_non_null(strstr(text, "rank 1 locked while one of rank 2"));
    assert_int_equal(exit_code_of(lock_two_of_one_rank, text, sizeof text),
                     EXIT_INTERNAL);
    assert_non_null(strstr(text, "rank 2 locked while one of rank 2"));
    assert_int_equal(exit_code_of(try_upwards, text, sizeof text),
                     EXIT_INTERNAL);
    assert_non_null(strstr(text, "rank 1 locked while one of rank 4"));
}

static void debug_builds_stop_on_unlocking_what_is_not_held(void **state)
{
    char text[512];

    (void)state;
    assert_int_equal(exit_code_of(unlock_what_is_not_held, text, sizeof text),
                     EXIT_INTERNAL);
    assert_non_null(strstr(text, "does not hold in note_unlocked()"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutex_lets_one_thread_in_at_a_time),
        cmocka_unit_test(trylock_fails_while_another_thread_holds_the_mutex),
        cmocka_unit_test(
            ranks_may_be_locked_downwards_and_unlocked_in_any_order),
#ifdef TM_DEBUG
        cmocka_unit_test(debug_builds_stop_on_a_breach_of_the_order),
        cmocka_unit_test(debug_builds_stop_on_unlocking_what_is_not_held),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
