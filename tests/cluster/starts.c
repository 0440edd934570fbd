// SPDX-License-Identifier: BSD-3-Clause
/*
 * starts THREADS MIB: allocates so much, starts threads, and prints how many have begun on
 * each node.
 */
#include "program.h"

enum { MOST = 256 };

static TM_SHARED struct {
    tm_barrier begun;
    uint32_t node_of[MOST];
} job;

static void *begin(void *arg)
{
    job.node_of[(uintptr_t)arg] = tm_node_self();
    tm_barrier_wait(&job.begun);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned counts[MOST] = {0};
    size_t n;

    OK(tm_init(&argc, &argv));
    n = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    if (n < 1 || n > MOST ||
        tm_alloc(strtoul(argv[2], NULL, 10) << 20, NULL) == NULL) {
        fprintf(stderr, "usage: starts THREADS MIB\n");
        return 64;
    }
    OK(tm_barrier_init(&job.begun, (unsigned)n + 1));
    for (size_t i = 0; i < n; i++) {
        OK(tm_thread_create(NULL, NULL, begin, (void *)i));
    }
    tm_barrier_wait(&job.begun);
    for (size_t i = 0; i < n; i++) {
        counts[job.node_of[i]]++;
    }
    printf("begun:");
    for (unsigned i = 0; i < tm_node_count(); i++) {
        printf("%s%u", i == 0 ? " " : ",", counts[i]);
    }
    printf("\n");
    return 0;
}
