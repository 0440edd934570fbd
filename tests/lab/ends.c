// SPDX-License-Identifier: BSD-3-Clause
// A program that ends as it is told, for runs over several hosts:
//
//   ends return N        main() returns N
//   ends exit K N        a thread on node K calls exit(N)
//   ends wait            it does not end: all nodes work, and wait for each other
//   ends children        the same, and each node has a child of fork()
//   ends options         print the settings of each node
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <teamster.h>
#include <unistd.h>

static TM_SHARED tm_barrier meeting;
static TM_SHARED long counts[TM_MAX_NODES];

static void *end_with(void *code)
{
    exit((int)(long)code);
}

static void *work(void *me)
{
    for (;;) {
        counts[(long)me]++;
        tm_barrier_wait(&meeting);
        if (me == NULL && counts[0] == 10) {
            puts("all nodes work");
        }
    }
    return NULL;
}

static void *work_beside_a_child(void *me)
{
    pid_t child = fork();

    if (child < 0) {
        exit(99);
    }
    while (child == 0) {
        pause();
    }
    return work(me);
}

static void *print_options(void *me)
{
    char host[64] = "";
    const char *speed = getenv("TEAMSTER_SPEED");
    const char *memory = getenv("TEAMSTER_MEMORY");
    const char *policy = getenv("TEAMSTER_POLICY");

    gethostname(host, sizeof host - 1);
    printf("node %ld on %s: speed %s memory %s policy %s\n", (long)me, host,
           speed != NULL ? speed : "-", memory != NULL ? memory : "-",
           policy != NULL ? policy : "-");
    fflush(stdout);
    return NULL;
}

static void on_each_node(void *(*start)(void *))
{
    tm_thread threads[TM_MAX_NODES];

    for (unsigned i = 0; i < tm_node_count(); i++) {
        tm_thread_attr attr = {.placement = TM_ON_NODE, .node = (unsigned)i};

        if (tm_thread_create(&threads[i], &attr, start, (void *)(long)i)) {
            exit(99);
        }
    }
    for (unsigned i = 0; i < tm_node_count(); i++) {
        tm_thread_join(threads[i], NULL);
    }
}

static int end_on(int node, long code)
{
    tm_thread thread;

    if (tm_thread_create(
            &thread, &(tm_thread_attr){.placement = TM_ON_NODE, .node = node},
            end_with, (void *)code)) {
        return 99;
    }
    tm_thread_join(thread, NULL);
    return 98;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    tm_init(&argc, &argv);
    if (strcmp(what, "return") == 0) {
        return atoi(argv[2]);
    }
    if (strcmp(what, "exit") == 0) {
        return end_on(atoi(argv[2]), atol(argv[3]));
    }
    if (strcmp(what, "options") == 0) {
        on_each_node(print_options);
        return 0;
    }
    tm_barrier_init(&meeting, tm_node_count());
    if (strcmp(what, "wait") == 0) {
        on_each_node(work);
    }
    if (strcmp(what, "children") == 0) {
        on_each_node(work_beside_a_child);
    }
    return 97;
}
