// SPDX-License-Identifier: BSD-3-Clause
// Waits that a handler ends: for semaphores, if it was set so, and sleep, which may be asked to
// last for ever; sleep of threads that are left when main() has gone.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sem_t sem;
static sem_t told;
static volatile sig_atomic_t n_handled;
static volatile int is_over;

static void handle(int number)
{
    (void)number;
    n_handled = 1;
}

static struct timespec later(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    time.tv_sec += 1000;
    return time;
}

// ---- waits, each by its number

enum { WAIT, WAIT_UNTIL, WAIT_BY_CLOCK, SLEEP, SLEEP_BY_CLOCK, SLEEP_LONG };

static int wait_so(int kind)
{
    const struct timespec until = later(CLOCK_REALTIME);
    const struct timespec until_clock = later(CLOCK_MONOTONIC);
    struct timespec left = {.tv_sec = -1};

    switch (kind) {
    case WAIT:
        return sem_wait(&sem);
    case WAIT_UNTIL:
        return sem_timedwait(&sem, &until);
    case WAIT_BY_CLOCK:
        return sem_clockwait(&sem, CLOCK_MONOTONIC, &until_clock);
    case SLEEP:
        nanosleep(&(struct timespec){.tv_sec = 1000}, &left);
        return left.tv_sec > 0 && left.tv_sec <= 1000 ? -1 : 1;
    case SLEEP_BY_CLOCK:
        errno = clock_nanosleep(CLOCK_MONOTONIC, 0,
                                &(struct timespec){.tv_sec = 1000}, &left);
        return left.tv_sec > 0 && left.tv_sec <= 1000 ? -1 : 1;
    default:
        return nanosleep(&(struct timespec){.tv_sec = INT64_MAX}, NULL);
    }
}

static void *wait_and_tell(void *kind)
{
    const int result = wait_so((int)(long)kind);
    const int error = errno;

    printf("%ld: %d %d %d\n", (long)kind, result,
           result == -1 && error == EINTR, (int)n_handled);
    is_over = 1;
    sem_post(&told);
    return NULL;
}

static void set_handler(int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, NULL);
}

// Until one comes while it waits.
static void interrupt(long kind)
{
    pthread_t thread;

    n_handled = 0;
    is_over = 0;
    pthread_create(&thread, NULL, wait_and_tell, (void *)kind);
    while (!is_over) {
        usleep(25000);
        pthread_kill(thread, SIGUSR1);
    }
    pthread_join(thread, NULL);
    sem_wait(&told);
}

static void do_not_interrupt(void)
{
    pthread_t thread;

    n_handled = 0;
    pthread_create(&thread, NULL, wait_and_tell, (void *)WAIT);
    while (!n_handled) {
        usleep(25000);
        pthread_kill(thread, SIGUSR1);
        usleep(25000);
    }
    sem_post(&sem);
    pthread_join(thread, NULL);
    sem_wait(&told);
}

static void *sleep_when_alone(void *nothing)
{
    usleep(50000); // main() has gone meanwhile
    printf("it has slept: %u\n", sleep(1));
    return nothing;
}

int main(void)
{
    pthread_t thread;
    int value;

    sem_init(&sem, 0, 0);
    sem_init(&told, 0, 0);
    set_handler(0);
    for (long kind = WAIT; kind <= SLEEP_LONG; kind++) {
        interrupt(kind);
    }
    set_handler(SA_RESTART);
    do_not_interrupt();
    siginterrupt(SIGUSR1, 1);
    interrupt(WAIT);
    sem_getvalue(&sem, &value);
    printf("left: %d\n", value);
    pthread_create(&thread, NULL, sleep_when_alone, NULL);
    pthread_exit(NULL);
}
