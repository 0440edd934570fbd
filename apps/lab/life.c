// SPDX-License-Identifier: BSD-3-Clause
// One number in one page: each turn a thread of the second node writes it, and one of the third
// reads it. docs/lab/1-life-of-a-page.md asks what becomes of the page.
#include <stdio.h>
#include <teamster.h>

#define N_TURNS 3

static TM_SHARED long number;
static TM_SHARED tm_barrier barrier;

static void *write_it(void *unused)
{
    for (long turn = 1; turn <= N_TURNS; turn++) {
        number = turn * 10;
        tm_barrier_wait(&barrier); // written
        tm_barrier_wait(&barrier); // read
    }
    return unused;
}

static void *read_it(void *unused)
{
    for (long turn = 1; turn <= N_TURNS; turn++) {
        tm_barrier_wait(&barrier);
        printf("turn %ld: %ld\n", turn, number);
        tm_barrier_wait(&barrier);
    }
    return unused;
}

int main(int argc, char **argv)
{
    void *(*const works[])(void *) = {write_it, read_it};
    tm_thread threads[2];

    tm_init(&argc, &argv);
    tm_barrier_init(&barrier, 2);
    for (unsigned i = 0; i < 2; i++) {
        tm_thread_attr where = {.placement = TM_ON_NODE,
                                .node = (i + 1) % tm_node_count()};

        if (tm_thread_create(&threads[i], &where, works[i], NULL)) {
            return 1;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        tm_thread_join(threads[i], NULL);
    }
    return 0;
}
