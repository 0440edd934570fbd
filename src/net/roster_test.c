// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "net/roster.h"

static void a_roster_begins_with_all(void **state)
{
    struct roster roster;

    (void)state;
    roster_init(&roster, 3);
    assert_true(roster_is_valid(&roster) && roster.n_live == 3);
    assert_true(roster.epoch == 1 && roster.leaving == NODE_NONE);
    assert_true(roster_pick(&roster, 4) == 1);
    assert_true(!roster_has(&roster, 3) && !roster_has(&roster, NODE_NONE));
}

static void a_node_that_has_left_is_not_picked(void **state)
{
    struct roster roster;
    node_id open[TM_MAX_NODES];

    (void)state;
    roster_init(&roster, 3);
    roster.leaving = 1;
    assert_true(roster_has(&roster, 1) && !roster_takes(&roster, 1));
    assert_true(roster_open(&roster, open) == 2 && open[1] == 2);
    roster_remove(&roster, 1);
    assert_true(roster_is_valid(&roster) && roster.leaving == NODE_NONE);
    assert_true(roster.epoch == 2 && roster.n_ids == 3);
    assert_true(roster_pick(&roster, 1) == 2 && roster_pick(&roster, 2) == 0);
    assert_true(roster_place(&roster, 2) == 1 && roster_place(&roster, 1) == 2);
}

static void change_at_random(unsigned seed)
{
    struct roster roster;
    uint32_t epoch;

    srand(seed);
    roster_init(&roster, 1 + (unsigned)rand() % 8);
    for (unsigned next = roster.n_ids; next < TM_MAX_NODES;) {
        node_id node = (node_id)(1 + (unsigned)rand() % (TM_MAX_NODES - 1));

        epoch = roster.epoch;
        if (rand() % 2) {
            roster_add(&roster, (node_id)next++);
            assert_true(roster.epoch == epoch + 1);
        } else if (roster_has(&roster, node)) {
            roster_remove(&roster, node);
            assert_true(roster.epoch == epoch + 1 &&
                        !roster_has(&roster, node));
        }
        assert_true(roster_is_valid(&roster));
    }
}

static void random_changes_keep_it_valid(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        change_at_random(seed);
    }
}

static void a_roster_is_read_as_it_was_written(void **state)
{
    uint8_t bytes[ROSTER_BYTES_MAX];
    uint8_t again[ROSTER_BYTES_MAX];
    struct roster roster;
    struct roster read;
    size_t size;

    (void)state;
    roster_init(&roster, TM_MAX_NODES);
    roster_remove(&roster, 7);
    size = roster_encode(&roster, bytes);
    roster_init(&read, 3);
    read.leaving = 2;
    assert_int_equal(roster_decode(&read, bytes, size), TM_OK);
    assert_true(roster_is_valid(&read) && !roster_has(&read, 7));
    assert_true(read.epoch == 1 && read.leaving == NODE_NONE);
    assert_int_equal(roster_encode(&read, again), size);
    assert_memory_equal(again, bytes, size);
}

static void a_roster_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        uint8_t bytes[12];
        size_t size;
    } bad[] = {
        {{0}, 0},                      // nothing
        {{2, 0}, 2},                   // nobody
        {{2, 0, 1, 0}, 4},             // not the root
        {{2, 0, 0, 0, 1}, 5},          // half a node
        {{2, 0, 0, 0, 2, 0}, 6},       // one without a number
        {{3, 0, 0, 0, 2, 0, 1, 0}, 8}, // in no order
        {{3, 0, 0, 0, 1, 0, 1, 0}, 8}, // one twice
        {{1, 4, 0, 0}, 4},             // 1025 numbers
        {{0, 4, 0, 0, 0, 4}, 6},       // node 1024
    };
    struct roster roster;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        roster_init(&roster, 3);
        assert_int_equal(roster_decode(&roster, bad[i].bytes, bad[i].size),
                         TM_EWIRE);
        assert_true(roster.n_live == 3 && roster_is_valid(&roster));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_roster_begins_with_all),
        cmocka_unit_test(a_node_that_has_left_is_not_picked),
        cmocka_unit_test(random_changes_keep_it_valid),
        cmocka_unit_test(a_roster_is_read_as_it_was_written),
        cmocka_unit_test(a_roster_that_makes_no_sense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
