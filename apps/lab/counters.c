// SPDX-License-Identifier: BSD-3-Clause
// Each thread counts in a counter of its own. Side by side they lie in one page, apart each has a
// page for itself: the result is the same. docs/lab/2-false-sharing.md asks what differs.
//
//     counters [apart]
#include <stdio.h>
#include <string.h>
#include <teamster.h>

#define N_THREADS 4
#define N_TURNS 100
#define WORDS_OF_PAGE (TM_PAGE_SIZE / sizeof(long))

static TM_SHARED long *counters;
static TM_SHARED unsigned long apart; // words from one to the next
static TM_SHARED tm_barrier barrier;

static void *count(void *me)
{
    long *mine = &counters[(unsigned long)me * apart];

    for (int turn = 0; turn < N_TURNS; turn++) {
        ++*mine;
        tm_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[N_THREADS];
    long sum = 0;

    tm_init(&argc, &argv);
    apart = argc > 1 && strcmp(argv[1], "apart") == 0 ? WORDS_OF_PAGE : 1;
    counters = tm_alloc(N_THREADS * TM_PAGE_SIZE,
                        &(tm_alloc_attr){.name = "counters"});
    tm_barrier_init(&barrier, N_THREADS);
    for (unsigned long i = 0; i < N_THREADS; i++) {
        tm_thread_attr where = {.placement = TM_ON_NODE,
                                .node = (unsigned)i % tm_node_count()};

        if (counters == NULL ||
            tm_thread_create(&threads[i], &where, count, (void *)i)) {
            return 1;
        }
    }
    for (unsigned long i = 0; i < N_THREADS; i++) {
        tm_thread_join(threads[i], NULL);
        sum += counters[i * apart];
    }
    printf("counted to %ld\n", sum);
    return 0;
}
