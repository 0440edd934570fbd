// SPDX-License-Identifier: BSD-3-Clause
// A hash table with a lock for each of many buckets, rwlocks, and input from a file.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 5000
#define THREADS 4

struct entry {
    struct entry *next;
    int count;
    char word[];
};

static struct bucket {
    pthread_mutex_t mutex;
    struct entry *first;
} table[BUCKETS];

static pthread_rwlock_t settings_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct {
    int factor;
    int version;
} settings = {1, 0};
static char *lines[2000];
static int n_lines;

static unsigned hash(const char *text)
{
    unsigned h = 5381;

    while (*text != '\0') {
        h = h * 33 + (unsigned char)*text++;
    }
    return h % BUCKETS;
}

static void count_word(const char *word)
{
    struct bucket *bucket = &table[hash(word)];
    struct entry *entry;
    int factor;

    pthread_rwlock_rdlock(&settings_lock);
    factor = settings.factor;
    pthread_rwlock_unlock(&settings_lock);
    pthread_mutex_lock(&bucket->mutex);
    for (entry = bucket->first; entry != NULL; entry = entry->next) {
        if (strcmp(entry->word, word) == 0) {
            break;
        }
    }
    if (entry == NULL) {
        entry = malloc(sizeof *entry + strlen(word) + 1);
        strcpy(entry->word, word);
        entry->count = 0;
        entry->next = bucket->first;
        bucket->first = entry;
    }
    entry->count += factor;
    pthread_mutex_unlock(&bucket->mutex);
}

static void *count(void *arg)
{
    for (int i = (int)(long)arg; i < n_lines; i += THREADS) {
        char *line = strdup(lines[i]);
        char *rest;

        for (char *word = strtok_r(line, " \n", &rest); word != NULL;
             word = strtok_r(NULL, " \n", &rest)) {
            count_word(word);
        }
        free(line);
        if (i % 100 == 0) {
            pthread_rwlock_wrlock(&settings_lock);
            settings.version++;
            pthread_rwlock_unlock(&settings_lock);
        }
    }
    return NULL;
}

static void read_lines(const char *path)
{
    FILE *file = path == NULL ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t room = 0;

    while (n_lines < 2000 && getline(&line, &room, file) > 0) {
        lines[n_lines++] = strdup(line);
    }
    free(line);
    if (file != stdin) {
        fclose(file);
    }
}

static int by_count(const void *a, const void *b)
{
    const struct entry *const *x = a;
    const struct entry *const *y = b;

    return (*x)->count != (*y)->count ? (*y)->count - (*x)->count
                                      : strcmp((*x)->word, (*y)->word);
}

int main(int argc, char **argv)
{
    static struct entry *all[100000];
    pthread_t threads[THREADS];
    int n = 0;

    for (int i = 0; i < BUCKETS; i++) {
        pthread_mutex_init(&table[i].mutex, NULL);
    }
    read_lines(argc > 1 ? argv[1] : NULL);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, count, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < BUCKETS; i++) {
        for (struct entry *e = table[i].first; e != NULL; e = e->next) {
            all[n++] = e;
        }
    }
    qsort(all, (size_t)n, sizeof all[0], by_count);
    for (int i = 0; i < 10 && i < n; i++) {
        printf("%5d %s\n", all[i]->count, all[i]->word);
    }
    printf("%d lines, %d words, version %d\n", n_lines, n, settings.version);
    return n == 0;
}
