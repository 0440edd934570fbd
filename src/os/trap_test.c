// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/access_test.h"
#include "os/trap.h"
#include "os/trap_cost.h"

enum { EXIT_CHAINED = 42 };

static char *forbidden; // a page without access
static struct trap last;
static int n_traps;
static char *handler_stack;
static sigset_t handler_mask;

static int refuse_ours(void *owner, const struct trap *trap)
{
    char here;

    assert_ptr_equal(owner, &last);
    last = *trap;
    n_traps++;
    handler_stack = &here;
    pthread_sigmask(SIG_SETMASK, NULL, &handler_mask);
    errno = EXDEV;
    return access_is_ours(trap) ? access_refused(trap) : 0;
}

static int setup(void **state)
{
    (void)state;
    forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return forbidden == MAP_FAILED || trap_thread_open() != TM_OK;
}

static int teardown(void **state)
{
    (void)state;
    trap_thread_close();
    munmap(forbidden, 4096);
    return 0;
}

static void what_a_trap_costs_is_measured_before_others(void **state)
{
    uint64_t cost_ns = 0;

    (void)state;
    assert_int_equal(trap_cost_measure(&cost_ns), TM_OK);
    assert_true(cost_ns > 0);
    assert_int_equal(trap_install(SIGSEGV, refuse_ours, &last), TM_OK);
    n_traps = 0;
    assert_int_equal(access_read(forbidden), 0);
    assert_int_equal(n_traps, 1);
}

static void a_trap_tells_the_access(void **state)
{
    (void)state;
    assert_int_equal(trap_install(SIGSEGV, refuse_ours, &last), TM_OK);
    errno = EDOM;
    assert_false(access_read(forbidden + 17));
    assert_int_equal(errno, EDOM);
    assert_int_equal(last.signal, SIGSEGV);
    assert_ptr_equal(last.address, forbidden + 17);
    assert_false(last.is_write);
    assert_int_equal(last.pc, (uintptr_t)access_read);
    assert_false(access_write(forbidden));
    assert_true(last.is_write);
    assert_in_range((uintptr_t)__builtin_frame_address(0) - last.sp, 0, 65536);
    assert_int_equal(n_traps, 2);
}

static int is_within(const char *at, const char *low, size_t size)
{
    return at >= low && at < low + size;
}

static void a_thread_stack_is_used_and_set_again_afterwards(void **state)
{
    static char stack[128 * 1024];
    stack_t now;

    (void)state;
    assert_int_equal(trap_install(SIGSEGV, refuse_ours, &last), TM_OK);
    assert_true(trap_stack_size() <= sizeof stack);
    trap_use_stack(stack, trap_stack_size());
    for (int i = 0; i < 3; i++) {
        assert_false(access_read(forbidden));
        assert_true(is_within(handler_stack, stack, trap_stack_size()));
        assert_int_equal(sigaltstack(NULL, &now), 0);
        assert_ptr_equal(now.ss_sp, stack);
    }
    trap_use_stack(NULL, 0);
    assert_false(access_read(forbidden));
    assert_false(is_within(handler_stack, stack, sizeof stack));
    trap_thread_close();
    assert_int_equal(trap_thread_open(), TM_OK);
}

static void no_signal_is_blocked_in_the_handler(void **state)
{
    (void)state;
    assert_int_equal(trap_install(SIGSEGV, refuse_ours, &last), TM_OK);
    sigfillset(&handler_mask);
    assert_false(access_read(forbidden));
    for (int signal = 1; signal < 32; signal++) {
        assert_int_equal(sigismember(&handler_mask, signal), 0);
    }
}

static void on_own_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    _exit(info->si_addr == forbidden ? EXIT_CHAINED : 1);
}

static void on_own_plain_signal(int signal)
{
    _exit(signal == SIGSEGV ? EXIT_CHAINED : 1);
}

enum before { BEFORE_NOTHING, BEFORE_HANDLER, BEFORE_PLAIN_HANDLER };
enum cause { BY_READ, BY_ABORT, BY_RAISE, BY_DIVISION, BY_BAD_CODE };

static void cause_signal(enum cause cause)
{
    volatile int zero = 0;

    switch (cause) {
    case BY_READ:
        *(volatile char *)forbidden = 1;
        break;
    case BY_ABORT:
        abort();
    case BY_RAISE:
        raise(SIGSEGV);
        break;
    case BY_DIVISION:
        __asm__ volatile("idivl %0" : : "r"(zero), "a"(1), "d"(0));
        break;
    case BY_BAD_CODE:
        __asm__ volatile("ud2");
        break;
    }
}

// A child with default actions but what the test says; how does it end?
static int status_after(int resumable, enum before before, enum cause cause)
{
    struct rlimit no_core = {0, 0};
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct sigaction action = {.sa_handler = SIG_DFL};

        setrlimit(RLIMIT_CORE, &no_core);
        for (int signal = 1; signal < 32; signal++) {
            sigaction(signal, &action, NULL);
        }
        if (before == BEFORE_HANDLER) {
            action.sa_sigaction = on_own_signal;
            action.sa_flags = SA_SIGINFO;
            sigaction(SIGSEGV, &action, NULL);
        } else if (before == BEFORE_PLAIN_HANDLER) {
            signal(SIGSEGV, on_own_plain_signal);
        }
        if (trap_install(resumable, refuse_ours, &last) == TM_OK) {
            cause_signal(cause);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void what_is_not_ours_ends_by_the_same_signal(void **state)
{
    static const int signals[] = {
        [BY_READ] = SIGSEGV,    [BY_ABORT] = SIGABRT,   [BY_RAISE] = SIGSEGV,
        [BY_DIVISION] = SIGFPE, [BY_BAD_CODE] = SIGILL,
    };

    (void)state;
    for (enum cause cause = BY_READ; cause <= BY_BAD_CODE; cause++) {
        for (int i = 0; i < 2; i++) {
            int status =
                status_after(i == 0 ? SIGBUS : SIGSEGV, BEFORE_NOTHING, cause);

            assert_true(WIFSIGNALED(status));
            assert_int_equal(WTERMSIG(status), signals[cause]);
        }
    }
}

static void the_handler_of_the_program_is_called(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        int status = status_after(
            i == 0 ? SIGBUS : SIGSEGV,
            i == 0 ? BEFORE_HANDLER : BEFORE_PLAIN_HANDLER, BY_READ);

        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), EXIT_CHAINED);
    }
}

int main(void)
{
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_trap_tells_the_access),
        TEST(what_a_trap_costs_is_measured_before_others),
        TEST(a_thread_stack_is_used_and_set_again_afterwards),
        TEST(no_signal_is_blocked_in_the_handler),
        TEST(what_is_not_ours_ends_by_the_same_signal),
        TEST(the_handler_of_the_program_is_called),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
