// SPDX-License-Identifier: BSD-3-Clause
// main() ends by pthread_exit(): the others go on, and what atexit() was told is called by
// the last one's end or by exit(), which ends those that would go on for ever.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never;
static int n_worked;
static int is_asked;

static void at_end(void)
{
    printf("worked: %d\n", n_worked);
}

static void *work(void *arg)
{
    pthread_mutex_lock(&mutex);
    n_worked += (int)(long)arg;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *wait_for_ever(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    while (n_worked >= 0) {
        pthread_cond_wait(&never, &mutex);
    }
    return NULL;
}

static void *leave(void *arg)
{
    (void)arg;
    usleep(50000);
    pthread_mutex_lock(&mutex);
    n_worked += 100;
    pthread_mutex_unlock(&mutex);
    if (is_asked) {
        exit(3);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    (void)argv;
    is_asked = argc > 1;
    atexit(at_end);
    for (long i = 1; i <= 4; i++) {
        pthread_create(&thread, NULL, work, (void *)i);
        pthread_join(thread, NULL);
    }
    pthread_create(&thread, NULL, leave, NULL);
    if (is_asked) {
        pthread_create(&thread, NULL, wait_for_ever, NULL);
    }
    pthread_exit(NULL);
}
