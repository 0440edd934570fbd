// SPDX-License-Identifier: BSD-3-Clause
// Reading ahead, by counts: how many pages are asked for, and how many of them are used.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "pages/pages.h"
#include "pages/read_ahead.h"

enum { N_PAGES = 1 << 16 };

static struct {
    struct fault_history history;
    uint8_t is_here[N_PAGES];
    unsigned n_fetches;
    unsigned n_fetched;
} thread;

static int begin(void **state)
{
    (void)state;
    memset(&thread, 0, sizeof thread);
    return 0;
}

static int is_absent(page_no page)
{
    return page < N_PAGES && !thread.is_here[page];
}

// An instruction needs a page, and fetches it if it is not here.
static void need(uint64_t instruction, page_no page)
{
    struct ahead ahead;
    unsigned n = 0;

    if (!is_absent(page)) {
        return;
    }
    thread.history.instruction = instruction;
    ahead = read_ahead(&thread.history, page);
    assert_in_range(ahead.n, 1, FETCH_GROUP_MAX);
    while (n < ahead.n && is_absent(stride_page(page, ahead.stride, n))) {
        thread.is_here[stride_page(page, ahead.stride, n)] = 1;
        n++;
    }
    read_ahead_asked(&thread.history, page, &ahead, n);
    thread.n_fetches++;
    thread.n_fetched += n;
}

static void walk(page_no first, int stride, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        need(1, stride_page(first, stride, i));
    }
}

static void neighbours_come_in_groups(void **state)
{
    (void)state;
    walk(100, 1, 127); // 1, 2, 4, ... 64
    assert_int_equal(thread.n_fetches, 7);
    assert_int_equal(thread.n_fetched, 127);
}

// Three more, until it is known that they are equally far apart.
static void strides_come_in_groups(void **state)
{
    static const int strides[] = {2, 7, 300, -1, -2, -300};

    for (unsigned i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        begin(state);
        walk(32000, strides[i], 3 + 62); // 1, 1, 1, then 2, 4, ... 32
        assert_int_equal(thread.n_fetches, 3 + 5);
        assert_int_equal(thread.n_fetched, 3 + 62);
    }
}

// Each has its own, whatever others of the thread do in between.
static void instructions_do_not_disturb_each_other(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3 + 30; i++) {
        need(1, 1000 + 7 * i);
        need(2, 60000 - 300 * i);
        need(3, 40000 + i * i * 5); // no pattern
    }
    assert_int_equal(thread.n_fetched, 3 * (3 + 30));
    assert_int_equal(thread.n_fetches, 2 * (3 + 4) + 3 + 30);
}

static void it_is_given_up_at_the_first_page_elsewhere(void **state)
{
    (void)state;
    walk(1000, 10, 5); // the fourth fetch asked for two
    assert_int_equal(thread.n_fetches, 4);
    walk(20000, 10, 3);
    assert_int_equal(thread.n_fetches, 7);
    assert_int_equal(thread.n_fetched, 8);
}

// Three are not yet a stride.
static void chance_is_no_stride(void **state)
{
    (void)state;
    for (page_no at = 10; at + 300 < N_PAGES; at += 777) {
        walk(at, 100, 3);
    }
    assert_int_equal(thread.n_fetches, thread.n_fetched);
}

static void random_access_moves_no_page_more(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (unsigned i = 0; i < 4000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        need(1 + i % 3, (random >> 40) % (N_PAGES / 2) * 2);
    }
    assert_int_equal(thread.n_fetches, thread.n_fetched);
}

static void what_is_far_away_is_no_stride(void **state)
{
    struct ahead ahead;

    (void)state;
    for (page_no i = 0; i < 6; i++) {
        const page_no page = 5 + i * (STRIDE_MAX + UINT64_C(1));

        ahead = read_ahead(&thread.history, page);
        assert_int_equal(ahead.n, 1);
        read_ahead_asked(&thread.history, page, &ahead, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(neighbours_come_in_groups, begin),
        cmocka_unit_test(strides_come_in_groups),
        cmocka_unit_test_setup(instructions_do_not_disturb_each_other, begin),
        cmocka_unit_test_setup(it_is_given_up_at_the_first_page_elsewhere,
                               begin),
        cmocka_unit_test_setup(chance_is_no_stride, begin),
        cmocka_unit_test_setup(random_access_moves_no_page_more, begin),
        cmocka_unit_test_setup(what_is_far_away_is_no_stride, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
