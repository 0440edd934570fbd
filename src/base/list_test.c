// SPDX-License-Identifier: BSD-3-Clause
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    struct item *next;
    int number;
};

struct queue {
    struct item *first;
    struct item *last;
};

// The numbers of a list as digits, the first first.
static int digits_of(const struct item *list)
{
    int digits = 0;

    for (; list != NULL; list = list->next) {
        digits = 10 * digits + list->number;
    }
    return digits;
}

static void the_last_that_is_pushed_is_the_first(void **state)
{
    struct item items[] = {{NULL, 1}, {NULL, 2}, {NULL, 3}};
    struct item *list = NULL;

    (void)state;
    for (int i = 0; i < 3; i++) {
        list_push(list, &items[i]);
    }
    assert_int_equal(digits_of(list), 321);
}

static void a_queue_keeps_the_order_also_when_it_was_empty(void **state)
{
    struct item items[] = {{NULL, 1}, {NULL, 2}, {NULL, 3}};
    struct queue queue = {NULL, NULL};

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            list_append(&queue, &items[i]);
        }
        assert_int_equal(digits_of(queue.first), 123);
        queue.first = NULL;
    }
}

static void any_record_can_be_taken_out(void **state)
{
    static const int left[] = {23, 13, 12};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct item items[] = {{&items[1], 1}, {&items[2], 2}, {NULL, 3}};
        struct item *list = items;

        list_remove(list, &items[i]);
        assert_int_equal(digits_of(list), left[i]);
    }
}

static void who_is_put_back_has_another_turn(void **state)
{
    struct item items[] = {{&items[1], 1}, {&items[2], 2}, {NULL, 3}};
    struct item *list = items;
    struct item *others = NULL;
    int digits = 0;

    (void)state;
    list_take_each (item, list) {
        digits = 10 * digits + item->number;
        if (item->number == 2) {
            item->number = 4;
            list_push(list, item);
        } else {
            list_push(others, item);
        }
    }
    assert_null(list);
    assert_int_equal(digits, 1243);
    assert_int_equal(digits_of(others), 341);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_that_is_pushed_is_the_first),
        cmocka_unit_test(a_queue_keeps_the_order_also_when_it_was_empty),
        cmocka_unit_test(any_record_can_be_taken_out),
        cmocka_unit_test(who_is_put_back_has_another_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
