// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that another node says it sends here, on a node that takes nothing else.
// tests/cluster/migrate.c moves real ones.
#include "runtime/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>

#include "runtime/node.h"

enum { MAX_THREADS = 7, SLOT = 2, STACK_SIZE = 64 * 1024, SIZE = 256 };

static const char bytes[SIZE];
static uint64_t top; // of the slot's stack

// The stack of a slot ends where the next slot begins; nothing else says so here.
static uint64_t find_top(void)
{
    struct ult_packed packed = {.slot = SLOT, .bytes = bytes, .size = SIZE};

    for (uint64_t at = (uintptr_t)ULT_STACKS_BASE;
         !ult_fits(this_node.ult, &packed); at += 4096) {
        packed.end = at;
        packed.context = at - SIZE;
    }
    return packed.end;
}

static int begin(void **state)
{
    const struct ult_config config = {
        .n_workers = 1,
        .stack_size = STACK_SIZE,
        .n_slots = MAX_THREADS + 1,
    };

    (void)state;
    this_node.options.max_threads = MAX_THREADS;
    this_node.threads = calloc(MAX_THREADS + 1, sizeof(struct thread *));
    this_node.migration =
        migration_new(&this_node.port, threads_arrived, &this_node);
    if (this_node.threads == NULL || this_node.migration == NULL ||
        ult_open(&this_node.ult, &config) != TM_OK) {
        return 1;
    }
    top = find_top();
    return 0;
}

static int end(void **state)
{
    (void)state;
    ult_stop(this_node.ult, 1000);
    ult_close(this_node.ult);
    migration_free(this_node.migration);
    free(this_node.threads);
    return 0;
}

// @return what becomes of the last message
static tm_status arrive(uint64_t number, uint64_t context, uint64_t stack_top)
{
    static const char name[] = "stranger";
    struct message message = {
        .type = MESSAGE_thread_move,
        .u.thread_move = {.thread = number,
                          .context = context,
                          .end = stack_top},
    };
    uint8_t body[32];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_string(&writer, name);
    message.body = body;
    message.body_size = (uint32_t)(writer.at - body);
    assert_int_equal(migration_receive(this_node.migration, 1, &message),
                     TM_OK);
    message = (struct message){
        .type = MESSAGE_thread_stack,
        .u.thread_stack = {.thread = number},
        .body = bytes,
        .body_size = (uint32_t)(stack_top - context),
    };
    return migration_receive(this_node.migration, 1, &message);
}

static void a_thread_of_a_slot_that_is_not_there_is_refused(void **state)
{
    static const uint64_t numbers[] = {
        0,        1ull << 32, MAX_THREADS + 1, 1 << 30,
        1u << 31, UINT32_MAX, UINT64_MAX,
    };

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_int_equal(arrive(numbers[i], top - SIZE, top), TM_EWIRE);
    }
    assert_null(this_node.threads[0]);
}

static void a_thread_whose_stack_is_elsewhere_is_refused(void **state)
{
    (void)state;
    assert_int_equal(arrive(SLOT, top - SIZE - 8, top - 8), TM_EWIRE);
    assert_int_equal(arrive(SLOT, top - 12, top), TM_EWIRE);
    assert_int_equal(arrive(SLOT + 1, top - SIZE, top), TM_EWIRE);
    assert_int_equal(arrive(SLOT, 4096, 4096 + SIZE), TM_EWIRE);
    for (unsigned slot = 0; slot <= MAX_THREADS; slot++) {
        assert_null(this_node.threads[slot]);
    }
}

static void a_thread_whose_slot_is_in_use_is_refused(void **state)
{
    static struct thread here = {.number = SLOT};

    (void)state;
    this_node.threads[SLOT] = &here;
    assert_int_equal(arrive(SLOT, top - SIZE, top), TM_EWIRE);
    assert_int_equal(arrive(1ull << 32 | SLOT, top - SIZE, top), TM_EWIRE);
    assert_int_equal(threads_start(&this_node, SLOT, 1, 2, "stranger"),
                     TM_EWIRE);
    assert_int_equal(
        threads_start(&this_node, 1ull << 32 | SLOT, 1, 2, "stranger"),
        TM_EWIRE);
    assert_ptr_equal(this_node.threads[SLOT], &here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_thread_of_a_slot_that_is_not_there_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(
            a_thread_whose_stack_is_elsewhere_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(
            a_thread_whose_slot_is_in_use_is_refused, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
