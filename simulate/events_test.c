// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define N 1000u

struct seen {
    struct events *events;
    uint64_t order[N];
    unsigned n;
};

static void note(void *owner, uint64_t argument)
{
    struct seen *seen = owner;

    seen->order[seen->n++] = argument;
}

static void events_happen_by_time_and_in_order_of_calls(void **state)
{
    struct events events;
    struct seen seen = {0};
    uint64_t last_ns = 0;

    (void)state;
    events_init(&events, 7);
    for (uint64_t i = 0; i < N; i++) {
        events_at(&events, events_random(&events, 20), note, &seen, i);
    }
    while (events_step(&events)) {
        const uint64_t *order = &seen.order[seen.n - 1];

        assert_true(events.now_ns >= last_ns);
        assert_true(seen.n < 2 || events.now_ns > last_ns ||
                    order[0] > order[-1]);
        last_ns = events.now_ns;
    }
    assert_int_equal(seen.n, N);
    events_release(&events);
}

static void what_is_put_off_keeps_its_order_among_others(void **state)
{
    struct events events;
    struct seen seen = {0};
    struct event event;

    (void)state;
    events_init(&events, 7);
    events_at(&events, 1, note, &seen, 1);
    events_at(&events, 5, note, &seen, 2);
    assert_true(events_take(&events, &event));
    events_put_off(&events, &event, 5);
    while (events_step(&events)) {
    }
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.order[0], 1);
    assert_int_equal(events.now_ns, 5);
    events_release(&events);
}

static void the_same_seed_draws_the_same_numbers(void **state)
{
    struct events a;
    struct events b;

    (void)state;
    events_init(&a, 3);
    events_init(&b, 3);
    for (unsigned i = 0; i < N; i++) {
        const uint64_t number = events_random(&a, 1 + i);

        assert_true(number < 1 + i);
        assert_int_equal(number, events_random(&b, 1 + i));
    }
    events_release(&a);
    events_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_happen_by_time_and_in_order_of_calls),
        cmocka_unit_test(what_is_put_off_keeps_its_order_among_others),
        cmocka_unit_test(the_same_seed_draws_the_same_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
