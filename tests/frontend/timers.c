// SPDX-License-Identifier: BSD-3-Clause
// Timers that begin threads: again and again, with a stack of some size, until they are deleted.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMERS 3
#define KIB 1024ul

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t expired;
static pthread_t first;
static int counts[TIMERS];
static int are_others = 1;
static int are_blocked = 1;

static long use(long kib)
{
    volatile char room[KIB];

    room[kib % KIB] = (char)kib;
    return kib == 0 ? 0 : use(kib - 1) + (room[kib % KIB] == (char)kib);
}

static void count(union sigval value)
{
    const int self = value.sival_int;
    sigset_t set;

    sigemptyset(&set);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    pthread_mutex_lock(&mutex);
    counts[self]++;
    are_others &= !pthread_equal(first, pthread_self());
    are_blocked &= sigismember(&set, SIGUSR1) && !sigismember(&set, SIGKILL);
    pthread_mutex_unlock(&mutex);
    sem_post(&expired);
}

static void use_stack(union sigval value)
{
    *(long *)value.sival_ptr = use(14 * KIB);
    sem_post(&expired);
}

static timer_t make(void (*function)(union sigval), union sigval value,
                    pthread_attr_t *attr)
{
    struct sigevent event;
    timer_t timer;

    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = function;
    event.sigev_notify_attributes = attr;
    event.sigev_value = value;
    printf("made: %d\n", timer_create(CLOCK_MONOTONIC, &event, &timer));
    return timer;
}

static void set(timer_t timer, long interval_ns)
{
    const struct itimerspec time = {{0, interval_ns}, {0, 1000000}};

    timer_settime(timer, 0, &time, NULL);
}

static int enough(void)
{
    int n = 0;

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < TIMERS; i++) {
        n += counts[i] >= 3;
    }
    pthread_mutex_unlock(&mutex);
    return n == TIMERS;
}

static int count_all(void)
{
    int n = 0;

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < TIMERS; i++) {
        n += counts[i];
    }
    pthread_mutex_unlock(&mutex);
    return n;
}

// Those that have begun come to their end.
static int become_quiet(void)
{
    int before = -1;
    int n_same = 0;

    for (int tries = 0; tries < 500 && n_same < 5; tries++) {
        const int n = count_all();

        n_same = n == before ? n_same + 1 : 0;
        before = n;
        usleep(20000);
    }
    return n_same == 5;
}

static void repeat(void)
{
    timer_t timers[TIMERS];

    for (int i = 0; i < TIMERS; i++) {
        timers[i] = make(count, (union sigval){.sival_int = i}, NULL);
        set(timers[i], 3000000);
    }
    while (!enough()) {
        sem_wait(&expired);
    }
    for (int i = 0; i < TIMERS; i++) {
        printf("deleted: %d\n", timer_delete(timers[i]));
    }
    printf("others %d, blocked %d, ", are_others, are_blocked);
    printf("quiet %d\n", become_quiet());
    while (sem_trywait(&expired) == 0) {
    }
}

int main(void)
{
    struct sigevent wrong;
    pthread_attr_t attr;
    long used = 0;
    timer_t timer;

    first = pthread_self();
    sem_init(&expired, 0, 0);
    repeat();
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 16384 * KIB);
    timer = make(use_stack, (union sigval){.sival_ptr = &used}, &attr);
    pthread_attr_destroy(&attr);
    set(timer, 0);
    sem_wait(&expired);
    printf("used %ld\n", used);
    memset(&wrong, 0, sizeof wrong);
    wrong.sigev_notify = 77;
    printf("%d", timer_create(CLOCK_REALTIME, &wrong, &timer));
    printf(" %d\n", errno == EINVAL);
    return 0;
}
