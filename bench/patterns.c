// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the usual ways to share data cost: messages and bytes an operation. These are
 * counts, so a busy machine does not change them much.
 *
 *     teamster run -n 8 patterns PATTERN [ROUNDS [PAGES]]
 *
 * Each node has one thread, which does ROUNDS operations twice: first with protocols that
 * have seen nothing of the pattern yet, then again. Each prints one line:
 *
 *     PATTERN first|then  MESSAGES  KB  PAGES  DIFFS  FAULTS
 *
 * all for one operation of one thread: pages fetched whole, diffs sent, and faults that
 * waited for another node. bench/patterns.py runs all of them under each protocol.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "teamster.h"

enum {
    N_WORDS = TM_PAGE_SIZE / sizeof(int64_t),
    N_SOME = 64, // words of a page that an operation changes
    N_LOCKS = 64,
    RECORD = 512, // bytes of a result
    PIECE = 64,   // bytes of a thread, in a page of all
};

// What the threads share.
static TM_SHARED struct {
    int64_t (*pages)[N_WORDS]; // [n_pages]
    char *results;             // [2 * n_rounds * n_threads][RECORD]
    unsigned n_pages;
    unsigned n_rounds;
    unsigned n_threads;
    void (*operation)(unsigned thread, unsigned round);
} job;

static TM_SHARED struct {
    int64_t next;
} bag;

static TM_SHARED tm_mutex lock;
static TM_SHARED tm_mutex locks[N_LOCKS];
static TM_SHARED tm_barrier all;       // the threads
static TM_SHARED tm_barrier beginning; // they, and main()

// Something to do between the operations, so that threads take turns.
static void compute(void)
{
    volatile double value = 1;

    for (int i = 0; i < 20000; i++) {
        value = value * 1.0000001;
    }
    tm_thread_yield();
}

static void add_to(unsigned page, unsigned n_words)
{
    int64_t *words = job.pages[page];

    for (unsigned i = 0; i < n_words; i++) {
        words[i]++;
    }
}

// ---- the patterns

// Data go from thread to thread with a mutex.
static void migrate(unsigned n_words)
{
    tm_mutex_lock(&lock);
    for (unsigned page = 0; page < job.n_pages; page++) {
        add_to(page, n_words);
    }
    tm_mutex_unlock(&lock);
    compute();
}

static void migratory(unsigned thread, unsigned round)
{
    (void)thread;
    (void)round;
    migrate(N_SOME);
}

static void dense(unsigned thread, unsigned round)
{
    (void)thread;
    (void)round;
    migrate(N_WORDS);
}

// The next piece of work is taken under a mutex; results lie side by side.
static void take_from_bag(unsigned thread, unsigned round)
{
    int64_t task;

    (void)thread;
    (void)round;
    tm_mutex_lock(&lock);
    task = bag.next++;
    tm_mutex_unlock(&lock);
    memset(&job.results[task * RECORD], (int)task | 1, RECORD);
    compute();
}

// Each thread has a mutex for each object, which is a page; which one is by chance.
static void objects(unsigned thread, unsigned round)
{
    const unsigned object = (thread * 7919 + round * 104729) % job.n_pages;

    tm_mutex_lock(&locks[object % N_LOCKS]);
    add_to(object, N_SOME);
    tm_mutex_unlock(&locks[object % N_LOCKS]);
    compute();
}

// All write all pages, each its piece; nobody reads another's.
static void false_sharing(unsigned thread, unsigned round)
{
    for (unsigned page = 0; page < job.n_pages; page++) {
        memset((char *)job.pages[page] + thread * PIECE, (int)round, PIECE);
    }
    tm_barrier_wait(&all);
}

static int64_t sum_of(unsigned page)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < N_WORDS; i++) {
        sum += ((volatile int64_t *)job.pages[page])[i];
    }
    return sum;
}

// The last thread writes, the others read, all in turn.
static void producer(unsigned thread, unsigned round)
{
    for (unsigned page = 0; page < job.n_pages; page++) {
        if (thread == job.n_threads - 1) {
            add_to(page, N_SOME);
        }
    }
    tm_barrier_wait(&all);
    for (unsigned page = 0; page < job.n_pages; page++) {
        if (thread != job.n_threads - 1 &&
            sum_of(page) != N_SOME * (int64_t)(round + 1)) {
            fprintf(stderr, "patterns: a wrong sum in round %u\n", round);
            exit(EXIT_FAILURE);
        }
    }
    tm_barrier_wait(&all);
}

// As of a grid's rows: each thread writes its page, and reads those of its neighbours.
static void neighbours(unsigned thread, unsigned round)
{
    add_to(thread, N_WORDS);
    tm_barrier_wait(&all);
    for (unsigned at = thread == 0 ? 0 : thread - 1;
         at <= thread + 1 && at < job.n_threads; at++) {
        if (sum_of(at) != N_WORDS * (int64_t)(round + 1)) {
            fprintf(stderr, "patterns: a wrong sum in round %u\n", round);
            exit(EXIT_FAILURE);
        }
    }
    tm_barrier_wait(&all);
}

// What the first threads have written once is the last one's from then on.
static void inherited(unsigned thread, unsigned round)
{
    if (round < 4 || thread == job.n_threads - 1) {
        false_sharing(thread, round);
    } else {
        tm_barrier_wait(&all);
    }
}

static const struct pattern {
    const char *name;
    void (*operation)(unsigned thread, unsigned round);
    unsigned n_pages; // at least as many as threads: 0
} patterns[] = {
    {"migratory", migratory, 4},   {"dense", dense, 4},
    {"bag", take_from_bag, 1},     {"objects", objects, 64},
    {"false", false_sharing, 16},  {"producer", producer, 16},
    {"neighbours", neighbours, 0}, {"inherited", inherited, 16},
};

// ---- the measurement

static void *thread_run(void *arg)
{
    const unsigned thread = (unsigned)(uintptr_t)arg;

    for (unsigned half = 0; half < 2; half++) {
        tm_barrier_wait(&beginning);
        tm_barrier_wait(&beginning); // main() has counted
        for (unsigned i = 0; i < job.n_rounds; i++) {
            job.operation(thread, half * job.n_rounds + i);
        }
    }
    tm_barrier_wait(&beginning);
    return NULL;
}

static struct tm_node_stats count_all(void)
{
    struct tm_node_stats sum = {0};

    for (unsigned node = 0; node < tm_node_count(); node++) {
        struct tm_node_stats stats = {0};

        if (tm_stats(node, &stats) != TM_OK) {
            continue;
        }
        sum.messages_sent += stats.messages_sent;
        sum.bytes_sent += stats.bytes_sent;
        sum.pages_fetched += stats.pages_fetched;
        sum.updates_sent += stats.updates_sent;
        sum.remote_faults += stats.remote_faults;
    }
    return sum;
}

static void print(const char *name, const char *half,
                  const struct tm_node_stats *before,
                  const struct tm_node_stats *after)
{
    const double n = (double)job.n_rounds * job.n_threads;

    printf("%-12s %-6s %7.2f %7.2f %6.2f %6.2f %6.2f\n", name, half,
           (double)(after->messages_sent - before->messages_sent) / n,
           (double)(after->bytes_sent - before->bytes_sent) / n / 1000,
           (double)(after->pages_fetched - before->pages_fetched) / n,
           (double)(after->updates_sent - before->updates_sent) / n,
           (double)(after->remote_faults - before->remote_faults) / n);
}

static void measure(const char *name)
{
    struct tm_node_stats before;

    sleep(1); // until nodes have measured the network
    tm_barrier_wait(&beginning);
    before = count_all();
    tm_barrier_wait(&beginning);
    for (unsigned half = 0; half < 2; half++) {
        struct tm_node_stats after;

        tm_barrier_wait(&beginning);
        after = count_all();
        print(name, half == 0 ? "first" : "then", &before, &after);
        if (half == 0) {
            before = count_all();
            tm_barrier_wait(&beginning);
        }
    }
}

static void *shared_zeros(size_t size)
{
    void *block = tm_alloc(size, NULL);

    if (block == NULL) {
        exit(71);
    }
    memset(block, 0, size); // main() has them, as in most programs
    return block;
}

static void run(const struct pattern *pattern)
{
    tm_thread threads[TM_MAX_NODES] = {0};

    job.operation = pattern->operation;
    job.pages = shared_zeros((size_t)job.n_pages * TM_PAGE_SIZE);
    job.results =
        shared_zeros((size_t)2 * job.n_rounds * job.n_threads * RECORD);
    tm_barrier_init(&all, job.n_threads);
    tm_barrier_init(&beginning, job.n_threads + 1);
    for (unsigned i = 0; i < job.n_threads; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE, .node = i};

        if (tm_thread_create(&threads[i], &attr, thread_run,
                             (void *)(uintptr_t)i) != TM_OK) {
            exit(71);
        }
    }
    measure(pattern->name);
    for (unsigned i = 0; i < job.n_threads; i++) {
        tm_thread_join(threads[i], NULL);
    }
}

int main(int argc, char **argv)
{
    const struct pattern *pattern = NULL;

    if (tm_init(&argc, &argv) != TM_OK) {
        return EXIT_FAILURE;
    }
    for (size_t i = 0; argc > 1 && i < sizeof patterns / sizeof *patterns;
         i++) {
        if (strcmp(argv[1], patterns[i].name) == 0) {
            pattern = &patterns[i];
        }
    }
    if (pattern == NULL) {
        fprintf(stderr, "usage: patterns PATTERN [ROUNDS [PAGES]]\n");
        return 64;
    }
    job.n_threads = tm_node_count();
    job.n_rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
    job.n_pages =
        argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : pattern->n_pages;
    if (job.n_pages < job.n_threads && pattern->n_pages == 0) {
        job.n_pages = job.n_threads;
    }
    run(pattern);
    return EXIT_SUCCESS;
}
