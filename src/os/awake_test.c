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
    struct awake *awake;

    (void)state;
    assert_int_equal(n_awake(), 0);
    awake = awake_start(3);
    assert_int_equal(n_awake_in_time(3), 3);
    awake_stop(awake);
    assert_int_equal(n_awake_in_time(0), 0);
}

static void each_start_has_its_own(void **state)
{
    struct awake *first = awake_start(2);
    struct awake *second = awake_start(1);

    (void)state;
    assert_int_equal(n_awake_in_time(3), 3);
    awake_stop(first);
    assert_int_equal(n_awake_in_time(1), 1);
    awake_stop(second);
    awake_stop(NULL);
    assert_int_equal(n_awake_in_time(0), 0);
}

// The last one frees what they share: AddressSanitizer sees it if that is too early.
static void they_outlive_who_stops_them_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        awake_stop(awake_start(4));
    }
    assert_int_equal(n_awake_in_time(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_run_and_end),
        cmocka_unit_test(each_start_has_its_own),
        cmocka_unit_test(they_outlive_who_stops_them_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
