// SPDX-License-Identifier: BSD-3-Clause
#include "os/awake.h"

#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "os/kthread.h"

// Is it one of them, and gives way to all others?
static int is_awake(const char *task)
{
    char path[300];
    char name[32] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%.200s/comm", task);
    file = fopen(path, "r");
    if (file == NULL) {
        return 0; // it has ended meanwhile
    }
    if (fgets(name, sizeof name, file) == NULL) {
        name[0] = '\0';
    }
    fclose(file);
    return strcmp(name, "tm-awake\n") == 0 &&
           sched_getscheduler(atoi(task)) == SCHED_IDLE;
}

static unsigned n_awake(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned n = 0;

    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        n += task->d_name[0] != '.' && is_awake(task->d_name);
    }
    closedir(tasks);
    return n;
}

// They start and end when they come to run, so those of an earlier run may be seen for
// a while. @return how many there were at last
static unsigned n_awake_in_time(unsigned expected)
{
    const uint64_t deadline_ns = clock_now_ns() + 60000000000u;
    unsigned n = n_awake();

    while (n != expected && clock_now_ns() < deadline_ns) {
        kthread_sleep_until(clock_now_ns() + 1000000);
        n = n_awake();
    }
    return n;
}

static void they_run_and_end(void **state)
{
    (void)state;
    assert_int_equal(n_awake(), 0);
    awake_start(3);
    assert_int_equal(n_awake_in_time(3), 3);
    awake_stop();
    assert_int_equal(n_awake_in_time(0), 0);
}

static void they_can_be_started_again(void **state)
{
    (void)state;
    awake_start(2);
    awake_stop();
    awake_start(1);
    assert_int_equal(n_awake_in_time(1), 1);
    awake_stop();
    awake_stop();
    assert_int_equal(n_awake_in_time(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_run_and_end),
        cmocka_unit_test(they_can_be_started_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
