// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mem/area.h"
#include "mem/random_numbers_test.h"

#define FIRST 100u
#define N_PAGES 400u

/** owner[i] is the area that page FIRST + i was taken with, NULL if free. */
struct model {
    struct area_map map;
    struct area *owner[N_PAGES];
};

/** The lowest n free pages, found the slow way; N_PAGES if there are none. */
static size_t first_fit(const struct model *model, size_t n)
{
    size_t length = 0;

    for (size_t i = 0; i < N_PAGES; i++) {
        length = model->owner[i] == NULL ? length + 1 : 0;
        if (length == n) {
            return i + 1 - n;
        }
    }
    return N_PAGES;
}

static void set_owner(struct model *model, const struct area *area,
                      struct area *owner)
{
    for (size_t i = 0; i < area->n_pages; i++) {
        struct area **page = &model->owner[area->page - FIRST + i];

        assert_ptr_equal(*page, owner == NULL ? area : NULL);
        *page = owner;
    }
}

static void take(struct model *model, size_t n)
{
    size_t expected = first_fit(model, n);
    struct area *area = area_take(&model->map, n);

    if (expected == N_PAGES) {
        assert_null(area);
        return;
    }
    assert_non_null(area);
    assert_int_equal(area->page, FIRST + expected);
    assert_int_equal(area->n_pages, n);
    assert_int_equal(area->state, AREA_USED);
    set_owner(model, area, area);
}

static void give(struct model *model, struct area *area)
{
    set_owner(model, area, NULL);
    area_give(&model->map, area);
}

static void check_finds(const struct model *model)
{
    size_t longest = 0;

    for (size_t i = 0, length = 0; i < N_PAGES; i++) {
        struct area *area = area_find(&model->map, FIRST + i);

        assert_non_null(area);
        if (model->owner[i] != NULL) {
            assert_ptr_equal(area, model->owner[i]);
        } else {
            assert_int_equal(area->state, AREA_FREE);
        }
        length = model->owner[i] == NULL ? length + 1 : 0;
        longest = length > longest ? length : longest;
    }
    assert_int_equal(area_largest_free(&model->map), longest);
    assert_null(area_find(&model->map, FIRST - 1));
    assert_null(area_find(&model->map, FIRST + N_PAGES));
    assert_true(area_map_is_valid(&model->map));
}

static void random_steps_agree_with_a_table_of_pages(void **state)
{
    struct model model = {0};

    (void)state;
    assert_int_equal(area_map_init(&model.map, FIRST, N_PAGES), TM_OK);
    for (int i = 0; i < 5000; i++) {
        struct area *area = model.owner[random_below(N_PAGES)];

        // Phases that fill the map and phases that empty it.
        if (random_below(100) < (i / 500 % 2 == 0 ? 70u : 30u)) {
            take(&model, 1 + random_below(random_below(8) == 0 ? 80 : 8));
        } else if (area != NULL) {
            give(&model, area);
        }
        check_finds(&model);
    }
    for (size_t i = 0; i < N_PAGES; i++) {
        if (model.owner[i] != NULL) {
            give(&model, model.owner[i]);
        }
    }
    check_finds(&model);
    assert_int_equal(area_largest_free(&model.map), N_PAGES);
    area_map_release(&model.map);
}

static void areas_are_gone_through_in_order(void **state)
{
    struct area_map map;
    struct area *areas[3];

    (void)state;
    assert_int_equal(area_map_init(&map, 0, 10), TM_OK);
    for (int i = 0; i < 3; i++) {
        areas[i] = area_take(&map, 3);
    }
    assert_ptr_equal(area_next(&map, areas[0]), areas[1]);
    assert_int_equal(area_next(&map, areas[2])->state, AREA_FREE);
    assert_null(area_next(&map, area_next(&map, areas[2])));
    area_map_release(&map);
}

static void a_closed_area_is_not_taken(void **state)
{
    struct area_map map;
    struct area *area;

    (void)state;
    assert_int_equal(area_map_init(&map, 0, 4), TM_OK);
    area = area_take(&map, 4);
    assert_non_null(area);
    area->state = AREA_CLOSED;
    assert_null(area_take(&map, 1));
    area_give(&map, area);
    assert_non_null(area_take(&map, 4));
    assert_null(area_take(&map, 0));
    area_map_release(&map);
}

static void pages_are_taken_where_they_are_asked_for(void **state)
{
    struct area_map map;
    struct area *area;

    (void)state;
    assert_int_equal(area_map_init(&map, 10, 20), TM_OK);
    area = area_take_at(&map, 15, 4);
    assert_non_null(area);
    assert_int_equal(area->page, 15);
    assert_int_equal(area->n_pages, 4);
    assert_int_equal(area->state, AREA_USED);
    assert_true(area_map_is_valid(&map));
    assert_int_equal(area_largest_free(&map), 11);
    assert_null(area_take_at(&map, 14, 2)); // into it
    assert_null(area_take_at(&map, 18, 1)); // its last
    assert_null(area_take_at(&map, 28, 3)); // beyond the end
    assert_null(area_take_at(&map, 40, 1));
    assert_null(area_take_at(&map, 10, 0));
    assert_non_null(area_take_at(&map, 10, 5)); // all up to it
    assert_non_null(area_take_at(&map, 19, 11));
    assert_int_equal(area_largest_free(&map), 0);
    assert_true(area_map_is_valid(&map));
    area_give(&map, area);
    assert_int_equal(area_largest_free(&map), 4);
    area_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_taken_where_they_are_asked_for),
        cmocka_unit_test(random_steps_agree_with_a_table_of_pages),
        cmocka_unit_test(areas_are_gone_through_in_order),
        cmocka_unit_test(a_closed_area_is_not_taken),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
