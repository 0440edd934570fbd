// SPDX-License-Identifier: BSD-3-Clause
// Functions of the C library that allocate for themselves, in threads whose locals others
// write meanwhile: pages of the stacks go while the library is at work on them.
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 6, ROUNDS = 100, WORDS = 300 };

static long *locals[THREADS];
static int n_begun;
static int n_done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;

static void count(int *n)
{
    pthread_mutex_lock(&mutex);
    if (++*n == THREADS) {
        pthread_cond_broadcast(&all);
    }
    while (*n < THREADS) {
        pthread_cond_wait(&all, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

static int by_value(const void *a, const void *b)
{
    const int x = *(const int *)a;
    const int y = *(const int *)b;

    return (x > y) - (x < y);
}

static long sort(int round)
{
    int words[WORDS];

    for (int i = 0; i < WORDS; i++) {
        words[i] = (i * 7919 + round) % 1009;
    }
    qsort(words, WORDS, sizeof words[0], by_value);
    for (int i = 1; i < WORDS; i++) {
        if (words[i - 1] > words[i]) {
            return 0;
        }
    }
    return words[0] + words[WORDS - 1];
}

static long match(void)
{
    regex_t pattern;
    int n = 0;

    if (regcomp(&pattern, "^(a|b)*c[d-f]+$", REG_EXTENDED) == 0) {
        n += regexec(&pattern, "abbacdef", 0, NULL, 0) == 0;
        n += regexec(&pattern, "abbaxdef", 0, NULL, 0) != 0;
        regfree(&pattern);
    }
    return n;
}

static void *work(void *argument)
{
    const int me = (int)(long)argument;
    long sums[THREADS] = {0};
    long own = 0;

    locals[me] = sums;
    count(&n_begun);
    for (int round = 0; round < ROUNDS; round++) {
        for (int to = 0; to < THREADS; to++) {
            pthread_mutex_lock(&mutex);
            locals[to][me]++;
            pthread_mutex_unlock(&mutex);
            own += match();
        }
        own += sort(round);
    }
    count(&n_done);
    for (int from = 0; from < THREADS; from++) {
        own += sums[from];
    }
    return (void *)own;
}

int main(void)
{
    pthread_t threads[THREADS];

    for (long i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        void *sum;

        pthread_join(threads[i], &sum);
        printf("thread %d: %ld\n", i, (long)sum);
    }
    return 0;
}
