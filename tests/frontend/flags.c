// SPDX-License-Identifier: BSD-3-Clause
// C11 atomics, builtins, and flags that threads spin on.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 6

struct shared {
    atomic_long counter;
    atomic_flag lock;
    long guarded;
    volatile int turn;
    unsigned char bytes[64];
};

static struct shared *shared;
static volatile int go;
static int old_style;

static void *work(void *arg)
{
    int me = (int)(long)arg;

    while (!go) {
    }
    for (int i = 0; i < 500; i++) {
        atomic_fetch_add(&shared->counter, 1);
        __sync_fetch_and_add(&old_style, 2);
        while (atomic_flag_test_and_set(&shared->lock)) {
        }
        shared->guarded += me;
        atomic_flag_clear(&shared->lock);
        __atomic_fetch_or(&shared->bytes[i % 64], 1 << me, __ATOMIC_RELAXED);
    }
    while (shared->turn != me) {
    }
    shared->turn = me + 1;
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int bits = 0;

    shared = calloc(1, sizeof *shared);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    go = 1;
    while (shared->turn != THREADS) {
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 64; i++) {
        bits += shared->bytes[i];
    }
    printf("%ld %ld %d %d %d\n", shared->counter, shared->guarded, old_style,
           shared->turn, bits);
    return 0;
}
