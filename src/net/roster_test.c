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
}

static void change_at_random(unsigned seed)
{
    struct roster roster;
    uint32_t epoch;

    srand(seed);
    roster_init(&roster, 1 + (unsigned)rand() % 8);
    for (unsigned next = roster.n_ids; next < TM_MAX_NODES;) {
        node_id node = (node_id)(1 + (unsigned)rand() % 255);

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_roster_begins_with_all),
        cmocka_unit_test(a_node_that_has_left_is_not_picked),
        cmocka_unit_test(random_changes_keep_it_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
