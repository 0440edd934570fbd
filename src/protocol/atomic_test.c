// SPDX-License-Identifier: BSD-3-Clause
//
// Atomic operations of one node's engine: on pages of its own and of others, in words of all
// sizes, and what is refused.
#include "protocol/one_node_test.h"

enum { PAGE = 2 * SPACE_BLOCK + 5 }; // its directory node is 2

static void own(page_no page)
{
    own_page(page, 0);
    world.n_sent = 0;
}

static uint8_t byte_of(page_no page)
{
    return (uint8_t)space_bytes(&world.space, page)[8];
}

static void atomic_add(page_no page)
{
    engine_atomic(world.engine, page, 8, &(struct atomic){ATOMIC_ADD, 8, 5, 0},
                  &world.waiter);
}

static void an_atomic_operation_on_a_page_of_its_own_sends_nothing(void **state)
{
    (void)state;
    own(PAGE);
    atomic_add(PAGE);
    atomic_add(PAGE);
    assert_int_equal(world.n_sent, 0);
    assert_int_equal(world.n_woken, 3);
    assert_int_equal(world.waiter.result, 5);
    assert_int_equal(byte_of(PAGE), 10);
}

static void an_atomic_operation_on_a_shared_page_is_told(void **state)
{
    (void)state;
    own(PAGE);
    page_of(world.engine, PAGE)->moves = 9;
    get_fetch(2, PAGE, 0);
    world.n_sent = 0;
    world.n_woken = 0;
    atomic_add(PAGE);
    assert_int_equal(world.n_woken, 0);
    last_sent(SELF, MESSAGE_atomic);
}

static void an_atomic_operation_is_told_where_copies_may_be_old(void **state)
{
    (void)state;
    own(PAGE);
    atomic_add(PAGE);
    last_sent(SELF, MESSAGE_atomic);
}

static void a_node_that_never_had_others_tells_nobody_of_it(void **state)
{
    (void)state;
    own(PAGE);
    world.port.roster.n_ids = 1;
    atomic_add(PAGE);
    atomic_add(PAGE);
    assert_int_equal(world.n_sent, 0);
    assert_int_equal(world.waiter.result, 5);
    assert_int_equal(byte_of(PAGE), 10);
}

static void operate(unsigned offset, struct atomic atomic, uint64_t before,
                    uint64_t after)
{
    uint64_t word = 0;

    engine_atomic(world.engine, PAGE, offset, &atomic, &world.waiter);
    memcpy(&word, space_bytes(&world.space, PAGE) + offset, atomic.size);
    assert_int_equal(world.waiter.result, before);
    assert_int_equal(word, after);
}

static void an_atomic_operation_changes_its_word_only(void **state)
{
    char *bytes;

    (void)state;
    own(PAGE);
    world.port.roster.n_ids = 1;
    bytes = space_bytes_to_change(&world.space, PAGE);
    memset(bytes, 'x', TM_PAGE_SIZE);
    for (unsigned i = 0; i < 4; i++) {
        const unsigned size = 1u << i;
        const unsigned at = 64 * (i + 1) + size;
        const uint64_t all = UINT64_MAX >> (64 - 8 * size);

        memset(bytes + at, 0, size);
        operate(at, (struct atomic){ATOMIC_ADD, size, UINT64_MAX, 0}, 0, all);
        operate(at, (struct atomic){ATOMIC_ADD, size, 4, 0}, all, 3);
        operate(at, (struct atomic){ATOMIC_AND, size, UINT64_MAX - 1, 0}, 3, 2);
        operate(at, (struct atomic){ATOMIC_OR, size, all - 1, 0}, 2, all - 1);
        operate(at, (struct atomic){ATOMIC_XOR, size, UINT64_MAX, 0}, all - 1,
                1);
        operate(at, (struct atomic){ATOMIC_EXCHANGE, size, UINT64_MAX, 0}, 1,
                all);
        operate(at, (struct atomic){ATOMIC_COMPARE, size, 7, 1}, all, all);
        operate(at, (struct atomic){ATOMIC_COMPARE, size, 7, UINT64_MAX}, all,
                7);
        operate(at, (struct atomic){ATOMIC_LOAD, size, 1, 0}, 7, 7);
        assert_int_equal(bytes[at - 1], 'x');
        assert_int_equal(bytes[at + size], 'x');
    }
}

static tm_status get_atomic(unsigned offset, unsigned size, unsigned op)
{
    return engine_receive(
        world.engine, 2,
        &(struct message){.type = MESSAGE_atomic,
                          .u.atomic = {.page = PAGE,
                                       .offset = (uint16_t)offset,
                                       .size = (uint8_t)size,
                                       .op = (uint8_t)op,
                                       .requester = 2}});
}

static void an_atomic_operation_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    own(PAGE);
    assert_int_equal(get_atomic(4, 4, ATOMIC_OR), TM_OK);
    assert_int_equal(get_atomic(4, 8, ATOMIC_OR), TM_EWIRE);
    assert_int_equal(get_atomic(0, 0, ATOMIC_OR), TM_EWIRE);
    assert_int_equal(get_atomic(6, 3, ATOMIC_OR), TM_EWIRE);
    assert_int_equal(get_atomic(0, 16, ATOMIC_OR), TM_EWIRE);
    assert_int_equal(get_atomic(TM_PAGE_SIZE, 8, ATOMIC_OR), TM_EWIRE);
    assert_int_equal(get_atomic(0, 8, ATOMIC_OPS), TM_EWIRE);
}

// What this node has written in a page must be there before its owner operates on it.
static void an_atomic_operation_may_go_before_a_release(void **state)
{
    (void)state;
    copy_page(PAGE, 1);
    assert_true(engine_atomic_follows(world.engine, PAGE));
    write_page(PAGE);
    assert_false(engine_atomic_follows(world.engine, PAGE));
    own(PAGE + 1);
    assert_true(engine_atomic_follows(world.engine, PAGE + 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_eager, close_node)
#define ADAPTIVE(name)                                                         \
    cmocka_unit_test_setup_teardown(name, open_adaptive, close_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_atomic_operation_on_a_page_of_its_own_sends_nothing),
        TEST(an_atomic_operation_on_a_shared_page_is_told),
        ADAPTIVE(an_atomic_operation_is_told_where_copies_may_be_old),
        ADAPTIVE(a_node_that_never_had_others_tells_nobody_of_it),
        TEST(an_atomic_operation_changes_its_word_only),
        TEST(an_atomic_operation_that_makes_no_sense_is_refused),
        TEST(an_atomic_operation_may_go_before_a_release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
