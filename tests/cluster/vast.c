// SPDX-License-Identifier: BSD-3-Clause
/*
 * More shared memory than there is memory: one block, of which threads on all nodes
 * touch a page here and there, each its own, and then those of the thread behind it.
 * What is written must be read.
 *
 *     vast GIB
 */
#include <stdlib.h>

#include "program.h"

enum {
    MOST = 8, // threads
    N_TOUCHED = 400,
};

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n_threads;
    uint64_t size;
    char *block; // [size]
} job;

// Anywhere in the part that the thread has of the block.
static uint64_t *word(unsigned thread, unsigned i)
{
    uint64_t part = job.size / job.n_threads;
    uint64_t at = mix(thread, i) % (part / sizeof(uint64_t));

    return (uint64_t *)(void *)(job.block + thread * part) + at;
}

static uint64_t value(unsigned thread, unsigned i)
{
    return mix(i, thread) | 1;
}

static void *work(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    unsigned other = (me + 1) % job.n_threads;

    for (unsigned i = 0; i < N_TOUCHED; i++) {
        *word(me, i) = value(me, i);
    }
    tm_barrier_wait(&job.barrier);
    for (unsigned i = 0; i < N_TOUCHED; i++) {
        if (*word(other, i) != value(other, i)) {
            FAIL("word %u of thread %u: %" PRIu64, i, other, *word(other, i));
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[MOST];

    OK(tm_init(&argc, &argv));
    job.size = strtoull(argv[1], NULL, 10) << 30;
    job.n_threads = 2 * tm_node_count();
    if (job.n_threads > MOST) {
        FAIL("at most %d threads", MOST);
    }
    OK(tm_barrier_init(&job.barrier, job.n_threads));
    job.block = tm_alloc(job.size, NULL);
    if (job.block == NULL) {
        FAIL("%" PRIu64 " bytes are not to be had", job.size);
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, work, (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    OK(tm_free(job.block));
    return tm_end() == TM_OK ? 0 : 1;
}
