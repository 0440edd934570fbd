// SPDX-License-Identifier: BSD-3-Clause
// A data race on node 1, for ThreadSanitizer to find: more threads than workers add to
// a variable that is not shared between nodes, without a mutex.
#include <stdio.h>
#include <teamster.h>

enum { N_THREADS = 8, N_TIMES = 1000000 };

static volatile long sum;

static void *add(void *unused)
{
    for (int i = 0; i < N_TIMES; i++) {
        sum++;
    }
    return unused;
}

int main(int argc, char **argv)
{
    const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                 .node = 1}; // the second one
    tm_thread threads[N_THREADS];

    tm_init(&argc, &argv);
    for (int i = 0; i < N_THREADS; i++) {
        if (tm_thread_create(&threads[i], &attr, add, NULL) != TM_OK) {
            return 1;
        }
    }
    for (int i = 0; i < N_THREADS; i++) {
        tm_thread_join(threads[i], NULL);
    }
    puts("nothing was found");
    return 0;
}
