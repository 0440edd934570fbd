// SPDX-License-Identifier: BSD-3-Clause
//
// main() fills arrays that all nodes then go through in order, at once: of each array,
// every thread changes its own part, and after a barrier all look at all of it. There are
// no data races. The arrays are TM_SHARED variables, filled before tm_init() or behind
// it, and blocks of each placement. So a page is asked for by its own node, by those that read
// ahead into their neighbours' parts, and at directory nodes that were asked for the page
// before it.
#include <string.h>

#include "program.h"

enum { ARRAYS = 48, LENGTH = 78149, MAX_THREADS = 16 };

static TM_SHARED int variables[ARRAYS][LENGTH];
static TM_SHARED int *arrays[ARRAYS];
static TM_SHARED int n_threads;
static tm_barrier barrier;

static void fill(int *array)
{
    for (int i = 0; i < LENGTH; i++) {
        array[i] = i + 1;
    }
}

static void change_part(int *array, int number)
{
    for (int i = LENGTH * number / n_threads;
         i < LENGTH * (number + 1) / n_threads; i++) {
        array[i] =
            array[i] + (array[i] < 0); // nothing, which nobody knows before
    }
}

static void look(const int *array, int which)
{
    for (int i = 0; i < LENGTH; i++) {
        if (array[i] != i + 1) {
            FAIL("array %d has %d at %d", which, array[i], i);
        }
    }
}

static void *work(void *arg)
{
    for (int at = 0; at < ARRAYS; at++) {
        tm_barrier_wait(&barrier);
        change_part(arrays[at], (int)(intptr_t)arg);
        tm_barrier_wait(&barrier);
        look(arrays[at], at);
    }
    return NULL;
}

// Every sixth is a block.
static void allocate_some(void)
{
    for (int at = 0; at < ARRAYS; at++) {
        tm_alloc_attr attr = {.placement = (tm_placement)(at / 6 % 4),
                              .node = tm_node_count() - 1};

        arrays[at] = variables[at];
        if (at % 6 == 5) {
            arrays[at] = tm_alloc(sizeof variables[at], &attr);
            if (arrays[at] == NULL) {
                FAIL("no memory for array %d", at);
            }
        }
    }
}

int main(int argc, char **argv)
{
    tm_thread threads[MAX_THREADS];

    for (int at = 0; at < ARRAYS; at += 2) {
        fill(variables[at]);
    }
    tm_init(&argc, &argv);
    n_threads = 2 * (int)tm_node_count(); // some on each node
    tm_barrier_init(&barrier, (unsigned)n_threads);
    allocate_some();
    for (int at = 0; at < ARRAYS; at++) {
        if (at % 2 == 1 || arrays[at] != variables[at]) {
            fill(arrays[at]);
        }
    }
    for (int i = 1; i < n_threads; i++) {
        if (tm_thread_create(&threads[i], NULL, work, (void *)(intptr_t)i)) {
            FAIL("no thread %d", i);
        }
    }
    work((void *)0);
    for (int i = 1; i < n_threads; i++) {
        tm_thread_join(threads[i], NULL);
    }
    printf("all right\n");
    return 0;
}
