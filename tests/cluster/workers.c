// SPDX-License-Identifier: BSD-3-Clause
/*
 * Nodes of several workers: the first thread has HEAVY times as much work as each of the
 * others. Prints how much work the busiest worker of all had in an iteration, at first
 * and at the end; the work of an ordinary thread is 1.
 *
 *     workers THREADS ITERATIONS HEAVY
 */
#include <sys/syscall.h>

#include "program.h"
#include "words.h"

enum { MAX_THREADS = 64, N_WORDS = 512, N_PASSES = 400 };

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n_threads;
    unsigned n_iterations;
    unsigned heavy;
    uint64_t worker_of[MAX_THREADS]; // of a thread, at the end of the iteration
    uint64_t words[MAX_THREADS][N_WORDS];
} job;

static unsigned work_of(unsigned thread)
{
    return thread == 0 ? job.heavy : 1;
}

// The kernel's thread, on any node of this machine.
static uint64_t worker(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

static unsigned busiest(void)
{
    unsigned most = 0;

    for (unsigned i = 0; i < job.n_threads; i++) {
        unsigned sum = 0;

        for (unsigned k = 0; k < job.n_threads; k++) {
            sum += job.worker_of[k] == job.worker_of[i] ? work_of(k) : 0;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static void *run(void *arg)
{
    const unsigned me = (unsigned)(uintptr_t)arg;

    words_begin(job.words[me], N_WORDS, me);
    for (unsigned n = 1; n <= job.n_iterations; n++) {
        for (unsigned i = 0; i < N_PASSES * work_of(me); i++) {
            words_step(job.words[me], N_WORDS);
        }
        job.worker_of[me] = worker();
        OK(tm_iteration_end(&job.barrier));
        if (me == 0 && (n == 1 || n == job.n_iterations)) {
            printf("iteration %u, busiest worker: %u\n", n, busiest());
        }
        OK(tm_barrier_wait(&job.barrier)); // it has looked
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[MAX_THREADS];
    size_t n_wrong = 0;

    OK(tm_init(&argc, &argv));
    if (argc != 4 || atoi(argv[1]) < 1 || atoi(argv[1]) > MAX_THREADS) {
        fprintf(stderr, "usage: workers THREADS ITERATIONS HEAVY\n");
        return 64;
    }
    job.n_threads = (unsigned)atoi(argv[1]);
    job.n_iterations = (unsigned)atoi(argv[2]);
    job.heavy = (unsigned)atoi(argv[3]);
    OK(tm_barrier_init(&job.barrier, job.n_threads));
    for (uintptr_t i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, run, (void *)i));
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
        n_wrong +=
            words_wrong(job.words[i], N_WORDS, i,
                        (uint64_t)job.n_iterations * N_PASSES * work_of(i));
    }
    printf("wrong: %zu\n", n_wrong);
    return n_wrong != 0;
}
