// SPDX-License-Identifier: BSD-3-Clause
#include "program.h"

#include "checksum.h"
#include "times.h"

enum { THREADS_MAX = 64 };

struct program program;

// Of the threads, until they have ended.
static struct {
    double start_s;
    double end_s;
    struct tm_node_stats before;
    struct tm_node_stats after;
} counts;

void program_begin(int argc, char **argv, struct program defaults)
{
    program = defaults;
    if (argc > 1) {
        program.n_threads = (unsigned)strtoul(argv[1], NULL, 10);
    }
    if (argc > 2) {
        program.size = strtoul(argv[2], NULL, 10);
    }
    if (argc > 3) {
        program.n_rounds = (unsigned)strtoul(argv[3], NULL, 10);
    }
    if (argc > 4 || program.n_threads < 1 || program.n_threads > THREADS_MAX ||
        program.size < 1 || program.n_rounds < 1) {
        fprintf(stderr, "usage: %s [THREADS [SIZE [ROUNDS]]]\n", argv[0]);
        exit(64);
    }
    if (tm_init(&argc, &argv) != TM_OK) {
        exit(70);
    }
}

void *program_alloc(const char *name, size_t size)
{
    void *block = tm_alloc(size, &(tm_alloc_attr){.name = name});

    if (block == NULL) {
        exit(71);
    }
    return block;
}

static struct tm_node_stats all_nodes(void)
{
    struct tm_node_stats sum = {0};

    for (unsigned node = 0; node < tm_node_count(); node++) {
        struct tm_node_stats stats;

        if (tm_stats(node, &stats) == TM_OK) {
            sum.messages_sent += stats.messages_sent;
            sum.pages_fetched += stats.pages_fetched;
            sum.bytes_sent += stats.bytes_sent;
        }
    }
    return sum;
}

void program_run(void *(*start)(void *))
{
    tm_thread threads[THREADS_MAX];

    counts.before = all_nodes();
    counts.start_s = now_s();
    for (size_t i = 0; i < program.n_threads; i++) {
        if (tm_thread_create(&threads[i], NULL, start, (void *)i) != TM_OK) {
            fprintf(stderr, "thread %zu cannot be made\n", i);
            exit(71);
        }
    }
    for (size_t i = 0; i < program.n_threads; i++) {
        tm_thread_join(threads[i], NULL);
    }
    counts.end_s = now_s();
    counts.after = all_nodes();
}

void program_print(const char *operation, double n_operations, uint64_t sum)
{
    const struct tm_node_stats *before = &counts.before;
    const struct tm_node_stats *after = &counts.after;
    const double total_s = counts.end_s - counts.start_s;

    printf("result: right\n");
    printf("total time: %.6f s\n", total_s);
    printf(
        "%s: %.0f, each %.3f us, %.3f messages, %.3f pages fetched, "
        "%.1f bytes\n",
        operation, n_operations, total_s / n_operations * 1e6,
        (double)(after->messages_sent - before->messages_sent) / n_operations,
        (double)(after->pages_fetched - before->pages_fetched) / n_operations,
        (double)(after->bytes_sent - before->bytes_sent) / n_operations);
    checksum_print(sum);
}
