// SPDX-License-Identifier: BSD-3-Clause
#include "planner/plan.h"

#include "planner/repeat.h"
#include "planner/scenario_test.h"
#include "planner/what_if.h"

/**
 * Six threads of a second and ten pages each. n1 has power 1 and 25 pages, n2
 * power 0.5 and enough. A page costs 20 ms in and 30 ms out. With n threads on
 * n1:
 *
 *     n  T of n1                        T of n2
 *     3  3 + 5 * 0.05 = 3.25            6
 *     4  4 + 15 * 0.05 = 4.75           4
 *     5  5 + 25 * 0.05 = 6.25           2
 */
static void make_by_hand(struct example *example)
{
    struct cluster_view *view = &example->profile.view;
    struct page_lists lists;

    *example = (struct example){0};
    view_make(view, 2, 6);
    for (uint32_t x = 0; x < 2; x++) {
        snprintf(view->nodes[x].name, VIEW_NAME_MAX, "n%u", x + 1);
        view->nodes[x].power = x == 0 ? 1 : 0.5;
        view->nodes[x].memory_pages = x == 0 ? 25 : 1000;
        view->nodes[x].swap_in_s = 0.02;
        view->nodes[x].swap_out_s = 0.03;
    }
    lists_init(&lists, 6);
    for (uint32_t i = 0; i < 6; i++) {
        lists_add(&lists, i, 100 * i, 10, USE_READ | USE_WRITE, 0);
    }
    lists_build(&lists, view);
    lists_release(&lists);
    mapping_in_blocks(view, example->node_of);
    example->profile.node_of = example->node_of;
}

static struct plan plan_of(const struct scenario *scenario, const char *name)
{
    const struct policy *policy = policy_find(name);
    const struct plan_question question = {.policies = &policy,
                                           .n_policies = 1};
    struct plan plan;

    assert_non_null(policy);
    plan_make(&plan, scenario, &question);
    return plan;
}

static void a_plan_is_what_the_model_says_by_hand(void **state)
{
    struct example example;
    struct scenario scenario;
    struct plan plan;
    const struct answer *answer;

    (void)state;
    make_by_hand(&example);
    scenario = scenario_of(&example);
    plan = plan_of(&scenario, "cpu-mem");
    answer = &plan.answers[0];
    expect_near(plan.in_force.nodes[0].time_s, 3.25);
    expect_near(plan.in_force.iteration_s, 6);
    expect_near(answer->after.nodes[0].comp_s, 4);
    expect_near(answer->after.nodes[0].mem_s, 0.75);
    expect_near(answer->after.nodes[0].mem_in_s, 0.3);
    expect_near(answer->after.nodes[0].mem_out_s, 0.45);
    expect_near(answer->after.nodes[1].time_s, 4);
    expect_near(answer->after.iteration_s, 4.75);
    assert_int_equal(answer->n_moves, 1);
    expect_near(answer->after.nodes[0].lack_pages, 15);
    // Not above what can be had; and all computation over all power is 4.
    assert_true(plan.bound_s >= 4 && plan.bound_s <= 4.75 + 1e-12);
    expect_near(plan_above_bound(&plan, 2 * plan.bound_s), 1);
    plan_release(&plan);
    scenario_release(&scenario);
    example_release(&example);
}

static void memory_for_the_short_node_is_worth_what_the_model_says(void **state)
{
    struct example example;
    struct scenario scenario;
    struct plan plan;
    char error[256];

    (void)state;
    make_by_hand(&example);
    scenario = scenario_of(&example);
    assert_int_equal(
        scenario_change(&scenario, "n1.memory=+60K", error, sizeof error),
        TM_OK);
    scenario_settle(&scenario);
    plan = plan_of(&scenario, "cpu-mem");
    expect_near(plan.answers[0].after.iteration_s, 4); // 40 pages are there
    expect_near(plan.bound_s, 4);
    plan_release(&plan);
    scenario_release(&scenario);
    example_release(&example);
}

static void threads_whose_node_is_gone_count_as_moves(void **state)
{
    struct example example;
    struct scenario scenario;
    struct plan plan;
    char error[256];

    (void)state;
    make_by_hand(&example);
    scenario = scenario_of(&example);
    assert_int_equal(
        scenario_change(&scenario, "remove:n2", error, sizeof error), TM_OK);
    scenario_settle(&scenario);
    plan = plan_of(&scenario, "cpu-mem");
    assert_int_equal(plan.n_homeless, 3);
    assert_int_equal(plan.answers[0].n_moves, 3);
    assert_int_equal(plan.answers[0].mapping.n_moves, 0);
    expect_near(plan.answers[0].after.iteration_s, 6 + 35 * 0.05);
    plan_release(&plan);
    scenario_release(&scenario);
    example_release(&example);
}

static void a_mapping_by_hand_is_an_answer(void **state)
{
    static const uint32_t counts[] = {1, 5};
    const struct policy *initial = policy_find("initial");
    const struct plan_question question = {
        .policies = &initial, .n_policies = 1, .counts = counts};
    struct example example;
    struct scenario scenario;
    struct plan plan;
    const struct answer *answer;

    (void)state;
    make_by_hand(&example);
    scenario = scenario_of(&example);
    plan_make(&plan, &scenario, &question);
    assert_int_equal(plan.n_answers, 2);
    answer = plan_answer_of(&plan, NULL);
    assert_string_equal(answer->name, "by hand");
    assert_ptr_equal(answer, &plan.answers[1]); // the slower one
    assert_int_equal(answer->mapping.node_of[0], 0);
    assert_int_equal(answer->mapping.node_of[1], 1);
    assert_int_equal(answer->after.nodes[1].n_threads, 5);
    expect_near(answer->after.nodes[0].comp_s, 1);
    assert_int_equal(answer->n_moves, 2); // it was 3 and 3
    plan_release(&plan);
    scenario_release(&scenario);
    example_release(&example);
}

// What was learned for one model is nothing for another.
static void another_model_goes_without_corrections(void **state)
{
    struct correction learned[2];
    struct example example;
    struct scenario scenario;
    struct plan plan;

    (void)state;
    correction_init(&learned[0]);
    correction_init(&learned[1]);
    learned[0].comp = learned[1].comp = 3;
    make_by_hand(&example);
    example.profile.model.corrections = learned;
    scenario = scenario_of(&example);
    assert_int_equal(scenario_use_model(&scenario, COST_LIU06), TM_ESTATE);
    scenario.model.reference = (struct reference){.power = 1,
                                                  .lack_pages = 10,
                                                  .swap_in_s = 0.4,
                                                  .swap_out_s = 0.2,
                                                  .free_pages = 100,
                                                  .total_pages = 100};
    assert_int_equal(scenario_use_model(&scenario, COST_MEASURED), TM_OK);
    assert_non_null(scenario.model.corrections);
    assert_int_equal(scenario_use_model(&scenario, COST_LIU06), TM_OK);
    assert_null(scenario.model.corrections);
    plan = plan_of(&scenario, "initial");
    expect_near(plan.in_force.nodes[0].comp_s, 3); // not 9
    plan_release(&plan);
    scenario_release(&scenario);
    example_release(&example);
}

static void the_best_answer_is_the_first(void **state)
{
    struct view_plan view_plan = {4, 24, 0, 2, SHARING_CHAIN, 1.5};
    const struct plan_question all = {.policies = policies,
                                      .n_policies = n_policies};

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct example example = {0};
        struct scenario scenario;
        struct plan plan;

        view_draw(&example.profile.view, &view_plan);
        mapping_draw(&example.profile.view, example.node_of);
        example.profile.node_of = example.node_of;
        example.profile.decision.effort = 1; // or `optimal` takes its time
        scenario = scenario_of(&example);
        plan_make(&plan, &scenario, &all);
        assert_int_equal(plan.n_answers, n_policies);
        for (unsigned i = 1; i < n_policies; i++) {
            const struct answer *a = &plan.answers[i - 1];
            const struct answer *b = &plan.answers[i];

            assert_true(a->after.iteration_s <= b->after.iteration_s);
            assert_true(a->after.iteration_s < b->after.iteration_s ||
                        a->n_moves <= b->n_moves);
        }
        for (unsigned i = 0; i < n_policies; i++) {
            const struct answer *a = plan_answer_of(&plan, policies[i]);

            assert_ptr_equal(a->policy, policies[i]);
            assert_true(a->after.iteration_s >= plan.bound_s * (1 - 1e-9));
        }
        plan_release(&plan);
        scenario_release(&scenario);
        example_release(&example);
    }
}

// ---- repeating ----

struct repeated {
    struct example example;
    struct scenario scenario;
    struct plan plan;
    uint32_t node_of[64];
    double before_s[8];
    double after_s[8];
};

/** A profile whose decision is what the policy says. */
static void decide(struct repeated *repeated)
{
    struct profile *profile = &repeated->example.profile;
    const struct answer *answer;

    example_make(&repeated->example, 24);
    repeated->scenario = scenario_of(&repeated->example);
    repeated->plan = plan_of(&repeated->scenario, "cpu-mem");
    answer = &repeated->plan.answers[0];
    memcpy(repeated->node_of, answer->mapping.node_of, 24 * sizeof(uint32_t));
    for (uint32_t x = 0; x < 4; x++) {
        repeated->before_s[x] = repeated->plan.in_force.nodes[x].time_s;
        repeated->after_s[x] = answer->after.nodes[x].time_s;
    }
    profile->decision = (struct profile_decision){
        .policy = "cpu-mem",
        .node_of = repeated->node_of,
        .n_moves = answer->mapping.n_moves,
        .before_s = answer->mapping.before_s,
        .after_s = answer->mapping.after_s,
        .node_before_s = repeated->before_s,
        .node_after_s = repeated->after_s,
        .was_weighed = 1,
        .is_carried_out = 1,
        .acceptance = {2, 1, UINT64_MAX, 1e6, 1e9, 1},
    };
}

static void expect_differences(const struct repeated *repeated,
                               const char *expected)
{
    char text[1024];
    unsigned n = repeat_compare(&repeated->example.profile, &repeated->plan,
                                &repeated->plan.answers[0], text, sizeof text);
    unsigned n_lines = 0;

    assert_string_equal(text, expected);
    for (const char *at = text; *at != '\0'; at++) {
        n_lines += *at == '\n';
    }
    assert_int_equal(n, n_lines);
}

static void a_decision_that_is_another_is_told(void **state)
{
    struct repeated repeated;
    struct profile_decision *decision = &repeated.example.profile.decision;
    char expected[512];
    double old;

    (void)state;
    decide(&repeated);
    expect_differences(&repeated, "");

    repeated.node_of[0] = 3;
    decision->n_moves += 2;
    snprintf(expected, sizeof expected,
             "thread 0: on n1 here, on n4 in the run\n"
             "moves: %u here, %u in the run\n",
             decision->n_moves - 2, decision->n_moves);
    expect_differences(&repeated, expected);
    repeated.node_of[0] = 0;
    decision->n_moves -= 2;

    old = repeated.after_s[2];
    repeated.after_s[2] = nextafter(old, 1e9); // the last bit
    snprintf(expected, sizeof expected,
             "n3 after: %.17g s here, %.17g s in the run\n", old,
             repeated.after_s[2]);
    expect_differences(&repeated, expected);
    repeated.after_s[2] = old;

    decision->is_carried_out = 0;
    expect_differences(&repeated, "a change is worth its cost here, the run "
                                  "did not make it\n");
    decision->acceptance.iterations_left = 1;
    expect_differences(&repeated, "");
    decision->is_carried_out = 1;
    expect_differences(&repeated, "a change is not worth its cost here, the "
                                  "run made it\n");
    decision->was_weighed = 0;
    expect_differences(&repeated, "");
    plan_release(&repeated.plan);
    scenario_release(&repeated.scenario);
    example_release(&repeated.example);
}

static void of_many_differences_some_are_told(void **state)
{
    struct repeated repeated;
    char text[60];

    (void)state;
    decide(&repeated);
    for (uint32_t i = 0; i < 24; i++) {
        repeated.node_of[i] = (repeated.node_of[i] + 1) % 4;
    }
    assert_int_equal(repeat_compare(&repeated.example.profile, &repeated.plan,
                                    &repeated.plan.answers[0], text, 0),
                     4); // three and how many more
    repeat_compare(&repeated.example.profile, &repeated.plan,
                   &repeated.plan.answers[0], text, sizeof text);
    assert_string_equal(text, "thread 0: on n1 here, on n2 in the run\n");
    plan_release(&repeated.plan);
    scenario_release(&repeated.scenario);
    example_release(&repeated.example);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_what_the_model_says_by_hand),
        cmocka_unit_test(
            memory_for_the_short_node_is_worth_what_the_model_says),
        cmocka_unit_test(threads_whose_node_is_gone_count_as_moves),
        cmocka_unit_test(a_mapping_by_hand_is_an_answer),
        cmocka_unit_test(another_model_goes_without_corrections),
        cmocka_unit_test(the_best_answer_is_the_first),
        cmocka_unit_test(a_decision_that_is_another_is_told),
        cmocka_unit_test(of_many_differences_some_are_told),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
