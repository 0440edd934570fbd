// SPDX-License-Identifier: BSD-3-Clause
#include "net/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

static uint64_t state;

static uint32_t next_random(uint32_t bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

static int start_random(void **unused)
{
    const char *seed = getenv("TM_TEST_SEED");

    (void)unused;
    state = seed != NULL ? strtoull(seed, NULL, 0) : clock_now_ns();
    print_message("TM_TEST_SEED=%llu\n", (unsigned long long)state);
    return 0;
}

/** What arrives at one order, and what has been delivered. */
struct arrivals {
    struct frame_pool pool;
    struct order order;
    uint64_t delivered; ///< the number that must be delivered next
};

static void arrive(struct arrivals *arrivals, uint64_t sequence)
{
    struct frame *frame;

    if (order_place(&arrivals->order, sequence) == ORDER_EARLY) {
        frame = frame_get(&arrivals->pool, sizeof sequence);
        memcpy(frame->bytes, &sequence, sizeof sequence);
        order_hold(&arrivals->order, sequence, frame);
        return;
    }
    assert_int_equal(order_place(&arrivals->order, sequence), ORDER_NEXT);
    assert_int_equal(sequence, arrivals->delivered++);
    while ((frame = order_delivered(&arrivals->order)) != NULL) {
        uint64_t held;

        memcpy(&held, frame->bytes, sizeof held);
        assert_int_equal(held, arrivals->delivered++);
        frame_put(frame);
    }
}

static void init_arrivals(struct arrivals *arrivals, uint64_t first)
{
    frame_pool_init(&arrivals->pool);
    order_init(&arrivals->order);
    arrivals->order.next = first;
    arrivals->delivered = first;
}

static void release_arrivals(struct arrivals *arrivals)
{
    order_release(&arrivals->order);
    frame_pool_release(&arrivals->pool);
}

static void frames_in_order_are_never_held(void **unused)
{
    struct arrivals arrivals;

    (void)unused;
    init_arrivals(&arrivals, 0);
    for (uint32_t i = 0; i < 3 * ORDER_WINDOW; i++) {
        arrive(&arrivals, i);
    }
    assert_null(arrivals.order.held);
    release_arrivals(&arrivals);
}

static void shuffle(uint64_t *numbers, uint32_t n, uint64_t first)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = next_random(i + 1);

        numbers[i] = numbers[at];
        numbers[at] = first + i;
    }
}

static void shuffled_frames_come_out_in_order_also_beyond_32_bits(void **unused)
{
    struct arrivals arrivals;
    uint64_t numbers[ORDER_WINDOW] = {0};
    uint64_t next = ((uint64_t)1 << 32) - 40 * ORDER_WINDOW;

    (void)unused;
    init_arrivals(&arrivals, next);
    for (unsigned round = 0; round < 100; round++) {
        uint32_t n = 1 + next_random(ORDER_WINDOW);

        shuffle(numbers, n, next);
        for (uint32_t i = 0; i < n; i++) {
            arrive(&arrivals, numbers[i]);
        }
        next += n;
        assert_int_equal(arrivals.delivered, next);
        assert_int_equal(arrivals.order.n_held, 0);
        assert_null(arrivals.pool.used);
    }
    release_arrivals(&arrivals);
}

static void repeated_and_far_frames_are_refused(void **unused)
{
    struct arrivals arrivals;

    (void)unused;
    init_arrivals(&arrivals, 100);
    arrive(&arrivals, 100);
    arrive(&arrivals, 105);
    assert_int_equal(order_place(&arrivals.order, 100), ORDER_REFUSED);
    assert_int_equal(order_place(&arrivals.order, 99), ORDER_REFUSED);
    assert_int_equal(order_place(&arrivals.order, 105), ORDER_REFUSED);
    assert_int_equal(order_place(&arrivals.order, 100 + ORDER_WINDOW),
                     ORDER_EARLY);
    assert_int_equal(order_place(&arrivals.order, 101 + ORDER_WINDOW),
                     ORDER_REFUSED);
    assert_int_equal(order_place(&arrivals.order, 101), ORDER_NEXT);
    release_arrivals(&arrivals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_in_order_are_never_held),
        cmocka_unit_test(shuffled_frames_come_out_in_order_also_beyond_32_bits),
        cmocka_unit_test(repeated_and_far_frames_are_refused),
    };

    return cmocka_run_group_tests(tests, start_random, NULL);
}
