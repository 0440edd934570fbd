// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/sample_views_test.h"
#include "place/counts.h"
#include "place/table3_test.h"

#define MAX_NODES 6

static const struct cost_model measured = {.kind = COST_MEASURED};

static void start_even(const struct cluster_view *view, uint32_t *counts)
{
    uint32_t node_of[64];

    mapping_in_blocks(view, node_of);
    counts_of(view, node_of, counts);
}

static void make_curve(struct demand_curve *curve,
                       const struct cluster_view *view, unsigned terms)
{
    uint32_t node_of[64] = {0};

    demand_curve_init(curve, view, &measured, node_of, terms);
}

static uint32_t sum_of(const uint32_t *counts, uint32_t n)
{
    uint32_t sum = 0;

    for (uint32_t x = 0; x < n; x++) {
        sum += counts[x];
    }
    return sum;
}

/** The best of all ways to share `left` threads over nodes x and above. */
static double best_of_all(const struct demand_curve *curve, uint32_t x,
                          uint32_t left, double so_far_s, double best_s)
{
    if (so_far_s >= best_s) {
        return best_s;
    }
    if (x + 1 == curve->n_nodes) {
        return fmin(best_s, fmax(so_far_s, demand_curve_time(curve, x, left)));
    }
    for (uint32_t n = 0; n <= left; n++) {
        best_s =
            best_of_all(curve, x + 1, left - n,
                        fmax(so_far_s, demand_curve_time(curve, x, n)), best_s);
    }
    return best_s;
}

// ---- [Liang03] Table 3 ----

static void assert_counts(const struct cluster_view *view,
                          enum count_steps steps, unsigned terms,
                          const uint32_t *expected)
{
    struct demand_curve curve;
    uint32_t counts[4];

    start_even(view, counts);
    make_curve(&curve, view, terms);
    counts_search(&curve, steps, counts);
    for (uint32_t x = 0; x < 4; x++) {
        assert_int_equal(counts[x], expected[x]);
    }
    demand_curve_release(&curve);
}

static const double memory9[] = {400, 36, 45, 72};
static const double memory_mm[] = {400, 27, 33.75, 54};

static void sor_of_table_3_comes_out(void **state)
{
    const uint32_t expected[] = {14, 5, 5, 8};

    (void)state;
    for (double gamma = 8.01; gamma < 10; gamma += 0.1) {
        struct cluster_view view;

        make_table3(&view, 9, 0, memory9, gamma / 9);
        assert_counts(&view, STEPS_LIU06, COUNT_ALL, expected);
        assert_counts(&view, STEPS_LIU06, COUNT_ALL, expected);
        cluster_view_release(&view);
    }
}

static void jacobi_of_table_3_comes_out(void **state)
{
    const uint32_t expected[] = {11, 6, 6, 9};

    (void)state;
    for (double gamma = 2.01; gamma < 3; gamma += 0.1) {
        struct cluster_view view;

        make_table3(&view, 9, 0, memory9, gamma / 9);
        assert_counts(&view, STEPS_LIU06, COUNT_ALL, expected);
        cluster_view_release(&view);
    }
}

static void multiplication_of_table_3_needs_the_matrix_counted_once(
    void **state)
{
    const uint32_t expected[] = {10, 7, 7, 8};

    (void)state;
    for (double per_mib = 0.0275; per_mib < 0.052; per_mib += 0.001) {
        struct cluster_view view;

        make_table3(&view, 4.5, 72, memory_mm, per_mib);
        assert_counts(&view, STEPS_LIU06, COUNT_ALL, expected);
        cluster_view_release(&view);
    }
}

static void memory_alone_gives_the_memory_based_row(void **state)
{
    const uint32_t expected[] = {15, 4, 5, 8};
    struct cluster_view view;

    (void)state;
    make_table3(&view, 9, 0, memory9, 5.0 / 9);
    assert_counts(&view, STEPS_LIU06, COUNT_MEM, expected);
    cluster_view_release(&view);
    make_table3(&view, 6.75, 0, memory_mm, 5.0 / 9);
    assert_counts(&view, STEPS_LIU06, COUNT_MEM, expected);
    cluster_view_release(&view);
}

static void computation_alone_leaves_equal_nodes_alone(void **state)
{
    const uint32_t expected[] = {8, 8, 8, 8};
    struct cluster_view view;

    (void)state;
    make_table3(&view, 9, 0, memory9, 5.0 / 9);
    assert_counts(&view, STEPS_LIU06, COUNT_COMP, expected);
    cluster_view_release(&view);
}

// ---- random clusters against all possibilities ----

struct table_of {
    unsigned n;
    unsigned n_stuck;
    double excess; ///< over the optimum, mean of those stuck
};

static void draw_alike(struct cluster_view *view, uint32_t max_processors,
                       uint32_t max_threads)
{
    static const enum sharing alike[] = {SHARING_NONE, SHARING_COMMON,
                                         SHARING_CHAIN, SHARING_ALL};
    const struct view_plan plan = {2 + random_below(3),
                                   4 + random_below(max_threads - 3),
                                   1,
                                   max_processors,
                                   alike[random_below(4)],
                                   random_between(0, 1.6)};

    view_draw(view, &plan);
}

static void try_steps(const struct cluster_view *view, enum count_steps steps,
                      struct table_of *seen)
{
    struct demand_curve curve;
    uint32_t counts[MAX_NODES];
    double best_s;
    double found_s;

    make_curve(&curve, view, COUNT_ALL);
    start_even(view, counts);
    best_s = best_of_all(&curve, 0, view->n_threads, 0, INFINITY);
    if (steps == STEPS_LIANG03 + 3) {
        const struct node_times times = demand_curve_times(&curve);

        counts_from_times(&times, counts);
    } else {
        counts_search(&curve, steps, counts);
    }
    assert_int_equal(sum_of(counts, view->n_nodes), view->n_threads);
    found_s = demand_curve_iteration(&curve, counts);
    assert_true(found_s >= best_s * (1 - 1e-12));
    seen->n++;
    if (found_s > best_s * (1 + 1e-9)) {
        seen->n_stuck++;
        seen->excess += found_s / best_s - 1;
    }
    demand_curve_release(&curve);
}

#define STEPS_THRESHOLD ((enum count_steps)(STEPS_LIANG03 + 3))

static struct table_of try_many(unsigned n, uint32_t max_processors,
                                enum count_steps steps)
{
    struct table_of seen = {0};

    for (unsigned k = 0; k < n; k++) {
        struct cluster_view view;

        draw_alike(&view, max_processors, 20);
        try_steps(&view, steps, &seen);
        cluster_view_release(&view);
    }
    printf("%u of %u stuck, then %.0f %% above the optimum\n", seen.n_stuck,
           seen.n, seen.n_stuck ? 100 * seen.excess / seen.n_stuck : 0.0);
    return seen;
}

static void the_papers_steps_are_optimal(void **state)
{
    (void)state;
    assert_int_equal(try_many(2000, 1, STEPS_LIU06).n_stuck, 0);
    assert_int_equal(try_many(3000, 6, STEPS_LIU06).n_stuck, 0);
}

static void the_short_search_sticks(void **state)
{
    (void)state;
    assert_true(try_many(1000, 1, STEPS_LIANG03).n_stuck > 0);
}

static void the_threshold_is_optimal(void **state)
{
    (void)state;
    assert_int_equal(try_many(3000, 6, STEPS_THRESHOLD).n_stuck, 0);
}

static void pinned_threads_are_not_taken_away(void **state)
{
    struct cluster_view view;
    struct demand_curve curve;
    uint32_t node_of[12];
    uint32_t counts[2] = {6, 6};
    struct node_times times;

    (void)state;
    view_make(&view, 2, 12);
    mapping_in_blocks(&view, node_of);
    view.nodes[0].power = 0.01;
    view.threads[0].is_pinned = view.threads[3].is_pinned = 1;
    demand_curve_init(&curve, &view, &measured, node_of, COUNT_ALL);
    counts_search(&curve, STEPS_LIU06, counts);
    assert_int_equal(counts[0], 2);
    times = demand_curve_times(&curve);
    counts_from_times(&times, counts);
    assert_int_equal(counts[0], 2);
    demand_curve_release(&curve);
    cluster_view_release(&view);
}

static void shares_in_proportion_add_up(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 1000; k++) {
        double weights[MAX_NODES];
        uint32_t counts[MAX_NODES];
        const uint32_t n = 1 + random_below(MAX_NODES);
        const uint32_t n_threads = 1 + random_below(100);
        double sum = 0;

        for (uint32_t x = 0; x < n; x++) {
            weights[x] = x == 0 ? 1 : random_between(0, 1);
            sum += weights[x];
        }
        counts_in_proportion(n_threads, weights, n, counts);
        assert_int_equal(sum_of(counts, n), n_threads);
        for (uint32_t x = 0; x < n; x++) {
            assert_true(fabs(counts[x] - n_threads * weights[x] / sum) < 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sor_of_table_3_comes_out),
        cmocka_unit_test(jacobi_of_table_3_comes_out),
        cmocka_unit_test(
            multiplication_of_table_3_needs_the_matrix_counted_once),
        cmocka_unit_test(memory_alone_gives_the_memory_based_row),
        cmocka_unit_test(computation_alone_leaves_equal_nodes_alone),
        cmocka_unit_test(the_papers_steps_are_optimal),
        cmocka_unit_test(the_short_search_sticks),
        cmocka_unit_test(the_threshold_is_optimal),
        cmocka_unit_test(pinned_threads_are_not_taken_away),
        cmocka_unit_test(shares_in_proportion_add_up),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
