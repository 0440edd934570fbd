// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Every test runs on each fault source that is available here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/access_test.h"
#include "os/fault_source.h"
#include "os/memfd.h"
#include "os/trap.h"

enum { PAGE = 4096, N_PAGES = 48, N_STEPS = 3000 };

enum permission { NOTHING, READ, READ_WRITE };

#define VIEW ((char *)0x7e8000000000)

static struct {
    const struct fault_source *source;
    struct fault_watch *watch;
    struct memfd memfd;
    struct trap last;
    _Atomic unsigned closed; // odd: an access that faults waits till it changes
    _Atomic unsigned waiting; // the last such value that one waited for
} test;

static int on_trap(void *owner, const struct trap *trap)
{
    unsigned closed = atomic_load(&test.closed);

    (void)owner;
    if (!access_is_ours(trap)) {
        return 0;
    }
    if (closed % 2 == 1) {
        atomic_store(&test.waiting, closed);
        while (atomic_load(&test.closed) == closed) {
            sched_yield();
        }
        return 1;
    }
    test.last = *trap;
    return access_refused(trap);
}

static int setup(void **state)
{
    test.source = *state;
    if (trap_thread_open() != TM_OK ||
        memfd_open(&test.memfd, N_PAGES * PAGE) != TM_OK ||
        memfd_map(&test.memfd, 0, VIEW, N_PAGES * PAGE) != TM_OK ||
        test.source->open(&test.watch) != TM_OK) {
        return 1;
    }
    memset(test.memfd.runtime, 7, N_PAGES * PAGE);
    return test.source->add(test.watch, VIEW, N_PAGES * PAGE) != TM_OK;
}

static int teardown(void **state)
{
    (void)state;
    test.source->close(test.watch);
    memfd_close(&test.memfd);
    trap_thread_close();
    return 0;
}

// Not part of the setup: cmocka sets handlers of its own for each test.
static void begin(void)
{
    assert_int_equal(trap_install(test.source->signal, on_trap, NULL), TM_OK);
}

static void set(unsigned first, unsigned n, enum permission permission)
{
    char *start = VIEW + first * PAGE;

    switch (permission) {
    case NOTHING:
        test.source->deny(test.watch, start, n * PAGE);
        break;
    case READ:
        test.source->allow_read(test.watch, start, n * PAGE);
        break;
    case READ_WRITE:
        test.source->allow_write(test.watch, start, n * PAGE);
        break;
    }
}

static void check(unsigned page, enum permission permission)
{
    char *byte = VIEW + page * PAGE + 100;

    assert_int_equal(access_read(byte), permission >= READ);
    if (permission < READ) {
        assert_false(test.last.is_write);
        assert_ptr_equal(test.last.address, byte);
        assert_int_equal(test.last.signal, test.source->signal);
    }
    assert_int_equal(access_write(byte), permission >= READ_WRITE);
    if (permission < READ_WRITE) {
        assert_true(test.last.is_write);
        assert_ptr_equal(test.last.address, byte);
    }
}

static void watched_memory_faults_at_first(void **state)
{
    (void)state;
    begin();
    for (unsigned page = 0; page < N_PAGES; page++) {
        check(page, NOTHING);
    }
}

static void each_transition_of_a_page_takes_effect(void **state)
{
    (void)state;
    begin();
    for (int from = NOTHING; from <= READ_WRITE; from++) {
        for (int to = NOTHING; to <= READ_WRITE; to++) {
            for (int touched = 0; touched <= 1; touched++) {
                set(3, 1, (enum permission)from);
                if (touched) {
                    check(3, (enum permission)from);
                }
                set(3, 1, (enum permission)to);
                check(3, (enum permission)to);
                check(2, NOTHING);
                check(4, NOTHING);
            }
        }
    }
}

static void random_ranges_get_what_they_were_given(void **state)
{
    enum permission model[N_PAGES] = {NOTHING};
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    begin();
    print_message("seed %u\n", seed);
    srand(seed);
    for (int step = 0; step < N_STEPS; step++) {
        unsigned first = (unsigned)rand() % N_PAGES;
        unsigned n = (unsigned)rand() % 3 == 0
                         ? 1
                         : 1 + (unsigned)rand() % (N_PAGES - first);
        enum permission permission = (enum permission)(rand() % 3);
        unsigned page = (unsigned)rand() % N_PAGES;

        set(first, n, permission);
        for (unsigned i = first; i < first + n; i++) {
            model[i] = permission;
        }
        check(page, model[page]);
        if (step % 100 == 0) {
            for (unsigned i = 0; i < N_PAGES; i++) {
                check(i, model[i]);
            }
        }
    }
}

static void both_views_show_the_same_bytes(void **state)
{
    (void)state;
    begin();
    set(0, 2, READ);
    test.memfd.runtime[5] = 11;
    assert_int_equal(VIEW[5], 11);
    set(0, 2, READ_WRITE);
    VIEW[PAGE + 1] = 12;
    assert_int_equal(test.memfd.runtime[PAGE + 1], 12);
    set(0, 2, NOTHING);
    assert_int_equal(test.memfd.runtime[PAGE + 1], 12);
    test.memfd.runtime[PAGE + 1] = 13;
    set(1, 1, READ);
    assert_int_equal(VIEW[PAGE + 1], 13);
}

static void put_zeros(unsigned first, unsigned n)
{
    memfd_discard(&test.memfd, first * PAGE, n * PAGE);
    memset(test.memfd.runtime + first * PAGE, 0, n * PAGE);
}

static void a_denied_and_discarded_page_can_be_allowed_again(void **state)
{
    (void)state;
    begin();
    for (int before = NOTHING; before <= READ_WRITE; before++) {
        for (int after = READ; after <= READ_WRITE; after++) {
            set(8, 4, (enum permission)before);
            set(8, 4, NOTHING);
            put_zeros(8, 4);
            set(8, 4, (enum permission)after);
            check(8, (enum permission)after);
            check(11, (enum permission)after);
        }
    }
}

// As when the kernel has swapped it out.
static void a_page_that_vanished_faults_at_most_once_more(void **state)
{
    (void)state;
    begin();
    for (int before = READ; before <= READ_WRITE; before++) {
        for (int after = READ; after <= READ_WRITE; after++) {
            set(8, 1, (enum permission)before);
            put_zeros(8, 1);
            set(8, 1, (enum permission)after);
            if (!access_read(VIEW + 8 * PAGE)) {
                set(8, 1, (enum permission)after);
            }
            check(8, (enum permission)after);
        }
    }
}

struct writer {
    pthread_t thread;
    _Atomic int must_stop;
};

static void *write_on_and_on(void *data)
{
    struct writer *writer = data;

    while (!atomic_load(&writer->must_stop)) {
        access_write(VIEW);
    }
    return NULL;
}

static void read_only_when_allow_read_has_returned(void **state)
{
    struct writer writer = {.must_stop = 0};
    volatile char *bytes = test.memfd.runtime;

    (void)state;
    begin();
    set(0, 1, READ_WRITE);
    pthread_create(&writer.thread, NULL, write_on_and_on, &writer);
    for (int round = 0; round < 300; round++) {
        unsigned closed = atomic_fetch_add(&test.closed, 1) + 1;

        set(0, 1, round % 2 == 0 ? READ : NOTHING);
        bytes[0] = 0; // the writer would put a 1 here
        while (atomic_load(&test.waiting) != closed) {
            assert_int_equal(bytes[0], 0);
            sched_yield();
        }
        assert_int_equal(bytes[0], 0);
        set(0, 1, READ_WRITE);
        atomic_fetch_add(&test.closed, 1);
    }
    atomic_store(&writer.must_stop, 1);
    pthread_join(writer.thread, NULL);
}

static void a_child_of_fork_has_no_access(void **state)
{
    int status;
    pid_t child;

    (void)state;
    begin();
    set(0, N_PAGES, READ_WRITE);
    child = fork();
    if (child == 0) {
        _exit(access_read(VIEW) || access_write(VIEW));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    check(0, READ_WRITE);
}

#define ON(source, function)                                                   \
    {                                                                          \
#function " [" #source "]", function, setup, teardown,                 \
            (void *)(uintptr_t)&fault_##source                                 \
    }
#define ALL_ON(source)                                                         \
    ON(source, watched_memory_faults_at_first),                                \
        ON(source, each_transition_of_a_page_takes_effect),                    \
        ON(source, random_ranges_get_what_they_were_given),                    \
        ON(source, both_views_show_the_same_bytes),                            \
        ON(source, a_denied_and_discarded_page_can_be_allowed_again),          \
        ON(source, a_page_that_vanished_faults_at_most_once_more),             \
        ON(source, read_only_when_allow_read_has_returned),                    \
        ON(source, a_child_of_fork_has_no_access)

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
