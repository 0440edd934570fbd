// SPDX-License-Identifier: BSD-3-Clause
//
// Signals of accesses as function calls. One handler serves all five signals;
// what differs is the stack that it runs on:
//
//   resumable   other    runs on
//   SIGBUS               the stack of the thread that made the access
//               SIGSEGV, SIGABRT, SIGFPE, SIGILL    the worker's alternate stack
//   SIGSEGV              the alternate stack of the thread, disarmed meanwhile
//               SIGBUS, SIGABRT, SIGFPE, SIGILL     the same
//
// I1 No signal is blocked while the handler runs (SA_NODEFER, empty mask), so a
//    switch to another thread inside it leaves no mask behind. Returning from
//    the handler restores the mask, the alternate stack and all registers from
//    the frame, which is why the thread must return on the same kernel thread.
// I2 A stack on which a handler is suspended is never armed again before the
//    handler has returned: SS_AUTODISARM takes it away at the signal, and
//    whoever resumes the handler arms none (trap_use_stack with size 0).
//
// The handlers are installed by the system call: sanitizers and transport
// libraries interpose sigaction() and would put their own frames and their own
// masks between the access and us. The kernel then wants to be told how a
// handler returns; the bytes of trap_return are the ones that unwinders and
// debuggers recognise.
//
// The record is a global because a signal handler has no argument of its own.
#include "os/trap.h"

#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/asan.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/range.h"
#include "os/trap_priv.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

enum {
    STACK_SIZE = 64 * 1024, // the fault path sends messages
    PAGE_FAULT_WRITE = 2,   // bit of the processor's error code
};

static const int signals[] = {SIGBUS, SIGSEGV, SIGABRT, SIGFPE, SIGILL};

enum { N_SIGNALS = sizeof signals / sizeof signals[0] };

static struct {
    trap_fn *fn;
    void *owner;
    int resumable_signal;
} installed;

static __thread struct {
    char *low;
    stack_t previous;
} own_stack;

void trap_return(void);

__asm__(".text\n"
        ".p2align 4\n"
        "nop\n" // unwinders look up the address before the return address
        ".hidden trap_return\n"
        ".globl trap_return\n"
        ".type trap_return, @function\n"
        "trap_return:\n"
        "movq $15, %rax\n" // rt_sigreturn
        "syscall\n"
        ".size trap_return, .-trap_return\n");

static int set_action(int signal, const struct kernel_sigaction *action,
                      struct kernel_sigaction *previous)
{
    return (int)syscall(SYS_rt_sigaction, signal, action, previous,
                        sizeof action->mask);
}

// The instruction runs again after the handler's return and meets the default
// action, with the program in the state in which it failed. A signal that
// somebody sent does not come again by itself.
static void take_default_action(int signal, const siginfo_t *info)
{
    struct kernel_sigaction action = {
        .flags = KERNEL_SA_RESTORER,
        .restorer = trap_return,
    };

    set_action(signal, &action, NULL);
    if (info->si_code <= 0) {
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), signal);
    }
}

// A handler of the program's that has been left by siglongjmp() leaves
// AddressSanitizer's marks on the alternate stack, which is new to this one.
__attribute__((no_sanitize("address"))) static void forget_marks(
    const stack_t *stack)
{
    char *low = stack->ss_sp;
    char *here = __builtin_frame_address(0);

    if (low != NULL && here > low && here < low + stack->ss_size) {
        asan_forget(low, (size_t)(here - low));
    }
}

static void handle(int signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    const ucontext_t *state = context;
    const greg_t *registers = state->uc_mcontext.gregs;
    int is_access =
        (signal == SIGBUS || signal == SIGSEGV) && info->si_code > 0;
    struct trap trap = {
        .signal = signal,
        .code = info->si_code,
        .address = info->si_code > 0 ? (uintptr_t)info->si_addr : 0,
        .is_write = is_access && (registers[REG_ERR] & PAGE_FAULT_WRITE) != 0,
        .pc = (uintptr_t)registers[REG_RIP],
        .sp = (uintptr_t)registers[REG_RSP],
        .fp = (uintptr_t)registers[REG_RBP],
        .ucontext = context,
    };

    forget_marks(&state->uc_stack);
    if (!installed.fn(installed.owner, &trap) &&
        !program_action_take(signal, info, context)) {
        take_default_action(signal, info);
    }
    errno = saved_errno;
}

// A program may have blocked all signals before.
static tm_status unblock(void)
{
    uint64_t mask = signal_bit(installed.resumable_signal);

    if (syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof mask)) {
        log_error("cannot unblock the signal of faults: %m");
        return TM_ESYSTEM;
    }
    return TM_OK;
}

tm_status trap_install(int resumable_signal, trap_fn *fn, void *owner)
{
    ensure(resumable_signal == SIGBUS || resumable_signal == SIGSEGV);
    installed.fn = fn;
    installed.owner = owner;
    installed.resumable_signal = resumable_signal;
    program_actions_open(resumable_signal);
    for (unsigned i = 0; i < N_SIGNALS; i++) {
        struct kernel_sigaction action = {
            .handler.with_info = handle,
            .flags = SA_SIGINFO | SA_NODEFER | KERNEL_SA_RESTORER,
            .restorer = trap_return,
        };
        struct kernel_sigaction previous;

        if (signals[i] != SIGBUS || resumable_signal != SIGBUS) {
            action.flags |= SA_ONSTACK;
        }
        if (set_action(signals[i], &action, &previous) != 0) {
            log_error("cannot handle signal %d: %m", signals[i]);
            return TM_ESYSTEM;
        }
        if (previous.handler.with_info != handle) {
            program_action_start(signals[i], &previous);
        }
    }
    return unblock();
}

tm_status trap_thread_open(void)
{
    stack_t stack;

    if (own_stack.low != NULL) {
        return TM_OK;
    }
    own_stack.low = range_new(trap_stack_size());
    if (own_stack.low == NULL) {
        return TM_ESYSTEM;
    }
    stack = (stack_t){.ss_sp = own_stack.low, .ss_size = trap_stack_size()};
    if (sigaltstack(&stack, &own_stack.previous) != 0) {
        log_error("cannot set a stack for signals: %m");
        range_free(own_stack.low, trap_stack_size());
        own_stack.low = NULL;
        return TM_ESYSTEM;
    }
    return TM_OK;
}

// What was set before comes back: a sanitizer frees its own stack at the end of
// the kernel thread, and takes the one that is set for it.
void trap_thread_close(void)
{
    if (own_stack.low == NULL) {
        return;
    }
    if (sigaltstack(&own_stack.previous, NULL) != 0) {
        log_error("cannot take back the stack for signals: %m");
        return;
    }
    range_free(own_stack.low, trap_stack_size());
    own_stack.low = NULL;
}

int trap_is_on_own_stack(uintptr_t sp)
{
    uintptr_t low = (uintptr_t)own_stack.low;

    return low != 0 && sp >= low && sp < low + trap_stack_size();
}

void trap_use_stack(char *low, size_t size)
{
    stack_t stack = {
        .ss_sp = low,
        .ss_size = size,
        .ss_flags = size > 0 ? (int)SS_AUTODISARM : SS_DISABLE,
    };

    if (installed.resumable_signal == SIGSEGV) {
        ensure(sigaltstack(&stack, NULL) == 0);
    }
}

// The same on all machines, whose processors differ in the state that a frame
// holds (512 bytes to 11 KiB), because it is part of the layout of threads.
size_t trap_stack_size(void)
{
    ensure(getauxval(AT_MINSIGSTKSZ) <= STACK_SIZE / 2);
    return STACK_SIZE;
}
