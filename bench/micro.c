// SPDX-License-Identifier: BSD-3-Clause
/*
 * What single operations of Teamster take, as a program sees them.
 *
 *     teamster run -n 2 micro [TEST]...
 *
 * Each test prints one line, see samples.h. The nodes besides the root are
 * idle unless the test gives them something to do.
 */
#include <stdint.h>
#include <string.h>

#include "samples.h"
#include "teamster.h"

enum {
    N_PAGES = 4096,  // of a block that is fetched
    N_CHUNK = 64,    // pages, or operations, per sample where one is too short
    N_ROUNDS = 4000, // of messages there and back
    N_HAND_OFFS = 1000,
    BUSY_US = 400000,
    STACK_USED = 8192, // bytes, of a thread that moves
};

// What the threads of a test share.
static TM_SHARED struct {
    char *pages; // [N_PAGES][TM_PAGE_SIZE]
    double *us;  // the samples
    size_t n_samples;
    tm_barrier barrier;
    tm_mutex mutex;
} job;

// What the mutex guards.
static TM_SHARED uint64_t guarded;

static tm_thread thread_on(unsigned node, void *(*start)(void *), void *arg)
{
    const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                 .node = (unsigned)node};
    tm_thread thread;
    const tm_status status = tm_thread_create(&thread, &attr, start, arg);

    if (status != TM_OK) {
        fprintf(stderr, "micro: thread on node %u: %s\n", node,
                tm_strerror(status));
        exit(EXIT_FAILURE);
    }
    return thread;
}

static void run_on(unsigned node, void *(*start)(void *), void *arg)
{
    tm_thread_join(thread_on(node, start, arg), NULL);
}

static void *shared_memory(size_t size)
{
    void *block = tm_alloc(size, NULL);

    if (block == NULL) {
        exit(71);
    }
    return block;
}

static void *pages_write(void *arg)
{
    for (size_t i = 0; i < N_PAGES; i++) {
        memset(&job.pages[i * TM_PAGE_SIZE], (int)(i % 255) + 1, TM_PAGE_SIZE);
    }
    return arg;
}

// Read a word of page i, and see that it is what pages_write() put there.
static void page_read(size_t i)
{
    const char *page = &job.pages[i * TM_PAGE_SIZE];

    if (*(const volatile unsigned char *)page != i % 255 + 1) {
        fprintf(stderr, "micro: page %zu has a wrong byte\n", i);
        exit(EXIT_FAILURE);
    }
}

// One page at a time, in an order without a pattern.
static void *pages_fetch(void *arg)
{
    for (size_t i = 0; i < N_PAGES; i++) {
        const size_t page = scattered(i);
        const double start_us = now_us();

        page_read(page);
        job.us[i] = now_us() - start_us;
    }
    job.n_samples = N_PAGES;
    return arg;
}

// All pages in order, as a loop over an array does.
static void *pages_stream(void *arg)
{
    double start_us = now_us();

    for (size_t i = 0; i < N_PAGES; i++) {
        page_read(i);
        if (i % N_CHUNK == N_CHUNK - 1) {
            const double end_us = now_us();

            job.us[i / N_CHUNK] = (end_us - start_us) / N_CHUNK;
            start_us = end_us;
        }
    }
    job.n_samples = N_PAGES / N_CHUNK;
    return arg;
}

// The last node writes a block, the root reads it.
static void pages_test(void *(*reader)(void *))
{
    job.pages = shared_memory((size_t)N_PAGES * TM_PAGE_SIZE);
    run_on(tm_node_count() - 1, pages_write, NULL);
    run_on(0, reader, NULL);
    tm_free(job.pages);
}

static void fetch_test(void)
{
    pages_test(pages_fetch);
}

// Write a block, and compute for long enough to be asked for all of it meanwhile.
static void *pages_write_and_compute(void *arg)
{
    volatile double sum = 1.0;
    double end_us;

    pages_write(arg);
    tm_barrier_wait(&job.barrier);
    end_us = now_us() + BUSY_US;
    while (now_us() < end_us) {
        for (unsigned i = 0; i < 10000; i++) {
            sum = sum * 1.0000001;
        }
    }
    return NULL;
}

static void *pages_fetch_from_busy(void *arg)
{
    tm_barrier_wait(&job.barrier);
    return pages_fetch(arg);
}

// As fetch_test(), from a node that computes.
static void fetch_busy_test(void)
{
    tm_thread writer;

    job.pages = shared_memory((size_t)N_PAGES * TM_PAGE_SIZE);
    tm_barrier_init(&job.barrier, 2);
    writer = thread_on(tm_node_count() - 1, pages_write_and_compute, NULL);
    run_on(0, pages_fetch_from_busy, NULL);
    tm_thread_join(writer, NULL);
    tm_free(job.pages);
}

static void stream_test(void)
{
    pages_test(pages_stream);
}

static void *barrier_thread(void *samples)
{
    double *us = samples;

    for (size_t i = 0; i < N_ROUNDS; i++) {
        const double start_us = now_us();

        tm_barrier_wait(&job.barrier);
        if (us != NULL) {
            us[i] = now_us() - start_us;
        }
    }
    return NULL;
}

// A thread on each node, nothing but barriers.
static void barrier_test(void)
{
    const unsigned n_nodes = tm_node_count();
    tm_thread threads[TM_MAX_NODES] = {0};

    tm_barrier_init(&job.barrier, n_nodes);
    for (unsigned node = 0; node < n_nodes; node++) {
        threads[node] =
            thread_on(node, barrier_thread, node == 0 ? job.us : NULL);
    }
    for (unsigned node = 0; node < n_nodes; node++) {
        tm_thread_join(threads[node], NULL);
    }
    job.n_samples = N_ROUNDS;
}

static void *lock_alone(void *arg)
{
    for (size_t i = 0; i < N_ROUNDS; i++) {
        const double start_us = now_us();

        tm_mutex_lock(&job.mutex);
        tm_mutex_unlock(&job.mutex);
        job.us[i] = now_us() - start_us;
    }
    job.n_samples = N_ROUNDS;
    return arg;
}

// Lock and unlock on the last node, nobody else wants it.
static void lock_test(void)
{
    run_on(tm_node_count() - 1, lock_alone, NULL);
}

// Lock, let the other side ask too, unlock. `is_unlock_timed` says which of
// the two is stamped; the stamps stay on this node.
static void *hand_off_giver(void *is_unlock_timed)
{
    for (size_t i = 0; i < N_HAND_OFFS; i++) {
        double start_us = now_us();

        tm_mutex_lock(&job.mutex);
        if (is_unlock_timed == NULL) {
            job.us[i] = now_us() - start_us;
        }
        tm_barrier_wait(&job.barrier);
        start_us = now_us();
        while (now_us() < start_us + 200.0) {
            // the other side's request comes in
        }
        guarded = i;
        if (is_unlock_timed != NULL) {
            job.us[i] = now_us();
        }
        tm_mutex_unlock(&job.mutex);
        tm_barrier_wait(&job.barrier);
    }
    return NULL;
}

// Ask for the mutex while the giver has it, and see what came with it.
static void *hand_off_taker(void *taken_us)
{
    double *us = taken_us;

    for (size_t i = 0; i < N_HAND_OFFS; i++) {
        uint64_t seen;

        tm_barrier_wait(&job.barrier);
        tm_mutex_lock(&job.mutex);
        seen = guarded;
        us[i] = now_us();
        tm_mutex_unlock(&job.mutex);
        tm_barrier_wait(&job.barrier);
        if (seen != i) {
            fprintf(stderr, "micro: %llu came with the mutex, not %zu\n",
                    (unsigned long long)seen, i);
            exit(EXIT_FAILURE);
        }
    }
    return NULL;
}

// A mutex and the word that it guards go from the root to the last node and
// back. Clocks are compared: both nodes must be on one machine.
static void hand_off_run(void *is_unlock_timed)
{
    double *taken_us = shared_memory(N_HAND_OFFS * sizeof *taken_us);
    tm_thread threads[2];

    tm_barrier_init(&job.barrier, 2);
    threads[0] = thread_on(0, hand_off_giver, is_unlock_timed);
    threads[1] = thread_on(tm_node_count() - 1, hand_off_taker, taken_us);
    tm_thread_join(threads[0], NULL);
    tm_thread_join(threads[1], NULL);
    for (size_t i = 0; is_unlock_timed != NULL && i < N_HAND_OFFS; i++) {
        job.us[i] = taken_us[i] - job.us[i];
    }
    job.n_samples = N_HAND_OFFS;
    tm_free(taken_us);
}

// From before the unlock on one node until the other has mutex and word.
static void hand_off_test(void)
{
    hand_off_run(&job);
}

// Locking a mutex that was last held on another node and is free.
static void lock_remote_test(void)
{
    hand_off_run(NULL);
}

static void *yield_thread(void *samples)
{
    double *us = samples;

    tm_barrier_wait(&job.barrier);
    for (size_t i = 0; i < N_ROUNDS; i++) {
        const double start_us = now_us();

        for (size_t k = 0; k < N_CHUNK; k++) {
            tm_thread_yield();
        }
        if (us != NULL) {
            us[i] = (now_us() - start_us) / (2 * N_CHUNK);
        }
    }
    return NULL;
}

// Two threads of the root in turn; a sample is one switch, if it has one
// worker.
static void yield_test(void)
{
    tm_thread threads[2];

    tm_barrier_init(&job.barrier, 2);
    threads[0] = thread_on(0, yield_thread, job.us);
    threads[1] = thread_on(0, yield_thread, NULL);
    tm_thread_join(threads[0], NULL);
    tm_thread_join(threads[1], NULL);
    job.n_samples = N_ROUNDS;
}

// The samples lie on the stack: they are the 8 KiB that go along.
static void *migrate_thread(void *is_moving)
{
    double us[STACK_USED / sizeof(double)];
    const size_t n = sizeof us / sizeof us[0];
    const unsigned last = tm_node_count() - 1;

    memset(us, 0, sizeof us);
    for (size_t i = 0; i < n; i++) {
        const unsigned to = tm_node_self() == 0 ? last : 0;
        double start_us;

        if (is_moving != NULL) {
            tm_thread_migrate(tm_thread_self(), to);
        }
        start_us = now_us();
        tm_iteration_end(&job.barrier);
        us[i] = now_us() - start_us;
        if (is_moving != NULL && tm_node_self() != to) {
            fprintf(stderr, "micro: the thread did not move\n");
            exit(EXIT_FAILURE);
        }
    }
    memcpy(job.us, us, sizeof us);
    job.n_samples = n;
    return NULL;
}

// One thread, between the root and the last node: an iteration's end with a
// move in it.
static void migrate_test(void)
{
    tm_barrier_init(&job.barrier, 1);
    run_on(0, migrate_thread, &job);
}

// The same without a move.
static void iteration_test(void)
{
    tm_barrier_init(&job.barrier, 1);
    run_on(0, migrate_thread, NULL);
}

static const struct {
    const char *name;
    unsigned n_nodes;  // it needs at least
    void (*run)(void); // fills job.us, sets job.n_samples
} tests[] = {
    {"fetch", 2, fetch_test},         {"fetch-busy", 2, fetch_busy_test},
    {"stream", 2, stream_test},       {"barrier", 1, barrier_test},
    {"lock", 1, lock_test},           {"lock-remote", 2, lock_remote_test},
    {"hand-off", 2, hand_off_test},   {"yield", 1, yield_test},
    {"iteration", 1, iteration_test}, {"migrate", 2, migrate_test},
};

enum { N_TESTS = sizeof tests / sizeof tests[0] };

static void test_run(size_t i)
{
    if (tm_node_count() < tests[i].n_nodes) {
        printf("%-16s needs %u nodes\n", tests[i].name, tests[i].n_nodes);
        return;
    }
    job.us = shared_memory(N_PAGES * sizeof *job.us);
    tests[i].run();
    samples_print(tests[i].name, job.us, job.n_samples);
    tm_free(job.us);
}

static size_t test_find(const char *name)
{
    size_t i = 0;

    while (i < N_TESTS && strcmp(tests[i].name, name) != 0) {
        i++;
    }
    if (i == N_TESTS) {
        fprintf(stderr, "micro: there is no test '%s', but", name);
        for (i = 0; i < N_TESTS; i++) {
            fprintf(stderr, " %s", tests[i].name);
        }
        fprintf(stderr, "\n");
        exit(64);
    }
    return i;
}

int main(int argc, char **argv)
{
    tm_init(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        test_run(test_find(argv[i]));
    }
    for (size_t i = 0; argc == 1 && i < N_TESTS; i++) {
        test_run(i);
    }
    return 0;
}
