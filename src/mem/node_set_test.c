// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mem/node_set.h"
#include "mem/random_numbers_test.h"

static int next_in(const uint8_t *members, unsigned from)
{
    for (unsigned i = from; i < TM_MAX_NODES; i++) {
        if (members[i]) {
            return (int)i;
        }
    }
    return -1;
}

static void random_steps_agree_with_an_array(void **state)
{
    struct node_set set = {0};
    uint8_t members[TM_MAX_NODES] = {0};
    unsigned count = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        unsigned node = (unsigned)random_below(TM_MAX_NODES);
        unsigned from = (unsigned)random_below(TM_MAX_NODES + 1);

        count -= members[node];
        // Times at which it is nearly empty, and nearly full.
        members[node] = random_below(100) < (i / 5000 % 2 == 0 ? 2u : 98u);
        count += members[node];
        if (members[node]) {
            node_set_add(&set, node);
        } else {
            node_set_remove(&set, node);
        }
        assert_int_equal(node_set_has(&set, node), members[node]);
        assert_int_equal(node_set_is_empty(&set), count == 0);
        assert_int_equal(node_set_next(&set, from), next_in(members, from));
        assert_int_equal(node_set_next(&set, 0), next_in(members, 0));
    }
}

static void each_node_is_a_member_of_its_own(void **state)
{
    (void)state;
    for (unsigned node = 0; node < TM_MAX_NODES; node++) {
        struct node_set set = {0};

        node_set_add(&set, node);
        node_set_add(&set, node);
        for (unsigned other = 0; other < TM_MAX_NODES; other++) {
            assert_int_equal(node_set_has(&set, other), other == node);
        }
        assert_int_equal(node_set_next(&set, 0), node);
        assert_int_equal(node_set_next(&set, node), node);
        assert_int_equal(node_set_next(&set, node + 1), -1);
        node_set_remove(&set, node);
        node_set_remove(&set, node);
        assert_true(node_set_is_empty(&set));
        assert_int_equal(node_set_next(&set, 0), -1);
    }
}

static void what_is_sent_is_as_long_as_its_highest_node_needs(void **state)
{
    static const struct {
        unsigned node;
        size_t size;
    } rows[] = {{0, 1},  {7, 1},    {8, 2},
                {63, 8}, {255, 32}, {TM_MAX_NODES - 1, 128}};
    struct node_set set = {{0}};
    uint8_t bytes[NODE_SET_BYTES_MAX];

    (void)state;
    assert_int_equal(node_set_encode(&set, bytes), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t size;
        struct node_set read;

        node_set_add(&set, rows[i].node);
        size = node_set_encode(&set, bytes);
        assert_int_equal(size, rows[i].size);
        read = node_set_decode(bytes, size);
        assert_memory_equal(&read, &set, sizeof set);
    }
}

static void any_bytes_are_a_set(void **state)
{
    uint8_t bytes[NODE_SET_BYTES_MAX + 9];
    struct node_set set = node_set_decode(NULL, 0);

    (void)state;
    assert_true(node_set_is_empty(&set));
    memset(bytes, 0xff, sizeof bytes);
    set = node_set_decode(bytes, sizeof bytes);
    for (unsigned node = 0; node < TM_MAX_NODES; node++) {
        assert_true(node_set_has(&set, node));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps_agree_with_an_array),
        cmocka_unit_test(each_node_is_a_member_of_its_own),
        cmocka_unit_test(what_is_sent_is_as_long_as_its_highest_node_needs),
        cmocka_unit_test(any_bytes_are_a_set),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
