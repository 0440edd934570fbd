// SPDX-License-Identifier: BSD-3-Clause
#include "planner/hosts.h"

#include "planner/scenario_test.h"

#define MIB ((uint64_t)1 << 20)

static void use(struct scenario *scenario, const struct plan_host *hosts,
                uint32_t n)
{
    char error[256] = "";

    if (scenario_use_hosts(scenario, hosts, n, error, sizeof error) != TM_OK) {
        fail_msg("%s", error);
    }
    expect_whole(scenario);
}

static void a_host_with_a_nodes_name_keeps_what_is_not_said(void **state)
{
    static const struct plan_host hosts[] = {
        {"n4", 500, 0, 0}, {"n2", 0, 90 * MIB, 2}, {"n9", 250, 64 * MIB, 0}};
    struct example example;
    struct scenario scenario;
    const struct node_view *nodes;

    (void)state;
    example_make(&example, 8);
    example.profile.model.corrections = example.corrections;
    scenario = scenario_of(&example);
    use(&scenario, hosts, 3);
    nodes = scenario.view.nodes;
    assert_int_equal(scenario.view.n_nodes, 3);
    assert_string_equal(nodes[0].name, "n4");
    expect_near(nodes[0].power, 1);
    assert_int_equal(nodes[0].memory_pages, 45 * PAGES_MIB);
    expect_near(nodes[0].swap_in_s, 0.004);
    assert_true(scenario.model.corrections[0].comp == 4);
    expect_near(nodes[1].power, 0.8);
    assert_int_equal(nodes[1].n_processors, 2);
    assert_int_equal(nodes[1].memory_pages, 90 * PAGES_MIB);
    assert_int_equal(nodes[1].total_pages, 109 * PAGES_MIB);
    expect_near(nodes[2].power, 0.5);
    expect_near(nodes[2].swap_in_s, 0.002); // the lower median
    assert_true(scenario.model.corrections[2].comp == 1);
    // Threads 6 and 7 were on n4, 2 and 3 on n2; the others go where least is.
    assert_int_equal(scenario.node_of[7], 0);
    assert_int_equal(scenario.node_of[2], 1);
    assert_int_equal(scenario.origin[0], NO_NODE);
    assert_int_equal(scenario.node_of[0], 1); // (2 + 1) / 1.6 with it, 1 / 0.5
    assert_string_equal(scenario.notes,
                        "another cluster: 3 nodes, 1 of them new (with usual "
                        "costs of paging and messages)\n");
    scenario_release(&scenario);
    example_release(&example);
}

static void the_same_cluster_is_no_change_of_costs(void **state)
{
    static const struct plan_host hosts[] = {
        {"n1", 500, 45 * MIB, 1},
        {"n2", 400, 45 * MIB, 1},
        {"n3", 400, 45 * MIB, 1},
        {"n4", 300, 45 * MIB, 1},
    };
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    for (int unit = 0; unit < 2; unit++) {
        example.profile.unit_speed = unit ? 500 : 0; // or of these nodes
        scenario = scenario_of(&example);
        use(&scenario, hosts, 4);
        for (uint32_t x = 0; x < 4; x++) {
            expect_near(scenario.view.nodes[x].power,
                        example.profile.view.nodes[x].power);
            scenario.view.nodes[x].power = example.profile.view.nodes[x].power;
        }
        assert_memory_equal(scenario.view.nodes, example.profile.view.nodes,
                            4 * sizeof *scenario.view.nodes);
        assert_memory_equal(scenario.node_of, example.node_of,
                            8 * sizeof *scenario.node_of);
        scenario_release(&scenario);
    }
    example_release(&example);
}

static void on_another_cluster_threads_begin_in_blocks(void **state)
{
    static const struct plan_host hosts[] = {{"a", 100, 64 * MIB, 1},
                                             {"b", 900, 64 * MIB, 4}};
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    use(&scenario, hosts, 2);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(scenario.origin[i], NO_NODE);
        assert_int_equal(scenario.node_of[i], i / 4);
    }
    scenario_release(&scenario);
    example_release(&example);
}

static void hosts_of_one_name_are_taken_in_order(void **state)
{
    static const struct plan_host hosts[] = {{"localhost", 0, 90 * MIB, 0},
                                             {"localhost", 0, 0, 0}};
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    strcpy(example.profile.view.nodes[1].name, "localhost");
    strcpy(example.profile.view.nodes[3].name, "localhost");
    scenario = scenario_of(&example);
    use(&scenario, hosts, 2);
    assert_int_equal(scenario.view.nodes[0].memory_pages, 90 * PAGES_MIB);
    expect_near(scenario.view.nodes[0].power, 0.8);
    expect_near(scenario.view.nodes[1].power, 0.6);
    scenario_release(&scenario);
    example_release(&example);
}

static void expect_refusal(const struct example *example,
                           const struct plan_host *hosts, uint32_t n,
                           const char *expected)
{
    struct scenario scenario = scenario_of(example);
    char error[256] = "";

    assert_int_equal(
        scenario_use_hosts(&scenario, hosts, n, error, sizeof error),
        TM_ECONFIG);
    assert_string_equal(error, expected);
    assert_int_equal(scenario.view.n_nodes, 4);
    expect_whole(&scenario);
    scenario_release(&scenario);
}

static void what_is_missing_is_told(void **state)
{
    static const struct plan_host known[] = {{"n1", 0, 0, 0}};
    static const struct plan_host slow[] = {{"n1", 0, 0, 0},
                                            {"a", 0, 64 * MIB, 1}};
    static const struct plan_host fast[] = {{"a", 400, 64 * MIB, 1}};
    struct example example;

    (void)state;
    example_make(&example, 8);
    expect_refusal(&example, slow, 2,
                   "a needs speed= and memory=: the profile has no node of "
                   "that name to take them from");
    example.profile.unit_speed = 0;
    expect_refusal(&example, fast, 1,
                   "a has a speed=, but the run was given no speeds and no "
                   "node has a name that the profile has: give one of them "
                   "its name, or start the run with speed=");
    example.profile.view.threads[7].is_pinned = 1;
    expect_refusal(&example, known, 1,
                   "n4 must stay in the cluster: a thread is pinned to it");
    example_release(&example);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_with_a_nodes_name_keeps_what_is_not_said),
        cmocka_unit_test(the_same_cluster_is_no_change_of_costs),
        cmocka_unit_test(on_another_cluster_threads_begin_in_blocks),
        cmocka_unit_test(hosts_of_one_name_are_taken_in_order),
        cmocka_unit_test(what_is_missing_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
