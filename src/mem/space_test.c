// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "mem/space.h"
#include "os/trap.h"

#define HEAP_SIZE (64u << 20)

// Two pages that stand for TM_SHARED variables.
static char globals[2 * TM_PAGE_SIZE] __attribute__((aligned(4096))) =
    "as it was before";

static struct space space;
static volatile unsigned n_traps;
static volatile enum page_access to_allow;

static int allow(void *owner, const struct trap *trap)
{
    page_no page;

    (void)owner;
    n_traps++;
    if (!space_find(&space, (void *)trap->address, &page)) {
        return 0;
    }
    if (space.tracker != NULL) {
        space_map(&space, page, 1, to_allow);
    } else if (to_allow == space.pages[page].access) {
        space_restore(&space, page, 1);
    } else {
        space_set_access(&space, page, 1, to_allow);
    }
    return 1;
}

static void open_some(const struct fault_source *source, size_t globals_size)
{
    char reason[160];

    if (!source->is_available(reason, sizeof reason)) {
        print_message("%s: %s\n", source->name, reason);
        skip();
    }
    assert_int_equal(trap_install(source->signal, allow, NULL), TM_OK);
    assert_int_equal(trap_thread_open(), TM_OK);
    assert_int_equal(
        space_open(&space, source, globals, globals_size, HEAP_SIZE), TM_OK);
}

static void open_with(const struct fault_source *source)
{
    open_some(source, sizeof globals);
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
    space_bytes_to_change(&space, page)[8] = 43; // never faults, and is seen
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

// ---- what is mapped while uses are tracked

static page_no ended[16];
static unsigned n_ended;

static void writes_ended(struct space_tracker *tracker, page_no page)
{
    (void)tracker;
    ended[n_ended++] = page;
}

static void changed(struct space_tracker *tracker, page_no page,
                    const void *diff, size_t size)
{
    (void)tracker;
    (void)page;
    (void)diff;
    (void)size;
}

static struct space_tracker tracker = {
    .writes_ended = writes_ended,
    .changed = changed,
};

// A touch of a page of the heap. @return how many traps it took
static unsigned touch(unsigned i, int is_write, enum page_access allowed)
{
    volatile char *at = space_address(&space, space.heap_page + i);
    unsigned before = n_traps;

    to_allow = allowed;
    if (is_write) {
        at[1] = (char)i;
    } else {
        (void)at[1];
    }
    return n_traps - before;
}

// Pages 0 to 3 may be written, 4 to 7 read; all others are absent.
static void make_pages(void)
{
    space_populate(&space, space.heap_page, 8);
    space_set_access(&space, space.heap_page, 4, ACCESS_WRITE);
    space_set_access(&space, space.heap_page + 4, 4, ACCESS_READ);
}

static void check_mapping_only_what_is_touched(void)
{
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(touch(i, 0, ACCESS_READ), 1);
        assert_int_equal(touch(i, 0, ACCESS_READ), 0);
        assert_int_equal(space.pages[space.heap_page + i].access,
                         i < 4 ? ACCESS_WRITE : ACCESS_READ);
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(touch(i, 1, ACCESS_WRITE), 1);
        assert_int_equal(touch(i, 1, ACCESS_WRITE), 0);
    }
}

// What the protocol takes away is gone, what it gives is not there yet.
static void check_changes_of_access(void)
{
    page_no first = space.heap_page;

    n_ended = 0;
    space_set_access(&space, first + 1, 2, ACCESS_READ);
    assert_int_equal(n_ended, 2);
    assert_int_equal(ended[0], first + 1);
    assert_int_equal(touch(1, 0, ACCESS_READ), 0);
    assert_int_equal(touch(1, 1, ACCESS_WRITE), 1);
    space_set_access(&space, first + 2, 1, ACCESS_NONE);
    assert_int_equal(n_ended, 2);
    assert_int_equal(touch(2, 0, ACCESS_READ), 1);
    space_set_access(&space, first + 2, 1, ACCESS_READ);
    space_set_access(&space, first + 4, 1, ACCESS_WRITE);
    assert_int_equal(touch(4, 0, ACCESS_READ), 0);
    assert_int_equal(touch(4, 1, ACCESS_WRITE), 1);
}

static void check_tracking(const struct fault_source *source)
{
    static const unsigned is_writable[] = {1, 0, 0, 1, 1, 0, 0, 0};
    page_no first;

    open_some(source, 0);
    first = space.heap_page;
    make_pages();
    space_track(&space, &tracker);
    space_hide(&space, first, SPACE_BLOCK);
    check_mapping_only_what_is_touched();
    space_hide(&space, first, SPACE_BLOCK);
    check_mapping_only_what_is_touched();
    check_changes_of_access();
    space_set_access(&space, first + 1, 1, ACCESS_READ);
    space_track_end(&space);
    space_show(&space, first, SPACE_BLOCK);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(touch(i, (int)is_writable[i], ACCESS_WRITE), 0);
        assert_int_equal(space.pages[first + i].mapped, ACCESS_NONE);
    }
    assert_int_equal(touch(5, 1, ACCESS_WRITE), 1);
    space_close(&space);
}

static void tracked_pages_are_mapped_when_touched_userfaultfd(void **state)
{
    (void)state;
    check_tracking(&fault_userfaultfd);
}

static void tracked_pages_are_mapped_when_touched_mprotect(void **state)
{
    (void)state;
    check_tracking(&fault_mprotect);
}

// As when the kernel has swapped it out.
static void a_page_unmapped_behind_our_back_is_restored(void **state)
{
    (void)state;
    open_some(&fault_userfaultfd, 0);
    make_pages();
    assert_int_equal(madvise(space_address(&space, space.heap_page),
                             (size_t)8 * TM_PAGE_SIZE, MADV_DONTNEED),
                     0);
    assert_int_equal(touch(0, 1, ACCESS_WRITE), 1);
    assert_int_equal(touch(5, 0, ACCESS_READ), 1);
    assert_int_equal(touch(5, 1, ACCESS_WRITE), 1);
    space_close(&space);
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
        space_fill(&space, i, 1, page_of_sevens);
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

// ---- pages that share frames

// Sixteen pages of four frames, a byte of their own each.
static void share_four_frames(page_no first)
{
    space_share_frames(&space, &(struct grain_area){first, 4, 4});
    for (page_no page = first; page < first + 16; page++) {
        const char bytes[1024] = {(char)(page - first), 5};

        space_fill(&space, page, 1, bytes);
    }
}

static volatile char *own_byte(page_no page)
{
    return space_address(&space, page) + space_part(&space, page).offset;
}

static void check_sharing(const struct fault_source *source)
{
    page_no first;

    open_some(source, 0);
    first = space.heap_page + 3;
    share_four_frames(first);
    n_traps = 0;
    to_allow = ACCESS_WRITE;
    for (page_no page = first; page < first + 16; page++) {
        assert_int_equal(*own_byte(page), page - first);
        assert_int_equal(own_byte(page)[1], 5);
    }
    assert_int_equal(n_traps, 16); // each by itself
    *own_byte(first + 6) = 42;
    space_set_access(&space, first + 2, 1, ACCESS_NONE);
    to_allow = ACCESS_READ;
    *own_byte(first + 6) = 43; // the same frame
    assert_int_equal(n_traps, 16);
    assert_int_equal(*own_byte(first + 2), 2);
    assert_int_equal(n_traps, 17);
    assert_int_equal(space_place(&space, first + 6)[1024], 43);
    assert_ptr_equal(space_place(&space, first + 6),
                     space_place(&space, first + 2));
    space_unmap(&space, first + 2, 1); // V3
    for (page_no page = first + 2; page < first + 16; page += 4) {
        to_allow = space.pages[page].access;
        (void)*own_byte(page);
    }
    assert_int_equal(n_traps, 21);
    space_close(&space);
}

static void pages_of_a_frame_are_protected_apart_userfaultfd(void **state)
{
    (void)state;
    check_sharing(&fault_userfaultfd);
}

static void pages_of_a_frame_are_protected_apart_mprotect(void **state)
{
    (void)state;
    check_sharing(&fault_mprotect);
}

static void check_parting(const struct fault_source *source)
{
    page_no first;

    open_some(source, 0);
    first = space.heap_page + 3;
    for (int round = 0; round < 2; round++) {
        share_four_frames(first);
        to_allow = ACCESS_WRITE;
        assert_int_equal(*own_byte(first + 15), 15);
        space_set_access(&space, first, 16, ACCESS_NONE);
        space_part_frames(&space, first);
        space_discard(&space, first, 16);
        space_populate(&space, first, 16);
        n_traps = 0;
        for (page_no page = first; page < first + 16; page++) {
            assert_int_equal(*own_byte(page), 0);
            *own_byte(page) = (char)(page - first + 1);
        }
        assert_int_equal(n_traps, 16);
        for (page_no page = first; page < first + 16; page++) {
            assert_int_equal(space_bytes(&space, page)[0], page - first + 1);
        }
        space_set_access(&space, first, 16, ACCESS_NONE);
        space_discard(&space, first, 16);
    }
    space_close(&space);
}

static void parted_pages_have_frames_of_their_own_userfaultfd(void **state)
{
    (void)state;
    check_parting(&fault_userfaultfd);
}

static void parted_pages_have_frames_of_their_own_mprotect(void **state)
{
    (void)state;
    check_parting(&fault_mprotect);
}

static void a_frame_is_given_back_for_none_of_its_pages(void **state)
{
    page_no first;

    (void)state;
    assert_int_equal(space_open(&space, NULL, NULL, 0, HEAP_SIZE), TM_OK);
    first = space.heap_page;
    share_four_frames(first);
    space_discard(&space, first + 1, 1); // V4
    assert_int_equal(space_place(&space, first + 5)[1024], 5);
    space_populate(&space, first + 9, 1); // changes nothing
    assert_int_equal(space_place(&space, first + 5)[1024], 5);
    space_close(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_views_show_the_same_bytes_userfaultfd),
        cmocka_unit_test(both_views_show_the_same_bytes_mprotect),
        cmocka_unit_test(tracked_pages_are_mapped_when_touched_userfaultfd),
        cmocka_unit_test(tracked_pages_are_mapped_when_touched_mprotect),
        cmocka_unit_test(a_page_unmapped_behind_our_back_is_restored),
        cmocka_unit_test(addresses_and_numbers_of_pages_correspond),
        cmocka_unit_test(discarded_pages_read_as_zero),
        cmocka_unit_test(addresses_in_use_are_refused),
        cmocka_unit_test(pages_of_a_frame_are_protected_apart_userfaultfd),
        cmocka_unit_test(pages_of_a_frame_are_protected_apart_mprotect),
        cmocka_unit_test(parted_pages_have_frames_of_their_own_userfaultfd),
        cmocka_unit_test(parted_pages_have_frames_of_their_own_mprotect),
        cmocka_unit_test(a_frame_is_given_back_for_none_of_its_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
