// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/random.h"
#include "place/tune_search.h"

/* The search for a parameter's value, on a clock that is made up. */

#define MANY 100000u ///< samples after which no search goes on

/** A program whose iterations take longer the farther its value is from the best. */
struct program {
    uint32_t best;
    double best_s;
    double more;  ///< part that each step away costs
    double noise; ///< part by which single iterations are off
    uint64_t random;
};

static double iteration_s(struct program *program, uint32_t index)
{
    const uint32_t away =
        index > program->best ? index - program->best : program->best - index;
    const double chance =
        (double)(random_next(&program->random) >> 11) * 0x1p-53;

    return program->best_s * (1 + away * program->more) *
           (1 + program->noise * (2 * chance - 1));
}

/** A sample: the mean of as many iterations as the search wants. */
static enum tune_event take_sample(struct tune_search *search,
                                   struct program *program)
{
    const uint32_t n = tune_search_span(search);
    double sum_s = 0;

    for (uint32_t k = 0; k < n; k++) {
        sum_s += iteration_s(program, search->index);
    }
    return tune_search_take(search, sum_s / n, n);
}

/** Until the search is over. @return how it ended */
static enum tune_event run(struct tune_search *search, struct program *program,
                           uint32_t *n_samples)
{
    enum tune_event event = TUNE_GOES_ON;

    *n_samples = 0;
    while (!search->is_over) {
        event = take_sample(search, program);
        assert_true(++*n_samples < MANY);
    }
    return event;
}

static void the_best_value_is_found(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= TUNE_VALUES_MAX; n++) {
        for (uint32_t round = 0; round < 4; round++) {
            struct program program = {(n * 7 + round * 13) % n, 20e-3, 0.2,
                                      0.05, n * 4 + round};
            const uint32_t before = round * n / 4;
            struct tune_search search;
            uint32_t n_samples;
            enum tune_event event;

            tune_search_begin(&search, n, before);
            event = run(&search, &program, &n_samples);
            assert_int_equal(search.index, program.best);
            assert_int_equal(event,
                             program.best == before ? TUNE_KEPT : TUNE_FOUND);
            assert_in_range(n_samples, 8, 26 * n + 60);
        }
    }
}

static void a_value_that_wins_nothing_is_not_taken(void **state)
{
    unsigned n_chance = 0;

    (void)state;
    for (uint32_t round = 0; round < 100; round++) {
        struct program program = {2, 20e-3, 0, 0.1, round}; // all alike
        struct program little = {3, 20e-3, 0.015, 0, round};
        struct tune_search search;
        uint32_t n_samples;

        tune_search_begin(&search, 5, 2);
        (void)run(&search, &program, &n_samples);
        n_chance += search.index != 2;
        tune_search_begin(&search, 5, 2);
        assert_int_equal(run(&search, &little, &n_samples), TUNE_KEPT);
        assert_int_equal(search.index, 2); // 3 is 1.5 % better
    }
    assert_in_range(n_chance, 0, 2);
}

static void single_iterations_that_take_long_mislead_nobody(void **state)
{
    struct program program = {1, 20e-3, 0.3, 0.01, 1};
    struct tune_search search;
    uint32_t n = 0;

    (void)state;
    tune_search_begin(&search, 6, 5);
    while (!search.is_over) {
        const double hiccup = n++ % 4 == 1 ? 10 : 1;

        tune_search_take(&search, hiccup * iteration_s(&program, search.index),
                         1);
        assert_true(n < MANY);
    }
    assert_int_equal(search.index, 1);
}

static void short_iterations_are_taken_together(void **state)
{
    struct program program = {0, 1e-3, 0, 0, 1};
    struct tune_search search;

    (void)state;
    tune_search_begin(&search, 3, 0);
    assert_int_equal(tune_search_span(&search), 1);
    (void)take_sample(&search, &program);
    assert_int_equal(tune_search_span(&search), 10);
    program.best_s = 1e-6;
    tune_search_begin(&search, 3, 0);
    (void)take_sample(&search, &program);
    assert_int_equal(tune_search_span(&search), 64);
}

static void samples_follow_what_iterations_take(void **state)
{
    struct tune_search search;

    (void)state;
    tune_search_begin(&search, 3, 0);
    tune_search_take(&search, 1e-4, 1);
    assert_int_equal(tune_search_span(&search), 64);
    tune_search_take(&search, 5e-3, 64); // not only after the first
    assert_int_equal(tune_search_span(&search), 2);
    tune_search_take(&search, 1e-4, 2);
    tune_search_take(&search, 1e-4, 64);
    assert_int_equal(search.index, 1); // which may take far longer
    assert_int_equal(tune_search_span(&search), 8);
    tune_search_know(&search, 3, 0);
    tune_search_take(&search, 1e-4, 1);
    tune_search_take(&search, 1e-2, 256);
    assert_int_equal(tune_search_span(&search), 4);
}

static void it_begins_again_when_times_change_for_good(void **state)
{
    struct program program = {1, 20e-3, 0.3, 0.02, 1};
    struct tune_search search;
    enum tune_event event = TUNE_GOES_ON;
    uint32_t n_samples;
    uint32_t n = 0;

    (void)state;
    tune_search_begin(&search, 6, 0);
    (void)run(&search, &program, &n_samples);
    assert_int_equal(search.index, 1);
    // What passes is no change.
    for (uint32_t k = 0; k < 200; k++) {
        const double passing = k % 10 < 3 ? 2 : 1;

        assert_int_equal(
            tune_search_take(&search, passing * iteration_s(&program, 1), 4),
            TUNE_GOES_ON);
    }
    program.best = 4;
    while (event != TUNE_AGAIN) {
        event = take_sample(&search, &program);
        assert_true(++n < 10);
    }
    assert_int_equal(run(&search, &program, &n_samples), TUNE_FOUND);
    assert_int_equal(search.index, 4);
    assert_int_equal(search.n_searches, 2);
}

static void a_program_that_shrinks_slowly_is_left_alone(void **state)
{
    struct program program = {0, 20e-3, 0.3, 0.02, 1};
    struct tune_search search;

    (void)state;
    tune_search_know(&search, 4, 0);
    for (uint32_t k = 0; k < 1000; k++) {
        program.best_s *= 0.995;
        assert_int_equal(take_sample(&search, &program), TUNE_GOES_ON);
    }
}

static void one_value_is_not_searched_for(void **state)
{
    struct program program = {0, 20e-3, 0, 0, 1};
    struct tune_search search;

    (void)state;
    tune_search_begin(&search, 1, 0);
    for (uint32_t k = 0; k < 100; k++) {
        program.best_s *= k == 50 ? 3 : 1;
        assert_int_equal(take_sample(&search, &program), TUNE_GOES_ON);
        assert_int_equal(search.index, 0);
    }
    assert_int_equal(search.n_searches, 0);
}

static void what_is_known_is_in_force_at_once(void **state)
{
    struct program program = {3, 20e-3, 0.3, 0.02, 1};
    struct tune_search search;

    (void)state;
    tune_search_know(&search, 5, 2);
    for (uint32_t k = 0; k < 100; k++) {
        (void)take_sample(&search, &program);
        assert_int_equal(search.index, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_value_is_found),
        cmocka_unit_test(a_value_that_wins_nothing_is_not_taken),
        cmocka_unit_test(single_iterations_that_take_long_mislead_nobody),
        cmocka_unit_test(short_iterations_are_taken_together),
        cmocka_unit_test(samples_follow_what_iterations_take),
        cmocka_unit_test(it_begins_again_when_times_change_for_good),
        cmocka_unit_test(a_program_that_shrinks_slowly_is_left_alone),
        cmocka_unit_test(one_value_is_not_searched_for),
        cmocka_unit_test(what_is_known_is_in_force_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
