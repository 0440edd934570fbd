// SPDX-License-Identifier: BSD-3-Clause
#include "control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINE = 8192, N_LINES = 2000 }; // more than a socket has room for

static struct control control;
static int reads; // who watches closely reads there

static int begin(void **state)
{
    int ends[2];

    (void)state;
    control_open(&control, "");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return 1;
    }
    reads = ends[1];
    return control_adopt(&control, ends[0]) ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    control_close(&control);
    return close(reads);
}

static void tell(unsigned number, int is_last)
{
    char line[LINE + 1];

    memset(line, ' ', LINE - 1);
    snprintf(line, 16, "%u", number);
    line[LINE - 1] = '\n';
    control_tell_watchers(&control, WATCHES_CLOSELY, is_last, line, LINE);
}

static void assert_next_is(unsigned number)
{
    char line[LINE + 1] = "";
    unsigned got = 0;

    assert_int_equal(recv(reads, line, LINE, MSG_WAITALL | MSG_DONTWAIT), LINE);
    assert_int_equal(sscanf(line, "%u", &got), 1);
    assert_int_equal(got, number);
}

static void assert_no_more(void)
{
    char byte;

    assert_int_equal(recv(reads, &byte, 1, MSG_DONTWAIT), -1);
}

static void who_is_late_misses_lines_and_stays(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= N_LINES; i++) {
        tell(i, 0);
    }
    assert_true(control_is_watched(&control, WATCHES_CLOSELY));
    assert_next_is(1);
    assert_no_more();
    tell(N_LINES + 1, 0);
    assert_next_is(N_LINES + 1);
}

static void the_last_line_is_told_to_who_is_late_too(void **state)
{
    (void)state;
    tell(1, 0);
    tell(2, 0);
    tell(3, 1);
    assert_next_is(1);
    assert_next_is(3);
    assert_no_more();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_is_late_misses_lines_and_stays,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            the_last_line_is_told_to_who_is_late_too, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
