// SPDX-License-Identifier: BSD-3-Clause
#include "os/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE 100

/** @return 1 if the flags of the mapping that holds it have a word */
static int has_flag(const void *at, const char *word)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    char line[512];
    int is_inside = 0;
    int has = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long start;
        unsigned long end;

        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
            is_inside = (uintptr_t)at >= start && (uintptr_t)at < end;
        } else if (is_inside && strncmp(line, "VmFlags:", 8) == 0) {
            has = strstr(line, word) != NULL;
        }
    }
    fclose(file);
    return has;
}

static void core_files_and_children_do_not_have_it(void **unused)
{
    char *secret = secret_new(SIZE);
    int status;
    pid_t pid;

    (void)unused;
    assert_non_null(secret);
    for (unsigned i = 0; i < SIZE; i++) {
        assert_int_equal(secret[i], 0);
    }
    memset(secret, 'x', SIZE);
    assert_true(has_flag(secret, " dd")); // do not dump
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(secret[0] == 0 && secret[SIZE - 1] == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(secret[0], 'x');
    secret_free(secret, SIZE);
    secret_free(NULL, SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_files_and_children_do_not_have_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
