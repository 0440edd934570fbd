// SPDX-License-Identifier: BSD-3-Clause
#include "net/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "net/message_equal_test.h"

static void a_frame_has_room_for_its_size(void **unused)
{
    static const uint32_t sizes[] = {
        1, 256, 257, TM_PAGE_SIZE + 100, 32768, 100000, FRAME_MAX};
    struct frame_pool pool;

    (void)unused;
    frame_pool_init(&pool);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct frame *frame = frame_get(&pool, sizes[i]);

        assert_int_equal(frame->size, sizes[i]);
        memset(frame->bytes, 0xff, sizes[i]); // ASan sees if it is too short
        if (i % 2 == 0) {
            frame_put(frame);
        }
    }
    frame_pool_release(&pool); // LSan sees if one of the others is left
}

static void frames_are_used_again(void **unused)
{
    struct frame_pool pool;
    struct frame *first;

    (void)unused;
    frame_pool_init(&pool);
    first = frame_get(&pool, 100);
    frame_put(first);
    assert_ptr_equal(frame_get(&pool, 200), first);
    frame_pool_release(&pool);
}

static void frames_come_back_in_any_order(void **unused)
{
    struct frame_pool pool;
    struct frame *frames[1000];

    (void)unused;
    frame_pool_init(&pool);
    for (unsigned i = 0; i < 1000; i++) {
        frames[i] = frame_get(&pool, 1 + i * 37 % 5000);
    }
    for (unsigned i = 0; i < 1000; i++) {
        frame_put(frames[i * 7 % 1000]);
    }
    assert_null(pool.used);
    frame_pool_release(&pool);
}

static void an_encoded_message_stands_behind_its_prefix(void **unused)
{
    struct frame_pool pool;
    struct message message = {
        .type = MESSAGE_waits,
        .u.waits = {.round = 7},
        .body = "abc",
        .body_size = 3,
    };
    struct message decoded;
    struct frame *frame;

    (void)unused;
    frame_pool_init(&pool);
    frame = frame_encode(&pool, 6, 0, &message);
    assert_int_equal(
        message_decode(frame->bytes + 6, frame->size - 6, &decoded), TM_OK);
    assert_true(message_is_equal(&message, &decoded));
    frame_pool_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_has_room_for_its_size),
        cmocka_unit_test(frames_are_used_again),
        cmocka_unit_test(frames_come_back_in_any_order),
        cmocka_unit_test(an_encoded_message_stands_behind_its_prefix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
