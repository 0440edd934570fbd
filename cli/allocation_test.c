// SPDX-License-Identifier: BSD-3-Clause
#include "allocation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void lists_are_expanded(void **state)
{
    static const struct {
        const char *nodes, *tasks, *expected;
    } rows[] = {
        {"n1", NULL, "n1:1"},
        {"n1", "3", "n1:3"},
        {"n[1-3]", "1(x3)", "n1:1,n2:1,n3:1"},
        {"n[01-03,7],login", "2(x3),1,4", "n01:2,n02:2,n03:2,n7:1,login:4"},
        {"n[09-11]-ib,x", "1(x4)", "n09-ib:1,n10-ib:1,n11-ib:1,x:1"},
        {"a[1-2]b[3,05]", "1(x4)", "a1b3:1,a1b05:1,a2b3:1,a2b05:1"},
        {"n[1-3]", "2,0,1", "n1:2,n3:1"},
    };
    char list[256];

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(
            allocation_expand(rows[i].nodes, rows[i].tasks, list, sizeof list),
            TM_OK);
        assert_string_equal(list, rows[i].expected);
    }
}

static void malformed_lists_are_refused(void **state)
{
    static const struct {
        const char *nodes, *tasks;
    } rows[] = {
        {"", "1"},           {"n[", "1"},         {"n]", "1"},
        {"n[a-b]", "1"},     {"n[3-1]", "1(x3)"}, {"n[1-99999999]", NULL},
        {"n[1-3]", "1(x2)"}, {"n1,,n2", "1(x3)"}, {"n1", "x"},
        {"n1", "2(x0)"},
    };
    char list[256];

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(
            allocation_expand(rows[i].nodes, rows[i].tasks, list, sizeof list),
            TM_ECONFIG);
    }
    assert_int_equal(allocation_expand("n[1-100]", NULL, list, sizeof list),
                     TM_ECONFIG);
}

static void hosts_have_their_nodes(void **state)
{
    struct hosts hosts;
    char error[256];

    (void)state;
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
    setenv("SLURM_TASKS_PER_NODE", "2,1", 1);
    unsetenv("SLURM_STEP_NUM_TASKS");
    assert_true(allocation_is_there());
    assert_int_equal(allocation_read(&hosts, error, sizeof error), TM_OK);
    assert_int_equal(hosts.n, 3);
    assert_string_equal(hosts.all[1].name, "n1");
    assert_string_equal(hosts.all[2].name, "n2");
    hosts_release(&hosts);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    assert_false(allocation_is_there());
    setenv("SLURM_JOB_NODELIST", "n[", 1);
    assert_int_equal(allocation_read(&hosts, error, sizeof error), TM_ECONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_expanded),
        cmocka_unit_test(malformed_lists_are_refused),
        cmocka_unit_test(hosts_have_their_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
