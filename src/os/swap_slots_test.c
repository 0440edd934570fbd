// SPDX-License-Identifier: BSD-3-Clause
#include "os/swap_slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { MAX_RUNS = 4096 };

struct reserved {
    uint64_t first;
    unsigned n;
};

/** What has been reserved, kept in the plainest way. */
struct shadow {
    unsigned char *owner; ///< [limit] 1: reserved, 2: held
    struct reserved runs[MAX_RUNS];
    unsigned n_runs;
    uint64_t n_used;
};

/** @param owner  uint64_t: so many there may be, or NULL: any number */
static int may_grow(void *owner, uint64_t n_slots)
{
    return owner == NULL || n_slots <= *(const uint64_t *)owner;
}

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((random_state >> 33) % n);
}

static void seed_random(void)
{
    random_state = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)random_state);
}

static void step_reserve(struct swap_slots *slots, struct shadow *shadow)
{
    unsigned n = 1 + random_below(SWAP_MAX_RUN);
    uint64_t first = 0;
    unsigned got;

    if (shadow->n_runs == MAX_RUNS) {
        return;
    }
    got = swap_slots_reserve(slots, n, &first);
    assert_true(got <= n);
    if (got == 0) {
        assert_int_equal(slots->n_slots, slots->limit);
        assert_int_equal(shadow->n_used + slots->n_held, slots->limit);
        return;
    }
    assert_true(first + got <= slots->limit);
    for (unsigned i = 0; i < got; i++) {
        assert_int_equal(shadow->owner[first + i], 0);
        shadow->owner[first + i] = 1;
    }
    shadow->runs[shadow->n_runs++] = (struct reserved){first, got};
    shadow->n_used += got;
}

/** Give a run back, or either end of it. */
static void step_free(struct swap_slots *slots, struct shadow *shadow)
{
    struct reserved *run;
    unsigned n;
    uint64_t first;

    if (shadow->n_runs == 0) {
        return;
    }
    run = &shadow->runs[random_below(shadow->n_runs)];
    n = 1 + random_below(run->n);
    first = run->first;
    if (random_below(2)) {
        first += run->n - n;
    } else {
        run->first += n;
    }
    swap_slots_free(slots, first, n);
    memset(shadow->owner + first, 0, n);
    shadow->n_used -= n;
    run->n -= n;
    if (run->n == 0) {
        *run = shadow->runs[--shadow->n_runs];
    }
}

static void step_punch(struct swap_slots *slots, struct shadow *shadow)
{
    uint64_t stale = slots->n_stale;
    uint64_t first = 0;
    unsigned n = swap_slots_hold(slots, 1 + random_below(8), &first);

    assert_true(n <= stale && (n > 0 || stale == 0));
    for (unsigned i = 0; i < n * SWAP_REGION; i++) {
        assert_int_equal(shadow->owner[first + i], 0);
        shadow->owner[first + i] = 2;
    }
    assert_true(swap_slots_is_valid(slots));
    if (n > 0) {
        step_reserve(slots, shadow); // gets none of them
        memset(shadow->owner + first, 0, (size_t)n * SWAP_REGION);
        swap_slots_unhold(slots, first, n, (int)random_below(2));
    }
}

static void random_steps(uint64_t limit, unsigned n_steps)
{
    struct swap_slots slots;
    struct shadow *shadow = calloc(1, sizeof *shadow);
    unsigned lean = 5;

    shadow->owner = calloc(limit, 1);
    swap_slots_init(&slots, limit, may_grow, NULL);
    for (unsigned i = 0; i < n_steps; i++) {
        if (i % 500 == 0) {
            lean = 2 + random_below(8); // fills up, empties
        }
        if (random_below(10) < lean) {
            step_reserve(&slots, shadow);
        } else if (random_below(10) > 0) {
            step_free(&slots, shadow);
        } else {
            step_punch(&slots, shadow);
        }
        assert_int_equal(slots.n_used, shadow->n_used);
        assert_true(swap_slots_is_valid(&slots));
    }
    while (shadow->n_runs > 0) {
        step_free(&slots, shadow);
    }
    assert_int_equal(slots.n_used, 0);
    assert_true(swap_slots_is_valid(&slots));
    swap_slots_release(&slots);
    free(shadow->owner);
    free(shadow);
}

static void random_steps_give_no_slot_twice_and_lose_none(void **state)
{
    (void)state;
    seed_random();
    random_steps(1, 500);
    random_steps(64, 2000);
    random_steps(777, 10000);
    random_steps(5000, 10000);
    random_steps(60000, 10000);
}

static void all_slots_up_to_the_limit_can_be_had(void **state)
{
    struct swap_slots slots;
    uint64_t first = 0;
    uint64_t n = 0;
    unsigned got;

    (void)state;
    swap_slots_init(&slots, 10001, may_grow, NULL);
    while ((got = swap_slots_reserve(&slots, 64, &first)) > 0) {
        n += got;
    }
    assert_int_equal(n, 10001);
    assert_int_equal(slots.n_used_max, 10001);
    for (unsigned i = 0; i < 10001; i += 3) {
        swap_slots_free(&slots, i, 1);
    }
    for (n = 0; swap_slots_reserve(&slots, 64, &first) > 0; n++) {
        assert_int_equal(first % 3, 0);
    }
    assert_int_equal(n, 3334);
    assert_true(swap_slots_is_valid(&slots));
    swap_slots_release(&slots);
}

static void without_growth_there_are_the_slots_there_were(void **state)
{
    struct swap_slots slots;
    uint64_t most = 0;
    uint64_t first = 1;
    unsigned n;

    (void)state;
    swap_slots_init(&slots, 1u << 20, may_grow, &most);
    assert_int_equal(swap_slots_reserve(&slots, 64, &first), 0);
    assert_int_equal(first, 1); // untouched
    most = 1500;
    for (n = 0; swap_slots_reserve(&slots, 64, &first) > 0; n++) {
    }
    assert_int_equal(n * 64, slots.n_slots);
    assert_in_range(slots.n_slots, 64, most);
    swap_slots_free(&slots, 100, 7);
    assert_int_equal(swap_slots_reserve(&slots, 64, &first), 7);
    assert_int_equal(first, 100);
    assert_true(swap_slots_is_valid(&slots));
    most = 1u << 20;
    assert_int_equal(swap_slots_reserve(&slots, 64, &first), 64);
    assert_true(swap_slots_is_valid(&slots));
    swap_slots_release(&slots);
}

static void runs_follow_each_other(void **state)
{
    struct swap_slots slots;
    uint64_t first = 0;

    (void)state;
    swap_slots_init(&slots, 1u << 20, may_grow, NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(swap_slots_reserve(&slots, 40, &first), 40);
        assert_int_equal(first, i * 40);
    }
    swap_slots_release(&slots);
}

static void whole_runs_are_found_while_half_is_in_use(void **state)
{
    struct swap_slots slots;
    uint64_t first = 0;

    (void)state;
    swap_slots_init(&slots, 1u << 22, may_grow, NULL);
    for (unsigned i = 0; i < 1u << 14; i++) {
        assert_int_equal(swap_slots_reserve(&slots, 64, &first), 64);
    }
    for (uint64_t i = 0; i < 1u << 20; i += 2) {
        swap_slots_free(&slots, i, 1);
    }
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(swap_slots_reserve(&slots, 64, &first), 64);
    }
    assert_true(swap_slots_is_valid(&slots));
    swap_slots_release(&slots);
}

static void a_stale_region_is_used_again_unless_held(void **state)
{
    struct swap_slots slots;
    uint64_t first = 0;

    (void)state;
    swap_slots_init(&slots, 128, may_grow, NULL);
    assert_int_equal(swap_slots_reserve(&slots, 64, &first), 64);
    assert_int_equal(swap_slots_reserve(&slots, 64, &first), 64);
    assert_int_equal(slots.n_stale, 0);
    swap_slots_free(&slots, 64, 64);
    assert_int_equal(slots.n_stale, 1);
    assert_int_equal(swap_slots_hold(&slots, 9, &first), 1);
    assert_int_equal(first, 64);
    assert_int_equal(slots.n_stale, 0);
    assert_int_equal(swap_slots_reserve(&slots, 1, &first), 0);
    swap_slots_unhold(&slots, 64, 1, 1);
    assert_int_equal(slots.n_stale, 0);
    assert_int_equal(swap_slots_reserve(&slots, 9, &first), 9);
    assert_int_equal(first, 64);
    swap_slots_release(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps_give_no_slot_twice_and_lose_none),
        cmocka_unit_test(all_slots_up_to_the_limit_can_be_had),
        cmocka_unit_test(without_growth_there_are_the_slots_there_were),
        cmocka_unit_test(runs_follow_each_other),
        cmocka_unit_test(whole_runs_are_found_while_half_is_in_use),
        cmocka_unit_test(a_stale_region_is_used_again_unless_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
