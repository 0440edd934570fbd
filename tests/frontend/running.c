// SPDX-License-Identifier: BSD-3-Clause
// main() returns while other threads go on and touch memory that they did not have yet.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE 4096L
#define PAGES 16384L
#define THREADS 3

static char *memory;
static sem_t begun;

static void *go_on(void *argument)
{
    const long me = (long)argument;

    sem_post(&begun);
    for (long n = 0;; n++) {
        memory[(n * 257 + me * PAGES / THREADS) % PAGES * PAGE + me]++;
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;

    memory = malloc(PAGES * PAGE);
    if (memory == NULL) {
        return 1;
    }
    sem_init(&begun, 0, 0);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&thread, NULL, go_on, (void *)i);
        pthread_detach(thread);
    }
    for (int i = 0; i < THREADS; i++) {
        sem_wait(&begun);
    }
    puts("the end");
    return 4;
}
