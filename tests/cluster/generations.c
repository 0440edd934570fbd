// SPDX-License-Identifier: BSD-3-Clause
/*
 * Threads that end iterations together and return, and after them others that do the
 * same, generation by generation; to the latter half of each generation's iterations one
 * more thread comes. What the runtime knows of iterations is to go on through all
 * that. Each thread counts in a word of its own.
 *
 *     generations THREADS LENGTH...    LENGTH: iterations of a generation
 */
#include <time.h>

#include "program.h"

enum { MAX_THREADS = 64, N_WORDS = 512, CALM_NS = 300 * 1000 };

static TM_SHARED struct {
    tm_barrier few;  // of those that are there from the beginning
    tm_barrier many; // and of the one that comes
    size_t n_threads;
    uint64_t n_iterations;                    // of this generation
    uint64_t words[MAX_THREADS + 1][N_WORDS]; // a page each
} job;

static void iterate(size_t me, tm_barrier *barrier)
{
    const struct timespec calm = {.tv_nsec = CALM_NS};

    job.words[me][0]++;
    nanosleep(&calm, NULL);
    OK(tm_iteration_end(barrier));
}

static void *come_late(void *arg)
{
    const uint64_t n = job.n_iterations;

    for (uint64_t i = n / 2; i < n; i++) {
        iterate((size_t)arg, &job.many);
    }
    return NULL;
}

static void *run(void *arg)
{
    const size_t me = (size_t)arg;
    const uint64_t n = job.n_iterations;
    tm_thread late;

    for (uint64_t i = 0; i < n / 2; i++) {
        iterate(me, &job.few);
    }
    if (me == 0) {
        OK(tm_thread_create(&late, NULL, come_late, (void *)job.n_threads));
    }
    for (uint64_t i = n / 2; i < n; i++) {
        iterate(me, &job.many);
    }
    if (me == 0) {
        OK(tm_thread_join(late, NULL));
    }
    return NULL;
}

static void run_generation(uint64_t length)
{
    tm_thread threads[MAX_THREADS];

    job.n_iterations = length;
    for (size_t i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, run, (void *)i));
    }
    for (size_t i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
}

int main(int argc, char **argv)
{
    uint64_t all = 0;
    uint64_t late = 0;

    OK(tm_init(&argc, &argv));
    job.n_threads = argc >= 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (job.n_threads < 1 || job.n_threads > MAX_THREADS || argc < 3) {
        fprintf(stderr, "usage: generations THREADS LENGTH...\n");
        return 64;
    }
    OK(tm_barrier_init(&job.few, (unsigned)job.n_threads));
    OK(tm_barrier_init(&job.many, (unsigned)job.n_threads + 1));
    for (int i = 2; i < argc; i++) {
        const uint64_t length = strtoul(argv[i], NULL, 10);

        run_generation(length);
        all += length;
        late += length - length / 2;
    }
    for (size_t i = 0; i <= job.n_threads; i++) {
        const uint64_t expected = i < job.n_threads ? all : late;

        if (job.words[i][0] != expected) {
            FAIL("thread %zu has counted %" PRIu64 ", not %" PRIu64, i,
                 job.words[i][0], expected);
        }
    }
    printf("%" PRIu64 " iterations\n", all);
    return 0;
}
