// SPDX-License-Identifier: BSD-3-Clause
// The pager with a disk that is late, full or broken.
#include "mem/pager_test.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

static int is_readable(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    return poll(&readable, 1, 0) == 1;
}

static void test_a_late_signal_is_silenced_once_served(void **state)
{
    const uint64_t one = 1;
    struct test test;
    int fd;

    (void)state;
    open_test(&test, BUDGET, 0);
    fd = swap_file_fd(test.swap);
    assert_int_equal(write(fd, &one, sizeof one), sizeof one);
    pager_poll(test.pager); // nothing is under way: not looked at
    assert_true(is_readable(fd));
    pager_serve_disk(test.pager);
    assert_false(is_readable(fd));
    check(&test);
    close_test(&test);
}

static void test_a_full_swap_file_takes_more_when_it_has_room(void **state)
{
    enum { SLOTS = 16 };
    struct test test;
    uint64_t n_out;

    (void)state;
    open_test(&test, BUDGET, SLOTS * TM_PAGE_SIZE);
    make_many(&test, 0, BUDGET + 16);
    assert_true(test.pager->is_full || test.pager->stats.out == SLOTS);
    n_out = test.pager->stats.out;
    assert_in_range(n_out, 1, SLOTS);
    for (unsigned i = 0; i < 8; i++) {
        release_page(&test, find(&test, IO_NONE, 0));
    }
    assert_false(test.pager->is_full);
    make_many(&test, BUDGET + 16, 8);
    assert_in_range(test.pager->stats.out, n_out - 7, SLOTS);
    for (page_no i = 0; i < BUDGET + 24; i++) {
        if (test.space.pages[i].state != PAGE_ABSENT) {
            assert_bytes(&test, i, (int)i % 251);
        }
    }
    check(&test);
    close_test(&test);
}

static void test_a_disk_that_was_full_is_tried_in_the_next_sweep(void **state)
{
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    test.out_result = -ENOSPC;
    make_many(&test, 0, BUDGET);
    assert_int_equal(test.pager->stats.out, 0);
    test.out_result = 0;
    pager_poll(test.pager);
    pager_poll(test.pager);
    assert_int_equal(test.pager->stats.out, 0);
    pager_end_sweep(test.pager);
    pager_poll(test.pager);
    pager_poll(test.pager);
    assert_true(test.pager->stats.out > 0);
    check(&test);
    close_test(&test);
}

static void test_pages_stay_if_the_disk_fails(void **state)
{
    static const int results[] = {-EIO, -ENOSPC};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct test test;

        open_test(&test, BUDGET, 0);
        test.out_result = results[i];
        make_many(&test, 0, BUDGET);
        assert_int_equal(test.pager->stats.resident, BUDGET);
        assert_int_equal(test.pager->stats.out, 0);
        assert_true(test.pager->is_full);
        assert_int_equal(test.pager->is_disk_bad, results[i] == -EIO);
        for (page_no at = 0; at < BUDGET; at++) {
            assert_bytes(&test, at, (int)at % 251);
        }
        check(&test);
        close_test(&test);
    }
}

// A child runs it, and ends with the exit code of a lack of memory.
static void expect_end(void (*run)(void))
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_MEMORY);
}

static void ask_for_more(struct test *test)
{
    struct wait wait = {.is_woken = 0};

    (void)ask(test, N_PAGES - 1, 1, &wait);
    for (unsigned i = 0; i < 4; i++) {
        pager_poll(test->pager);
    }
}

static void run_until_full(void)
{
    struct test test;

    open_test(&test, BUDGET, 16 * TM_PAGE_SIZE);
    make_many(&test, 0, BUDGET + 16);
    ask_for_more(&test);
}

static void run_until_failed(void)
{
    struct test test;

    open_test(&test, BUDGET, 0);
    test.out_result = -EIO;
    make_many(&test, 0, BUDGET);
    ask_for_more(&test);
}

static void run_into_bad_read(void)
{
    struct wait wait = {.is_woken = 0};
    struct test test;

    open_test(&test, BUDGET, 0);
    make_many(&test, 0, 2 * BUDGET);
    test.in_result = -EIO;
    (void)ask(&test, find(&test, IO_NONE, 0), 0, &wait);
    pager_poll(test.pager);
}

static void test_the_run_ends_if_nothing_can_go(void **state)
{
    (void)state;
    expect_end(run_until_full);
    expect_end(run_until_failed);
    expect_end(run_into_bad_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_late_signal_is_silenced_once_served),
        cmocka_unit_test(test_a_full_swap_file_takes_more_when_it_has_room),
        cmocka_unit_test(test_a_disk_that_was_full_is_tried_in_the_next_sweep),
        cmocka_unit_test(test_pages_stay_if_the_disk_fails),
        cmocka_unit_test(test_the_run_ends_if_nothing_can_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
