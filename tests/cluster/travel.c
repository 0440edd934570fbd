// SPDX-License-Identifier: BSD-3-Clause
/*
 * Threads that take their pages along: each writes all of its own in each iteration.
 * They begin on two nodes as told; whoever is asked to place them by memory moves
 * some, and what these have used last time travels with them.
 *
 *     travel THREADS PAGES THREADS PAGES ITERATIONS
 *
 * Threads that begin on node 0, and pages of each of them; the same for node 1.
 *
 * Prints for each node how many threads have come, and what iterations took.
 */
#include <time.h>

#include "program.h"

enum {
    N_WORDS = 512,
    MOST_THREADS = 64,
    N_PARTS = 2,
    MOST_ITERATIONS = 1000,
    N_TOLD = 4
};

static TM_SHARED struct {
    tm_barrier barrier;
    struct {
        unsigned n_threads;
        unsigned n_pages; // of each
        uint64_t (*pages)[N_WORDS];
    } parts[N_PARTS];
    unsigned n_iterations;
    double ms[MOST_ITERATIONS]; // written by one thread
} job;

// Of which part a thread is.
static unsigned part_of(unsigned thread)
{
    return thread >= job.parts[0].n_threads;
}

static uint64_t *word_of(unsigned thread, unsigned page)
{
    const unsigned part = part_of(thread);
    const size_t first = thread - part * job.parts[0].n_threads;

    return &job.parts[part]
                .pages[first * job.parts[part].n_pages + page][page % N_WORDS];
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void *work(void *arg)
{
    const unsigned me = (unsigned)(uintptr_t)arg;
    const unsigned n_pages = job.parts[part_of(me)].n_pages;

    for (unsigned round = 0; round < job.n_iterations; round++) {
        const double began_ms = now_ms();

        for (unsigned page = 0; page < n_pages; page++) {
            *word_of(me, page) += mix(me, page);
        }
        OK(tm_iteration_end(&job.barrier));
        if (me == 0) {
            job.ms[round] = now_ms() - began_ms;
        }
    }
    for (unsigned page = 0; page < n_pages; page++) {
        if (*word_of(me, page) != job.n_iterations * mix(me, page)) {
            FAIL("page %u: %" PRIu64, page, *word_of(me, page));
        }
    }
    return NULL;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

static void tell(void)
{
    for (unsigned node = 0; node < tm_node_count(); node++) {
        struct tm_node_stats stats;

        OK(tm_stats(node, &stats));
        printf("node %u: threads come: %" PRIu64 "\n", node, stats.threads_in);
    }
    qsort(job.ms, job.n_iterations, sizeof *job.ms, compare);
    printf("ms: median %.1f, longest", job.ms[job.n_iterations / 2]);
    for (unsigned i = 1; i <= N_TOLD; i++) {
        printf(" %.1f", job.ms[job.n_iterations - i]);
    }
    printf("\n");
}

static void read_numbers(char **argv)
{
    for (unsigned part = 0; part < N_PARTS; part++) {
        const unsigned n_threads = (unsigned)atoi(argv[2 * part + 1]);
        const unsigned n_pages = (unsigned)atoi(argv[2 * part + 2]);

        job.parts[part].n_threads = n_threads;
        job.parts[part].n_pages = n_pages;
        job.parts[part].pages = tm_alloc(
            (size_t)n_threads * n_pages * sizeof *job.parts[part].pages, NULL);
    }
    job.n_iterations = (unsigned)atoi(argv[2 * N_PARTS + 1]);
}

int main(int argc, char **argv)
{
    tm_thread threads[MOST_THREADS];
    unsigned n_threads;

    OK(tm_init(&argc, &argv));
    if (argc != 2 * N_PARTS + 2) {
        fprintf(stderr,
                "usage: travel THREADS PAGES THREADS PAGES ITERATIONS\n");
        return 64;
    }
    read_numbers(argv);
    n_threads = job.parts[0].n_threads + job.parts[1].n_threads;
    if (n_threads > MOST_THREADS || job.n_iterations < N_TOLD ||
        job.n_iterations > MOST_ITERATIONS) {
        FAIL("%s", "numbers are out of range");
    }
    OK(tm_barrier_init(&job.barrier, n_threads));
    for (unsigned i = 0; i < n_threads; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node = (unsigned)part_of(i)};

        OK(tm_thread_create(&threads[i], &attr, work, (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    tell();
    return tm_end() == TM_OK ? 0 : 1;
}
