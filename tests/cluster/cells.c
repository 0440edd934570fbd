// SPDX-License-Identifier: BSD-3-Clause
/*
 * Small blocks: what their allocation and freeing costs in messages. One thread on each
 * node allocates and frees N_BLOCKS, all at one time or one after the other; then the
 * first one allocates as many, some at a time, which the last one reads and frees.
 *
 * Prints what each part has cost, all nodes together, and fails if it is more than a few
 * messages for each node, or, where blocks pass between nodes, for each turn.
 */
#include "program.h"

#include <string.h>

enum {
    N_BLOCKS = 1000,
    SIZE = 64,
    MOST = 8, // nodes
    N_TURNS = 100,
    N_A_TURN = 100,
};

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n;
    unsigned char *passed[N_A_TURN];
} job;

static void pass_barrier(void)
{
    OK(tm_barrier_wait(&job.barrier));
}

static unsigned char *allocate(unsigned value)
{
    unsigned char *block = tm_alloc(SIZE, NULL);

    if (block == NULL) {
        FAIL("no block of %d bytes", SIZE);
    }
    for (unsigned i = 0; i < SIZE; i++) {
        if (block[i] != 0) {
            FAIL("byte %u of a new block is %u", i, block[i]);
        }
    }
    memset(block, (int)(value % 255 + 1), SIZE);
    return block;
}

static void give_back(unsigned char *block, unsigned value)
{
    for (unsigned i = 0; i < SIZE; i++) {
        if (block[i] != value % 255 + 1) {
            FAIL("byte %u of block %u is %u", i, value, block[i]);
        }
    }
    OK(tm_free(block));
}

static uint64_t count_messages(void)
{
    struct tm_node_stats stats;
    uint64_t n = 0;

    for (unsigned i = 0; i < job.n; i++) {
        OK(tm_stats(i, &stats));
        n += stats.messages_sent;
    }
    return n;
}

// By the first thread, when all have come. @return messages by then
static uint64_t tell(unsigned me, const char *what, uint64_t before,
                     uint64_t most)
{
    uint64_t now = 0;

    pass_barrier();
    if (me == 0) {
        now = count_messages();
        if (before > 0) {
            printf("%s: %" PRIu64 " messages\n", what, now - before);
        }
        if (before > 0 && now - before > most) {
            FAIL("%s: %" PRIu64 " messages, more than %" PRIu64, what,
                 now - before, most);
        }
        now = count_messages();
    }
    pass_barrier();
    return now;
}

static void one_by_one(void)
{
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        give_back(allocate(i), i);
    }
}

static void all_at_once(void)
{
    static _Thread_local unsigned char *blocks[N_BLOCKS];

    for (unsigned i = 0; i < N_BLOCKS; i++) {
        blocks[i] = allocate(i);
    }
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        give_back(blocks[i], i);
    }
}

static void pass_on(unsigned me)
{
    for (unsigned turn = 0; turn < N_TURNS; turn++) {
        for (unsigned i = 0; me == 0 && i < N_A_TURN; i++) {
            job.passed[i] = allocate(turn + i);
        }
        pass_barrier();
        for (unsigned i = 0; me == job.n - 1 && i < N_A_TURN; i++) {
            give_back(job.passed[i], turn + i);
        }
        pass_barrier();
    }
}

static void *work(void *number)
{
    const unsigned me = (unsigned)(uintptr_t)number;
    uint64_t before = tell(me, "", 0, 0);

    one_by_one();
    before = tell(me, "one by one", before, 100 * job.n);
    all_at_once();
    before = tell(me, "all at once", before, 100 * job.n);
    pass_on(me);
    tell(me, "passed on", before, N_TURNS * (6 * job.n + 30));
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[MOST];
    tm_thread_attr attr = {.placement = TM_ON_NODE};

    tm_init(&argc, &argv);
    job.n = tm_node_count() < MOST ? tm_node_count() : MOST;
    OK(tm_barrier_init(&job.barrier, job.n));
    for (unsigned i = 0; i < job.n; i++) {
        attr.node = i;
        OK(tm_thread_create(&threads[i], &attr, work, (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < job.n; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    return 0;
}
