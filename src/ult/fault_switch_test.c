// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Switches of threads inside faults, on each fault source that there is here: a
// thread that faults parks in the handler, a server maps the page and unparks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fault_source.h"
#include "os/memfd.h"
#include "os/trap.h"
#include "ult/sanitize.h"
#include "ult/ult.h"
#include "ult/ult_priv.h"

enum {
    PAGE = 4096,
    N_PAGES = 64,
    N_THREADS = 24,
    N_ROUNDS = 3,
    STACK_SIZE = 128 * 1024,
    DEADLINE_S = 60,
    EXIT_OVERFLOW = 42
};

#define VIEW ((char *)0x7e8000000000)

/* A fault that waits for the server; lies on the faulting thread's stack. */
struct request {
    struct request *next;
    struct ult *thread;
    unsigned page;
    int is_write;
    _Atomic int is_served;
};

static struct {
    const struct fault_source *source;
    struct fault_watch *watch;
    struct memfd memfd;
    struct ult_system *ults;
    struct ult *main_thread;
    pthread_t server;
    pthread_mutex_t mutex; // the node lock, as it were
    struct request *requests;
    _Atomic int must_end;
    _Atomic int n_faults;
    _Atomic int n_done;
} test;

static void end_on_overflow(const struct trap *trap)
{
    int slot = ult_guard_slot(test.ults, trap->address);

    if (slot < 0) {
        slot = ult_guard_slot(test.ults, trap->sp);
    }
    if (slot >= 0) {
        _exit(EXIT_OVERFLOW + slot);
    }
}

static int on_trap(void *owner, const struct trap *trap)
{
    struct request request = {
        .thread = ult_self(),
        .page = (unsigned)((trap->address - (uintptr_t)VIEW) / PAGE),
        .is_write = trap->is_write,
    };

    (void)owner;
    if (trap->signal == SIGFPE) {
        return 0; // raised below
    }
    if (request.page >= N_PAGES || request.thread == NULL) {
        end_on_overflow(trap);
        return 0;
    }
    atomic_fetch_add(&test.n_faults, 1);
    pthread_mutex_lock(&test.mutex);
    request.next = test.requests;
    test.requests = &request;
    pthread_mutex_unlock(&test.mutex);
    while (!atomic_load(&request.is_served)) {
        ult_park(1);
    }
    // I2 of trap.c: its handler runs above this one, also if this one was resumed.
    raise(SIGFPE);
    errno = EXDEV; // must not be seen outside
    return 1;
}

static void serve_one(struct request *request)
{
    struct ult *thread = request->thread;
    char *page = VIEW + request->page * PAGE;

    if (request->is_write) {
        test.source->allow_write(test.watch, page, PAGE);
    } else {
        test.source->allow_read(test.watch, page, PAGE);
    }
    atomic_store(&request->is_served, 1); // the request may be gone now
    ult_unpark(thread);
}

// Takes away at most one page for each two faults: a server that did nothing
// else could take pages faster than threads come to use them.
static void *serve(void *arg)
{
    unsigned seed = 3;
    int n_spare = 0; // faults served, less two for each page taken away

    while (!atomic_load(&test.must_end)) {
        struct request *request;

        pthread_mutex_lock(&test.mutex);
        request = test.requests;
        if (request != NULL) {
            test.requests = request->next;
            serve_one(request);
            n_spare++;
        } else if (n_spare >= 2 && rand_r(&seed) % 4 == 0) {
            n_spare -= 2;
            test.source->deny(test.watch,
                              VIEW + (unsigned)rand_r(&seed) % N_PAGES * PAGE,
                              PAGE);
        }
        pthread_mutex_unlock(&test.mutex);
    }
    return arg;
}

static int setup(void **state)
{
    test.source = *state;
    if (memfd_open(&test.memfd, N_PAGES * PAGE) != TM_OK ||
        memfd_map(&test.memfd, 0, VIEW, N_PAGES * PAGE) != TM_OK ||
        test.source->open(&test.watch) != TM_OK) {
        return 1;
    }
    memset(test.memfd.runtime, 0, N_PAGES * PAGE);
    return test.source->add(test.watch, VIEW, N_PAGES * PAGE) != TM_OK;
}

static int teardown(void **state)
{
    (void)state;
    test.source->close(test.watch);
    memfd_close(&test.memfd);
    return 0;
}

// A signal that came now would be handled on a stack that another worker's thread may be on.
static int look_for_stack_of_a_thread(void *owner, unsigned worker)
{
    stack_t now;

    (void)owner;
    (void)worker;
    if (sigaltstack(NULL, &now) != 0) {
        abort();
    }
    for (unsigned slot = 0; slot <= N_THREADS; slot++) {
        if (test.source->signal == SIGSEGV &&
            now.ss_sp == stack_slot_alternate_low(test.ults, slot)) {
            abort();
        }
    }
    return 0;
}

static void start(unsigned n_workers)
{
    struct ult_config config = {
        .n_workers = n_workers,
        .stack_size = STACK_SIZE,
        .n_slots = N_THREADS + 1,
        .has_alternate_stacks = test.source->signal == SIGSEGV,
        .idle = look_for_stack_of_a_thread,
    };
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    alarm(DEADLINE_S);
    pthread_mutex_init(&test.mutex, NULL);
    atomic_store(&test.must_end, 0);
    atomic_store(&test.n_done, 0);
    atomic_store(&test.n_faults, 0);
    assert_int_equal(trap_install(test.source->signal, on_trap, NULL), TM_OK);
    assert_int_equal(trap_program_action(SIGFPE, &ignore, NULL), 1);
    assert_int_equal(ult_open(&test.ults, &config), TM_OK);
    assert_int_equal(ult_adopt(test.ults, &test.main_thread), TM_OK);
    assert_int_equal(ult_start_workers(test.ults), TM_OK);
    pthread_create(&test.server, NULL, serve, NULL);
}

static void stop(void)
{
    ult_stop(test.ults, 10000);
    atomic_store(&test.must_end, 1);
    pthread_join(test.server, NULL);
    ult_close(test.ults);
    alarm(0);
}

static void wake_main(void *owner, struct ult *thread)
{
    (void)owner;
    (void)thread;
    atomic_fetch_add(&test.n_done, 1);
    ult_unpark(test.main_thread);
}

// Each thread has a double of its own in each page. Sums in registers and errno
// must survive the faults; signals must not stay blocked.
static void add_everywhere(void *arg)
{
    unsigned slot = ult_slot(ult_self());
    double expected = 0;
    double sum = 0;

    (void)arg;
    for (int round = 0; round < N_ROUNDS; round++) {
        for (unsigned i = 0; i < N_PAGES; i++) {
            unsigned page = (i * 7 + slot) % N_PAGES;
            double *mine = (double *)(VIEW + page * PAGE) + slot;

            errno = EDOM;
            *mine += slot + page;
            sum += *mine;
            expected += (round + 1) * (double)(slot + page);
            if (errno != EDOM) {
                abort();
            }
        }
    }
    if (sum != expected) {
        abort();
    }
    ult_exit(wake_main, NULL);
}

static void add_with(unsigned n_workers)
{
    sigset_t mask;

    start(n_workers);
    for (unsigned slot = 1; slot <= N_THREADS; slot++) {
        struct ult *thread;

        assert_int_equal(
            ult_spawn(test.ults, slot, add_everywhere, NULL, NULL, &thread),
            TM_OK);
    }
    for (unsigned page = 0; page < N_PAGES; page++) { // main() faults, too
        ((double *)(VIEW + page * PAGE))[0] += 1;
    }
    while (atomic_load(&test.n_done) < N_THREADS) {
        ult_park(1);
    }
    assert_true(atomic_load(&test.n_faults) >= N_PAGES);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGBUS));
    assert_false(sigismember(&mask, SIGSEGV));
    stop();
    for (unsigned page = 0; page < N_PAGES; page++) {
        const double *sums = (double *)(test.memfd.runtime + page * PAGE);

        assert_true(sums[0] == 1);
        for (unsigned slot = 1; slot <= N_THREADS; slot++) {
            assert_true(sums[slot] == N_ROUNDS * (double)(slot + page));
        }
    }
}

static void faults_of_one_worker_overlap(void **state)
{
    (void)state;
    add_with(1);
}

static void faults_of_two_workers_overlap(void **state)
{
    (void)state;
    add_with(2);
}

static int recurse(int depth)
{
    volatile char bytes[512];

    bytes[0] = (char)depth;
    return depth == 0 ? 0 : recurse(depth + 1) + bytes[0];
}

static void overflow(void *arg)
{
    *(volatile double *)VIEW += 1; // after a fault has been suspended once
    recurse(*(int *)arg);
}

static int status_of_overflow(unsigned slot)
{
    static int depth = 1;
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct ult *thread;

        setup((void *[]){(void *)(uintptr_t)test.source});
        start(1);
        if (slot == 0) {
            overflow(&depth);
        }
        if (ult_spawn(test.ults, slot, overflow, &depth, NULL, &thread) ==
            TM_OK) {
            ult_park(1);
        }
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void an_overflow_is_told_by_slot(void **state)
{
    (void)state;
    assert_int_equal(status_of_overflow(5), EXIT_OVERFLOW + 5);
}

static void an_overflow_of_main_is_slot_0(void **state)
{
    (void)state;
    assert_int_equal(status_of_overflow(0), EXIT_OVERFLOW);
}

#define ON(source, function)                                                   \
    {                                                                          \
#function " [" #source "]", function, setup, teardown,                 \
            (void *)(uintptr_t)&fault_##source                                 \
    }
#define ALL_ON(source)                                                         \
    ON(source, faults_of_one_worker_overlap),                                  \
        ON(source, faults_of_two_workers_overlap),                             \
        ON(source, an_overflow_is_told_by_slot),                               \
        ON(source, an_overflow_of_main_is_slot_0)

int main(void)
{
    const struct CMUnitTest with_userfaultfd[] = {ALL_ON(userfaultfd)};
    const struct CMUnitTest with_mprotect[] = {ALL_ON(mprotect)};
    char reason[160];
    int n_failed = 0;

    if (fault_userfaultfd.is_available(reason, sizeof reason)) {
        n_failed += cmocka_run_group_tests(with_userfaultfd, NULL, NULL);
    } else {
        print_message("not available: %s\n", reason);
    }
    n_failed += cmocka_run_group_tests(with_mprotect, NULL, NULL);
    return n_failed != 0;
}
