// SPDX-License-Identifier: BSD-3-Clause
/*
 * Where do pages live that a node short of memory owns and does not use? Both threads
 * read pages of which the first one's node becomes the owner. Then the first one goes
 * over more memory than its node may use, and only the other one changes these pages,
 * again and again. After a while they should live with it: its updates then go
 * nowhere. To be run on two nodes with a budget of 1 MiB.
 *
 * Prints updates that the first node has had in the last rounds.
 */
#include "program.h"

enum {
    N_SHARED = 64,
    N_OWN = 512,
    N_WORDS = 512,
    N_ROUNDS = 40,
    N_LAST = 10,
};

static TM_SHARED struct {
    tm_barrier barrier;
    uint64_t (*pages)[N_WORDS]; // [N_SHARED]
    uint64_t (*own)[N_WORDS];   // [N_OWN], the first thread's
} job;

static void wait(void)
{
    tm_barrier_wait(&job.barrier);
}

static void expect_all(uint64_t value)
{
    for (unsigned page = 0; page < N_SHARED; page++) {
        if (job.pages[page][page] != value) {
            FAIL("page %u: %" PRIu64 ", not %" PRIu64, page,
                 job.pages[page][page], value);
        }
    }
}

static uint64_t updates_received(unsigned node)
{
    struct tm_node_stats stats;

    if (tm_stats(node, &stats) != TM_OK) {
        FAIL("%s", "no statistics");
    }
    return stats.updates_received;
}

static void *first(void *arg)
{
    uint64_t before = 0;

    (void)arg;
    wait();
    expect_all(0); // the pages come here
    wait();
    wait();
    expect_all(0);
    wait();
    for (unsigned round = 1; round <= N_ROUNDS; round++) {
        if (round == N_ROUNDS - N_LAST) {
            before = updates_received(tm_node_self());
        }
        for (unsigned page = 0; page < N_OWN; page++) {
            job.own[page][page]++;
        }
        wait();
    }
    printf("updates: %" PRIu64 "\n", updates_received(tm_node_self()) - before);
    expect_all(N_ROUNDS);
    return NULL;
}

static void *second(void *arg)
{
    (void)arg;
    for (unsigned page = 0; page < N_SHARED; page++) {
        job.pages[page][page] = 0;
    }
    wait();
    wait();
    expect_all(0); // copies
    wait();
    wait();
    for (unsigned round = 1; round <= N_ROUNDS; round++) {
        for (unsigned page = 0; page < N_SHARED; page++) {
            job.pages[page][page]++;
        }
        wait();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[2];

    if (tm_init(&argc, &argv) != TM_OK ||
        tm_barrier_init(&job.barrier, 2) != TM_OK ||
        (job.pages = tm_alloc(N_SHARED * sizeof *job.pages, NULL)) == NULL ||
        (job.own = tm_alloc(N_OWN * sizeof *job.own, NULL)) == NULL ||
        tm_thread_create(&threads[0], NULL, first, NULL) != TM_OK ||
        tm_thread_create(&threads[1], NULL, second, NULL) != TM_OK ||
        tm_thread_join(threads[0], NULL) != TM_OK ||
        tm_thread_join(threads[1], NULL) != TM_OK) {
        FAIL("%s", "a call has failed");
    }
    return tm_end() == TM_OK ? 0 : 1;
}
