// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mem/space.h"
#include "os/trap.h"

#define HEAP_SIZE (64u << 20)

// Two pages that stand for TM_SHARED variables.
static char globals[2 * TM_PAGE_SIZE] __attribute__((aligned(4096))) =
    "as it was before";

static struct space space;
static unsigned n_traps;
static enum page_access to_allow;

static int allow(void *owner, const struct trap *trap)
{
    page_no page;

    (void)owner;
    n_traps++;
    if (!space_find(&space, (void *)trap->address, &page)) {
        return 0;
    }
    space_set_access(&space, page, 1, to_allow);
    return 1;
}

static void open_with(const struct fault_source *source)
{
    char reason[160];

    if (!source->is_available(reason, sizeof reason)) {
        print_message("%s: %s\n", source->name, reason);
        skip();
    }
    assert_int_equal(trap_install(source->signal, allow, NULL), TM_OK);
    assert_int_equal(trap_thread_open(), TM_OK);
    assert_int_equal(
        space_open(&space, source, globals, sizeof globals, HEAP_SIZE), TM_OK);
}

static void check_views(const struct fault_source *source)
{
    volatile char *at;
    page_no page;

    open_with(source);
    page = space.heap_page + 5;
    at = space_address(&space, page);
    space_populate(&space, page, 1);
    to_allow = ACCESS_READ;
    n_traps = 0;
    assert_int_equal(at[7], 0);
    assert_int_equal(n_traps, 1);
    to_allow = ACCESS_WRITE;
    at[7] = 42; // faults once more: only reads were allowed
    assert_int_equal(n_traps, 2);
    assert_int_equal(space_bytes(&space, page)[7], 42);
    space_bytes(&space, page)[8] = 43; // never faults, and is seen
    assert_int_equal(at[8], 43);
    assert_int_equal(n_traps, 2);
    space_set_access(&space, page, 1, ACCESS_NONE);
    assert_int_equal(at[7], 42); // the bytes stayed
    assert_int_equal(n_traps, 3);
    space_close(&space);
}

static void both_views_show_the_same_bytes_userfaultfd(void **state)
{
    (void)state;
    check_views(&fault_userfaultfd);
}

static void both_views_show_the_same_bytes_mprotect(void **state)
{
    (void)state;
    check_views(&fault_mprotect);
}

static void addresses_and_numbers_of_pages_correspond(void **state)
{
    page_no page;

    (void)state;
    open_with(&fault_mprotect);
    assert_int_equal(space.n_globals, 2);
    assert_int_equal(space.heap_page % SPACE_BLOCK, 0);
    for (page_no i = space.heap_page; i < space.n_pages; i += 97) {
        assert_true(space_find(&space, space_address(&space, i) + 4095, &page));
        assert_int_equal(page, i);
    }
    assert_true(space_find(&space, globals + TM_PAGE_SIZE, &page));
    assert_int_equal(page, 1);
    assert_false(space_find(&space, SPACE_HEAP_BASE - 1, &page));
    assert_false(space_find(&space, SPACE_HEAP_BASE + HEAP_SIZE, &page));
    assert_false(space_find(&space, globals + sizeof globals, &page));
    assert_string_equal(space_bytes(&space, 0), "as it was before");
    space_close(&space);
}

static void discarded_pages_read_as_zero(void **state)
{
    char page_of_sevens[TM_PAGE_SIZE];
    page_no page;

    (void)state;
    assert_int_equal(space_open(&space, NULL, NULL, 0, HEAP_SIZE), TM_OK);
    page = space.heap_page;
    memset(page_of_sevens, 7, sizeof page_of_sevens);
    for (page_no i = page; i < page + 3; i++) {
        space_fill(&space, i, page_of_sevens);
    }
    space_discard(&space, page + 1, 1);
    assert_int_equal(space_bytes(&space, page)[4095], 7);
    assert_int_equal(space_bytes(&space, page + 1)[0], 0);
    assert_int_equal(space_bytes(&space, page + 2)[0], 7);
    space_close(&space);
}

static void addresses_in_use_are_refused(void **state)
{
    struct space other;

    (void)state;
    open_with(&fault_mprotect);
    assert_int_equal(space_open(&other, &fault_mprotect, NULL, 0, HEAP_SIZE),
                     TM_EBUSY);
    space_close(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_views_show_the_same_bytes_userfaultfd),
        cmocka_unit_test(both_views_show_the_same_bytes_mprotect),
        cmocka_unit_test(addresses_and_numbers_of_pages_correspond),
        cmocka_unit_test(discarded_pages_read_as_zero),
        cmocka_unit_test(addresses_in_use_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
