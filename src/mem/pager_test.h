// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_PAGER_TEST_H
#define MEM_PAGER_TEST_H

/*
 * A pager for this folder's tests, with a host that does as the test says, and with
 * a swap file that does its calls where they are submitted: a transfer has begun
 * when a function returns, and ends at the next pager_poll(). So each moment of a
 * page's way can be looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mem/fault_source_test.h"
#include "mem/pager_priv.h"
#include "mem/snapshot.h"

enum { BUDGET = 64, N_PAGES = 2048, N_THREADS = 8 };

struct test {
    struct space space;
    struct swap_file *swap;
    struct pager *pager;
    struct swap_probe probe;
    enum page_fate fates[N_PAGES];
    uint64_t n_coming;
    unsigned n_relieved;
    unsigned n_dropped;
    unsigned n_fetched_ahead;
    unsigned n_calls; // of transfers_ended()
    int out_result;   ///< not 0: what writes to the disk give
    int in_result;
    unsigned who;          ///< touches pages: a thread, on a worker of its own
    uintptr_t instruction; ///< of it; 0: another one for each page
    struct pager_claims claims[N_THREADS];
};

struct wait {
    struct waiter waiter;
    int is_woken;
};

// ---- the host, and the disk

static inline enum page_fate fate(void *owner, page_no page)
{
    return ((struct test *)owner)->fates[page];
}

static inline void drop(void *owner, page_no page)
{
    struct test *test = owner;

    test->space.pages[page].state = PAGE_ABSENT;
    test->space.pages[page].access = ACCESS_NONE;
    test->n_dropped++;
}

static inline void relieve(void *owner)
{
    ((struct test *)owner)->n_relieved++;
}

static inline uint64_t n_coming(void *owner)
{
    return ((struct test *)owner)->n_coming;
}

static inline void fetch_ahead(void *owner, page_no first, page_no n)
{
    (void)first;
    ((struct test *)owner)->n_fetched_ahead += (unsigned)n;
}

static inline void transfers_ended(void *owner)
{
    ((struct test *)owner)->n_calls++;
}

static inline int ended(void *owner, int fd, int is_out, uint64_t offset,
                        int result)
{
    const struct test *test = owner;
    int wanted = is_out ? test->out_result : test->in_result;

    (void)fd;
    (void)offset;
    return wanted != 0 ? wanted : result;
}

static inline void note_wake(struct waiter *waiter)
{
    ((struct wait *)waiter)->is_woken = 1;
}

static inline void set_fates(struct test *test, enum page_fate fate)
{
    for (unsigned i = 0; i < N_PAGES; i++) {
        test->fates[i] = fate;
    }
}

static inline void open_test(struct test *test, uint64_t budget, uint64_t limit)
{
    const struct pager_host host = {
        .owner = test,
        .fate = fate,
        .drop = drop,
        .relieve = relieve,
        .n_coming = n_coming,
        .fetch_ahead = fetch_ahead,
        .transfers_ended = transfers_ended,
    };
    struct swap_settings settings = {
        .folder = "/dev/shm", .engine = "at once", .limit = limit};

    memset(test, 0, sizeof *test);
    test->probe = (struct swap_probe){.owner = test, .ended = ended};
    settings.probe = &test->probe;
    set_fates(test, FATE_SWAP);
    assert_int_equal(
        space_open(&test->space, NULL, NULL, 0, N_PAGES * TM_PAGE_SIZE), TM_OK);
    view_note(&test->space);
    assert_int_equal(swap_file_open(&test->swap, &settings), TM_OK);
    test->pager = pager_new(&test->space, test->swap, budget, &host);
    assert_non_null(test->pager);
}

static inline void close_test(struct test *test)
{
    swap_file_close(test->swap);
    pager_free(test->pager);
    space_close(&test->space);
}

// What the program can do without a fault is no more than it may: G2, G3.
static inline void check_view(const struct test *test, page_no page)
{
    const struct page *record = &test->space.pages[page];
    const enum page_access view = view_of(&test->space, page);

    assert_true(view <= record->access);
    if (!pager_is_here(test->pager, page) ||
        (record->io == IO_OUT && !record->stays)) {
        assert_int_equal(view, ACCESS_NONE);
    }
    if (record->swap_slot != 0 || record->in_snapshot) {
        assert_true(view <= ACCESS_READ); // N2 of snapshot.c
    }
}

static inline void check(const struct test *test)
{
    struct swap_stats stats;
    uint64_t n_slots = 0;

    assert_true(pager_is_valid(test->pager));
    for (page_no i = 0; i < N_PAGES; i++) {
        check_view(test, i);
    }
    if (test->pager->in_flight == NULL) {
        for (page_no i = 0; i < N_PAGES; i++) {
            n_slots += test->space.pages[i].swap_slot != 0;
        }
        swap_file_stats(test->swap, &stats);
        assert_int_equal(stats.slots_used, n_slots); // none is lost
    }
}

// ---- what the program does

static inline void set_bytes(struct test *test, page_no page, int value)
{
    memset(space_bytes_to_change(&test->space, page), value, TM_PAGE_SIZE);
}

static inline void assert_bytes(struct test *test, page_no page, int value)
{
    const char *bytes = space_bytes(&test->space, page);

    assert_int_equal((unsigned char)bytes[0], value);
    assert_memory_equal(bytes, bytes + 1, TM_PAGE_SIZE - 1);
}

static inline void make(struct test *test, page_no page)
{
    space_populate(&test->space, page, 1);
    test->space.pages[page].state = PAGE_CLEAN;
    space_set_access(&test->space, page, 1, ACCESS_WRITE);
    set_bytes(test, page, (int)page % 251);
}

static inline void make_many(struct test *test, page_no first, page_no n)
{
    for (page_no i = first; i < first + n; i++) {
        make(test, i);
        pager_settle(test->pager);
        pager_poll(test->pager);
    }
    pager_poll(test->pager);
    check(test);
}

static inline void release_page(struct test *test, page_no page)
{
    test->space.pages[page].state = PAGE_ABSENT;
    space_set_access(&test->space, page, 1, ACCESS_NONE);
    space_discard(&test->space, page, 1);
}

// What a model says to exist is there, and then nothing is. @param values  [n] of each page
static inline void release_all(struct test *test, const uint8_t *exists,
                               const uint8_t *values, page_no n)
{
    for (page_no i = 0; i < n; i++) {
        if (exists[i]) {
            assert_bytes(test, i, values[i]);
            release_page(test, i);
        }
    }
    assert_int_equal(test->pager->stats.resident, 0);
    check(test);
}

static inline enum pager_answer ask(struct test *test, page_no page,
                                    int is_write, struct wait *wait)
{
    struct pager_toucher toucher = {
        .worker = test->who,
        .thread = test->who,
        .instruction = test->instruction != 0 ? test->instruction : page + 1,
        .claims = &test->claims[test->who],
        .is_let_in = (int)(wait->waiter.result != 0),
    };
    enum pager_answer answer;

    *wait = (struct wait){.waiter.wake = note_wake};
    answer = pager_fault(test->pager, page, is_write, &toucher, &wait->waiter);
    if (answer == PAGER_GO_ON && pager_is_here(test->pager, page)) {
        if (is_write && test->space.pages[page].in_snapshot) {
            snapshot_keep_run(&test->space, page);
        }
        space_restore(&test->space, page, 1); // as the engine would
    }
    return answer;
}

// The first page that is on its way as it says, or out (IO_NONE), from one on.
static inline page_no find(const struct test *test, enum page_io io,
                           page_no from)
{
    for (page_no i = from; i < N_PAGES; i++) {
        if (test->space.pages[i].io == io &&
            (io != IO_NONE || pager_is_out(test->pager, i))) {
            return i;
        }
    }
    fail_msg("no page is on its way as it should be");
    return 0;
}

#endif
