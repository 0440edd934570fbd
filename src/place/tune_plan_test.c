// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "place/tune_plan.h"

/* Several parameters in turn, and what is answered to whom. Values are far apart. */

#define N_VALUES 5u
#define MANY 2000u

struct program {
    struct tune_plan plan;
    struct tune_now now;
    uint64_t iteration;
    uint32_t best; ///< of each parameter
};

/** Ask for parameters `first` to `last`, and let the iteration pass. */
static void pass(struct program *program, uint32_t first, uint32_t last)
{
    struct tune_told told;
    uint64_t ns = 1000000;

    for (uint32_t i = first; i <= last; i++) {
        const struct tune_answer answer = tune_plan_ask(
            &program->plan, i, program->iteration, &program->now, &told);

        assert_in_range(program->iteration, answer.from, answer.until - 1);
        ns += answer.index == program->best ? 10000000 : 20000000;
    }
    program->now.ns += ns;
    program->iteration++;
}

static struct program begin(uint32_t n)
{
    struct program program = {.now = {.ns = 1}, .best = 3};

    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(tune_plan_add(&program.plan, N_VALUES), i);
    }
    return program;
}

static const struct tune_search *search_of(const struct program *program,
                                           uint32_t i)
{
    return &program->plan.items[i].search;
}

static void run_until_over(struct program *program, uint32_t i, uint32_t first,
                           uint32_t last)
{
    while (!search_of(program, i)->is_over) {
        pass(program, first, last);
        assert_true(program->iteration < MANY);
    }
}

static void an_iteration_has_one_answer_for_ever(void **state)
{
    struct program program = begin(1);
    static uint32_t seen[MANY];
    struct tune_told told;
    uint32_t n_changes = 0;

    (void)state;
    for (uint32_t k = 0; k < 300; k++) {
        seen[k] = tune_plan_ask(&program.plan, 0, k, &program.now, &told).index;
        n_changes += k > 0 && seen[k] != seen[k - 1];
        pass(&program, 0, 0);
        for (uint32_t old = 0; old <= k; old++) {
            const struct tune_answer answer =
                tune_plan_ask(&program.plan, 0, old, &program.now, &told);

            assert_int_equal(answer.index, seen[old]);
            for (uint64_t other = answer.from;
                 other < answer.until && other < k; other++) {
                assert_int_equal(seen[other], answer.index);
            }
        }
    }
    assert_true(n_changes > N_VALUES);
    tune_plan_release(&program.plan);
}

static void one_is_searched_at_a_time(void **state)
{
    struct program program = begin(2);

    (void)state;
    while (!search_of(&program, 0)->is_over) {
        assert_int_equal(tune_plan_index(&program.plan, 1), 0);
        pass(&program, 0, 1);
        assert_true(program.iteration < MANY);
    }
    run_until_over(&program, 1, 0, 1);
    assert_int_equal(search_of(&program, 0)->index, 3);
    assert_int_equal(search_of(&program, 1)->index, 3);
    tune_plan_release(&program.plan);
}

static void who_is_not_asked_for_holds_up_nobody(void **state)
{
    struct program program = begin(2);

    (void)state;
    for (uint32_t k = 0; k < 7; k++) {
        pass(&program, 0, 1);
    }
    assert_true(search_of(&program, 0)->at > 0);
    for (uint32_t k = 0; k < 40; k++) {
        pass(&program, 1, 1);
    }
    assert_true(search_of(&program, 1)->n_tried > 0);
    // Asked for again it waits with the value of before, and begins its round again.
    while (!search_of(&program, 1)->is_over) {
        pass(&program, 0, 1);
        if (!search_of(&program, 1)->is_over) {
            assert_int_equal(tune_plan_index(&program.plan, 0), 0);
        }
        assert_true(program.iteration < MANY);
    }
    assert_int_equal(search_of(&program, 1)->index, 3);
    pass(&program, 0, 1);
    assert_int_equal(search_of(&program, 0)->at, 0);
    assert_int_equal(search_of(&program, 0)->n_samples, 0);
    run_until_over(&program, 0, 0, 1);
    assert_int_equal(search_of(&program, 0)->index, 3);
    tune_plan_release(&program.plan);
}

static void values_before_and_after_a_change_are_not_compared(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        struct program program = begin(1);

        for (uint32_t k = 0; k < 10; k++) {
            pass(&program, 0, 0);
        }
        assert_true(search_of(&program, 0)->at > 0);
        program.now.is_busy = kind == 0;
        program.now.epoch += kind;
        pass(&program, 0, 0);
        assert_int_equal(search_of(&program, 0)->at, 0);
        assert_int_equal(search_of(&program, 0)->n_samples, 0);
        program.now.is_busy = 0;
        run_until_over(&program, 0, 0, 0);
        assert_int_equal(search_of(&program, 0)->index, 3);
        tune_plan_release(&program.plan);
    }
}

static void a_program_whose_threads_move_often_is_tuned_too(void **state)
{
    struct program program = begin(1);

    (void)state;
    while (!search_of(&program, 0)->is_over) {
        program.now.is_busy = program.iteration % 10 == 9;
        pass(&program, 0, 0);
        assert_true(program.iteration < MANY);
    }
    assert_int_equal(search_of(&program, 0)->index, 3);
    tune_plan_release(&program.plan);
}

static void a_restart_ends_iterations_with_the_value_in_force(void **state)
{
    struct program program = begin(1);
    struct tune_search search;
    struct tune_told told;
    struct tune_answer answer;

    (void)state;
    tune_search_begin(&search, N_VALUES, 2);
    tune_plan_resume(&program.plan, 0, &search, 4, 100);
    answer = tune_plan_ask(&program.plan, 0, 98, &program.now, &told);
    assert_int_equal(answer.index, 4);
    assert_int_equal(answer.until, 100);
    answer = tune_plan_ask(&program.plan, 0, 100, &program.now, &told);
    assert_int_equal(answer.index, 0);
    assert_int_equal(search_of(&program, 0)->before, 2);
    tune_plan_release(&program.plan);
}

static void what_is_kept_has_a_bound(void **state)
{
    struct program program = begin(1);
    struct tune_told told;
    struct tune_answer answer;

    (void)state;
    for (uint32_t k = 0; k < 10000; k++) {
        // Whatever was searched, it is another one now.
        tune_search_know(&program.plan.items[0].search, N_VALUES,
                         1 + k % (N_VALUES - 1));
        program.iteration = program.plan.items[0].until;
        pass(&program, 0, 0);
        assert_true(program.plan.items[0].n_changes <= 4096);
    }
    answer = tune_plan_ask(&program.plan, 0, program.iteration - 1,
                           &program.now, &told);
    assert_int_equal(answer.index, 4);
    tune_plan_release(&program.plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_iteration_has_one_answer_for_ever),
        cmocka_unit_test(one_is_searched_at_a_time),
        cmocka_unit_test(who_is_not_asked_for_holds_up_nobody),
        cmocka_unit_test(values_before_and_after_a_change_are_not_compared),
        cmocka_unit_test(a_program_whose_threads_move_often_is_tuned_too),
        cmocka_unit_test(a_restart_ends_iterations_with_the_value_in_force),
        cmocka_unit_test(what_is_kept_has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
