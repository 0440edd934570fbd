// SPDX-License-Identifier: BSD-3-Clause
// Many threads at one time, spread over the nodes:   crowd THREADS
#include <stdio.h>
#include <stdlib.h>
#include <teamster.h>

static TM_SHARED tm_barrier meeting;

static void *work(void *me)
{
    tm_barrier_wait(&meeting);
    return me;
}

int main(int argc, char **argv)
{
    tm_thread *threads;
    long n;

    tm_init(&argc, &argv);
    n = argc > 1 ? atol(argv[1]) : 0;
    threads = calloc((size_t)n, sizeof *threads);
    tm_barrier_init(&meeting, (unsigned)n);
    for (long i = 0; i < n; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node = (unsigned)i % tm_node_count()};

        if (tm_thread_create(&threads[i], &attr, work, (void *)i) != TM_OK) {
            fprintf(stderr, "crowd: no thread %ld\n", i);
            return 1;
        }
    }
    for (long i = 0; i < n; i++) {
        void *result;

        if (tm_thread_join(threads[i], &result) != TM_OK || (long)result != i) {
            fprintf(stderr, "crowd: thread %ld has lost its way\n", i);
            return 1;
        }
    }
    printf("crowd: %ld threads\n", n);
    free(threads);
    return 0;
}
