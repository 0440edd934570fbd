// SPDX-License-Identifier: BSD-3-Clause
#include "planner/cheapest.h"

#include <string.h>

#include "planner/node_classes.h"
#include "planner/scenario_test.h"
#include "planner/what_if.h"

/** What is asked, and what was found. */
struct question {
    struct example example;
    struct scenario scenario;
    struct plan plan;
    struct wish wish;
    struct cheapest advice;
};

/** Ask the default policy of 24 threads on four nodes of which n3 has little memory. */
static void ask(struct question *question, double gain, struct prices prices)
{
    struct plan_question asked;

    *question =
        (struct question){.wish = {gain, policy_find("cpu-mem"), prices}};
    example_make(&question->example, 24);
    question->example.profile.view.nodes[2].memory_pages = 6 * PAGES_MIB;
    question->scenario = scenario_of(&question->example);
    asked = (struct plan_question){.policies = &question->wish.policy,
                                   .n_policies = 1};
    plan_make(&question->plan, &question->scenario, &asked);
    cheapest_find(&question->advice, &question->scenario, &question->plan,
                  &question->wish);
}

static void release(struct question *question)
{
    cheapest_release(&question->advice);
    plan_release(&question->plan);
    scenario_release(&question->scenario);
    example_release(&question->example);
}

/** An iteration after some changes, a line each. */
static double time_after(const struct question *question, const char *changes)
{
    struct scenario then = scenario_of(&question->example);
    const struct plan_question asked = {.policies = &question->wish.policy,
                                        .n_policies = 1};
    struct plan plan;
    char *copy = strdup(changes);
    char *rest = copy;
    char *line;
    char error[256];
    double time_s;

    while ((line = strsep(&rest, "\n")) != NULL) {
        if (*line != '\0') {
            assert_int_equal(scenario_change(&then, line, error, sizeof error),
                             TM_OK);
        }
    }
    scenario_settle(&then);
    plan_make(&plan, &then, &asked);
    time_s = fmin(plan.answers[0].after.iteration_s, plan.in_force.iteration_s);
    plan_release(&plan);
    scenario_release(&then);
    free(copy);
    return time_s;
}

/** A gain between what moving threads brings and what anything brings. */
static double gain_beyond_moves(double part)
{
    struct question question;
    double gain;

    ask(&question, 0.001, (struct prices){0});
    gain = 1 - question.advice.free_s / question.plan.in_force.iteration_s *
                   (1 - part);
    release(&question);
    return gain;
}

static void what_is_found_is_enough_and_asked_again_says_the_same(void **state)
{
    struct question question;

    (void)state;
    ask(&question, gain_beyond_moves(0.1), (struct prices){0});
    assert_true(question.advice.free_s > question.advice.wanted_s);
    assert_true(question.advice.n >= 3);
    for (unsigned i = 0; i < question.advice.n; i++) {
        const struct purchase *purchase = &question.advice.purchases[i];

        assert_true(purchase->iteration_s <= question.advice.wanted_s);
        expect_near(time_after(&question, purchase->changes),
                    purchase->iteration_s);
    }
    release(&question);
}

static void a_little_less_is_not_enough(void **state)
{
    struct question question;
    unsigned n = 0;

    (void)state;
    ask(&question, gain_beyond_moves(0.1), (struct prices){0});
    for (unsigned i = 0; i < question.advice.n; i++) {
        const struct purchase *purchase = &question.advice.purchases[i];
        const char *name = question.scenario.view.nodes[purchase->like].name;
        char change[128];

        if (purchase->kind == PURCHASE_SPEED && purchase->n_nodes == 1) {
            snprintf(change, sizeof change, "%s.speed=%.2fx", name,
                     purchase->amount - 0.01);
            assert_true(time_after(&question, change) >
                        question.advice.wanted_s);
            n++;
        }
    }
    assert_true(n > 0);
    release(&question);
}

static void nothing_is_bought_if_moving_threads_is_enough(void **state)
{
    struct question question;

    (void)state;
    ask(&question, 0.001, (struct prices){0});
    assert_true(question.advice.free_s <= question.advice.wanted_s);
    assert_int_equal(question.advice.n, 0);
    assert_true(question.advice.n_free_moves > 0);
    release(&question);
}

static void prices_decide_what_comes_first(void **state)
{
    struct question question;

    (void)state;
    ask(&question, gain_beyond_moves(0.1), (struct prices){1e6, 1e6, 1});
    assert_int_equal(question.advice.purchases[0].kind, PURCHASE_NODE);
    release(&question);
    ask(&question, gain_beyond_moves(0.1), (struct prices){1e6, 1, 1e6});
    assert_int_equal(question.advice.purchases[0].kind, PURCHASE_SPEED);
    for (unsigned i = 1; i < question.advice.n; i++) {
        assert_true(question.advice.purchases[i - 1].price <=
                    question.advice.purchases[i].price);
    }
    release(&question);
}

static void what_nothing_reaches_is_told(void **state)
{
    struct question question;

    (void)state;
    ask(&question, 0.9999, (struct prices){0});
    assert_int_equal(question.advice.n, 0);
    assert_true(question.advice.nearest_s > question.advice.wanted_s);
    assert_true(question.advice.nearest_s < question.advice.free_s);
    release(&question);
}

static void nodes_that_are_alike_are_a_class(void **state)
{
    struct example example;
    struct node_classes classes;
    struct node_view *nodes;

    (void)state;
    example_make(&example, 8);
    nodes = example.profile.view.nodes;
    nodes[1].power = 1.015; // as good as n1's
    nodes[3].power = nodes[2].power;
    nodes[3].memory_pages *= 2;
    node_classes_make(&classes, &example.profile.view);
    assert_int_equal(classes.n, 3);
    assert_int_equal(classes.classes[0].n_nodes, 2);
    assert_int_equal(classes.classes[1].first, 2);
    assert_int_equal(classes.class_of[3], 2);
    node_classes_release(&classes);
    example_release(&example);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_found_is_enough_and_asked_again_says_the_same),
        cmocka_unit_test(a_little_less_is_not_enough),
        cmocka_unit_test(nothing_is_bought_if_moving_threads_is_enough),
        cmocka_unit_test(prices_decide_what_comes_first),
        cmocka_unit_test(what_nothing_reaches_is_told),
        cmocka_unit_test(nodes_that_are_alike_are_a_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
