// SPDX-License-Identifier: BSD-3-Clause
/*
 * A newcomer's program: main() writes all start values on the root, then threads
 * on all nodes work, each on a row of pages of its own; it also reads the pages
 * at the edges of the rows before and behind. Results are checked in each
 * iteration.
 *
 * Prints for each node what its last iterations have cost, and how many pages
 * of other nodes' threads it reads. A page should be with those that use it by
 * then.
 */
#include "program.h"

enum {
    N_PER_NODE = 2, // threads
    MOST = 8,       // threads
    N_PAGES = 48,   // of a row
    N_WORDS = 512,
    N_EARLY = 8, // copies that came ahead go after four unread pushes
    N_LAST = 8,
};

typedef uint64_t row[N_PAGES][N_WORDS];

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n_threads;
    row *rows; // [n_threads]
} job;

// What a word is after some iterations.
static uint64_t expected(unsigned thread, unsigned page, unsigned round)
{
    return mix(thread, page) + round;
}

static void expect(unsigned thread, unsigned page, unsigned round)
{
    uint64_t is = job.rows[thread][page][page];

    if (is != expected(thread, page, round)) {
        FAIL("row %u, page %u, iteration %u: %" PRIu64, thread, page, round,
             is);
    }
}

static void iterate(unsigned me, unsigned round)
{
    if (me > 0) {
        expect(me - 1, N_PAGES - 1, round);
    }
    if (me + 1 < job.n_threads) {
        expect(me + 1, 0, round);
    }
    tm_barrier_wait(&job.barrier);
    for (unsigned page = 0; page < N_PAGES; page++) {
        job.rows[me][page][page]++;
    }
    OK(tm_iteration_end(&job.barrier));
}

// Those before and behind the node's rows.
static unsigned n_neighbours(unsigned node)
{
    return (node > 0) + (node + 1 < tm_node_count());
}

static void tell(const struct tm_node_stats *before)
{
    unsigned node = tm_node_self();
    struct tm_node_stats now;

    OK(tm_stats(node, &now));
    printf("node %u: %" PRIu64 " fetched, %" PRIu64 " updates, %u edges, %d "
           "iterations\n",
           node, now.pages_fetched - before->pages_fetched,
           now.updates_received - before->updates_received, n_neighbours(node),
           N_LAST);
}

static void *work(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    struct tm_node_stats before;

    if (tm_node_self() != me / N_PER_NODE) {
        FAIL("thread %u was to be on node %u", me, me / N_PER_NODE);
    }
    for (unsigned round = 0; round < N_EARLY + N_LAST; round++) {
        if (round == N_EARLY) {
            OK(tm_stats(tm_node_self(), &before));
        }
        iterate(me, round);
    }
    if (me % N_PER_NODE == 0) {
        tell(&before);
    }
    for (unsigned page = 0; page < N_PAGES; page++) {
        expect(me, page, N_EARLY + N_LAST);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[MOST];

    OK(tm_init(&argc, &argv));
    job.n_threads = N_PER_NODE * tm_node_count();
    OK(tm_barrier_init(&job.barrier, job.n_threads));
    if (job.n_threads > MOST) {
        FAIL("at most %d threads", MOST);
    }
    job.rows = tm_alloc(job.n_threads * sizeof *job.rows, NULL);
    for (unsigned i = 0; i < job.n_threads; i++) {
        for (unsigned page = 0; page < N_PAGES; page++) {
            job.rows[i][page][page] = expected(i, page, 0);
        }
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        // Named: where 2 ms pass between two of them, they start as two batches.
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node = i / N_PER_NODE};

        OK(tm_thread_create(&threads[i], &attr, work, (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    return tm_end() == TM_OK ? 0 : 1;
}
