// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "place/lower_bound.h"
#include "place/random_clusters_test.h"

/*
 * `cpu-mem`, `optimal` and the lower bound against all possibilities and
 * against each other, on random clusters.
 */

// ---- counts ----

/** The best counts of threads that are alike and share nothing, by trying all
 * counts with predict(). */
struct count_trial {
    const struct cluster_view *view;
    uint32_t node_of[MAX_THREADS];
    double best_s;
    double time_s[MAX_NODES][MAX_THREADS + 1]; ///< T_x(n)
};

static void fill_times(struct count_trial *trial)
{
    struct node_prediction nodes[MAX_NODES] = {{0}};
    struct prediction result = {.nodes = nodes};
    const struct cluster_view *view = trial->view;

    for (uint32_t n = 0; n <= view->n_threads; n++) {
        for (uint32_t x = 0; x < view->n_nodes; x++) {
            for (uint32_t i = 0; i < view->n_threads; i++) {
                trial->node_of[i] = i < n ? x : (x + 1) % view->n_nodes;
            }
            assert_int_equal(predict(view, &measured, trial->node_of, &result),
                             TM_OK);
            trial->time_s[x][n] = nodes[x].time_s;
        }
    }
}

static void try_counts(struct count_trial *trial, uint32_t x, uint32_t left,
                       double so_far_s)
{
    if (so_far_s >= trial->best_s) {
        return;
    }
    if (x + 1 == trial->view->n_nodes) {
        so_far_s = fmax(so_far_s, trial->time_s[x][left]);
        trial->best_s = fmin(trial->best_s, so_far_s);
        return;
    }
    for (uint32_t n = 0; n <= left; n++) {
        try_counts(trial, x + 1, left - n, fmax(so_far_s, trial->time_s[x][n]));
    }
}

static void cpu_mem_has_the_best_counts_of_threads_that_are_alike(void **state)
{
    const unsigned n = 1500;

    (void)state;
    for (unsigned round = 0; round < n; round++) {
        const struct view_plan plan = {2 + random_below(3),
                                       2 + random_below(19),
                                       1,
                                       1 + random_below(5),
                                       round % 2 ? SHARING_NONE
                                                 : SHARING_COMMON,
                                       random_between(0, 1.8)};
        struct cluster_view view;
        uint32_t current[MAX_THREADS];
        uint32_t node_of[MAX_THREADS];
        struct mapping mapping = {.node_of = node_of};
        struct count_trial *trial = must(calloc(1, sizeof *trial));

        view_draw(&view, &plan);
        mapping_in_blocks(&view, current);
        trial->view = &view;
        trial->best_s = INFINITY;
        fill_times(trial);
        try_counts(trial, 0, view.n_threads, 0);
        ask(&policy_cpu_mem, &view, current, &mapping);
        if (fabs(mapping.after_s / trial->best_s - 1) > 1e-6) {
            fail_msg("%g s instead of %g s, seed %llu", mapping.after_s,
                     trial->best_s, (unsigned long long)random_state);
        }
        free(trial);
        cluster_view_release(&view);
    }
}

// ---- optimal, and how near cpu-mem comes ----

/** The best of all mappings, by trying them with predict(). */
static double try_all(const struct cluster_view *view, uint32_t *node_of,
                      uint32_t thread)
{
    double best_s = INFINITY;

    if (thread == view->n_threads) {
        struct node_prediction nodes[MAX_NODES] = {{0}};
        struct prediction result = {.nodes = nodes};

        assert_int_equal(predict(view, &measured, node_of, &result), TM_OK);
        return result.iteration_s;
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        node_of[thread] = x;
        best_s = fmin(best_s, try_all(view, node_of, thread + 1));
    }
    return best_s;
}

static void optimal_is_the_best_of_all_mappings(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        struct cluster_view view;
        uint32_t current[8];
        uint32_t node_of[8];
        struct mapping mapping = {.node_of = node_of};
        double best_s;
        double bound_s;

        draw_view(&view, round, 3, 7);
        mapping_draw(&view, current);
        best_s = try_all(&view, node_of, 0);
        ask(&policy_optimal, &view, current, &mapping);
        assert_true(mapping.is_proven);
        assert_true(fabs(mapping.after_s - best_s) <= 1e-6 * best_s);
        bound_s = lower_bound_iteration(&view, &measured);
        assert_true(bound_s <= best_s * (1 + 1e-9));
        cluster_view_release(&view);
    }
}

static void no_mapping_is_below_the_bound(void **state)
{
    double sum = 0;
    const unsigned n = 500;

    (void)state;
    for (unsigned round = 0; round < n; round++) {
        struct cluster_view view;
        uint32_t current[MAX_THREADS];
        uint32_t node_of[MAX_THREADS];
        struct mapping mapping = {.node_of = node_of};
        double bound_s;

        draw_view(&view, round, MAX_NODES, MAX_THREADS);
        mapping_draw(&view, current);
        bound_s = lower_bound_iteration(&view, &measured);
        for (unsigned k = 0; k < n_policies; k++) {
            if (policies[k] != &policy_optimal) {
                ask(policies[k], &view, current, &mapping);
                assert_true(mapping.after_s >= bound_s * (1 - 1e-9));
                if (policies[k] == &policy_cpu_mem) {
                    sum += mapping.after_s / bound_s;
                }
            }
        }
        cluster_view_release(&view);
    }
    printf("cpu-mem is at %.2f times the bound\n", sum / n);
}

/** How far above the proven optimum. */
struct quality {
    double sum;
    double worst;
    unsigned n;
};

static void add_quality(struct quality *quality, double found_s, double best_s)
{
    const double above = found_s / best_s - 1;

    quality->sum += above;
    quality->worst = fmax(quality->worst, above);
    quality->n++;
}

static void cpu_mem_comes_near_the_optimum_of_threads_that_differ(void **state)
{
    struct quality cpu_mem = {0};
    unsigned n_unproven = 0;

    (void)state;
    for (unsigned round = 0; round < 250; round++) {
        const struct view_plan plan = {2 + random_below(3),
                                       6 + random_below(5),
                                       0,
                                       1 + round % 2,
                                       (enum sharing)(round % N_SHARINGS),
                                       random_between(0, 1.8)};
        struct cluster_view view;
        uint32_t current[MAX_THREADS];
        uint32_t node_of[MAX_THREADS];
        struct mapping mapping = {.node_of = node_of};
        double found_s;

        view_draw(&view, &plan);
        mapping_in_blocks(&view, current);
        found_s = ask(&policy_cpu_mem, &view, current, &mapping);
        ask(&policy_optimal, &view, current, &mapping);
        assert_true(mapping.after_s <= found_s * (1 + 1e-9));
        if (mapping.is_proven) {
            add_quality(&cpu_mem, found_s, mapping.after_s);
        } else {
            n_unproven++;
        }
        cluster_view_release(&view);
    }
    printf("cpu-mem is %.2f %% above %u proven optima in the mean, %.1f %% at "
           "worst; %u unproven\n",
           cpu_mem.sum / cpu_mem.n * 100, cpu_mem.n, cpu_mem.worst * 100,
           n_unproven);
    assert_true(cpu_mem.sum / cpu_mem.n < 0.05);
    assert_true(cpu_mem.n > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_mem_has_the_best_counts_of_threads_that_are_alike),
        cmocka_unit_test(optimal_is_the_best_of_all_mappings),
        cmocka_unit_test(no_mapping_is_below_the_bound),
        cmocka_unit_test(cpu_mem_comes_near_the_optimum_of_threads_that_differ),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
