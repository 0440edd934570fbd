// SPDX-License-Identifier: BSD-3-Clause
// Stacks as large as was asked for: pthread_attr_setstacksize(), OMP_STACKSIZE, which the test
// sets, `ulimit -s`. With an argument, one that is too small: the thread overflows it. Thread-local
// variables that are larger than a small stack.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

#define KIB 1024ul

static __thread char own[1024 * KIB];

static long use(long kib)
{
    volatile char room[KIB];

    room[kib % KIB] = (char)kib;
    return kib == 0 ? 0 : use(kib - 1) + (room[kib % KIB] == (char)kib);
}

static void *work(void *arg)
{
    own[(long)arg] = 1;
    return (void *)(use((long)arg) + own[(long)arg]);
}

static long run(size_t stack, long kib)
{
    pthread_attr_t attr;
    pthread_t thread;
    void *result;

    pthread_attr_init(&attr);
    if (stack > 0) {
        pthread_attr_setstacksize(&attr, stack);
    }
    pthread_create(&thread, &attr, work, (void *)kib);
    pthread_join(thread, &result);
    return (long)result;
}

int main(int argc, char **argv)
{
    long sum = 0;

    (void)argv;
    printf("%ld\n", run(8192 * KIB, 6000));
    printf("%ld\n", run(16384 * KIB, 12000));
    printf("%ld\n", run(256 * KIB, 100));
    printf("%ld\n", run(0, 1500));
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += use(3000);
    printf("%ld\n", sum);
    fflush(stdout);
    if (argc > 1) {
        printf("%ld\n", run(256 * KIB, 600));
    }
    return 0;
}
