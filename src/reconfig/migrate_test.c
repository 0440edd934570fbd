// SPDX-License-Identifier: BSD-3-Clause
//
// A thread that a node sends to itself, and messages that no node sends.
#include "reconfig/migrate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

enum { SELF = 0, OTHER = 1, TOP = 0x100000, SIZE = 2 * MESSAGE_BODY_MAX + 8 };

static struct migration *migration;
static char stack[SIZE];
static struct moved_thread come;
static unsigned n_come;
static tm_status verdict;

static void deliver(void *owner, node_id to, const struct message *message)
{
    (void)owner;
    assert_int_equal(to, SELF);
    assert_int_equal(migration_receive(migration, SELF, message), TM_OK);
}

static tm_status arrived(void *owner, const struct moved_thread *moved)
{
    (void)owner;
    assert_int_equal(moved->packed.size,
                     moved->packed.end - moved->packed.context);
    assert_memory_equal(moved->packed.bytes, stack, moved->packed.size);
    assert_string_equal(moved->name, "worker");
    come = *moved;
    n_come++;
    return verdict;
}

static const struct port port = {.self = SELF, .send = deliver};

static int begin(void **state)
{
    (void)state;
    n_come = 0;
    verdict = TM_OK;
    for (unsigned i = 0; i < SIZE; i++) {
        stack[i] = (char)(i * 7 + i / 256);
    }
    migration = migration_new(&port, arrived, NULL);
    return migration == NULL;
}

static int end(void **state)
{
    (void)state;
    migration_free(migration); // and what has not come as a whole
    return 0;
}

static void a_thread_arrives_as_it_left(void **state)
{
    const struct moved_thread thread = {
        .number = 3ull << 32 | 5,
        .compute_ns = 11,
        .moves = 2,
        .n_barriers = 7,
        .name = "worker",
        .packed = {.slot = 5,
                   .context = TOP - SIZE,
                   .end = TOP,
                   .bytes = stack,
                   .size = SIZE},
    };

    (void)state;
    migration_send(migration, SELF, &thread);
    assert_int_equal(n_come, 1);
    assert_true(come.number == thread.number);
    assert_int_equal(come.compute_ns, 11);
    assert_int_equal(come.moves, 2);
    assert_int_equal(come.n_barriers, 7);
    assert_int_equal(come.packed.slot, 5);
    assert_int_equal(come.packed.context, TOP - SIZE);
    assert_int_equal(come.packed.end, TOP);
}

static tm_status move(node_id from, uint64_t context, uint64_t stack_top)
{
    uint8_t body[32];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_thread_move,
        .u.thread_move = {.thread = 5, .context = context, .end = stack_top},
        .body = body,
    };

    wire_put_string(&writer, "worker");
    message.body_size = (uint32_t)(writer.at - body);
    return migration_receive(migration, from, &message);
}

static tm_status part(node_id from, uint64_t thread, uint64_t offset,
                      uint32_t size)
{
    const struct message message = {
        .type = MESSAGE_thread_stack,
        .u.thread_stack = {.thread = thread, .offset = offset},
        .body = stack + (offset < SIZE ? offset : 0),
        .body_size = size,
    };

    return migration_receive(migration, from, &message);
}

static void stacks_that_cannot_be_are_refused(void **state)
{
    struct message unnamed = {
        .type = MESSAGE_thread_move,
        .u.thread_move = {.thread = 5, .context = TOP - 64, .end = TOP},
    };

    (void)state;
    assert_int_equal(move(OTHER, TOP, TOP), TM_EWIRE);
    assert_int_equal(move(OTHER, TOP + 8, TOP), TM_EWIRE);
    assert_int_equal(move(OTHER, 0, UINT64_MAX), TM_EWIRE);
    assert_int_equal(migration_receive(migration, OTHER, &unnamed), TM_EWIRE);
    assert_int_equal(part(OTHER, 5, 0, 64), TM_EWIRE); // none of them has begun
    assert_int_equal(n_come, 0);
}

static void parts_that_do_not_follow_are_refused(void **state)
{
    (void)state;
    assert_int_equal(move(OTHER, TOP - 64, TOP), TM_OK);
    assert_int_equal(part(SELF, 5, 0, 64), TM_EWIRE);  // somebody else's
    assert_int_equal(part(OTHER, 6, 0, 64), TM_EWIRE); // another thread's
    assert_int_equal(part(OTHER, 5, 8, 56), TM_EWIRE);
    assert_int_equal(part(OTHER, 5, UINT64_MAX, 8), TM_EWIRE);
    assert_int_equal(part(OTHER, 5, 0, 0), TM_EWIRE);
    assert_int_equal(part(OTHER, 5, 0, 65), TM_EWIRE);
    assert_int_equal(part(OTHER, 5, 0, 60), TM_OK);
    assert_int_equal(part(OTHER, 5, 0, 4), TM_EWIRE); // a second time
    assert_int_equal(part(OTHER, 5, 60, 5), TM_EWIRE);
    assert_int_equal(n_come, 0);
    assert_int_equal(part(OTHER, 5, 60, 4), TM_OK);
    assert_int_equal(n_come, 1);
    assert_int_equal(part(OTHER, 5, 64, 1), TM_EWIRE); // it is over
}

static void a_thread_that_is_not_taken_is_refused(void **state)
{
    (void)state;
    verdict = TM_EWIRE;
    assert_int_equal(move(OTHER, TOP - 64, TOP), TM_OK);
    assert_int_equal(part(OTHER, 5, 0, 64), TM_EWIRE);
    assert_int_equal(n_come, 1);
    assert_int_equal(part(OTHER, 5, 0, 64), TM_EWIRE);
    assert_int_equal(n_come, 1); // it is forgotten
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thread_arrives_as_it_left, begin,
                                        end),
        cmocka_unit_test_setup_teardown(stacks_that_cannot_be_are_refused,
                                        begin, end),
        cmocka_unit_test_setup_teardown(parts_that_do_not_follow_are_refused,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_thread_that_is_not_taken_is_refused,
                                        begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
