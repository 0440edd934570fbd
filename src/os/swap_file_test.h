// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_SWAP_FILE_TEST_H
#define OS_SWAP_FILE_TEST_H

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/swap_file.h"

/* Swap files for tests: in a folder of their own, with either engine. */

#define PAGE ((size_t)TM_PAGE_SIZE)

static char folder[64];
static const char *engine; ///< of the tests that run on both

// ---- pages

static inline char *pages_new(unsigned n)
{
    char *pages = aligned_alloc(PAGE, n * PAGE);

    assert_non_null(pages);
    memset(pages, 0, n * PAGE);
    return pages;
}

/** Contents that tell the version and the place. */
static inline void fill_page(char *page, uint64_t version)
{
    uint64_t *words = (uint64_t *)page;

    for (size_t i = 0; i < PAGE / 8; i++) {
        words[i] = version * UINT64_C(0x9e3779b97f4a7c15) + i;
    }
}

static inline int page_is(const char *page, uint64_t version)
{
    char expected[TM_PAGE_SIZE] __attribute__((aligned(8)));

    fill_page(expected, version);
    return memcmp(page, expected, PAGE) == 0;
}

// ---- files

/** Skips the test where the engine that it asks for is refused. */
static inline struct swap_file *open_or_skip(struct swap_settings settings)
{
    struct swap_file *file;
    tm_status status;

    settings.folder = settings.folder != NULL ? settings.folder : folder;
    settings.engine = settings.engine != NULL ? settings.engine : engine;
    status = swap_file_open(&file, &settings);
    if (status == TM_ESYSTEM && settings.engine != NULL &&
        strcmp(settings.engine, "io_uring") == 0) {
        print_message("this system refuses io_uring\n");
        skip();
    }
    assert_int_equal(status, TM_OK);
    return file;
}

static inline void wait_for_all(struct swap_file *file)
{
    struct pollfd readable = {.fd = swap_file_fd(file), .events = POLLIN};

    while (swap_file_in_flight(file) > 0) {
        assert_int_not_equal(poll(&readable, 1, 60000), 0);
        swap_file_poll(file);
    }
}

// ---- one transfer at a time

struct simple {
    struct swap_transfer transfer; // first
    tm_status status;
    int n_done;
};

static inline void simple_done(struct swap_transfer *transfer, tm_status status)
{
    struct simple *simple = (struct simple *)transfer;

    simple->status = status;
    simple->n_done++;
}

static inline void begin(struct swap_file *file, struct simple *simple,
                         enum swap_op op, uint64_t slot, char *pages,
                         unsigned n)
{
    *simple = (struct simple){
        .transfer = {
            .op = op, .slot = slot, .n_pages = n, .done = simple_done}};
    for (unsigned i = 0; i < n; i++) {
        simple->transfer.pages[i] = pages + i * PAGE;
    }
    swap_file_start(file, &simple->transfer);
}

static inline tm_status move(struct swap_file *file, enum swap_op op,
                             uint64_t slot, char *pages, unsigned n)
{
    struct simple simple;

    begin(file, &simple, op, slot, pages, n);
    swap_file_wait(file, &simple.transfer);
    assert_int_equal(simple.n_done, 1);
    assert_true(simple.transfer.ended_ns >= simple.transfer.began_ns);
    assert_true(swap_file_is_valid(file));
    return simple.status;
}

// ---- groups of tests

static inline int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "swap_file_test.XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); // fails if anything is left in it
}

/** Run tests with an engine, or with that which the system has. @return failures */
#define RUN_WITH(name, tests)                                                  \
    (engine = (name), cmocka_run_group_tests(tests, make_folder, remove_folder))

#endif
