// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "rows.h"

enum { OWNER = 0, READER = 2 };

static const char *allowed(const struct page_step *step)
{
    const struct step_row *row =
        step_row_of(step_table_of(step->protocol), step);

    return row == NULL ? "none" : row->name;
}

// The owner of an exclusive page that has moved before is asked for a copy.
static struct page_step sent_copy(void)
{
    struct page_step step = {
        .node = OWNER,
        .protocol = TM_EAGER_RELEASE,
        .cause = {.event = STEP_FETCH, .from = READER, .who = READER},
        .sent = STEP_SENT_COPY,
        .n_sent = 1,
        .before = {.state = PAGE_EXCLUSIVE,
                   .access = ACCESS_WRITE,
                   .is_owner = 1,
                   .moves = 1,
                   .hint = OWNER + 1,
                   .epoch = 3},
    };

    step.after = step.before;
    step.after.state = PAGE_CLEAN;
    step.after.access = ACCESS_NONE;
    node_set_add(&step.after.copyset, READER);
    node_set_add(&step.told, READER);
    return step;
}

static void a_step_of_the_table_is_allowed(void **state)
{
    const struct page_step step = sent_copy();

    (void)state;
    assert_string_equal(allowed(&step), "sends_a_copy");
}

static void what_a_row_does_not_name_stays(void **state)
{
    struct page_step step = sent_copy();

    (void)state;
    step.after.version++;
    assert_string_equal(allowed(&step), "none");
}

static void its_condition_holds_before(void **state)
{
    struct page_step step = sent_copy();

    (void)state;
    step.before.moves = step.after.moves = 0; // it would move
    assert_string_equal(allowed(&step), "none");
}

static void its_effect_holds_afterwards(void **state)
{
    struct page_step step = sent_copy();

    (void)state;
    memset(&step.after.copyset, 0, sizeof step.after.copyset); // E2
    assert_string_equal(allowed(&step), "none");
}

static void it_sends_what_it_says_and_to_whom(void **state)
{
    struct page_step step = sent_copy();

    (void)state;
    step.sent = step.n_sent = 0;
    assert_string_equal(allowed(&step), "none");
    step = sent_copy();
    memset(&step.told, 0, sizeof step.told);
    node_set_add(&step.told, READER + 1);
    assert_string_equal(allowed(&step), "none");
}

static void each_of_the_copyset_is_pushed_to_once(void **state)
{
    struct page_step step = {
        .node = OWNER,
        .protocol = TM_EAGER_RELEASE,
        .cause = {.event = STEP_DIFF, .from = READER, .who = READER},
        .sent = STEP_SENT_PUSH,
        .n_sent = 2,
        .before = {.state = PAGE_CLEAN, .is_owner = 1, .hint = OWNER + 1},
    };

    (void)state;
    for (unsigned node = 1; node < 4; node++) {
        node_set_add(&step.before.copyset, node);
        if (node != READER) {
            node_set_add(&step.told, node);
        }
    }
    step.after = step.before;
    step.after.version = 1;
    step.after.pushing = 1;
    assert_string_equal(allowed(&step), "applies_a_diff_and_pushes_it");
    step.n_sent = 3;
    assert_string_equal(allowed(&step), "none");
    step.n_sent = 2;
    node_set_remove(&step.told, 3);
    assert_string_equal(allowed(&step), "none");
}

static void rows_have_names_of_their_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 32; i++) {
        const struct step_table *table = step_table_of(i);

        if (table == NULL) {
            continue;
        }
        assert_true(table->n <= STEP_ROWS_MAX);
        for (unsigned k = 0; k < table->n; k++) {
            for (unsigned j = 0; j < k; j++) {
                assert_true(table->rows[j].event != table->rows[k].event ||
                            strcmp(table->rows[j].name, table->rows[k].name));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_the_table_is_allowed),
        cmocka_unit_test(what_a_row_does_not_name_stays),
        cmocka_unit_test(its_condition_holds_before),
        cmocka_unit_test(its_effect_holds_afterwards),
        cmocka_unit_test(it_sends_what_it_says_and_to_whom),
        cmocka_unit_test(each_of_the_copyset_is_pushed_to_once),
        cmocka_unit_test(rows_have_names_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
