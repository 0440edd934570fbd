// SPDX-License-Identifier: BSD-3-Clause
#include "os/death_watch.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t start_sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static int wait_for(const struct death_watch *watch, int timeout_ms)
{
    struct pollfd set = {.fd = death_watch_fd(watch), .events = POLLIN};

    return poll(&set, 1, timeout_ms);
}

static void each_end_is_told_once(void **state)
{
    struct death_watch *watch;
    pid_t pids[2] = {start_sleeper(), start_sleeper()};
    unsigned label;

    (void)state;
    assert_int_equal(death_watch_open(&watch), TM_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(death_watch_add(watch, pids[i], 7 + i), TM_OK);
    }
    assert_int_equal(wait_for(watch, 0), 0);
    assert_int_equal(death_watch_next(watch, &label), 0);
    for (unsigned i = 2; i-- > 0;) {
        kill(pids[i], SIGKILL);
        assert_int_equal(wait_for(watch, 60000), 1);
        assert_int_equal(death_watch_next(watch, &label), 1);
        assert_int_equal(label, 7 + i);
        assert_int_equal(death_watch_next(watch, &label), 0);
        assert_int_equal(wait_for(watch, 0), 0);
        waitpid(pids[i], NULL, 0);
    }
    death_watch_close(watch);
}

static void a_process_that_is_gone_cannot_be_watched(void **state)
{
    struct death_watch *watch;
    pid_t pid = start_sleeper();

    (void)state;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(death_watch_open(&watch), TM_OK);
    assert_int_equal(death_watch_add(watch, pid, 0), TM_ESYSTEM);
    death_watch_close(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_is_told_once),
        cmocka_unit_test(a_process_that_is_gone_cannot_be_watched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
