// SPDX-License-Identifier: BSD-3-Clause
#include "planner/what_if.h"

#include "planner/scenario_test.h"

static void change(struct scenario *scenario, const char *text)
{
    char error[512] = "";

    if (scenario_change(scenario, text, error, sizeof error) != TM_OK) {
        fail_msg("%s", error);
    }
}

/** The change is refused with this text, and nothing has changed. */
static void expect_refusal(struct scenario *scenario, const char *text,
                           const char *expected)
{
    const uint32_t n_nodes = scenario->view.n_nodes;
    const uint32_t n_threads = scenario->view.n_threads;
    struct node_view *before = must(calloc(n_nodes, sizeof *before));
    char error[512] = "";

    memcpy(before, scenario->view.nodes, n_nodes * sizeof *before);
    assert_int_equal(scenario_change(scenario, text, error, sizeof error),
                     TM_EINVAL);
    assert_string_equal(error, expected);
    assert_int_equal(scenario->view.n_nodes, n_nodes);
    assert_int_equal(scenario->view.n_threads, n_threads);
    assert_memory_equal(before, scenario->view.nodes, n_nodes * sizeof *before);
    free(before);
}

static void memory_is_set_added_taken_and_multiplied(void **state)
{
    struct example example;
    struct scenario scenario;
    const struct node_view *node;

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    node = &scenario.view.nodes[3];
    change(&scenario, "n4.memory=+32M");
    assert_int_equal(node->memory_pages, 77 * PAGES_MIB);
    assert_int_equal(node->free_pages, 77 * PAGES_MIB);
    assert_int_equal(node->total_pages, 96 * PAGES_MIB);
    change(&scenario, "n4.memory=-7M");
    assert_int_equal(node->memory_pages, 70 * PAGES_MIB);
    change(&scenario, "n4.memory=0.5x");
    assert_int_equal(node->memory_pages, 35 * PAGES_MIB);
    change(&scenario, "n4.memory=8192K");
    assert_int_equal(node->memory_pages, 8 * PAGES_MIB);
    assert_int_equal(node->total_pages, 27 * PAGES_MIB);
    assert_int_equal(scenario.view.nodes[2].memory_pages, 45 * PAGES_MIB);
    assert_string_equal(scenario.notes, "n4: memory 45.0 MiB -> 77.0 MiB\n"
                                        "n4: memory 77.0 MiB -> 70.0 MiB\n"
                                        "n4: memory 70.0 MiB -> 35.0 MiB\n"
                                        "n4: memory 35.0 MiB -> 8.0 MiB\n");
    expect_whole(&scenario);
    scenario_release(&scenario);
    example_release(&example);
}

static void speed_is_in_the_unit_of_the_run(void **state)
{
    struct example example;
    struct scenario scenario;
    const struct node_view *nodes;

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    nodes = scenario.view.nodes;
    change(&scenario, "n2.speed=500");
    expect_near(nodes[1].power, 1);
    change(&scenario, "n2.speed=+100");
    expect_near(nodes[1].power, 1.2);
    change(&scenario, "n2.speed=-50");
    expect_near(nodes[1].power, 1.1);
    change(&scenario, "n2.speed=2x");
    expect_near(nodes[1].power, 2.2);
    change(&scenario, "n3.power=1.5");
    expect_near(nodes[2].power, 1.5);
    change(&scenario, "n3.power=-.5");
    expect_near(nodes[2].power, 1);
    change(&scenario, "n3.workers=4");
    change(&scenario, "n3.workers=+1");
    assert_int_equal(nodes[2].n_processors, 5);
    change(&scenario, "n3.workers=0.5x");
    assert_int_equal(nodes[2].n_processors, 2);
    scenario_release(&scenario);
    example_release(&example);
}

static void without_a_unit_speed_is_a_factor_only(void **state)
{
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    example.profile.unit_speed = 0;
    scenario = scenario_of(&example);
    expect_refusal(&scenario, "n2.speed=500",
                   "'n2.speed=500': the run was given no speeds, so 500 is of "
                   "no known unit; try speed=2x, or power=1.2");
    change(&scenario, "n2.speed=2x");
    expect_near(scenario.view.nodes[1].power, 1.6);
    assert_string_equal(scenario.notes, "n2: power 0.8 -> 1.6\n");
    scenario_release(&scenario);
    example_release(&example);
}

static void all_nodes_are_changed_or_none(void **state)
{
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    change(&scenario, "all.memory=2x");
    for (uint32_t x = 0; x < 4; x++) {
        assert_int_equal(scenario.view.nodes[x].memory_pages, 90 * PAGES_MIB);
    }
    change(&scenario, "n3.memory=10M");
    expect_refusal(&scenario, "all.memory=-20M",
                   "'all.memory=-20M': memory would be -10.0 MiB");
    scenario_release(&scenario);
    example_release(&example);
}

static void a_node_is_added(void **state)
{
    struct example example;
    struct scenario scenario;
    const struct node_view *node;

    (void)state;
    example_make(&example, 8);
    example.profile.model.corrections = example.corrections;
    scenario = scenario_of(&example);
    change(&scenario, "add:n5,speed=400,memory=64M");
    assert_int_equal(scenario.view.n_nodes, 5);
    node = &scenario.view.nodes[4];
    assert_string_equal(node->name, "n5");
    expect_near(node->power, 0.8);
    assert_int_equal(node->n_processors, 1);
    assert_int_equal(node->memory_pages, 64 * PAGES_MIB);
    assert_int_equal(node->free_pages, 64 * PAGES_MIB);
    expect_near(node->swap_in_s, 0.002); // the lower median of 1 2 3 4
    assert_int_equal(node->packet_bytes, 1500);
    assert_true(scenario.model.corrections[4].comp == 1);
    assert_true(scenario.model.corrections[3].comp == 4);
    change(&scenario, "add:n6,like=n4,memory=+1M,workers=2");
    node = &scenario.view.nodes[5];
    expect_near(node->power, 0.6);
    expect_near(node->swap_in_s, 0.004);
    assert_int_equal(node->n_processors, 2);
    assert_int_equal(node->memory_pages, 46 * PAGES_MIB);
    assert_string_equal(scenario.notes,
                        "n5: added, power 0.8, 1 worker, 64.0 MiB\n"
                        "n6: added, power 0.6, 2 workers, 46.0 MiB\n");
    expect_whole(&scenario);
    assert_int_equal(scenario.node_of[7], 3); // nobody has moved
    scenario_release(&scenario);
    example_release(&example);
}

static void threads_of_a_removed_node_go_where_least_is_to_be_done(void **state)
{
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8); // two on each
    example.profile.model.corrections = example.corrections;
    scenario = scenario_of(&example);
    change(&scenario, "remove:n2");
    assert_int_equal(scenario.view.n_nodes, 3);
    assert_string_equal(scenario.view.nodes[1].name, "n3");
    assert_true(scenario.model.corrections[1].comp == 3);
    expect_whole(&scenario);
    // With one more n1 has 3 / 1, n3 3 / 0.8, n4 3 / 0.6; then n1 4 / 1.
    assert_int_equal(scenario.node_of[2], 0);
    assert_int_equal(scenario.node_of[3], 1);
    assert_int_equal(scenario.origin[2], NO_NODE);
    assert_int_equal(scenario.node_of[4], 1);
    assert_int_equal(scenario.node_of[7], 2);
    scenario_release(&scenario);
    example_release(&example);
}

static void a_measurement_of_another_cluster_is_predicted(void **state)
{
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    expect_whole(&scenario); // nothing has changed
    expect_near(scenario.measured.nodes[3].time_s, 4);
    change(&scenario, "n4.power=2x");
    change(&scenario, "add:n5,like=n1");
    expect_whole(&scenario);
    // Two threads of a second each; less than 45 MiB, so no paging. Threads 5
    // and 6 read what 4 and 7 of other nodes write: a packet each way.
    expect_near(scenario.measured.nodes[3].comp_s, 2 / 1.2);
    assert_true(scenario.measured.nodes[3].mem_s == 0);
    assert_true(scenario.measured.nodes[4].time_s == 0);
    expect_near(scenario.measured.iteration_s,
                scenario.measured.nodes[1].time_s);
    scenario_release(&scenario);
    example_release(&example);
}

static void a_node_may_be_named_by_its_number(void **state)
{
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    strcpy(example.profile.view.nodes[1].name, "host.example.org");
    strcpy(example.profile.view.nodes[2].name, "n1");
    scenario = scenario_of(&example);
    change(&scenario, "host.example.org.memory=1G");
    assert_int_equal(scenario.view.nodes[1].memory_pages, 1024 * PAGES_MIB);
    change(&scenario, "@2.memory=2G");
    assert_int_equal(scenario.view.nodes[2].memory_pages, 2048 * PAGES_MIB);
    expect_refusal(&scenario, "n1.memory=1G",
                   "'n1.memory=1G': 2 nodes are called n1; write @0 for the "
                   "first, @2 for the second");
    expect_refusal(&scenario, "@4.memory=1G",
                   "'@4.memory=1G': there is no node @4; there are n1, "
                   "host.example.org, n1, n4");
    scenario_release(&scenario);
    example_release(&example);
}

static void what_is_no_change_is_refused_with_a_hint(void **state)
{
    static const char forms[] =
        "is no change; try n4.memory=+32M, n4.speed=2x, "
        "add:n5,speed=400,memory=64M, remove:n2 or threads=64";
    static const char *const wrong[] = {"",     "n4",    "n4.memory", "n4=2x",
                                        "=",    ".=",    "memory=2G", "add",
                                        "x:y=", "remove"};
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char expected[256];

        snprintf(expected, sizeof expected, "'%s': %s", wrong[i], forms);
        expect_refusal(&scenario, wrong[i], expected);
    }
    expect_refusal(&scenario, "n4.memroy=+1M",
                   "'n4.memroy=+1M': a node has no 'memroy'; what can be "
                   "changed is memory, speed, power and workers");
    expect_refusal(&scenario, "n9.memory=+1M",
                   "'n9.memory=+1M': there is no node n9; there are n1, n2, "
                   "n3, n4");
    assert_null(scenario.notes);
    assert_false(scenario.is_changed);
    scenario_release(&scenario);
    example_release(&example);
}

static void amounts_that_make_no_sense_are_refused(void **state)
{
    static const struct {
        const char *text;
        const char *expected;
    } wrong[] = {
        {"n4.memory=32Q", "'32Q' is no memory; try 64M, +32M, -32M or 2x"},
        {"n4.memory=", "'' is no memory; try 64M, +32M, -32M or 2x"},
        {"n4.memory=+", "'+' is no memory; try 64M, +32M, -32M or 2x"},
        {"n4.memory=x", "'x' is no memory; try 64M, +32M, -32M or 2x"},
        {"n4.memory=-2x", "'-2x' is no memory; try 64M, +32M, -32M or 2x"},
        {"n4.memory=1e3", "'1e3' is no memory; try 64M, +32M, -32M or 2x"},
        {"n4.memory=-45M", "memory would be 0.0 MiB"},
        {"n4.memory=16777216T",
         "'16777216T' is no memory; try 64M, +32M, -32M or 2x"},
        {"n4.memory=99999999x", NULL},
        {"n4.speed=-300", "speed would be 0"},
        {"n4.speed=0x", "speed would be 0"},
        {"n4.speed=nan", "'nan' is no speed; try 500, +100, -100 or 2x"},
        {"n4.speed=inf", "'inf' is no speed; try 500, +100, -100 or 2x"},
        {"n4.workers=0", "workers would be 0"},
        {"n4.workers=-1", "workers would be 0"},
        {"n4.workers=257", "workers would be 257"},
        {"threads=0", "'0' is no number of threads; try threads=64"},
        {"threads=1.5", "'1.5' is no number of threads; try threads=64"},
        {"threads=", "'' is no number of threads; try threads=64"},
        {"threads=4294967295",
         "'4294967295' is no number of threads; try threads=64"},
        {"threads=100000001", "more than 100000000 threads, or 2^32 groups of "
                              "pages or uses"},
    };
    struct example example;
    struct scenario scenario;

    (void)state;
    example_make(&example, 8);
    scenario = scenario_of(&example);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char expected[256];

        snprintf(expected, sizeof expected, "'%s': %s", wrong[i].text,
                 wrong[i].expected);
        if (wrong[i].expected != NULL) {
            expect_refusal(&scenario, wrong[i].text, expected);
        } else {
            change(&scenario, wrong[i].text); // much, but possible
        }
    }
    scenario_release(&scenario);
    example_release(&example);
}

static void nodes_that_cannot_come_or_go_are_refused(void **state)
{
    static const char form[] = "a new node is add:NAME,speed=400,memory=64M"
                               "[,workers=2][,power=1.2][,like=NODE]";
    struct example example;
    struct scenario scenario;
    char expected[256];

    (void)state;
    example_make(&example, 8);
    example.profile.view.threads[5].is_pinned = 1;
    scenario = scenario_of(&example);
    expect_refusal(&scenario, "add:n5",
                   "'add:n5': a new node needs memory=; or say like=NODE");
    expect_refusal(&scenario, "add:n5,memory=1M",
                   "'add:n5,memory=1M': a new node needs speed=; or say "
                   "like=NODE");
    expect_refusal(&scenario, "add:n4,like=n1",
                   "'add:n4,like=n1': there is a node n4 already");
    expect_refusal(&scenario, "add:,like=n1",
                   "'add:,like=n1': '' is no name; try "
                   "add:n5,speed=400,memory=64M");
    expect_refusal(&scenario, "add:n5,like=n9",
                   "'add:n5,like=n9': there is no node n9; there are n1, n2, "
                   "n3, n4");
    snprintf(expected, sizeof expected,
             "'add:n5,disk=1': 'disk' is not known; %s", form);
    expect_refusal(&scenario, "add:n5,disk=1", expected);
    expect_refusal(&scenario, "remove:n3",
                   "'remove:n3': thread 5 is pinned to it");
    expect_refusal(&scenario, "remove:n9",
                   "'remove:n9': there is no node n9; there are n1, n2, n3, "
                   "n4");
    change(&scenario, "remove:n1");
    change(&scenario, "remove:n2");
    change(&scenario, "remove:n4");
    expect_refusal(&scenario, "remove:n3", "'remove:n3': it is the last node");
    expect_whole(&scenario);
    scenario_release(&scenario);
    example_release(&example);
}

/** Write a change, some words of which may be wrong. */
static void draw_change(char *text, size_t size)
{
    static const char *const nodes[] = {"n1", "n4", "@1", "all", "n5", "@9"};
    static const char *const names[] = {"memory", "speed", "power", "workers",
                                        "like"};
    static const char *const amounts[] = {"64M", "+8M", "-8M", "2x", "0.5x",
                                          "3",   "+1",  "0",   "n1", "1e9"};
    const char *node = nodes[random_below(6)];
    const char *name = names[random_below(5)];
    const char *amount = amounts[random_below(10)];

    switch (random_below(8)) {
    case 0:
        snprintf(text, size, "add:%s,speed=%s,memory=64M", node, amount);
        break;
    case 1:
        snprintf(text, size, "add:%s,like=n4,%s=%s", node, name, amount);
        break;
    case 2:
        snprintf(text, size, "remove:%s", node);
        break;
    case 3:
        snprintf(text, size, "threads=%s", amount);
        break;
    default:
        snprintf(text, size, "%s.%s=%s", node, name, amount);
        break;
    }
    if (random_below(8) == 0) {
        text[random_below((uint32_t)strlen(text))] = ".,=:x"[random_below(5)];
    }
}

static void random_changes_leave_it_whole_or_are_refused(void **state)
{
    struct example example;
    int n_taken = 0;

    (void)state;
    example_make(&example, 8);
    for (int round = 0; round < 1000; round++) {
        struct scenario scenario = scenario_of(&example);

        for (int k = 0; k < 6; k++) {
            char text[256];
            char error[256] = "";

            draw_change(text, sizeof text);
            if (scenario_change(&scenario, text, error, sizeof error) ==
                TM_OK) {
                n_taken++;
            } else {
                assert_int_equal(error[0], '\'');
            }
        }
        expect_whole(&scenario);
        scenario_release(&scenario);
    }
    print_message("%d changes of 6000\n", n_taken);
    assert_in_range(n_taken, 600, 5400);
    example_release(&example);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_set_added_taken_and_multiplied),
        cmocka_unit_test(speed_is_in_the_unit_of_the_run),
        cmocka_unit_test(without_a_unit_speed_is_a_factor_only),
        cmocka_unit_test(all_nodes_are_changed_or_none),
        cmocka_unit_test(a_node_is_added),
        cmocka_unit_test(
            threads_of_a_removed_node_go_where_least_is_to_be_done),
        cmocka_unit_test(a_measurement_of_another_cluster_is_predicted),
        cmocka_unit_test(a_node_may_be_named_by_its_number),
        cmocka_unit_test(what_is_no_change_is_refused_with_a_hint),
        cmocka_unit_test(amounts_that_make_no_sense_are_refused),
        cmocka_unit_test(nodes_that_cannot_come_or_go_are_refused),
        cmocka_unit_test(random_changes_leave_it_whole_or_are_refused),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
