// SPDX-License-Identifier: BSD-3-Clause
#include "os/descriptor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_is_made_up_to_what_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
