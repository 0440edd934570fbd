// SPDX-License-Identifier: BSD-3-Clause
// Ends of threads that are waited for some time only, and main()'s; a mutex that its holder waits
// for; semaphores that are asked for their value; timers; a stack for handlers; what the kernel
// tells, in memory that nobody has touched.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static sem_t go_on;
static sem_t ticks;
static sem_t items;
static timer_t timer;
static volatile int most_overruns;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct timespec soon(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    time.tv_nsec += 20000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

static void *work(void *result)
{
    sem_wait(&go_on);
    return result;
}

static void *join_self(void *nothing)
{
    const struct timespec until = soon(CLOCK_REALTIME);

    printf("itself: %d\n",
           pthread_timedjoin_np(pthread_self(), NULL, &until) == EDEADLK);
    return nothing;
}

static void join_in_time(void)
{
    struct timespec until = soon(CLOCK_REALTIME);
    pthread_t threads[3];
    void *result = NULL;
    int error;

    for (long i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    }
    printf("goes on: %d", pthread_tryjoin_np(threads[0], &result) == EBUSY);
    printf(" %d",
           pthread_timedjoin_np(threads[1], &result, &until) == ETIMEDOUT);
    until = soon(CLOCK_MONOTONIC);
    printf(" %d", pthread_clockjoin_np(threads[2], &result, CLOCK_MONOTONIC,
                                       &until) == ETIMEDOUT);
    printf(" %d\n",
           pthread_clockjoin_np(threads[2], &result, CLOCK_THREAD_CPUTIME_ID,
                                &until) == EINVAL);
    for (int i = 0; i < 3; i++) {
        sem_post(&go_on);
    }
    do {
        usleep(500);
        error = pthread_tryjoin_np(threads[0], &result);
    } while (error == EBUSY);
    printf("ended: %d %ld", error, (long)result);
    until = soon(CLOCK_REALTIME);
    until.tv_sec += 100;
    error = pthread_timedjoin_np(threads[1], &result, &until);
    printf(", %d %ld", error, (long)result);
    error = pthread_join(threads[2], &result);
    printf(", %d %ld\n", error, (long)result);
    pthread_create(&threads[0], NULL, join_self, NULL);
    pthread_join(threads[0], NULL);
}

static void lock_twice(void)
{
    const struct timespec until = soon(CLOCK_REALTIME);

    pthread_mutex_lock(&mutex);
    printf("its holder waits: %d\n",
           pthread_mutex_timedlock(&mutex, &until) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
}

static void on_tick(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (timer_getoverrun(timer) > most_overruns) {
        most_overruns = timer_getoverrun(timer);
    }
    if (info->si_value.sival_int == 7) {
        sem_post(&ticks);
    }
}

static void block_ticks(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    pthread_sigmask(how, &set, NULL);
}

static void tick(void)
{
    const struct itimerspec often = {{0, 2000000}, {0, 2000000}};
    const struct sigaction action = {.sa_sigaction = on_tick,
                                     .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGRTMIN + 1,
                             .sigev_value = {.sival_int = 7}};
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    stack_t other;
    struct itimerspec value;

    sigaltstack(&stack, &other);
    printf("no stack %d", other.ss_flags == SS_DISABLE);
    sigaltstack(NULL, &other);
    printf(", then %d", other.ss_sp == stack.ss_sp);
    other = (stack_t){.ss_sp = stack.ss_sp, .ss_size = 1};
    printf(", too small: %d\n", sigaltstack(&other, NULL) == -1);
    sigaction(SIGRTMIN + 1, &action, NULL);
    printf("timer: %d", timer_create(CLOCK_MONOTONIC, &event, &timer));
    printf(" %d", timer_settime(timer, 0, &often, NULL));
    printf(" %d", timer_gettime(timer, &value));
    printf(" %ld", value.it_interval.tv_nsec);
    for (int n = 0; n < 5;) {
        n += sem_wait(&ticks) == 0;
    }
    block_ticks(SIG_BLOCK);
    usleep(50000);
    block_ticks(SIG_UNBLOCK);
    printf(" %d", most_overruns > 3);
    printf(" %d\n", timer_delete(timer));
}

static uid_t ids[3 * 4096];

static void *ask(void *nothing)
{
    struct rusage *usage = calloc(1, 70000);
    struct utsname *name = calloc(1, 70000);
    struct timespec *time = calloc(1, 70000);

    printf("asked: %d", getresuid(&ids[0], &ids[4096], &ids[8192]));
    printf(" %d", ids[0] == getuid());
    printf(" %d", getrusage(RUSAGE_SELF, usage));
    printf(" %d", uname(name));
    printf(" %d", name->sysname[0] != '\0');
    printf(" %d\n", clock_gettime(CLOCK_THREAD_CPUTIME_ID, time));
    free(usage);
    free(name);
    free(time);
    return nothing;
}

// Asking takes nothing, and others are not kept from taking.
static void *take_all(void *taken)
{
    while (sem_trywait(&items) == 0) {
        ++*(int *)taken;
    }
    return NULL;
}

static void count_items(void)
{
    int taken = 0;
    int value = 0;
    pthread_t thread;

    sem_init(&items, 0, 500);
    pthread_create(&thread, NULL, take_all, &taken);
    do {
        sem_getvalue(&items, &value);
    } while (value > 0);
    pthread_join(thread, NULL);
    printf("taken: %d, left %d\n", taken, value);
}

static void *join_main(void *thread)
{
    void *result = NULL;
    const int error = pthread_join(*(pthread_t *)thread, &result);

    printf("main: %d %ld\n", error, (long)result);
    exit(6);
}

static pthread_t main_thread;

int main(void)
{
    pthread_t thread;

    main_thread = pthread_self();
    sem_init(&go_on, 0, 0);
    sem_init(&ticks, 0, 0);
    join_in_time();
    lock_twice();
    tick();
    count_items();
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, ask, NULL);
        pthread_join(thread, NULL);
    }
    pthread_create(&thread, NULL, join_main, &main_thread);
    pthread_exit((void *)42);
}
