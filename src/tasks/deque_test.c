// SPDX-License-Identifier: BSD-3-Clause
// The deque of tasks: in order, growing, and with others that steal at the same time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tasks/deque.h"

#define N_ITEMS 200000u
#define N_THIEVES 3u

static void *item_of(uintptr_t number)
{
    return (void *)(number + 1);
}

static void the_owner_takes_the_latest_and_others_the_oldest(void **state)
{
    struct deque deque;

    (void)state;
    deque_init(&deque);
    assert_null(deque_take(&deque));
    assert_null(deque_steal(&deque));
    for (uintptr_t i = 0; i < 10; i++) {
        deque_push(&deque, item_of(i));
    }
    assert_int_equal(deque_size(&deque), 10);
    assert_ptr_equal(deque_take(&deque), item_of(9));
    assert_ptr_equal(deque_steal(&deque), item_of(0));
    assert_ptr_equal(deque_steal(&deque), item_of(1));
    assert_ptr_equal(deque_take(&deque), item_of(8));
    assert_int_equal(deque_size(&deque), 6);
    deque_release(&deque);
}

static void what_is_taken_or_stolen_last_leaves_it_empty(void **state)
{
    struct deque deque;

    (void)state;
    deque_init(&deque);
    for (unsigned i = 0; i < 1000; i++) {
        deque_push(&deque, item_of(i));
        assert_ptr_equal(i % 2 == 0 ? deque_take(&deque) : deque_steal(&deque),
                         item_of(i));
        assert_int_equal(deque_size(&deque), 0);
        assert_null(deque_take(&deque));
        assert_null(deque_steal(&deque));
    }
    deque_release(&deque);
}

static void it_grows_and_keeps_the_order(void **state)
{
    struct deque deque;

    (void)state;
    deque_init(&deque);
    for (uintptr_t i = 0; i < 5000; i++) {
        deque_push(&deque, item_of(i));
        if (i % 3 == 0) {
            assert_ptr_equal(deque_steal(&deque), item_of(i / 3));
        }
    }
    for (uintptr_t i = 4999; i > 1666; i--) {
        assert_ptr_equal(deque_take(&deque), item_of(i));
    }
    assert_null(deque_take(&deque));
    deque_release(&deque);
}

/* Who takes what is counted. */
struct rush {
    struct deque deque;
    _Atomic int is_over;
    _Atomic unsigned char *taken; // [N_ITEMS] how often
};

static void note_taken(struct rush *rush, void *item)
{
    if (item != NULL) {
        atomic_fetch_add(&rush->taken[(uintptr_t)item - 1], 1);
    }
}

static void *steal_on(void *argument)
{
    struct rush *rush = argument;

    while (!atomic_load(&rush->is_over)) {
        note_taken(rush, deque_steal(&rush->deque));
    }
    return NULL;
}

// Bursts of a few, so that it is empty again and again, and of many, so that it grows.
static void push_and_take(struct rush *rush)
{
    uintptr_t next = 0;

    for (unsigned burst = 0; next < N_ITEMS; burst++) {
        unsigned n = burst % 64 == 0 ? 3000 : 1 + burst % 5;

        for (; n > 0 && next < N_ITEMS; n--) {
            deque_push(&rush->deque, item_of(next++));
        }
        for (unsigned i = 0; i < 1 + burst % 3; i++) {
            note_taken(rush, deque_take(&rush->deque));
        }
    }
}

// One after the other: the owner and who steals nearly always want the same one.
static void push_and_take_one(struct rush *rush)
{
    for (uintptr_t next = 0; next < N_ITEMS; next++) {
        deque_push(&rush->deque, item_of(next));
        note_taken(rush, deque_take(&rush->deque));
    }
}

static void rush_for_items(void (*own)(struct rush *rush), unsigned n_thieves)
{
    struct rush rush = {.is_over = 0};
    pthread_t thieves[N_THIEVES];
    void *item;

    rush.taken = calloc(N_ITEMS, sizeof *rush.taken);
    assert_non_null(rush.taken);
    deque_init(&rush.deque);
    for (unsigned i = 0; i < n_thieves; i++) {
        assert_int_equal(pthread_create(&thieves[i], NULL, steal_on, &rush), 0);
    }
    own(&rush);
    while (deque_size(&rush.deque) > 0) {
        item = deque_take(&rush.deque);
        note_taken(&rush, item);
    }
    atomic_store(&rush.is_over, 1);
    for (unsigned i = 0; i < n_thieves; i++) {
        pthread_join(thieves[i], NULL);
    }
    for (unsigned i = 0; i < N_ITEMS; i++) {
        if (rush.taken[i] != 1) {
            fail_msg("item %u was taken %u times", i, rush.taken[i]);
        }
    }
    deque_release(&rush.deque);
    free((void *)rush.taken);
}

static void each_item_is_taken_once_by_whomever(void **state)
{
    (void)state;
    rush_for_items(push_and_take, N_THIEVES);
}

static void the_last_item_is_taken_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        rush_for_items(push_and_take_one, 1 + i % N_THIEVES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_takes_the_latest_and_others_the_oldest),
        cmocka_unit_test(what_is_taken_or_stolen_last_leaves_it_empty),
        cmocka_unit_test(it_grows_and_keeps_the_order),
        cmocka_unit_test(each_item_is_taken_once_by_whomever),
        cmocka_unit_test(the_last_item_is_taken_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
