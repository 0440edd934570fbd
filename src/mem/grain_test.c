// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mem/grain.h"

static void each_byte_of_a_frame_is_one_pages(void **state)
{
    (void)state;
    for (unsigned n_views = 2; n_views <= 64; n_views *= 2) {
        const struct grain_area area = {100, 5, n_views};
        uint8_t n_owners[5 * TM_PAGE_SIZE] = {0};

        for (page_no page = 100; page < 100 + 5 * n_views; page++) {
            const struct page_part part = grain_part(&area, page);
            const page_no frame = grain_frame(&area, page);

            assert_true(frame >= 100 && frame < 105);
            for (unsigned i = 0; i < part.size; i++) {
                n_owners[(frame - 100) * TM_PAGE_SIZE + part.offset + i]++;
            }
        }
        for (unsigned i = 0; i < sizeof n_owners; i++) {
            assert_int_equal(n_owners[i], 1); // V1
        }
    }
}

static void the_first_pages_are_the_frames(void **state)
{
    const struct grain_area area = {8, 3, 4};

    (void)state;
    assert_int_equal(grain_frame(&area, 8), 8);
    assert_int_equal(grain_frame(&area, 10), 10);
    assert_int_equal(grain_frame(&area, 11), 8);
    assert_int_equal(grain_frame(&area, 19), 10);
    assert_int_equal(grain_part(&area, 10).offset, 0);
    assert_int_equal(grain_part(&area, 11).offset, 1024);
    assert_int_equal(grain_part(&area, 19).offset, 3072);
    assert_int_equal(grain_part(&area, 19).size, 1024);
}

static void areas_are_found_by_their_pages(void **state)
{
    static const page_no firsts[] = {60, 20, 100, 40};
    struct grain grain = {0};

    (void)state;
    assert_null(grain_find(&grain, 20));
    for (unsigned i = 0; i < 4; i++) {
        grain_add(&grain, &(struct grain_area){firsts[i], 2, 4});
    }
    for (page_no page = 0; page < 120; page++) {
        const struct grain_area *area = grain_find(&grain, page);
        const page_no first = page / 20 * 20;

        if (first == 0 || first == 80 || page >= first + 8) {
            assert_null(area);
        } else {
            assert_non_null(area);
            assert_int_equal(area->page, first);
        }
    }
    assert_int_equal(grain_remove(&grain, 40).n_frames, 2);
    assert_null(grain_find(&grain, 40));
    assert_int_equal(grain_find(&grain, 67)->page, 60);
    assert_int_equal(grain.n, 3);
    grain_release(&grain);
    assert_null(grain_find(&grain, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_of_a_frame_is_one_pages),
        cmocka_unit_test(the_first_pages_are_the_frames),
        cmocka_unit_test(areas_are_found_by_their_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
