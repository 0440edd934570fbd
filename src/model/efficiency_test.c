// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/efficiency.h"
#include "model/sample_views_test.h"

#define NODES_MAX 9u

static double product(const struct efficiency *it)
{
    return it->load_balance * it->paging * it->communication * it->speed;
}

// A part of a run in which no node works for longer than it lasts.
static double draw_part(struct efficiency_node *nodes, uint32_t n)
{
    const double time_s = random_between(0.001, 2);

    for (uint32_t x = 0; x < n; x++) {
        const double workers = 1 + random_below(8);
        const double computing = random_between(0, 1);
        const double paging = random_between(0, 1 - computing);

        nodes[x] = (struct efficiency_node){
            .power = random_between(0.1, 4),
            .n_workers = workers,
            .computing_s = computing * workers * time_s,
            .paging_s = paging * workers * time_s,
        };
    }
    return time_s;
}

static void the_product_of_the_factors_is_the_efficiency(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        struct efficiency_node nodes[NODES_MAX];
        struct efficiency_sums sums = {0};
        struct efficiency found;
        double work = 0;
        double capacity = 0;

        for (unsigned part = 1 + random_below(6); part > 0; part--) {
            const uint32_t n = 1 + random_below(NODES_MAX);
            const double time_s = draw_part(nodes, n);

            efficiency_add(&sums, nodes, n, time_s);
            for (uint32_t x = 0; x < n; x++) {
                work += nodes[x].power * nodes[x].computing_s;
                capacity += nodes[x].power * nodes[x].n_workers * time_s;
            }
        }
        assert_true(efficiency_of(&sums, &found));
        assert_true(fabs(found.total - work / capacity) < 1e-9);
        assert_true(fabs(product(&found) / found.total - 1) < 1e-9);
        assert_true(found.total > 0 && found.total <= 1);
        assert_true(found.load_balance > 0 && found.load_balance <= 1);
        assert_true(found.paging > 0 && found.paging <= 1);
        assert_true(found.communication > 0 &&
                    found.communication <= 1 + 1e-12);
    }
}

static struct efficiency of_two(const struct efficiency_node *nodes,
                                double time_s)
{
    struct efficiency_sums sums = {0};
    struct efficiency found;

    efficiency_add(&sums, nodes, 2, time_s);
    assert_true(efficiency_of(&sums, &found));
    return found;
}

static int is_about(double value, double expected)
{
    return fabs(value - expected) < 1e-12;
}

static void each_cause_lowers_its_own_factor(void **state)
{
    const struct efficiency_node even[] = {{1, 2, 4, 0}, {1, 2, 4, 0}};
    const struct efficiency_node uneven[] = {{1, 1, 2, 0}, {1, 1, 1, 0}};
    const struct efficiency_node pages[] = {{1, 1, 1, 0}, {1, 1, 1, 3}};
    struct efficiency it;

    (void)state;
    it = of_two(even, 2);
    assert_true(is_about(it.total, 1) && is_about(product(&it), 1) &&
                is_about(it.load_balance, 1) && is_about(it.paging, 1) &&
                is_about(it.communication, 1) && is_about(it.speed, 1));
    it = of_two(even, 4); // half of the time nobody computes
    assert_true(is_about(it.communication, 0.5) && is_about(it.total, 0.5) &&
                is_about(it.load_balance, 1) && is_about(it.paging, 1));
    it = of_two(uneven, 2);
    assert_true(is_about(it.load_balance, 0.75) && is_about(it.total, 0.75) &&
                is_about(it.communication, 1) && is_about(it.speed, 1));
    it = of_two(pages, 4);
    assert_true(is_about(it.paging, 0.25) && is_about(it.total, 0.25) &&
                is_about(it.communication, 1) && is_about(it.load_balance, 1));
}

static void speed_tells_whether_the_fast_node_works_longer(void **state)
{
    const struct efficiency_node fast_idles[] = {{3, 1, 1, 0}, {1, 1, 2, 0}};
    const struct efficiency_node slow_idles[] = {{3, 1, 2, 0}, {1, 1, 1, 0}};
    const struct efficiency_node all_work[] = {{3, 1, 2, 0}, {1, 1, 2, 0}};

    (void)state;
    assert_true(of_two(fast_idles, 2).speed < 0.9);
    assert_true(of_two(slow_idles, 2).speed > 1.1);
    assert_true(is_about(of_two(all_work, 2).speed, 1));
}

static void who_is_slowest_counts_in_each_part_by_itself(void **state)
{
    const struct efficiency_node first[] = {{1, 1, 2, 0}, {1, 1, 0, 0}};
    const struct efficiency_node second[] = {{1, 1, 0, 0}, {1, 1, 2, 0}};
    struct efficiency_sums sums = {0};
    struct efficiency found;

    (void)state;
    efficiency_add(&sums, first, 2, 2);
    efficiency_add(&sums, second, 2, 2);
    assert_true(efficiency_of(&sums, &found));
    assert_true(is_about(found.load_balance, 0.5));
    assert_true(is_about(found.communication, 1));
}

static void there_are_none_where_nothing_was_computed(void **state)
{
    const struct efficiency_node idle[] = {{1, 1, 0, 1}, {1, 1, 0, 0}};
    struct efficiency_sums sums = {0};
    struct efficiency found;

    (void)state;
    assert_false(efficiency_of(&sums, &found));
    efficiency_add(&sums, idle, 2, 0); // no time: nothing
    assert_true(is_about(sums.time_s, 0));
    efficiency_add(&sums, idle, 2, 1);
    assert_false(efficiency_of(&sums, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_product_of_the_factors_is_the_efficiency),
        cmocka_unit_test(each_cause_lowers_its_own_factor),
        cmocka_unit_test(speed_tells_whether_the_fast_node_works_longer),
        cmocka_unit_test(who_is_slowest_counts_in_each_part_by_itself),
        cmocka_unit_test(there_are_none_where_nothing_was_computed),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
