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
// After trap_keep_off_stacks() SIGBUS is as SIGSEGV: stacks of the program are shared
// memory then, and the kernel cannot lay a frame into a page that is not here.
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
//
// The program's own handlers of these signals. Were they given to the kernel,
// faults of shared memory would end there. So what sigaction() says of these
// signals after trap_install() is kept here (runtime/wrap_signal.c calls
// trap_program_action()), and called for what is not an access of ours, with its
// mask and flags as the kernel would. What was installed before is the first of
// these.
//
// P1 A handler reads an action while another kernel thread may set one: actions
//    are written into a ring, and one pointer says which counts. The ring is not
//    used up while a handler copies its action.
// P2 The signal of faults is never blocked, whatever the program asks for: a fault
//    while it is blocked is the kernel's to handle, and ends the process.
//
// Differences that a handler could notice: it runs on the alternate stack also
// without SA_ONSTACK, and SA_RESTART and SA_NOCLDSTOP mean nothing here.
#include "os/trap.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/asan.h"
#include "base/early.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/range.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#define KERNEL_SA_RESTORER 0x04000000ul

enum {
    RING = 16,
    SIGNALS_MAX = 32,
    STACK_SIZE = 64 * 1024, // the fault path sends messages
    PAGE_FAULT_WRITE = 2,   // bit of the processor's error code
};

static const int signals[] = {SIGBUS, SIGSEGV, SIGABRT, SIGFPE, SIGILL};

enum { N_SIGNALS = sizeof signals / sizeof signals[0] };

// As the system call takes it.
struct kernel_sigaction {
    union {
        void (*with_info)(int, siginfo_t *, void *);
        void (*plain)(int);
    } handler;
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static struct {
    trap_fn *fn;
    void *owner;
    int resumable_signal; // never blocked (P2)
    int is_off_stacks;
} installed;

static struct {
    struct kernel_sigaction ring[RING]; // P1
    _Atomic(const struct kernel_sigaction *) current;
    _Atomic unsigned n_set;
} actions[SIGNALS_MAX];

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

// ---- the program's own actions ----

EARLY static int is_kept(int signal)
{
    return signal > 0 && signal < SIGNALS_MAX &&
           atomic_load_explicit(&actions[signal].current,
                                memory_order_relaxed) != NULL;
}

// Pairs with the store in set_program_action().
static struct kernel_sigaction program_action(int signal)
{
    return *atomic_load_explicit(&actions[signal].current,
                                 memory_order_acquire);
}

static void set_program_action(int signal,
                               const struct kernel_sigaction *action)
{
    unsigned n = atomic_fetch_add_explicit(&actions[signal].n_set, 1,
                                           memory_order_relaxed);
    struct kernel_sigaction *place = &actions[signal].ring[n % RING];

    *place = *action;
    atomic_store_explicit(&actions[signal].current, place,
                          memory_order_release);
}

static int is_handler(const struct kernel_sigaction *action)
{
    return action->handler.plain != SIG_DFL && action->handler.plain != SIG_IGN;
}

// An error of the program's own cannot be ignored, a signal that was sent can.
static int is_ignored(const struct kernel_sigaction *action, int code)
{
    return action->handler.plain == SIG_IGN && code <= 0;
}

static uint64_t signal_bit(int signal)
{
    return UINT64_C(1) << (signal - 1);
}

static uint64_t block(uint64_t mask)
{
    uint64_t before = 0;

    mask &= ~signal_bit(installed.resumable_signal);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &before, sizeof mask);
    return before;
}

static void call(const struct kernel_sigaction *action, int signal,
                 siginfo_t *info, void *context)
{
    uint64_t mask = action->mask;
    uint64_t before;

    if ((action->flags & SA_RESETHAND) != 0) {
        struct kernel_sigaction none = {.handler.plain = SIG_DFL};

        set_program_action(signal, &none);
    }
    if ((action->flags & SA_NODEFER) == 0) {
        mask |= signal_bit(signal);
    }
    before = block(mask);
    if ((action->flags & SA_SIGINFO) != 0) {
        action->handler.with_info(signal, info, context);
    } else {
        action->handler.plain(signal);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

// @return 1 its handler has been called, or the signal is to be ignored; 0 the
//         default action is for the caller to take
static int take_program_action(int signal, siginfo_t *info, void *context)
{
    struct kernel_sigaction action = program_action(signal);

    if (is_handler(&action)) {
        call(&action, signal, info, context);
        return 1;
    }
    return is_ignored(&action, info->si_code);
}

// ---- the handler ----

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
        !take_program_action(signal, info, context)) {
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

void trap_keep_off_stacks(void)
{
    installed.is_off_stacks = 1;
}

int trap_is_off_stacks(void)
{
    return installed.is_off_stacks || installed.resumable_signal == SIGSEGV;
}

tm_status trap_install(int resumable_signal, trap_fn *fn, void *owner)
{
    ensure(resumable_signal == SIGBUS || resumable_signal == SIGSEGV);
    installed.fn = fn;
    installed.owner = owner;
    installed.resumable_signal = resumable_signal;
    for (unsigned i = 0; i < N_SIGNALS; i++) {
        struct kernel_sigaction action = {
            .handler.with_info = handle,
            .flags = SA_SIGINFO | SA_NODEFER | KERNEL_SA_RESTORER,
            .restorer = trap_return,
        };
        struct kernel_sigaction previous;

        if (signals[i] != resumable_signal || trap_is_off_stacks()) {
            action.flags |= SA_ONSTACK;
        }
        if (set_action(signals[i], &action, &previous) != 0) {
            log_error("cannot handle signal %d: %m", signals[i]);
            return TM_ESYSTEM;
        }
        if (previous.handler.with_info != handle) {
            set_program_action(signals[i], &previous);
        }
    }
    return unblock();
}

static void (*_Atomic switch_fn)(const struct trap *trap);

static void handle_switch(int signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    const ucontext_t *state = context;
    const greg_t *registers = state->uc_mcontext.gregs;
    const struct trap trap = {
        .signal = signal,
        .code = info->si_code,
        .pc = (uintptr_t)registers[REG_RIP],
        .sp = (uintptr_t)registers[REG_RSP],
        .fp = (uintptr_t)registers[REG_RBP],
        .ucontext = context,
    };

    switch_fn(&trap);
    errno = saved_errno;
}

tm_status trap_install_switch(int signal, void (*fn)(const struct trap *trap))
{
    const struct kernel_sigaction action = {
        .handler.with_info = handle_switch,
        .flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART |
                 KERNEL_SA_RESTORER,
        .restorer = trap_return,
    };

    switch_fn = fn;
    if (set_action(signal, &action, NULL) != 0) {
        log_error("cannot handle signal %d: %m", signal);
        return TM_ESYSTEM;
    }
    return TM_OK;
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

    if (trap_is_off_stacks()) {
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

int trap_is_handled(const struct trap *trap, int signal)
{
    struct kernel_sigaction action;

    if (!is_kept(signal)) {
        return 0;
    }
    action = program_action(signal);
    return is_handler(&action) || is_ignored(&action, trap->code);
}

void trap_present(const struct trap *trap, int signal)
{
    struct kernel_sigaction action = program_action(signal);
    siginfo_t info;

    memset(&info, 0, sizeof info);
    info.si_signo = signal;
    info.si_code = SEGV_ACCERR;
    info.si_addr = (void *)trap->address;
    call(&action, signal, &info, trap->ucontext);
}

EARLY int trap_program_action(int signal, const struct sigaction *action,
                              struct sigaction *before)
{
    struct kernel_sigaction kernel = {.handler.plain = SIG_DFL};

    if (!is_kept(signal)) {
        return 0;
    }
    // Both may be the same, and either shared memory.
    if (action != NULL) {
        kernel.handler.plain = action->sa_handler;
        kernel.flags = (unsigned)action->sa_flags;
        memcpy(&kernel.mask, &action->sa_mask, sizeof kernel.mask);
    }
    if (before != NULL) {
        struct kernel_sigaction old = program_action(signal);

        memset(before, 0, sizeof *before);
        before->sa_handler = old.handler.plain;
        before->sa_flags = (int)(old.flags & ~KERNEL_SA_RESTORER);
        memcpy(&before->sa_mask, &old.mask, sizeof old.mask);
    }
    if (action != NULL) {
        set_program_action(signal, &kernel);
    }
    return 1;
}

EARLY void trap_unblock(sigset_t *set_to_block)
{
    if (installed.resumable_signal != 0) {
        sigdelset(set_to_block, installed.resumable_signal);
    }
}
