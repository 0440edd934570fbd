// SPDX-License-Identifier: BSD-3-Clause
// A library of others (library/given.c): what it has allocated and opened is used by threads of
// all nodes, and by others than those that had it made.
#include "library/given.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };

static struct given *of_all;
static struct given *of_thread;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static char *names[THREADS];
static long sums[THREADS];

static char *next_line(void)
{
    char *line;

    pthread_mutex_lock(&mutex);
    line = given_line(of_all);
    pthread_mutex_unlock(&mutex);
    return line;
}

static void *read_lines(void *argument)
{
    const int me = *(int *)argument;
    char word[16];

    for (char *line = next_line(); line != NULL; line = next_line()) {
        sums[me] += (long)strlen(line) * line[0];
        free(line);
    }
    snprintf(word, sizeof word, ".%d", me);
    names[me] = given_name(of_all, word);
    return NULL;
}

static void *open_file(void *path)
{
    of_thread = given_open(path);
    text = given_text(of_thread, "%s has %d", "a thread", 7);
    given_keep("a thread's");
    return NULL;
}

static void run_readers(const char *path)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    long sum = 0;

    of_all = given_open(path);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, read_lines, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += sums[i];
        printf("%s\n", strrchr(names[i], '/'));
        free(names[i]);
    }
    given_tell(of_all);
    printf("sum %ld\n", sum);
    given_close(of_all);
}

static void run_opener(char *path)
{
    pthread_t thread;
    char *line;

    pthread_create(&thread, NULL, open_file, path);
    pthread_join(thread, NULL);
    printf("%s\n", text);
    free(text);
    given_keep("main()'s");
    line = given_line(of_thread);
    printf("first %s", line);
    free(line);
    line = given_name(of_thread, "!");
    printf("%s\n", strrchr(line, '/'));
    free(line);
    given_close(of_thread);
}

static void *end_program(void *nothing)
{
    (void)nothing;
    exit(3);
}

// What is kept is as large as a block of its own.
static void keep_large(void)
{
    static char large[300000];

    memset(large, 'x', sizeof large - 1);
    given_keep(large);
}

int main(int argc, char **argv)
{
    if (argc < 2 || given_open("/none") != NULL) {
        return 1;
    }
    run_readers(argv[1]);
    run_opener(argv[1]);
    if (argc > 2) {
        pthread_t thread;

        keep_large();
        pthread_create(&thread, NULL, end_program, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
