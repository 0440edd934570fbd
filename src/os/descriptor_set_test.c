// SPDX-License-Identifier: BSD-3-Clause
#include "os/descriptor_set.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int open_some(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static void a_child_closes_what_is_noted_and_nothing_else(void **state)
{
    static struct descriptor_set set;
    int noted[] = {open_some(), fcntl(open_some(), F_DUPFD_CLOEXEC, 300)};
    int other = open_some();
    int forgotten = open_some();
    int status;
    pid_t child;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(noted[i] >= 0);
        descriptor_set_add(&set, noted[i]);
    }
    descriptor_set_add(&set, forgotten);
    descriptor_set_remove(&set, forgotten);
    descriptor_set_remove(&set, -1);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        descriptor_set_close(&set);
        _exit(is_open(noted[0]) || is_open(noted[1]) || !is_open(other) ||
              !is_open(forgotten));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(is_open(noted[0]) && is_open(noted[1]));
}

static void what_is_closed_is_forgotten(void **state)
{
    static struct descriptor_set set;
    int fd = open_some();

    (void)state;
    descriptor_set_add(&set, fd);
    descriptor_set_close(&set);
    assert_false(is_open(fd));
    assert_int_equal(open_some(), fd); // the lowest number that is free
    descriptor_set_close(&set);
    assert_true(is_open(fd));
}

static void numbers_that_it_has_no_room_for_are_left_alone(void **state)
{
    static struct descriptor_set set;

    (void)state;
    descriptor_set_add(&set, (int)DESCRIPTOR_SET_END);
    descriptor_set_remove(&set, (int)DESCRIPTOR_SET_END);
    descriptor_set_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_closes_what_is_noted_and_nothing_else),
        cmocka_unit_test(what_is_closed_is_forgotten),
        cmocka_unit_test(numbers_that_it_has_no_room_for_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
