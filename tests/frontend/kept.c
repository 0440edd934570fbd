// SPDX-License-Identifier: BSD-3-Clause
// Masks of threads that meet at a barrier, in a run that goes on from a checkpoint.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define STEPS 300

static const int numbers[THREADS + 1] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT,
                                         SIGHUP};
static pthread_barrier_t barrier;
static int blocked[THREADS];

static int list_blocked(void)
{
    sigset_t set;
    int list = 0;

    pthread_sigmask(SIG_BLOCK, NULL, &set);
    for (int i = 0; i <= THREADS; i++) {
        list = 10 * list + sigismember(&set, numbers[i]);
    }
    return list;
}

static void block(int number)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *work(void *argument)
{
    const long me = (long)argument;
    const struct timespec time = {.tv_nsec = 2000000};

    block(numbers[me]);
    for (int step = 0; step < STEPS; step++) {
        pthread_barrier_wait(&barrier);
        if (me == 0) {
            nanosleep(&time, NULL);
        }
    }
    blocked[me] = list_blocked();
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    sigset_t set;
    int number = 0;

    block(SIGHUP);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("%05d\n", blocked[i]);
    }
    printf("main %05d\n", list_blocked());
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    raise(SIGHUP);
    sigwait(&set, &number);
    printf("got it: %d\n", number == SIGHUP);
    return 0;
}
