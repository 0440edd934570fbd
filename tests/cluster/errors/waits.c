// SPDX-License-Identifier: BSD-3-Clause
//
// waits NAME: threads that wait for each other, or seem to.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <teamster.h>
#include <time.h>
#include <unistd.h>

static TM_SHARED tm_mutex first;
static TM_SHARED tm_mutex second;
static TM_SHARED tm_sem never;
static TM_SHARED tm_rwlock book;
static TM_SHARED tm_rwlock other_book;
static TM_SHARED tm_barrier both;

static void *forwards(void *unused)
{
    tm_mutex_lock(&first);
    tm_barrier_wait(&both);
    tm_mutex_lock(&second);
    return unused;
}

static void *backwards(void *unused)
{
    tm_mutex_lock(&second);
    tm_barrier_wait(&both);
    tm_mutex_lock(&first);
    return unused;
}

static void *read_and_write(void *unused)
{
    tm_rwlock_rdlock(&book);
    tm_barrier_wait(&both);
    tm_rwlock_wrlock(&other_book);
    return unused;
}

static void *write_and_read(void *unused)
{
    tm_rwlock_wrlock(&other_book);
    tm_barrier_wait(&both);
    tm_rwlock_wrlock(&book);
    return unused;
}

static void *wait_for_post(void *unused)
{
    tm_sem_wait(&never);
    return unused;
}

static void *wait_for_another(void *unused)
{
    tm_barrier_wait(&both);
    return unused;
}

static void *compute(void *seconds)
{
    time_t end = time(NULL) + (time_t)(size_t)seconds;

    while (time(NULL) < end) {
    }
    return NULL;
}

static void *doze(void *seconds)
{
    sleep((unsigned)(size_t)seconds);
    return NULL;
}

static tm_thread start(void *(*function)(void *), size_t argument,
                       unsigned node, const char *name)
{
    tm_thread_attr attr = {.name = name,
                           .placement = TM_ON_NODE,
                           .node = (unsigned)node % tm_node_count()};
    tm_thread thread;

    if (tm_thread_create(&thread, &attr, function, (void *)argument) != TM_OK) {
        exit(98);
    }
    return thread;
}

static void join_two(tm_thread a, tm_thread b)
{
    tm_thread_join(a, NULL);
    tm_thread_join(b, NULL);
}

int main(int argc, char **argv)
{
    size_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    char line[100];

    tm_init(&argc, &argv);
    tm_sem_init(&never, 0);
    tm_barrier_init(&both, 2);
    if (strcmp(argv[1], "crossed") == 0) {
        join_two(start(forwards, 0, 0, "forwards"),
                 start(backwards, 0, 1, "backwards"));
    } else if (strcmp(argv[1], "books") == 0) {
        join_two(start(read_and_write, 0, 0, "reader"),
                 start(write_and_read, 0, 1, "writer"));
    } else if (strcmp(argv[1], "forgotten") == 0) {
        tm_thread_join(start(wait_for_post, 0, 1, "waiter"), NULL);
    } else if (strcmp(argv[1], "apart") == 0) {
        join_two(start(wait_for_post, 0, 0, "waiter"),
                 start(wait_for_another, 0, 1, "other"));
    } else if (strcmp(argv[1], "computing") == 0) {
        join_two(start(compute, seconds, 1, "busy"),
                 start(compute, seconds, 1, "busy"));
    } else if (strcmp(argv[1], "dozing") == 0) {
        tm_thread_join(start(doze, seconds, 1, "dozing"), NULL);
    } else if (strcmp(argv[1], "sleeping") == 0) {
        sleep((unsigned)seconds);
    } else if (strcmp(argv[1], "reading") == 0) {
        if (fgets(line, sizeof line, stdin) == NULL) {
            return 97;
        }
    } else if (strcmp(argv[1], "late") == 0) {
        // A thread that waits until after the warning, then is let go by main().
        tm_thread thread = start(wait_for_post, 0, 1, "waiter");

        sleep((unsigned)seconds);
        tm_sem_post(&never);
        tm_thread_join(thread, NULL);
    }
    puts("done");
    return 0;
}
