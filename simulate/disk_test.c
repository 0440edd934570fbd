// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4 };

static char pages[N][TM_PAGE_SIZE] __attribute__((aligned(TM_PAGE_SIZE)));

struct user {
    struct events events;
    struct disk *disk;
    struct swap_file *file;
    struct swap_transfer transfer;
    unsigned n_done;
};

static void done(struct swap_transfer *transfer, tm_status status)
{
    struct user *user = transfer->owner;

    assert_int_equal(status, TM_OK);
    user->n_done++;
}

static void ended(void *owner, uint64_t argument)
{
    struct user *user = owner;

    (void)argument;
    swap_file_poll(user->file);
}

static void open_user(struct user *user)
{
    const struct disk_speed speed = {1e-3, 4e6}; // a page: a millisecond
    struct swap_settings settings = {0};

    *user = (struct user){0};
    events_init(&user->events, 1);
    user->disk = disk_new(&user->events, &speed, ended, user);
    disk_set(user->disk, &settings);
    assert_int_equal(swap_file_open(&user->file, &settings), TM_OK);
    user->transfer =
        (struct swap_transfer){.n_pages = N, .owner = user, .done = done};
    for (unsigned i = 0; i < N; i++) {
        user->transfer.pages[i] = pages[i];
    }
    assert_int_equal(swap_file_reserve(user->file, N, &user->transfer.slot), N);
}

static void close_user(struct user *user)
{
    swap_file_close(user->file);
    disk_free(user->disk);
    events_release(&user->events);
}

static void start(struct user *user, enum swap_op op)
{
    user->transfer.op = op;
    swap_file_start(user->file, &user->transfer);
}

static void what_was_written_is_read_after_the_time_that_it_takes(void **state)
{
    struct user user;

    (void)state;
    open_user(&user);
    memset(pages, 7, sizeof pages);
    start(&user, SWAP_OUT);
    assert_int_equal(swap_file_poll(user.file), 0);
    while (events_step(&user.events)) {
    }
    assert_int_equal(user.n_done, 1);
    assert_true(user.events.now_ns >= 5 * 1000000u);
    assert_true(user.events.now_ns < 6 * 1000000u);
    memset(pages, 0, sizeof pages);
    start(&user, SWAP_IN);
    while (events_step(&user.events)) {
    }
    assert_int_equal(user.n_done, 2);
    assert_int_equal(pages[N - 1][TM_PAGE_SIZE - 1], 7);
    assert_int_equal(disk_busy_ns(user.disk), user.events.now_ns);
    close_user(&user);
}

static void who_waits_in_place_is_served_at_once(void **state)
{
    struct user user;

    (void)state;
    open_user(&user);
    start(&user, SWAP_OUT);
    swap_file_wait(user.file, &user.transfer);
    assert_int_equal(user.n_done, 1);
    assert_int_equal(user.events.now_ns, 0);
    assert_int_equal(disk_n_hurried(user.disk), 1);
    start(&user, SWAP_IN);
    while (events_step(&user.events)) {
    }
    assert_int_equal(user.n_done, 2);
    close_user(&user);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_after_the_time_that_it_takes),
        cmocka_unit_test(who_waits_in_place_is_served_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
