// SPDX-License-Identifier: BSD-3-Clause
#include "os/process_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct process_state before;

static void expect_change(const char *word)
{
    const char *found = process_state_change(&before, NULL, NULL);

    assert_non_null(found);
    assert_non_null(strstr(found, word));
}

static void expect_none(void)
{
    assert_null(process_state_change(&before, NULL, NULL));
}

static void what_is_set_and_set_back_is_no_change(void **state)
{
    const mode_t mask = umask(0123);

    (void)state;
    expect_change("umask");
    umask(mask);
    expect_none();
    signal(SIGUSR2, SIG_IGN);
    expect_change("signals");
    signal(SIGUSR2, SIG_DFL);
    expect_none();
    setenv("PROCESS_STATE_TEST", "1", 1);
    expect_change("setenv");
    unsetenv("PROCESS_STATE_TEST");
    expect_none();
    assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
    expect_change("setlocale");
    setlocale(LC_ALL, "C");
    expect_none();
}

static int is_not_that(const void *owner, const void *address)
{
    return owner != address;
}

// As a page that is with another node: it is not read.
static void what_may_not_be_read_is_a_change(void **state)
{
    char *const here = environ[0];

    (void)state;
    environ[0] = (char *)8;
    assert_non_null(process_state_change(&before, is_not_that, (char *)8));
    environ[0] = here;
    assert_null(process_state_change(&before, is_not_that, (char *)8));
    assert_non_null(process_state_change(&before, is_not_that, environ));
}

static void another_folder_is_a_change(void **state)
{
    (void)state;
    assert_int_equal(chdir("/proc"), 0);
    expect_change("chdir");
}

// But for its own, cmocka.
static void libraries_of_others_are_told(void **state)
{
    (void)state;
    assert_non_null(process_state_library());
    assert_non_null(strstr(process_state_library(), "cmocka"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_and_set_back_is_no_change),
        cmocka_unit_test(what_may_not_be_read_is_a_change),
        cmocka_unit_test(another_folder_is_a_change),
        cmocka_unit_test(libraries_of_others_are_told),
    };

    process_state_note(&before, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
