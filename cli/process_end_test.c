// SPDX-License-Identifier: BSD-3-Clause
#include "process_end.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/log.h"

static void a_programs_own_signal_is_told_from_a_kill(void **state)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE,
                              SIGILL,  SIGSYS, SIGPIPE, SIGTRAP};
    static const int foreign[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGUSR1};

    (void)state;
    for (unsigned i = 0; i < sizeof own / sizeof own[0]; i++) {
        assert_int_equal(process_end_code(own[i]), 128 + own[i]);
    }
    for (unsigned i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        assert_int_equal(process_end_code(foreign[i]), EXIT_NODE_LOST);
    }
}

static void an_end_is_described_in_words(void **state)
{
    char text[64];

    (void)state;
    process_end_describe(CLD_EXITED, 3, text, sizeof text);
    assert_string_equal(text, "exit code 3");
    process_end_describe(CLD_KILLED, SIGKILL, text, sizeof text);
    assert_string_equal(text, "killed by SIGKILL");
    process_end_describe(CLD_DUMPED, SIGSEGV, text, sizeof text);
    assert_string_equal(text, "killed by SIGSEGV (core file written)");
    process_end_describe(CLD_KILLED, SIGRTMIN + 3, text, sizeof text);
    assert_string_equal(text, "killed by signal 37");
}

static void a_program_that_cannot_run_has_a_shells_code(void **state)
{
    (void)state;
    assert_int_equal(process_end_code_of_exec(ENOENT), 127);
    assert_int_equal(process_end_code_of_exec(EACCES), 126);
    assert_int_equal(process_end_code_of_exec(ENOEXEC), 126);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_programs_own_signal_is_told_from_a_kill),
        cmocka_unit_test(an_end_is_described_in_words),
        cmocka_unit_test(a_program_that_cannot_run_has_a_shells_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
