// SPDX-License-Identifier: BSD-3-Clause
/*
 * A program that is built with AddressSanitizer, which Teamster need not be. Its threads
 * have arrays on their stacks, deep in calls, while they move; and one makes a mistake.
 *
 *     sanitized moves | heap | stack
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <teamster.h>

enum { N_THREADS = 4, N_ITERATIONS = 60, DEPTH = 20, BYTES = 100 };

static TM_SHARED tm_barrier barrier;
static TM_SHARED char mistake[16];
static TM_SHARED long sums[N_THREADS];

static void end_iteration(void)
{
    if (tm_iteration_end(&barrier) != TM_OK) {
        abort();
    }
}

static long deep(int depth, long iteration)
{
    char bytes[BYTES];
    long sum;

    memset(bytes, depth, sizeof bytes);
    if (depth == 0) {
        end_iteration();
        return iteration;
    }
    sum = deep(depth - 1, iteration);
    for (size_t i = 0; i < sizeof bytes; i++) {
        sum += bytes[i] == depth;
    }
    return sum;
}

// A function of its own: what was on the stack when a thread moved is not watched.
__attribute__((noinline)) static void err(const char *where, int is_mine)
{
    volatile char on_stack[8] = "";
    volatile char *in_heap = malloc(8);
    volatile size_t behind = is_mine ? 8 : 7;

    if (in_heap != NULL && strcmp(where, "heap") == 0) {
        in_heap[behind] = 1;
    }
    if (strcmp(where, "stack") == 0) {
        on_stack[behind] = on_stack[0];
    }
    free((void *)in_heap);
}

static void *work(void *argument)
{
    const long me = (long)argument;

    for (long i = 0; i < N_ITERATIONS; i++) {
        sums[me] += deep(DEPTH, i);
    }
    err(mistake, me == N_THREADS - 1);
    end_iteration();
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[N_THREADS];
    long expected = (N_ITERATIONS - 1) * N_ITERATIONS / 2 +
                    (long)N_ITERATIONS * DEPTH * BYTES;
    int is_right = 1;

    if (tm_init(&argc, &argv) != TM_OK || argc != 2) {
        return 64;
    }
    snprintf(mistake, sizeof mistake, "%s", argv[1]);
    tm_barrier_init(&barrier, N_THREADS);
    for (long i = 0; i < N_THREADS; i++) {
        if (tm_thread_create(&threads[i], NULL, work, (void *)i) != TM_OK) {
            return 71;
        }
    }
    for (long i = 0; i < N_THREADS; i++) {
        tm_thread_join(threads[i], NULL);
        is_right &= sums[i] == expected;
    }
    puts(is_right ? "as it should be" : "wrong");
    return !is_right;
}
