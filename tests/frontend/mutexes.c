// SPDX-License-Identifier: BSD-3-Clause
// Mutexes that other threads unlock than those that locked them; that are destroyed; robust ones,
// whose threads end with them.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PAIRS 3
#define ROUNDS 20

typedef void *function(void *);

struct pair {
    pthread_mutex_t filled;
    pthread_mutex_t emptied;
    long cell;
    long sum;
};

static struct pair pairs[PAIRS];
static pthread_mutex_t usual = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static long value;
static int waits;

static struct timespec soon(void)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 20000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

static long run(function *body, void *argument)
{
    pthread_t thread;
    void *result;

    pthread_create(&thread, NULL, body, argument);
    pthread_join(thread, &result);
    return (long)result;
}

// ---- as semaphores

static void *fill(void *argument)
{
    struct pair *pair = argument;

    for (long i = 1; i <= ROUNDS; i++) {
        pthread_mutex_lock(&pair->emptied);
        pair->cell = i;
        pair->sum += i;
        pthread_mutex_unlock(&pair->filled);
    }
    return NULL;
}

static void *empty(void *argument)
{
    struct pair *pair = argument;

    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&pair->filled);
        pair->sum = 3 * pair->sum + pair->cell;
        pthread_mutex_unlock(&pair->emptied);
    }
    return NULL;
}

static void hand_on(void)
{
    pthread_t threads[2 * PAIRS];

    for (int i = 0; i < PAIRS; i++) {
        pthread_mutex_init(&pairs[i].filled, NULL);
        pthread_mutex_init(&pairs[i].emptied, NULL);
        pthread_mutex_lock(&pairs[i].filled);
        pthread_create(&threads[2 * i], NULL, fill, &pairs[i]);
        pthread_create(&threads[2 * i + 1], NULL, empty, &pairs[i]);
    }
    for (int i = 0; i < 2 * PAIRS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < PAIRS; i++) {
        printf("sum %ld, ", pairs[i].sum);
        printf("%d ", pthread_mutex_trylock(&pairs[i].filled) == EBUSY);
        printf("%d\n", pthread_mutex_trylock(&pairs[i].emptied));
    }
}

static void *unlock(void *mutex)
{
    value++;
    return (void *)(long)pthread_mutex_unlock(mutex);
}

static void *unlock_spin(void *lock)
{
    value++;
    return (void *)(long)pthread_spin_unlock(lock);
}

// What locks it a second time waits for another thread.
static void lock_twice(void)
{
    const struct timespec until = soon();
    pthread_t thread;

    pthread_mutex_lock(&usual);
    printf("twice: %d", pthread_mutex_trylock(&usual) == EBUSY);
    printf(" %d", pthread_mutex_timedlock(&usual, &until) == ETIMEDOUT);
    pthread_create(&thread, NULL, unlock, &usual);
    printf(" %d", pthread_mutex_lock(&usual));
    printf(" %ld\n", value);
    pthread_join(thread, NULL);
    printf("by another: %ld", run(unlock, &usual));
    printf(" %d\n", pthread_mutex_trylock(&usual));
    pthread_mutex_unlock(&usual);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(&spin);
    printf("spin lock: %d", pthread_spin_trylock(&spin) == EBUSY);
    printf(" %ld", run(unlock_spin, (void *)&spin));
    printf(" %d %ld\n", pthread_spin_trylock(&spin), value);
    pthread_spin_unlock(&spin);
}

static void *lock(void *mutex)
{
    return (void *)(long)pthread_mutex_lock(mutex);
}

static void refuse_others(void)
{
    printf("not held: %d", pthread_mutex_unlock(&checked) == EPERM);
    printf(" %d\n", pthread_mutex_unlock(&again) == EPERM);
    pthread_mutex_lock(&checked);
    pthread_mutex_lock(&again);
    printf("another's: %d", run(unlock, &checked) == EPERM);
    printf(" %d", run(unlock, &again) == EPERM);
    printf(" %d", pthread_mutex_unlock(&checked));
    printf(" %d\n", pthread_mutex_unlock(&again));
}

static void destroy(void)
{
    pthread_mutex_t *all[] = {&usual, &checked, &again};

    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(all[i]);
        printf("destroyed: %d", pthread_mutex_destroy(all[i]) == EBUSY);
        pthread_mutex_unlock(all[i]);
        run(lock, all[i]);
        printf(" %d\n", pthread_mutex_destroy(all[i]) == EBUSY);
    }
    run(unlock, &usual);
    printf("unlocked: %d\n", pthread_mutex_destroy(&usual));
}

// ---- in memory that is used anew, where one was held

static void *take(void *mutex)
{
    pthread_mutex_lock(mutex);
    return mutex;
}

static void make_anew(void)
{
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    pthread_spinlock_t *lock = malloc(sizeof *lock);
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    printf("anew:");
    for (int i = 0; i < 6; i++) {
        pthread_mutexattr_settype(&attr, i % 2 == 0 ? PTHREAD_MUTEX_NORMAL
                                                    : PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(mutex, &attr);
        pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE);
        printf(" %d", pthread_mutex_trylock(mutex));
        printf(" %d", pthread_mutex_trylock(mutex) == (i % 2 == 0 ? EBUSY : 0));
        printf(" %d", pthread_spin_trylock(lock));
        printf(" %d", pthread_spin_trylock(lock) == EBUSY);
        if (i < 3) {
            pthread_mutex_init(mutex, NULL);
            run(take, mutex);
        }
    }
    printf("\n");
    pthread_mutexattr_destroy(&attr);
    free((void *)lock);
    free(mutex);
}

// ---- robust ones

static void make_robust(pthread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, type);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
}

static void *lock_and_end(void *mutex)
{
    pthread_mutex_lock(mutex);
    value += 10;
    pthread_exit((void *)(long)(pthread_mutex_trylock(mutex) != 0));
}

static void *lock_and_unlock(void *mutex)
{
    const int error = pthread_mutex_lock(mutex);

    if (error == 0 || error == EOWNERDEAD) {
        pthread_mutex_unlock(mutex);
    }
    return (void *)(long)error;
}

static void own(int type)
{
    const struct timespec until = soon();
    static pthread_mutex_t mutexes[3];
    pthread_mutex_t *mutex = &mutexes[type];

    make_robust(mutex, type);
    printf("robust: %d", pthread_mutex_unlock(mutex) == EPERM);
    printf(" %d", pthread_mutex_lock(mutex));
    printf(" %d", pthread_mutex_trylock(mutex) != 0);
    printf(" %d", pthread_mutex_timedlock(mutex, &until));
    printf(" %d", pthread_mutex_consistent(mutex) == EINVAL);
    printf(" %ld", run(unlock, mutex));
    for (int i = 0; i < 4; i++) {
        printf(" %d", pthread_mutex_unlock(mutex));
    }
    printf("\n");
}

static void inherit(int type)
{
    static pthread_mutex_t mutexes[3];
    pthread_mutex_t *mutex = &mutexes[type];
    long error;

    make_robust(mutex, type);
    value = 0;
    error = run(lock_and_end, mutex);
    printf("its holder: %ld; left: ", error);
    printf("%d", pthread_mutex_lock(mutex) == EOWNERDEAD);
    printf(" %ld", value);
    printf(" %d", pthread_mutex_consistent(mutex));
    printf(" %d", pthread_mutex_consistent(mutex) == EINVAL);
    printf(" %d", pthread_mutex_unlock(mutex));
    printf(" %ld\n", run(lock_and_unlock, mutex));
}

static void lose(int type)
{
    static pthread_mutex_t mutexes[3];
    pthread_mutex_t *mutex = &mutexes[type];

    make_robust(mutex, type);
    run(lock_and_end, mutex);
    run(lock_and_end, mutex); // it has not said that all is well, either
    printf("lost: %ld", run(lock_and_unlock, mutex));
    printf(" %ld", run(lock_and_unlock, mutex));
    printf(" %d", pthread_mutex_trylock(mutex));
    printf(" %d", pthread_mutex_consistent(mutex));
    printf(" %d\n", pthread_mutex_destroy(mutex));
}

static pthread_mutex_t watched;

// The one that waits has the mutex when the other has ended.
static void *wake_and_end(void *nothing)
{
    pthread_mutex_lock(&watched);
    while (!waits) {
        pthread_mutex_unlock(&watched);
        pthread_mutex_lock(&watched);
    }
    pthread_cond_signal(&changed);
    return nothing;
}

static void wait_for_it(void)
{
    pthread_t thread;
    int error;

    make_robust(&watched, PTHREAD_MUTEX_NORMAL);
    printf("not held: %d\n", pthread_cond_wait(&changed, &watched) == EPERM);
    pthread_create(&thread, NULL, wake_and_end, NULL);
    pthread_mutex_lock(&watched);
    waits = 1;
    error = pthread_cond_wait(&changed, &watched);
    printf("after a wait: %d", error == EOWNERDEAD);
    printf(" %d", pthread_mutex_consistent(&watched));
    printf(" %d\n", pthread_mutex_unlock(&watched));
    pthread_join(thread, NULL);
}

int main(void)
{
    hand_on();
    lock_twice();
    refuse_others();
    destroy();
    make_anew();
    for (int type = PTHREAD_MUTEX_NORMAL; type <= PTHREAD_MUTEX_ERRORCHECK;
         type++) {
        own(type);
        inherit(type);
        lose(type);
    }
    wait_for_it();
    return 0;
}
