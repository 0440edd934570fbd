// SPDX-License-Identifier: BSD-3-Clause
// Producers and consumers with condition variables; a list of malloc()ed nodes; argv.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 8

struct item {
    int number;
    char *text;
    struct item *next;
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_full;
    pthread_cond_t not_empty;
    struct item *first;
    struct item **last;
    int n;
    int n_producers;
} queue = {PTHREAD_MUTEX_INITIALIZER,
           PTHREAD_COND_INITIALIZER,
           PTHREAD_COND_INITIALIZER,
           NULL,
           &queue.first,
           0,
           0};

static void put(struct item *item)
{
    pthread_mutex_lock(&queue.mutex);
    while (queue.n == ROOM) {
        pthread_cond_wait(&queue.not_full, &queue.mutex);
    }
    item->next = NULL;
    *queue.last = item;
    queue.last = &item->next;
    queue.n++;
    pthread_cond_signal(&queue.not_empty);
    pthread_mutex_unlock(&queue.mutex);
}

static struct item *take(void)
{
    struct item *item;

    pthread_mutex_lock(&queue.mutex);
    while (queue.n == 0 && queue.n_producers > 0) {
        pthread_cond_wait(&queue.not_empty, &queue.mutex);
    }
    item = queue.first;
    if (item != NULL) {
        queue.first = item->next;
        queue.last = queue.first == NULL ? &queue.first : queue.last;
        queue.n--;
        pthread_cond_signal(&queue.not_full);
    }
    pthread_mutex_unlock(&queue.mutex);
    return item;
}

static void *produce(void *arg)
{
    int me = *(int *)arg;
    char text[32];

    for (int i = 0; i < 100; i++) {
        struct item *item = malloc(sizeof *item);

        snprintf(text, sizeof text, "item %d of %d", i, me);
        item->number = me * 100 + i;
        item->text = strdup(text);
        put(item);
    }
    pthread_mutex_lock(&queue.mutex);
    queue.n_producers--;
    pthread_cond_broadcast(&queue.not_empty);
    pthread_mutex_unlock(&queue.mutex);
    return NULL;
}

static void *consume(void *arg)
{
    long *sums = arg;
    struct item *item;

    while ((item = take()) != NULL) {
        sums[0] += item->number;
        sums[1] += (long)strlen(item->text);
        free(item->text);
        free(item);
    }
    return (void *)sums[0];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 3;
    pthread_t *threads = calloc(2 * (size_t)n, sizeof *threads);
    int numbers[n];
    long sums[n][2];
    long total = 0;
    long length = 0;
    long returned = 0;

    memset(sums, 0, sizeof sums);
    queue.n_producers = n;
    for (int i = 0; i < n; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, produce, &numbers[i]);
        pthread_create(&threads[n + i], NULL, consume, sums[i]);
    }
    for (int i = 0; i < 2 * n; i++) {
        void *result;

        pthread_join(threads[i], &result);
        returned += (long)result;
    }
    for (int i = 0; i < n; i++) {
        total += sums[i][0];
        length += sums[i][1];
    }
    printf("%d: %ld %ld %ld\n", n, total, length, returned);
    free(threads);
    return 0;
}
