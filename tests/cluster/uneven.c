// SPDX-License-Identifier: BSD-3-Clause
/*
 * Threads whose work differs in each iteration, so that the runtime deals them to its
 * workers again and again, each with some pages of its own. Checks what is in them.
 *
 *     uneven THREADS PAGES ITERATIONS SEED
 */
#include "program.h"

enum { MAX_THREADS = 64, MOST_WORK = 40000 };

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n_threads;
    unsigned n_pages;
    unsigned n_iterations;
    uint64_t seed;
    unsigned char *bytes; // [n_threads][n_pages][TM_PAGE_SIZE]
} job;

static unsigned char *page_of(unsigned thread, unsigned page)
{
    return job.bytes + ((size_t)thread * job.n_pages + page) * TM_PAGE_SIZE;
}

static void *run(void *arg)
{
    const unsigned me = (unsigned)(uintptr_t)arg;

    for (unsigned n = 0; n < job.n_iterations; n++) {
        for (unsigned page = 0; page < job.n_pages; page++) {
            if (*page_of(me, page) != (unsigned char)n) {
                FAIL("page %u: %u instead of %u", page, *page_of(me, page),
                     n % 256);
            }
            *page_of(me, page) += 1;
        }
        spin(mix(job.seed + me, n) % MOST_WORK);
        tm_iteration_end(&job.barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[MAX_THREADS];

    OK(tm_init(&argc, &argv));
    if (argc != 5) {
        FAIL("%s", "uneven THREADS PAGES ITERATIONS SEED");
    }
    job.n_threads = (unsigned)atoi(argv[1]);
    job.n_pages = (unsigned)atoi(argv[2]);
    job.n_iterations = (unsigned)atoi(argv[3]);
    job.seed = strtoull(argv[4], NULL, 10);
    if (job.n_threads == 0 || job.n_threads > MAX_THREADS) {
        FAIL("1 to %d threads", MAX_THREADS);
    }
    job.bytes =
        tm_alloc((size_t)job.n_threads * job.n_pages * TM_PAGE_SIZE, NULL);
    if (job.bytes == NULL) {
        FAIL("%s", "no memory");
    }
    OK(tm_barrier_init(&job.barrier, job.n_threads));
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, run, (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    puts("result: right");
    return 0;
}
