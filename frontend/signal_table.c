// SPDX-License-Identifier: BSD-3-Clause
//
// The root's table of signals: what is done on each, which threads block it, what is pending.
//
// The kernel gives a signal to any of the root's kernel threads, in the middle of anything: of
// the library, or of a thread whose memory is elsewhere. There it is only noted, in a ring. Who
// looks at the table next takes it from there.
//
// A mask is its thread's (front.h), and moves with it; here is what each has told last. If the
// program changes masks at all, all threads tell theirs, so it is known whether one is left that
// does not block a signal. Else only those are here that have called for a moment. In a run that
// goes on from a checkpoint nobody has told yet: what one blocks counts for all then.
//
// A signal that has no handler and that a thread does not block is left to the kernel.
//
// The mutex is never held while shared memory is touched: a fault may let another thread of the
// worker in. So calls are copied.
#include "signal_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "front.h"

enum { LOOK_NS = 5 * 1000 * 1000, NOTED = 256, PENDING = 1024, TIMERS = 256 };

struct noted {
    int number;
    siginfo_t info;
    int is_full;
};

struct pending {
    int number;
    pthread_t target; // 0: the process
    siginfo_t info;
};

struct known {
    pthread_t thread;
    uint64_t blocked;
    int is_suspended; // it takes what comes to it
};

static struct {
    pthread_mutex_t mutex;
    struct sigaction actions[SIGNALS + 1];
    uint64_t held; // by all threads
    int knows_all;
    int has_server;
    pthread_t first; // who has installed the first handler
    struct known *threads;
    size_t n_threads;
    size_t room;
    pthread_t *ended; // by slot: the last that has
    size_t ended_room;
    struct pending pending[PENDING];
    unsigned n_pending;
    int overruns[TIMERS]; // of the latest signal of each timer
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct {
    struct noted entry[NOTED];
    unsigned next; // to be written
    unsigned oldest;
} ring;

int signal_is_error(int number)
{
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGSYS:
        return 1;
    default:
        return 0;
    }
}

int signal_is_programs(int number)
{
    return number > 0 && number <= SIGNALS && number != SIGKILL &&
           number != SIGSTOP;
}

static int has_handler(int number)
{
    const struct sigaction *action = &table.actions[number];

    return (action->sa_flags & SA_SIGINFO) != 0 ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static int is_ignored(int number)
{
    return !has_handler(number) && table.actions[number].sa_handler == SIG_IGN;
}

static uint64_t mask_of(const sigset_t *set)
{
    uint64_t mask;

    memcpy(&mask, set, sizeof mask);
    return mask;
}

static int is_in(uint64_t mask, int number)
{
    return (mask & SIGNAL_BIT(number)) != 0;
}

// ---- noting

// On any kernel thread, at any time. If nobody has looked for long, one is lost.
static void note(int number, siginfo_t *info, void *context)
{
    unsigned next = __atomic_load_n(&ring.next, __ATOMIC_RELAXED);
    struct noted *entry;

    (void)context;
    do {
        entry = &ring.entry[next % NOTED];
        if (__atomic_load_n(&entry->is_full, __ATOMIC_ACQUIRE)) {
            return;
        }
    } while (!__atomic_compare_exchange_n(&ring.next, &next, next + 1, 0,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    entry->number = number;
    entry->info = *info;
    __atomic_store_n(&entry->is_full, 1, __ATOMIC_RELEASE);
}

static struct pending *find_same(int number, pthread_t target)
{
    for (unsigned i = 0; i < table.n_pending; i++) {
        if (table.pending[i].number == number &&
            table.pending[i].target == target) {
            return &table.pending[i];
        }
    }
    return NULL;
}

// Those of real time are queued, but for timers'. @return 0, EAGAIN: there are too many
static int add_pending(int number, pthread_t target, const siginfo_t *info)
{
    const int is_queued = number >= SIGRTMIN && info->si_code != SI_TIMER;
    struct pending *same = is_queued ? NULL : find_same(number, target);

    if (same != NULL) {
        if (info->si_code == SI_TIMER) {
            same->info.si_overrun += 1 + info->si_overrun;
        }
        return 0;
    }
    if (table.n_pending == PENDING) {
        return EAGAIN;
    }
    table.pending[table.n_pending++] = (struct pending){number, target, *info};
    return 0;
}

static void remove_pending(unsigned i)
{
    const siginfo_t *info = &table.pending[i].info;

    if (info->si_code == SI_TIMER) {
        table.overruns[(unsigned)info->si_timerid % TIMERS] = info->si_overrun;
    }
    table.n_pending--;
    memmove(&table.pending[i], &table.pending[i + 1],
            (table.n_pending - i) * sizeof table.pending[0]);
}

static void empty_ring(void)
{
    for (;; ring.oldest++) {
        struct noted *entry = &ring.entry[ring.oldest % NOTED];

        if (!__atomic_load_n(&entry->is_full, __ATOMIC_ACQUIRE)) {
            return;
        }
        (void)add_pending(entry->number, 0, &entry->info);
        __atomic_store_n(&entry->is_full, 0, __ATOMIC_RELEASE);
    }
}

// ---- threads

static struct known *find_thread(pthread_t thread)
{
    for (size_t i = 0; i < table.n_threads; i++) {
        if (table.threads[i].thread == thread) {
            return &table.threads[i];
        }
    }
    return NULL;
}

static void forget_thread(struct known *thread)
{
    *thread = table.threads[--table.n_threads];
}

static struct known *add_thread(pthread_t thread)
{
    if (table.n_threads == table.room) {
        const size_t room = 2 * table.room + 16;
        struct known *more = realloc(table.threads, room * sizeof *more);

        if (more == NULL) {
            return NULL;
        }
        table.threads = more;
        table.room = room;
    }
    table.threads[table.n_threads] = (struct known){.thread = thread};
    return &table.threads[table.n_threads++];
}

// A thread's number is a slot, in its low half, which later ones have again with a higher number.
static size_t slot_of(pthread_t thread)
{
    return (uint32_t)thread;
}

static int has_ended(pthread_t thread)
{
    return slot_of(thread) < table.ended_room &&
           table.ended[slot_of(thread)] >= thread;
}

static void note_end(pthread_t thread)
{
    const size_t slot = slot_of(thread);

    if (slot >= table.ended_room) {
        const size_t room = 2 * slot + 16;
        pthread_t *more = realloc(table.ended, room * sizeof *more);

        if (more == NULL) {
            return;
        }
        memset(more + table.ended_room, 0,
               (room - table.ended_room) * sizeof *more);
        table.ended = more;
        table.ended_room = room;
    }
    table.ended[slot] = thread;
}

// Unless all are known, who blocks nothing is as those that are not known.
static void learn(const struct signal_call *call, uint64_t blocked,
                  int is_suspended)
{
    struct known *thread = find_thread(call->self);

    if (call->is_deputy) {
        return;
    }
    if (!table.knows_all && blocked == 0 && !is_suspended) {
        if (thread != NULL) {
            forget_thread(thread);
        }
        return;
    }
    if (thread == NULL) {
        thread = add_thread(call->self);
    }
    if (thread != NULL) {
        thread->blocked = blocked;
        thread->is_suspended = is_suspended;
    }
}

// What has not begun yet tells what it blocks when it begins.
static uint64_t blocked_by(pthread_t target)
{
    const struct known *thread = find_thread(target);

    if (thread == NULL) {
        return table.knows_all ? ~(uint64_t)0 : 0;
    }
    return thread->blocked;
}

static uint64_t find_held(void)
{
    uint64_t all = ~(uint64_t)0;
    uint64_t some = 0;

    for (size_t i = 0; i < table.n_threads; i++) {
        all &= table.threads[i].blocked;
        some |= table.threads[i].blocked;
    }
    if (table.n_threads == 0) {
        return 0;
    }
    return table.knows_all ? all : some;
}

// ---- what the kernel is told

static void apply(int number)
{
    struct sigaction action = {.sa_flags =
                                   SA_SIGINFO | SA_RESTART | SA_ONSTACK};

    if (number == SIGURG || signal_is_error(number)) {
        return; // the library's own (ult/slice.c); the node's with the error
    }
    if (has_handler(number) || is_in(table.held, number)) {
        action.sa_sigaction = note;
        sigfillset(&action.sa_mask);
    } else {
        action.sa_flags = table.actions[number].sa_flags & SA_NOCLDWAIT;
        action.sa_handler = table.actions[number].sa_handler;
    }
    (void)sigaction(number, &action, NULL);
}

// What the kernel does of itself.
static void do_default(int number)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};

    if (number != SIGURG) {
        (void)sigaction(number, &action, NULL);
        (void)raise(number);
        apply(number);
    }
}

static int is_blocked(const struct pending *pending)
{
    return is_in(pending->target == 0 ? table.held
                                      : blocked_by(pending->target),
                 pending->number);
}

// Those without a handler that nobody blocks any more.
static void let_through(void)
{
    for (unsigned i = 0; i < table.n_pending;) {
        const int number = table.pending[i].number;

        if (has_handler(number) || is_blocked(&table.pending[i])) {
            i++;
            continue;
        }
        remove_pending(i);
        if (!is_ignored(number)) {
            do_default(number);
        }
    }
}

static void settle(void)
{
    const uint64_t before = table.held;

    table.held = find_held();
    for (int number = 1; number <= SIGNALS; number++) {
        if (is_in(table.held ^ before, number) && signal_is_programs(number)) {
            apply(number);
        }
    }
    let_through();
}

// ---- taking what is pending

static uint64_t blocked_while(int number, uint64_t blocked)
{
    const struct sigaction *action = &table.actions[number];

    blocked |= mask_of(&action->sa_mask);
    return (action->sa_flags & SA_NODEFER) != 0 ? blocked
                                                : blocked | SIGNAL_BIT(number);
}

static void deliver(unsigned i, pthread_t thread, uint64_t blocked,
                    struct delivery *delivery)
{
    const struct pending *pending = &table.pending[i];
    const int number = pending->number;

    *delivery = (struct delivery){number, table.actions[number], pending->info,
                                  thread, blocked_while(number, blocked)};
    remove_pending(i);
    if ((delivery->action.sa_flags & (int)SA_RESETHAND) != 0) {
        table.actions[number] = (struct sigaction){.sa_handler = SIG_DFL};
        apply(number);
    }
}

// Those of the thread go before those of the process, then small numbers, then old ones.
static int goes_before(const struct pending *a, const struct pending *b)
{
    if ((a->target != 0) != (b->target != 0)) {
        return a->target != 0;
    }
    return a->number < b->number;
}

// @param set  which may be taken. @return its place; n_pending: none
static unsigned find_pending(pthread_t self, uint64_t set, int with_handler)
{
    unsigned best = table.n_pending;

    for (unsigned i = 0; i < table.n_pending; i++) {
        const struct pending *pending = &table.pending[i];

        if ((pending->target == 0 || pending->target == self) &&
            is_in(set, pending->number) &&
            (!with_handler || has_handler(pending->number)) &&
            (best == table.n_pending ||
             goes_before(pending, &table.pending[best]))) {
            best = i;
        }
    }
    return best;
}

// The first handler that the caller is to run.
static void take_own(struct signal_call *call)
{
    const unsigned i = find_pending(call->self, ~call->blocked, 1);

    call->delivery.number = 0;
    if (i < table.n_pending) {
        deliver(i, call->self, call->blocked, &call->delivery);
        learn(call, call->delivery.blocked, 0);
    }
}

// ---- calls

static long with_table(void *arguments,
                       long (*function)(struct signal_call *call))
{
    struct signal_call own;
    long result;

    memcpy(&own, arguments, sizeof own);
    pthread_mutex_lock(&table.mutex);
    learn(&own, own.blocked, 0);
    empty_ring();
    result = function(&own);
    settle();
    pthread_mutex_unlock(&table.mutex);
    memcpy(arguments, &own, sizeof own);
    return result;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void rest_for(int64_t ns)
{
    const struct timespec time = {.tv_nsec = ns};

    nanosleep(&time, NULL);
}

static void rest(void)
{
    rest_for(LOOK_NS);
}

static void drop_pending(int number)
{
    for (unsigned i = table.n_pending; i-- > 0;) {
        if (table.pending[i].number == number) {
            remove_pending(i);
        }
    }
}

static long change_action(struct signal_call *call)
{
    const int number = call->number;

    call->before = table.actions[number];
    call->needs_server = 0;
    if (!call->is_set) {
        return 0;
    }
    table.actions[number] = call->action;
    if (is_ignored(number)) {
        drop_pending(number);
    }
    if (has_handler(number) && !table.has_server) {
        table.has_server = 1;
        table.first = call->self;
        call->needs_server = 1;
    }
    if (table.has_server) {
        front_never_saved("the program handles signals");
    }
    apply(number);
    return 0;
}

long signal_change_action(void *call)
{
    return with_table(call, change_action);
}

static long change_mask(struct signal_call *call)
{
    settle();
    take_own(call);
    return 0;
}

long signal_change_mask(void *call)
{
    return with_table(call, change_mask);
}

static long list_pending(struct signal_call *call)
{
    call->set = 0;
    for (unsigned i = 0; i < table.n_pending; i++) {
        const struct pending *pending = &table.pending[i];

        if ((pending->target == 0 || pending->target == call->self) &&
            is_in(call->blocked, pending->number)) {
            call->set |= SIGNAL_BIT(pending->number);
        }
    }
    return 0;
}

long signal_list(void *call)
{
    return with_table(call, list_pending);
}

static long send_signal(struct signal_call *call)
{
    int error = 0;

    settle();
    if (call->target == 0 || !has_ended(call->target)) {
        error = add_pending(call->number, call->target, &call->info);
    }
    take_own(call);
    if (error != 0) {
        errno = error;
    }
    return error == 0 ? 0 : -1;
}

// The program's own process and its group are the program, on all its nodes.
static int is_own(pid_t process)
{
    return process == getpid() || process == 0 || process == -getpgrp();
}

long signal_send(void *arguments)
{
    const struct signal_call *call = arguments;
    const pid_t process = call->process;
    const int number = call->number;

    if (is_own(process) && signal_is_programs(number)) {
        return with_table(arguments, send_signal);
    }
    return kill(is_own(process) ? getpid() : process, number);
}

static long try_suspended(struct signal_call *call)
{
    learn(call, call->blocked, 1);
    settle();
    take_own(call);
    return call->delivery.number;
}

static int64_t until(const struct signal_call *call)
{
    int64_t until_ns;

    return call->ns < 0 || __builtin_add_overflow(now_ns(), call->ns, &until_ns)
               ? INT64_MAX
               : until_ns;
}

// @return 0: the time is over
static int rest_before(int64_t until_ns)
{
    const int64_t left_ns = until_ns - now_ns();

    if (left_ns <= 0) {
        return 0;
    }
    rest_for(left_ns < LOOK_NS ? left_ns : LOOK_NS);
    return 1;
}

// It gives up without a delivery.
static long end_suspension(struct signal_call *call)
{
    (void)call; // learned by with_table()
    return 0;
}

long signal_suspend(void *arguments)
{
    struct signal_call *call = arguments;
    const int64_t until_ns = until(call);

    while (with_table(call, try_suspended) == 0) {
        if ((call->ns < 0 && front_main_is_gone()) || !rest_before(until_ns)) {
            return with_table(call, end_suspension);
        }
    }
    call->ns = call->ns < 0 ? -1 : until_ns - now_ns();
    return 0;
}

static long take_of_set(struct signal_call *call)
{
    const unsigned i = find_pending(call->self, call->set, 0);

    if (i == table.n_pending) {
        return 0;
    }
    call->delivery.number = table.pending[i].number;
    call->delivery.info = table.pending[i].info;
    remove_pending(i);
    return call->delivery.number;
}

long signal_wait(void *arguments)
{
    struct signal_call *call = arguments;

    const int64_t until_ns = until(call);
    long number;

    while ((number = with_table(call, take_of_set)) == 0) {
        if (!rest_before(until_ns)) {
            errno = EAGAIN;
            return -1;
        }
    }
    return number;
}

static long forget(struct signal_call *call)
{
    struct known *thread;

    call->delivery.number = 0;
    if (!call->is_deputy) {
        take_own(call);
    }
    if (call->delivery.number != 0) {
        return 0;
    }
    for (unsigned i = table.n_pending; i-- > 0;) {
        if (table.pending[i].target == call->self) {
            remove_pending(i);
        }
    }
    thread = find_thread(call->self);
    if (thread != NULL) {
        forget_thread(thread);
    }
    if (!call->is_deputy) {
        note_end(call->self);
    }
    return 0;
}

long signal_forget(void *call)
{
    return with_table(call, forget);
}

static long know_all(struct signal_call *call)
{
    table.knows_all = 1;
    learn(call, call->blocked, 0);
    return 0;
}

long signal_know_all(void *call)
{
    return with_table(call, know_all);
}

// ---- the thread that runs handlers beside the others

// Who does not wait for signals itself. @return 0: nobody, now
static pthread_t find_target(const struct pending *pending)
{
    pthread_t target = 0;

    if (pending->target != 0) {
        const struct known *thread = find_thread(pending->target);

        return (thread != NULL && thread->is_suspended) || is_blocked(pending)
                   ? 0
                   : pending->target;
    }
    for (size_t i = table.n_threads; i-- > 0;) {
        const struct known *thread = &table.threads[i];

        if (!is_in(thread->blocked, pending->number)) {
            if (thread->is_suspended) {
                return 0;
            }
            target = thread->thread;
        }
    }
    return target != 0 || is_in(table.held, pending->number) ? target
                                                             : table.first;
}

static long take_for_others(struct signal_call *call)
{
    call->delivery.number = 0;
    for (unsigned i = 0; i < table.n_pending; i++) {
        const pthread_t target = has_handler(table.pending[i].number)
                                     ? find_target(&table.pending[i])
                                     : 0;

        if (target != 0) {
            deliver(i, target, blocked_by(target), &call->delivery);
            return 1;
        }
    }
    return 0;
}

long signal_serve(void *call)
{
    while (!front_main_is_gone()) {
        if (with_table(call, take_for_others) != 0) {
            return 1;
        }
        rest();
    }
    return 0;
}

// ---- timers

int signal_overruns(timer_t timer)
{
    int overruns;

    pthread_mutex_lock(&table.mutex);
    overruns = table.overruns[(uintptr_t)timer % TIMERS];
    pthread_mutex_unlock(&table.mutex);
    return overruns;
}

// ---- checkpoints

const char *signal_why_unsaved(void)
{
    int any = 0;

    pthread_mutex_lock(&table.mutex);
    empty_ring();
    any = table.n_pending > 0;
    pthread_mutex_unlock(&table.mutex);
    return any ? "a signal of the program's is pending" : NULL;
}
