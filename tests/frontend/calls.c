// SPDX-License-Identifier: BSD-3-Clause
// Keys, once, semaphores, kinds of mutexes, timed waits, detached threads, cleanup handlers,
// pthread_exit(), locals of threads given to other threads, atexit().
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int n_once;
static int n_destroyed;
static int n_cleaned;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond;
static sem_t done;
static sem_t items;
static pthread_spinlock_t spin;
static long spun;

static void destroy(void *value)
{
    pthread_mutex_lock(&mutex);
    n_destroyed += *(int *)value;
    pthread_mutex_unlock(&mutex);
    free(value);
}

static void make_key(void)
{
    n_once++;
    pthread_key_create(&key, destroy);
}

static void clean(void *arg)
{
    pthread_mutex_lock(&mutex);
    n_cleaned += (int)(long)arg;
    pthread_mutex_unlock(&mutex);
}

static void *add_to_local(void *arg)
{
    (*(int *)arg)++;
    return arg;
}

static int deep(int n)
{
    char room[1000];

    memset(room, n, sizeof room);
    return n == 0 ? 0 : room[n % 1000] - (char)n + deep(n - 1) + 1;
}

static void *work(void *arg)
{
    int *value = malloc(sizeof *value);
    int local = 5;
    pthread_t child;
    void *result;

    pthread_once(&once, make_key);
    *value = (int)(long)arg;
    pthread_setspecific(key, value);
    pthread_create(&child, NULL, add_to_local, &local);
    pthread_join(child, &result);
    if (result != &local || local != 6 || pthread_getspecific(key) != value) {
        printf("local: %d\n", local);
    }
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
    sem_wait(&items);
    for (int i = 0; i < 20; i++) {
        pthread_spin_lock(&spin);
        spun++;
        pthread_spin_unlock(&spin);
    }
    pthread_cleanup_push(clean, (void *)1);
    pthread_cleanup_push(clean, (void *)10);
    if (deep(300) != 300) {
        puts("deep");
    }
    if ((long)arg % 2 == 0) {
        pthread_exit((void *)7);
    }
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(1);
    return (void *)8;
}

static void *detached(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    n_cleaned += 1000;
    pthread_mutex_unlock(&mutex);
    sem_post(&done);
    return NULL;
}

static void at_end(void)
{
    printf("end: once %d, destroyed %d, cleaned %d\n", n_once, n_destroyed,
           n_cleaned);
}

static int wait_in_vain(void)
{
    struct timespec until;
    int error;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&mutex);
    error = pthread_cond_timedwait(&cond, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return error == ETIMEDOUT;
}

static int check_kinds(void)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t own;
    int errors[3];

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&own, &attr);
    errors[0] = pthread_mutex_unlock(&own);
    pthread_mutex_lock(&own);
    errors[1] = pthread_mutex_lock(&own);
    errors[2] = pthread_mutex_trylock(&own);
    pthread_mutex_unlock(&own);
    return errors[0] == EPERM && errors[1] == EDEADLK && errors[2] == EBUSY &&
           pthread_mutex_destroy(&own) == 0;
}

// What is said of cancellation is told again, and is each thread's own.
static void *set_cancellation(void *arg)
{
    int told[4] = {-1, -1, -1, -1};

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &told[0]);
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &told[1]);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &told[2]);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &told[3]);
    printf("cancellation %d %d %d %d %d\n", told[0], told[1], told[2], told[3],
           pthread_setcancelstate(77, NULL) == EINVAL);
    return arg;
}

/* What threads say of themselves, and of others. */
static void *ask_of(void *arg)
{
    const pthread_t other = *(pthread_t *)arg;
    const pthread_t asked[] = {pthread_self(), other};

    for (int i = 0; i < 2; i++) {
        struct sched_param parameters = {.sched_priority = 7};
        cpu_set_t set;
        char name[16] = "";
        int policy = -1;
        int errors = pthread_setschedprio(asked[i], 0);

        errors |= pthread_getschedparam(asked[i], &policy, &parameters);
        errors |= pthread_getaffinity_np(asked[i], sizeof set, &set);
        errors |= pthread_getname_np(asked[i], name, sizeof name);
        printf("of %s: %d, %s, priority %d, %s, %s\n", i ? "main" : "itself",
               errors, policy == SCHED_OTHER ? "other" : "special",
               parameters.sched_priority,
               CPU_COUNT(&set) > 0 ? "processors" : "none",
               name[0] ? "a name" : "no name");
    }
    {
        char name[16] = "";
        const int error = pthread_setname_np(pthread_self(), "its own name");

        pthread_getname_np(pthread_self(), name, sizeof name);
        printf("named: %d %s, too long: %d\n", error, name,
               pthread_setname_np(pthread_self(), "sixteen letters.") ==
                   ERANGE);
    }
    printf("concurrency: %d", pthread_getconcurrency());
    printf(" %d", pthread_setconcurrency(3));
    printf(" %d", pthread_getconcurrency());
    printf(" %d\n", pthread_setconcurrency(-1) == EINVAL);
    {
        clockid_t clock;
        struct timespec now = {0};

        printf("clock: %d %d\n", pthread_getcpuclockid(pthread_self(), &clock),
               clock_gettime(clock, &now));
    }
    return NULL;
}

int main(void)
{
    enum { N = 6 };
    pthread_t threads[N];
    pthread_attr_t attr;
    pthread_condattr_t clock;
    pthread_t self = pthread_self();
    long sum = 0;
    int value;

    atexit(at_end);
    set_cancellation(NULL);
    pthread_create(&threads[0], NULL, set_cancellation, NULL);
    pthread_join(threads[0], NULL);
    pthread_create(&threads[0], NULL, ask_of, &self);
    pthread_join(threads[0], NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&cond, &clock);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    sem_init(&done, 0, 0);
    sem_init(&items, 0, 2);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 2 << 20);
    for (long i = 0; i < N; i++) {
        pthread_create(&threads[i], &attr, work, (void *)i);
    }
    for (int i = 2; i < N; i++) {
        sem_post(&items);
    }
    for (int i = 0; i < N; i++) {
        void *result;

        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_create(&threads[0], &attr, detached, NULL);
    sem_wait(&done);
    sem_getvalue(&items, &value);
    printf("%ld %ld %d %d %d %d %d\n", sum, spun, wait_in_vain(), check_kinds(),
           sem_trywait(&items) == -1 && errno == EAGAIN, value,
           pthread_equal(self, pthread_self()) != 0);
    exit(5);
}
