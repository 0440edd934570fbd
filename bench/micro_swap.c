// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a page costs to swap out and in, by size of the transfers, and what of that
 * the checksum takes.
 *
 *     micro_swap [FOLDER [PAGES [IN_FLIGHT]]]
 *
 * PAGES pages (default 16384: 64 MiB) are written to a swap file in FOLDER (default:
 * the current one) and read back, IN_FLIGHT transfers (default 8) at a time, once
 * in order and once scattered. Microseconds per page: time that has passed, by
 * number of pages. Each line is the median of three rounds; the first write of a
 * file, which has its blocks yet to be found, is a line of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "os/swap_file.h"
#include "samples.h"

#define PAGE ((size_t)TM_PAGE_SIZE)

enum { N_ROUNDS = 3 };

struct test {
    struct swap_file *file;
    char *pages; ///< [n_pages] on disk in the same order
    size_t n_pages;
    struct swap_transfer *transfers; ///< [n_transfers] at a time
    size_t n_transfers;

    // Of the round.
    enum swap_op op;
    unsigned n_together;
    int is_scattered;
    size_t n_started; ///< transfers
};

static void *memory_new(size_t size)
{
    void *memory = aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);

    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(71);
    }
    return memory;
}

static void start_next(struct test *test, struct swap_transfer *transfer)
{
    size_t n_transfers = test->n_pages / test->n_together;
    size_t i = test->n_started;
    size_t first;

    if (i == n_transfers) {
        return;
    }
    test->n_started++;
    if (test->is_scattered) { // odd: one to one, as n_transfers is a power of two
        i = i * 40503 % n_transfers;
    }
    first = i * test->n_together;
    transfer->op = test->op;
    transfer->slot = first;
    transfer->n_pages = test->n_together;
    for (unsigned p = 0; p < test->n_together; p++) {
        transfer->pages[p] = test->pages + (first + p) * PAGE;
    }
    swap_file_start(test->file, transfer);
}

static void go_on(struct swap_transfer *transfer, tm_status status)
{
    if (status != TM_OK) {
        exit(70); // it is logged
    }
    start_next(transfer->owner, transfer);
}

static double us_per_page(struct test *test)
{
    double began = now_us();

    test->n_started = 0;
    for (size_t i = 0; i < test->n_transfers; i++) {
        test->transfers[i].owner = test;
        test->transfers[i].done = go_on;
        start_next(test, &test->transfers[i]);
    }
    for (size_t i = 0; i < test->n_transfers; i++) {
        while (test->transfers[i].is_under_way) {
            swap_file_wait(test->file, &test->transfers[i]);
        }
    }
    return (now_us() - began) / (double)test->n_pages;
}

static void measure(struct test *test, enum swap_op op, unsigned n_together,
                    int is_scattered)
{
    double us[N_ROUNDS];

    test->op = op;
    test->n_together = n_together;
    test->is_scattered = is_scattered;
    for (int i = 0; i < N_ROUNDS; i++) {
        us[i] = us_per_page(test);
    }
    qsort(us, N_ROUNDS, sizeof us[0], samples_order);
    printf("%-9s %-3s %-9s %3u %9.2f us/page\n", swap_file_engine(test->file),
           op == SWAP_OUT ? "out" : "in",
           is_scattered ? "scattered" : "in order", n_together,
           us[N_ROUNDS / 2]);
}

static void fill_file(struct test *test)
{
    uint64_t slot;

    for (size_t i = 0; i < test->n_pages; i += SWAP_TRANSFER_MAX) {
        if (swap_file_reserve(test->file, SWAP_TRANSFER_MAX, &slot) !=
                SWAP_TRANSFER_MAX ||
            slot != i) {
            fprintf(stderr, "the file is not given in order\n");
            exit(70);
        }
    }
    test->op = SWAP_OUT;
    test->n_together = SWAP_TRANSFER_MAX;
    test->is_scattered = 0;
    printf("%-9s out first      %3u %9.2f us/page\n",
           swap_file_engine(test->file), SWAP_TRANSFER_MAX, us_per_page(test));
}

static void measure_engine(struct test *test, const char *folder,
                           const char *engine)
{
    static const unsigned sizes[] = {1, 8, 64};
    struct swap_settings settings = {.folder = folder, .engine = engine};

    if (swap_file_open(&test->file, &settings) != TM_OK) {
        return;
    }
    printf("# %s, %s\n", engine,
           swap_file_is_direct(test->file) ? "direct" : "not direct");
    fill_file(test);
    for (int is_scattered = 0; is_scattered < 2; is_scattered++) {
        for (unsigned i = 0; i < 3; i++) {
            measure(test, SWAP_OUT, sizes[i], is_scattered);
            measure(test, SWAP_IN, sizes[i], is_scattered);
        }
    }
    swap_file_close(test->file);
}

/** Processor time: others may run as well. */
static void measure_checksum(const char *pages, size_t n_pages)
{
    double us[N_ROUNDS];
    uint32_t sum = 0;

    for (int round = 0; round < N_ROUNDS; round++) {
        uint64_t began = clock_thread_cpu_ns();

        for (size_t i = 0; i < n_pages; i++) {
            sum += checksum(pages + i * PAGE, PAGE, i);
        }
        us[round] =
            (double)(clock_thread_cpu_ns() - began) * 1e-3 / (double)n_pages;
    }
    qsort(us, N_ROUNDS, sizeof us[0], samples_order);
    printf("checksum, %zu pages: %.3f us/page (%08x)\n", n_pages,
           us[N_ROUNDS / 2], sum);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    struct test test = {.n_pages = 16384, .n_transfers = 8};

    if (argc > 2) {
        test.n_pages = strtoul(argv[2], NULL, 10);
    }
    if (argc > 3) {
        test.n_transfers = strtoul(argv[3], NULL, 10);
    }
    if (test.n_pages < SWAP_TRANSFER_MAX ||
        (test.n_pages & (test.n_pages - 1)) != 0 || test.n_transfers < 1) {
        fprintf(stderr, "usage: micro_swap [FOLDER [PAGES [IN_FLIGHT]]]\n"
                        "PAGES is a power of two, at least 64\n");
        return 64;
    }
    test.pages = memory_new(test.n_pages * PAGE);
    memset(test.pages, 0x5a, test.n_pages * PAGE);
    test.transfers = memory_new(test.n_transfers * sizeof *test.transfers);
    memset(test.transfers, 0, test.n_transfers * sizeof *test.transfers);
    measure_checksum(test.pages, test.n_pages);
    measure_engine(&test, folder, "io_uring");
    measure_engine(&test, folder, "thread");
    free(test.transfers);
    free(test.pages);
    return 0;
}
