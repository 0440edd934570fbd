// SPDX-License-Identifier: BSD-3-Clause
#include "os/descriptor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static struct rlimit limit(void)
{
    struct rlimit now;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    return now;
}

static void room_is_made_up_to_what_is_allowed(void **state)
{
    const struct rlimit few = {40, 100};

    (void)state;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    descriptor_make_room(30);
    assert_int_equal(limit().rlim_cur, 40); // there is room
    descriptor_make_room(90);
    assert_int_equal(limit().rlim_cur, 90);
    descriptor_make_room(1000);
    assert_int_equal(limit().rlim_cur, 100);
    assert_int_equal(limit().rlim_max, 100);
}

/** Of each descriptor below, whether it has been seen. */
static unsigned char n_seen[64];

static void see(void *owner, int fd)
{
    ++*(unsigned *)owner;
    if (fd < (int)sizeof n_seen) {
        n_seen[fd]++;
    }
}

static void each_that_is_open_is_seen_once(void **state)
{
    const int fd = dup(STDERR_FILENO);
    unsigned n_called = 0;
    unsigned n;

    (void)state;
    assert_in_range(fd, 3, sizeof n_seen - 1);
    n = descriptor_each(see, &n_called);
    assert_int_equal(n, n_called);
    assert_int_equal(n_seen[STDERR_FILENO], 1);
    assert_int_equal(n_seen[fd], 1);
    close(fd);
    assert_int_equal(descriptor_each(see, &(unsigned){0}), n - 1);
    assert_int_equal(n_seen[STDERR_FILENO], 2);
    assert_int_equal(n_seen[fd], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_that_is_open_is_seen_once),
        cmocka_unit_test(room_is_made_up_to_what_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
