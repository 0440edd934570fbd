// SPDX-License-Identifier: BSD-3-Clause
/*
 * Loops over rows of pages, entered again and again, on nodes of which one may be short of
 * memory:
 *
 *     shelves HOW ENTRIES ROWS [WORK]
 *
 * HOW: `one` loop; `two` in turn over the same rows; `shrinking`: one whose range ends sooner
 * each time; `ranges`: one place, two ranges in turn; `new`: one, and another one that has never been
 * entered before, over the same rows. Each entry adds to all words of its
 * rows; but `idle` touches none. Tells what the last entries cost: pages that came in, messages, time.
 */
#include <string.h>
#include <time.h>

#include "program.h"

enum { N_WORDS = 512, N_PAGES = 4, N_LAST = 8 };

typedef uint64_t row[N_PAGES][N_WORDS];

struct shelves {
    row *rows;
    uint64_t work;
};

static void fill(int64_t from, int64_t to, void *arg)
{
    const struct shelves *shelves = arg;

    for (int64_t i = from; i < to; i++) {
        for (unsigned page = 0; page < N_PAGES; page++) {
            for (unsigned k = 0; k < N_WORDS; k++) {
                shelves->rows[i][page][k] += 1;
            }
        }
        spin(shelves->work);
    }
}

static void idle(int64_t from, int64_t to, void *arg)
{
    (void)arg;
    spin((uint64_t)(to - from));
}

static void enter_new(unsigned entry, struct shelves *shelves, int64_t n)
{
    char name[32];
    const tm_loop_attr attr = {.arg_size = sizeof *shelves, .name = name};

    snprintf(name, sizeof name, "new %u", entry);
    OK(tm_parallel_for(0, n, 0, fill, shelves, &attr));
}

static void enter(const char *how, unsigned entry, struct shelves *shelves,
                  int64_t n)
{
    const tm_loop_attr attr = {.arg_size = sizeof *shelves};
    const tm_loop_attr other = {.arg_size = sizeof *shelves, .name = "other"};

    if (strcmp(how, "idle") == 0) {
        OK(tm_parallel_for(0, n, 0, idle, shelves, &attr));
        return;
    }
    if (strcmp(how, "two") == 0) {
        OK(tm_parallel_for(0, n, 0, fill, shelves, &other));
    } else if (strcmp(how, "new") == 0) {
        enter_new(entry, shelves, n);
    } else if (strcmp(how, "shrinking") == 0) {
        n -= entry;
    } else if (strcmp(how, "ranges") == 0 && entry % 2 == 1) {
        n /= 2;
    }
    OK(tm_parallel_for(0, n, 0, fill, shelves, &attr));
}

struct cost {
    uint64_t ins;
    uint64_t messages;
    double s;
};

static struct cost cost_so_far(void)
{
    struct timespec now;
    struct cost cost = {0};

    for (unsigned i = 0; i < tm_node_count(); i++) {
        struct tm_node_stats stats = {0};

        if (tm_stats(i, &stats) == TM_OK) { // it has not left
            cost.ins += stats.page_ins;
            cost.messages += stats.messages_sent;
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    cost.s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    return cost;
}

static uint64_t sum_of(const struct shelves *shelves, int64_t n)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < n; i++) {
        for (unsigned page = 0; page < N_PAGES; page++) {
            sum += shelves->rows[i][page][i % N_WORDS];
        }
    }
    return sum;
}

static uint64_t expected(const char *how, unsigned n_entries, uint64_t n)
{
    const uint64_t all = n * n_entries;

    if (strcmp(how, "idle") == 0) {
        return 0;
    }
    if (strcmp(how, "two") == 0 || strcmp(how, "new") == 0) {
        return 2 * all * N_PAGES;
    }
    if (strcmp(how, "shrinking") == 0) {
        return (all - (uint64_t)n_entries * (n_entries - 1) / 2) * N_PAGES;
    }
    if (strcmp(how, "ranges") == 0) {
        return (all - (n - n / 2) * (n_entries / 2)) * N_PAGES;
    }
    return all * N_PAGES;
}

int main(int argc, char **argv)
{
    struct shelves shelves = {0};
    struct cost before = {0};
    struct cost after;
    unsigned n_entries;
    int64_t n;

    OK(tm_init(&argc, &argv));
    if (argc < 4) {
        fprintf(stderr, "usage: %s HOW ENTRIES ROWS [WORK]\n", argv[0]);
        return 64;
    }
    n_entries = (unsigned)atoi(argv[2]);
    n = atol(argv[3]);
    shelves.work = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    shelves.rows = tm_alloc((size_t)n * sizeof(row), NULL);
    for (unsigned entry = 0; entry < n_entries; entry++) {
        if (entry + N_LAST == n_entries) {
            before = cost_so_far();
        }
        enter(argv[1], entry, &shelves, n);
        if (entry == 10) { // pieces have been placed, if a node is short
            puts("10 entries");
            fflush(stdout);
        }
    }
    after = cost_so_far();
    printf("the last %d: %" PRIu64 " pages in, %" PRIu64 " messages, %.3f s\n",
           N_LAST, after.ins - before.ins, after.messages - before.messages,
           after.s - before.s);
    if (sum_of(&shelves, n) != expected(argv[1], n_entries, (uint64_t)n)) {
        FAIL("the sum is %" PRIu64, sum_of(&shelves, n));
    }
    return 0;
}
