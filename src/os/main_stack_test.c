// SPDX-License-Identifier: BSD-3-Clause
// A child takes its main() the stack away, by a thread, and looks what is left: what
// the kernel cannot read is EFAULT.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/main_stack.h"

enum { PAGE = 4096 };

static struct {
    char **arguments;
    struct main_stack stack;
    int pipe[2];
} test;

static int can_read(const char *address)
{
    char byte;

    return write(test.pipe[1], address, 1) == 1 &&
           read(test.pipe[0], &byte, 1) == 1;
}

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "child: %s\n", what);
        _exit(1);
    }
}

static char *page_of(const char *address)
{
    return (char *)((uintptr_t)address / PAGE * PAGE);
}

static void *take_away(void *local)
{
    char *first = page_of(test.stack.top);

    check(can_read(local), "a local variable before");
    check(main_stack_deny(&test.stack) == TM_OK, "main_stack_deny()");
    check(!can_read(first - 1), "the last frame");
    check(!can_read(page_of(local) - 1), "a frame far below");
    // The stack would grow down to there.
    check(!can_read(page_of(local) - 64 * PAGE), "what was never used");
    check(!can_read(test.stack.low + 64 * PAGE), "the lowest");
    check(can_read(test.arguments[0]), "the arguments");
    check(can_read(getenv("PATH")), "the variables");
    check(can_read((char *)test.arguments), "argv");
    _exit(0);
}

static _Noreturn void be_child(void)
{
    volatile char deep[8 * PAGE]; // the frames end in another page
    pthread_t thread;

    deep[0] = 1;
    check(pthread_create(&thread, NULL, take_away, (void *)&deep[0]) == 0,
          "a thread");
    pthread_join(thread, NULL);
    _exit(2);
}

static void frames_go_and_arguments_stay(void **state)
{
    pid_t child;
    int status;

    (void)state;
    assert_int_equal(pipe(test.pipe), 0);
    child = fork();
    if (child == 0) {
        be_child();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void main_runs_on_the_stack_that_is_found(void **state)
{
    char local;

    (void)state;
    assert_true(&local >= test.stack.low && &local < test.stack.top);
    assert_ptr_equal(test.stack.top, (char *)test.arguments - sizeof(char *));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(main_runs_on_the_stack_that_is_found),
        cmocka_unit_test(frames_go_and_arguments_stay),
    };

    (void)argc;
    test.arguments = argv;
    main_stack_find(&test.stack, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
