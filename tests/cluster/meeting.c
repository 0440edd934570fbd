// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a barrier costs: one thread on each node meets the others. Prints how many messages
 * the busiest node has sent at a barrier, and fails if it is more than MOST.
 *
 *     meeting MOST
 *
 * Where nodes lead others, the manager sends one message for each group, and a leader one
 * for each node of its group and one upwards, or a few if its group comes far apart.
 */
#include "program.h"

enum {
    N_SETTLE = 5,
    N_MEET = 40,
};

static TM_SHARED struct {
    tm_barrier barrier;
    tm_barrier counted;
} job;

static void meet(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        OK(tm_barrier_wait(&job.barrier));
    }
}

// @param[out] sent  messages, by each node
static void count(uint64_t *sent)
{
    for (unsigned i = 0; i < tm_node_count(); i++) {
        struct tm_node_stats stats;

        OK(tm_stats(i, &stats));
        sent[i] = stats.messages_sent;
    }
}

static void judge(const uint64_t *before, const uint64_t *after, double most)
{
    double busiest = 0;

    for (unsigned i = 0; i < tm_node_count(); i++) {
        const double n = (double)(after[i] - before[i]) / N_MEET;

        busiest = n > busiest ? n : busiest;
    }
    printf("%u nodes: the busiest sends %.1f messages at a barrier\n",
           tm_node_count(), busiest);
    if (busiest > most) {
        FAIL("more than %.1f", most);
    }
}

static void *thread_work(void *arg)
{
    const unsigned *most = arg; // NULL: not the first
    uint64_t before[TM_MAX_NODES];
    uint64_t after[TM_MAX_NODES];

    meet(N_SETTLE);
    if (most != NULL) {
        count(before);
    }
    OK(tm_barrier_wait(&job.counted));
    meet(N_MEET);
    if (most != NULL) {
        count(after);
        judge(before, after, *most);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[TM_MAX_NODES];
    unsigned n;
    unsigned most;

    tm_init(&argc, &argv);
    n = tm_node_count();
    most = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    OK(tm_barrier_init(&job.barrier, n));
    OK(tm_barrier_init(&job.counted, n));
    for (unsigned i = 0; i < n; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE, .node = i};

        OK(tm_thread_create(&threads[i], &attr, thread_work,
                            i == 0 ? &most : NULL));
    }
    for (unsigned i = 0; i < n; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    return 0;
}
