// SPDX-License-Identifier: BSD-3-Clause
/*
 * What two threads of one node, each on a worker of its own, take to meet at a barrier, to wait
 * for each other in turn, to add to one word, and to take one mutex in turn as it comes.
 *
 *     teamster run -n 1 -w 2 pair
 *
 * Each line is as samples.h has it; a sample is the mean of N_OPERATIONS.
 */
#include <stdint.h>
#include <teamster.h>

#include "../samples.h"

enum { N_SAMPLES = 200, N_OPERATIONS = 100 };

static TM_SHARED struct {
    tm_barrier barrier;
    tm_sem turns[2];
    tm_mutex mutex;
    uint64_t word; // under the mutex
    double us[N_SAMPLES];
} job;

static TM_SHARED int64_t counter;

static void meet(size_t side)
{
    (void)side;
    tm_barrier_wait(&job.barrier);
}

static void take_turns(size_t side)
{
    tm_sem_wait(&job.turns[side]);
    tm_sem_post(&job.turns[1 - side]);
}

static void add(size_t side)
{
    (void)side;
    tm_fetch_add(&counter, 1);
}

static void lock(size_t side)
{
    (void)side;
    tm_mutex_lock(&job.mutex);
    job.word++;
    tm_mutex_unlock(&job.mutex);
}

static const struct test {
    const char *name;
    void (*operation)(size_t side);
} tests[] = {{"pair-barrier", meet},
             {"pair-pingpong", take_turns},
             {"pair-add", add},
             {"pair-lock", lock}};

enum { N_TESTS = sizeof tests / sizeof tests[0] };

static void *run(void *arg)
{
    const size_t side = (size_t)arg;

    for (unsigned test = 0; test < N_TESTS; test++) {
        tm_barrier_wait(&job.barrier);
        for (unsigned i = 0; i < N_SAMPLES; i++) {
            const double start_us = now_us();

            for (unsigned k = 0; k < N_OPERATIONS; k++) {
                tests[test].operation(side);
            }
            if (side == 0) {
                job.us[i] = (now_us() - start_us) / N_OPERATIONS;
            }
        }
        tm_barrier_wait(&job.barrier);
        if (side == 0) {
            samples_print(tests[test].name, job.us, N_SAMPLES);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const uint64_t n = 2ull * N_SAMPLES * N_OPERATIONS;
    tm_thread threads[2];

    if (tm_init(&argc, &argv) != TM_OK) {
        return 70;
    }
    tm_barrier_init(&job.barrier, 2);
    tm_sem_init(&job.turns[0], 1);
    tm_sem_init(&job.turns[1], 0);
    for (size_t i = 0; i < 2; i++) {
        if (tm_thread_create(&threads[i], NULL, run, (void *)i) != TM_OK) {
            return 71;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        tm_thread_join(threads[i], NULL);
    }
    if (job.word != n || tm_atomic_load(&counter) != (int64_t)n) {
        printf("result: WRONG: %llu and %lld of %llu\n",
               (unsigned long long)job.word,
               (long long)tm_atomic_load(&counter), (unsigned long long)n);
        return 1;
    }
    return 0;
}
