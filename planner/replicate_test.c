// SPDX-License-Identifier: BSD-3-Clause
#include "planner/replicate.h"

#include "planner/scenario_test.h"

static void grow(struct scenario *scenario, uint64_t n_threads)
{
    char error[256] = "";

    if (replicate_threads(scenario, n_threads, error, sizeof error) != TM_OK) {
        fail_msg("%s", error);
    }
}

static uint64_t pages_of(const struct cluster_view *view)
{
    uint64_t n = 0;

    for (uint32_t g = 0; g < view->n_groups; g++) {
        n += view->group_pages[g];
    }
    return n;
}

static const struct use *uses_of(const struct cluster_view *view, uint32_t i)
{
    return &view->uses[view->threads[i].first_use];
}

/** The same uses but for the numbers of groups. */
static void expect_alike(const struct cluster_view *a, uint32_t i,
                         const struct cluster_view *b, uint32_t j)
{
    assert_int_equal(a->threads[i].n_uses, b->threads[j].n_uses);
    assert_true(a->threads[i].computation_s == b->threads[j].computation_s);
    for (uint32_t u = 0; u < a->threads[i].n_uses; u++) {
        const struct use *p = uses_of(a, i) + u;
        const struct use *q = uses_of(b, j) + u;

        assert_int_equal(p->flags, q->flags);
        assert_int_equal(p->diff_bytes, q->diff_bytes);
        assert_int_equal(a->group_pages[p->group], b->group_pages[q->group]);
    }
}

static void whole_copies_share_only_what_all_read(void **state)
{
    struct example example;
    struct scenario scenario;
    const struct cluster_view *old = &example.profile.view;
    const uint64_t common = 3 * PAGES_MIB;

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    grow(&scenario, 24);
    assert_int_equal(scenario.view.n_threads, 24);
    for (uint32_t j = 0; j < 24; j++) {
        expect_alike(old, j % 8, &scenario.view, j);
        assert_int_equal(scenario.origin[j], example.node_of[j % 8]);
    }
    assert_int_equal(pages_of(&scenario.view),
                     3 * (pages_of(old) - common) + common);
    expect_whole(&scenario);
    assert_string_equal(scenario.notes, "threads: 8 -> 24, each like one of "
                                        "those there were\n");
    scenario_release(&scenario);
    example_release(&example);
}

static void part_of_a_copy_is_spread_over_all_threads(void **state)
{
    struct example example;
    struct scenario scenario;
    uint32_t n_on[4] = {0};

    (void)state;
    example_make(&example, 8);
    for (uint32_t i = 0; i < 8; i++) {
        example.profile.view.threads[i].computation_s = i;
    }
    scenario = scenario_of(&example);
    grow(&scenario, 12);
    for (uint32_t k = 0; k < 4; k++) {
        assert_true(scenario.view.threads[8 + k].computation_s == 2 * k);
    }
    grow(&scenario, 4); // of these
    for (uint32_t k = 0; k < 4; k++) {
        expect_alike(&example.profile.view,
                     (uint32_t)scenario.view.threads[k].computation_s,
                     &scenario.view, k);
        n_on[scenario.origin[k]]++;
    }
    expect_whole(&scenario);
    // Of the twelve every third: 0, 3, 6 and the copy of 2.
    assert_int_equal(n_on[0] + n_on[1] + n_on[3], 4);
    assert_true(scenario.view.threads[3].computation_s == 2);
    scenario_release(&scenario);
    example_release(&example);
}

static void fewer_threads_leave_no_pages_behind(void **state)
{
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    grow(&scenario, 1);
    assert_int_equal(pages_of(&scenario.view), 5 * PAGES_MIB + 2);
    expect_whole(&scenario);
    scenario_release(&scenario);
    example_release(&example);
}

static void a_cluster_n_times_as_large_takes_as_long(void **state)
{
    struct prediction before;
    struct prediction after;
    struct node_prediction nodes[8];
    struct node_prediction more_nodes[800];

    (void)state;
    before.nodes = nodes;
    after.nodes = more_nodes;
    for (int round = 0; round < 50; round++) {
        struct view_plan plan = {1 + random_below(8),      1 + random_below(40),
                                 (int)random_below(2),     3,
                                 random_below(N_SHARINGS), 2};
        struct example example = {0};
        const uint32_t factor = 1 + random_below(100);
        struct scenario scenario;
        char error[256];

        view_draw(&example.profile.view, &plan);
        mapping_draw(&example.profile.view, example.node_of);
        example.profile.node_of = example.node_of;
        for (uint32_t x = 0; x < 8; x++) {
            correction_init(&example.corrections[x]);
            example.corrections[x].mem = random_between(0.5, 2);
        }
        example.profile.model.corrections = example.corrections;
        scenario = scenario_of(&example);
        assert_int_equal(replicate_all(&scenario, factor, error, sizeof error),
                         TM_OK);
        expect_whole(&scenario);
        assert_int_equal(scenario.view.n_nodes, plan.n_nodes * factor);
        assert_int_equal(predict(&example.profile.view, &example.profile.model,
                                 example.node_of, &before),
                         TM_OK);
        assert_int_equal(
            predict(&scenario.view, &scenario.model, scenario.node_of, &after),
            TM_OK);
        // What all read is foreign everywhere once there are several copies,
        // and costs a fetch instead of a page in.
        if (plan.sharing != SHARING_COMMON || plan.n_nodes > 1) {
            for (uint32_t x = 0; x < scenario.view.n_nodes; x++) {
                const double a = nodes[x % plan.n_nodes].comp_s;

                expect_near(a, more_nodes[x].comp_s);
                expect_near(nodes[x % plan.n_nodes].comm_s,
                            more_nodes[x].comm_s);
                assert_int_equal(nodes[x % plan.n_nodes].demand_pages,
                                 more_nodes[x].demand_pages);
            }
        }
        scenario_release(&scenario);
        example_release(&example);
    }
}

static void copies_of_nodes_have_names_of_their_own(void **state)
{
    struct example example;
    struct scenario scenario;
    char error[256];

    (void)state;
    example_make(&example, 8);
    memset(example.profile.view.nodes[3].name, 'x', VIEW_NAME_MAX - 1);
    scenario = scenario_of(&example);
    assert_int_equal(replicate_all(&scenario, 11, error, sizeof error), TM_OK);
    assert_string_equal(scenario.view.nodes[0].name, "n1");
    assert_string_equal(scenario.view.nodes[4].name, "n1-2");
    assert_string_equal(scenario.view.nodes[42].name, "n3-11");
    assert_int_equal(strlen(scenario.view.nodes[43].name), VIEW_NAME_MAX - 1);
    assert_string_equal(scenario.view.nodes[43].name + VIEW_NAME_MAX - 5,
                        "x-11");
    expect_whole(&scenario);
    assert_string_equal(scenario.notes,
                        "11 times as large: 44 nodes, 88 threads\n");
    scenario_release(&scenario);
    example_release(&example);
}

static void what_is_too_large_is_refused(void **state)
{
    struct example example;
    struct scenario scenario;
    char error[256];

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    assert_int_equal(
        replicate_all(&scenario, UINT32_MAX / 4, error, sizeof error),
        TM_ELIMIT);
    assert_int_equal(
        replicate_threads(&scenario, UINT64_MAX, error, sizeof error),
        TM_ELIMIT);
    assert_string_equal(error,
                        "more than 100000000 threads, or 2^32 groups of pages "
                        "or uses");
    assert_false(scenario.is_changed);
    expect_whole(&scenario);
    scenario_release(&scenario);
    example_release(&example);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_copies_share_only_what_all_read),
        cmocka_unit_test(part_of_a_copy_is_spread_over_all_threads),
        cmocka_unit_test(fewer_threads_leave_no_pages_behind),
        cmocka_unit_test(a_cluster_n_times_as_large_takes_as_long),
        cmocka_unit_test(copies_of_nodes_have_names_of_their_own),
        cmocka_unit_test(what_is_too_large_is_refused),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
