// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// A cluster of two processes: the child of fork() has the same program at the
// same addresses, as another node would. Threads travel through pipes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ult/ult.h"

enum {
    STACK_SIZE = 64 * 1024,
    N_SLOTS = 10,
    N_MOVERS = 8,
    N_HOPS = 30,
    DEADLINE_S = 60
};

static struct ult_system *ults;
static struct ult *main_thread;
static pid_t here; // differs between the two "nodes"
static int to_other;
static int from_other;
static _Atomic int n_ended;

struct wire {
    struct ult_packed packed;
    uint64_t time_ns;
};

static void write_all(const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t n = write(to_other, at, size);

        if (n <= 0) {
            abort();
        }
        at += n;
        size -= (size_t)n;
    }
}

static int read_all(void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        ssize_t n = read(from_other, at, size);

        if (n <= 0) {
            return 0;
        }
        at += n;
        size -= (size_t)n;
    }
    return 1;
}

// Forgotten before it is sent: it could be back at once.
static void send_away(void *owner, struct ult *thread)
{
    static char bytes[STACK_SIZE]; // one worker a node
    struct wire wire = {.time_ns = ult_time_ns(thread)};

    (void)owner;
    ult_pack(thread, &wire.packed);
    memcpy(bytes, wire.packed.bytes, wire.packed.size);
    ult_forget(thread);
    write_all(&wire, sizeof wire);
    write_all(bytes, wire.packed.size);
}

static void end_mover(void *owner, struct ult *thread)
{
    (void)thread;
    (void)owner;
    atomic_fetch_add(&n_ended, 1);
    ult_unpark(main_thread);
}

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

// Keeps something of every kind on its stack over each move: pointers into the
// stack, floating-point numbers, deep frames, alignment.
static double travel(int depth, double *outer, const char *name)
{
    double inner = *outer + 0.5;
    _Alignas(64) char words[64];

    snprintf(words, sizeof words, "%s at %d", name, depth);
    if (depth > 0) {
        return travel(depth - 1, &inner, words) + inner;
    }
    for (int hop = 0; hop < N_HOPS; hop++) {
        char expected[64];
        pid_t left = here;
        double root = sqrt(*outer + hop);

        ult_suspend(send_away, NULL);
        check(here != left, "the thread is in the other process");
        check(ult_self() != NULL && ult_user(ult_self()) == (void *)&here,
              "it has its new record");
        check(root == sqrt(*outer + hop), "numbers are kept");
        snprintf(expected, sizeof expected, "%s at 0", name);
        check(strcmp(words, expected) == 0, "the stack is kept");
        if (hop % 3 == 0) {
            ult_yield();
        }
    }
    return inner;
}

static void move_about(void *arg)
{
    double start = 1;
    double sum = travel(3, &start, "mover");

    (void)arg;
    check(sum == 1.5 + 2 + 2.5 + 3, "the sum of all frames");
    check(ult_time_ns(ult_self()) >= N_HOPS / 2 * 1000, "time is carried over");
    ult_exit(end_mover, NULL);
}

static void open_node(void)
{
    struct ult_config config = {
        .n_workers = 1,
        .stack_size = STACK_SIZE,
        .n_slots = N_SLOTS,
    };

    here = getpid();
    alarm(DEADLINE_S);
    check(ult_open(&ults, &config) == TM_OK, "ult_open()");
    check(ult_adopt(ults, &main_thread) == TM_OK, "ult_adopt()");
}

// Let threads run, then take in one that arrives; until the pipe ends.
static int receive_one(void)
{
    static char bytes[STACK_SIZE];
    struct wire wire;
    struct ult *thread;

    if (!read_all(&wire, sizeof wire) || !read_all(bytes, wire.packed.size)) {
        return 0;
    }
    wire.packed.bytes = bytes;
    check(ult_unpack(ults, &wire.packed, &here, &thread) == TM_OK,
          "ult_unpack()");
    ult_add_time(thread, wire.time_ns + 1000);
    return 1;
}

static void run_threads(void)
{
    for (int i = 0; i < 5; i++) {
        ult_yield();
    }
}

static _Noreturn void be_the_other_node(void)
{
    open_node();
    while (receive_one()) {
        run_threads();
    }
    check(atomic_load(&n_ended) == 0, "an even number of hops ends at home");
    ult_stop(ults, 1000);
    ult_close(ults);
    fflush(stderr);
    _exit(0);
}

static pid_t start_other_node(void)
{
    int there[2];
    int back[2];
    pid_t child;

    if (pipe(there) != 0 || pipe(back) != 0) {
        return -1;
    }
    child = fork();
    if (child == 0) {
        close(there[1]);
        close(back[0]);
        from_other = there[0];
        to_other = back[1];
        be_the_other_node();
    }
    close(there[0]);
    close(back[1]);
    to_other = there[1];
    from_other = back[0];
    return child;
}

static void threads_travel_between_processes(void **state)
{
    pid_t child = start_other_node();
    int status;

    (void)state;
    assert_true(child > 0);
    open_node();
    for (unsigned slot = 1; slot <= N_MOVERS; slot++) {
        struct ult *thread;

        assert_int_equal(
            ult_spawn(ults, slot, move_about, NULL, &here, &thread), TM_OK);
    }
    while (atomic_load(&n_ended) < N_MOVERS) {
        run_threads();
        if (atomic_load(&n_ended) < N_MOVERS) {
            assert_true(receive_one());
        }
    }
    close(to_other);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ult_stop(ults, 1000);
    ult_close(ults);
    alarm(0);
}

static void bytes_that_do_not_fit_are_refused(void **state)
{
    static const char bytes[256];
    uintptr_t stack_slot_size = STACK_SIZE + 64 * 1024 + 2 * 4096;
    uintptr_t top = (uintptr_t)ULT_STACKS_BASE + 3 * stack_slot_size;
    const struct ult_packed good = {
        .slot = 2,
        .context = top - sizeof bytes,
        .end = top,
        .bytes = bytes,
        .size = sizeof bytes,
    };
    struct ult_packed bad;
    struct ult *thread;

    (void)state;
    open_node();
#define REFUSED(field, value)                                                  \
    bad = good;                                                                \
    bad.field = value;                                                         \
    assert_false(ult_fits(ults, &bad));                                        \
    assert_int_equal(ult_unpack(ults, &bad, NULL, &thread), TM_EINVAL)
    REFUSED(slot, 0);
    REFUSED(slot, 1);
    REFUSED(slot, N_SLOTS);
    REFUSED(slot, ~0u);
    REFUSED(context, top - sizeof bytes + 1);
    REFUSED(context, top);
    REFUSED(context, 0);
    REFUSED(context, top - STACK_SIZE - 8);
    REFUSED(end, top + 8);
    REFUSED(end, top - 8);
    REFUSED(size, 0);
    REFUSED(size, sizeof bytes + 1);
    REFUSED(size, SIZE_MAX);
    // The good ones fit; the thread never gets to run.
    assert_true(ult_fits(ults, &good));
    assert_int_equal(ult_unpack(ults, &good, NULL, &thread), TM_OK);
    assert_int_equal(ult_unpack(ults, &good, NULL, &thread), TM_EBUSY);
    ult_stop(ults, 1000);
    ult_close(ults);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_travel_between_processes),
        cmocka_unit_test(bytes_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
