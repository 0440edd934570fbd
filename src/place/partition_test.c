// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/sample_views_test.h"
#include "place/partition.h"

#define MAX_NODES 8
#define MAX_THREADS 256

struct fixture {
    struct cluster_view view;
    struct affinity affinity;
    uint32_t counts[MAX_NODES];
    uint32_t current[MAX_THREADS];
    struct partition_problem problem;
};

static void fixture_finish(struct fixture *f)
{
    affinity_init(&f->affinity, &f->view, AFFINITY_COST, 0);
    f->problem = (struct partition_problem){&f->view, &f->affinity, f->counts,
                                            f->current, INFINITY};
}

static void fixture_release(struct fixture *f)
{
    affinity_release(&f->affinity);
    cluster_view_release(&f->view);
}

/** A chain of threads; thread number_of[k] is the k-th. */
static void make_chain(struct fixture *f, uint32_t n_nodes, uint32_t n_threads,
                       const uint32_t *number_of)
{
    struct page_lists lists;

    view_make(&f->view, n_nodes, n_threads);
    lists_init(&lists, n_threads);
    for (uint32_t k = 0; k < n_threads; k++) {
        lists_add(&lists, number_of[k], 10 * k, 1, USE_WRITE, 1000);
        lists_add(&lists, number_of[(k + 1) % n_threads], 10 * k, 1, USE_READ,
                  0);
    }
    lists_build(&lists, &f->view);
    lists_release(&lists);
    f->view.nodes[0].packet_s = 0.1;
}

static void draw_counts(struct fixture *f)
{
    const uint32_t n = f->view.n_threads;

    memset(f->counts, 0, sizeof f->counts);
    for (uint32_t i = 0; i < n; i++) {
        f->counts[random_below(f->view.n_nodes)]++;
    }
}

static void assert_sizes(const struct fixture *f, const uint32_t *node_of)
{
    uint32_t n_on[MAX_NODES] = {0};

    for (uint32_t i = 0; i < f->view.n_threads; i++) {
        assert_true(node_of[i] < f->view.n_nodes);
        n_on[node_of[i]]++;
    }
    assert_memory_equal(n_on, f->counts, f->view.n_nodes * sizeof *n_on);
}

static void affinity_is_symmetric_and_adds_up(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        const struct view_plan plan = {
            3, 2 + random_below(60), 0, 1, (enum sharing)(round % N_SHARINGS),
            1};
        struct cluster_view view;
        struct affinity a;
        uint32_t node_of[64];
        double sum = 0;

        view_draw(&view, &plan);
        affinity_init(&a, &view, (enum affinity_kind)(round % 3), 0.1);
        for (uint32_t i = 0; i < a.n_threads; i++) {
            for (uint32_t e = a.first[i]; e < a.first[i + 1]; e++) {
                const uint32_t j = a.peers[e];
                double back = 0;

                assert_true(j != i && a.weights[e] > 0);
                for (uint32_t k = a.first[j]; k < a.first[j + 1]; k++) {
                    back += a.peers[k] == i ? a.weights[k] : 0;
                }
                assert_true(fabs(back - a.weights[e]) <= 1e-9 * back);
                sum += a.weights[e] / 2;
            }
            node_of[i] = i;
        }
        assert_true(fabs(sum - a.total) <= 1e-9 * sum);
        assert_true(fabs(affinity_cut(&a, node_of) - sum) <= 1e-9 * sum);
        memset(node_of, 0, sizeof node_of);
        assert_true(affinity_cut(&a, node_of) == 0);
        affinity_release(&a);
        cluster_view_release(&view);
    }
}

static void weights_are_those_of_the_kinds(void **state)
{
    struct cluster_view view;
    struct page_lists lists;
    struct affinity a;

    (void)state;
    // Three threads share 5 pages, one writes; two of them 7, both write.
    view_make(&view, 1, 3);
    view.nodes[0].packet_s = 1;
    view.nodes[0].packet_bytes = 1000;
    lists_init(&lists, 3);
    for (uint32_t i = 0; i < 3; i++) {
        lists_add(&lists, i, 0, 5, i == 0 ? 3 : 1, i == 0 ? 100 : 0);
    }
    lists_add(&lists, 1, 50, 7, 3, 0);
    lists_add(&lists, 2, 50, 7, 3, 0);
    lists_build(&lists, &view);
    lists_release(&lists);
    affinity_init(&a, &view, AFFINITY_CORRELATION, 0);
    assert_true(a.weights[a.first[0]] == 5 && a.total == 5 + 5 + 12);
    affinity_release(&a);
    affinity_init(&a, &view, AFFINITY_COHESION, 0);
    assert_true(a.total == 5 + 5 + 0 + 14);
    affinity_release(&a);
    affinity_init(&a, &view, AFFINITY_COST, 2);
    // 5 pages of (0.1 s + 2 s), half to each pair; 7 pages of 2 s
    assert_true(fabs(a.total - (3 * 5 * 2.1 / 2 + 14)) < 1e-6);
    affinity_release(&a);
    cluster_view_release(&view);
}

static void groups_have_the_sizes_asked_for(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 150; round++) {
        const struct view_plan plan = {1 + random_below(MAX_NODES),
                                       1 + random_below(120),
                                       0,
                                       1,
                                       (enum sharing)(round % N_SHARINGS),
                                       1};
        struct fixture f;
        uint32_t node_of[MAX_THREADS];
        double cut;

        view_draw(&f.view, &plan);
        draw_counts(&f);
        mapping_draw(&f.view, f.current);
        fixture_finish(&f);
        memcpy(node_of, f.current, sizeof node_of);
        partition_repair(&f.problem, node_of);
        assert_sizes(&f, node_of);
        cut = affinity_cut(&f.affinity, node_of);
        partition_swap(&f.problem, node_of);
        assert_sizes(&f, node_of);
        assert_true(affinity_cut(&f.affinity, node_of) <= cut * (1 + 1e-9));
        partition_find(&f.problem, 0, node_of);
        assert_sizes(&f, node_of);
        fixture_release(&f);
    }
}

static void a_chain_in_order_is_cut_into_runs(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        const uint32_t n = round % 2 ? 24 : 96;
        uint32_t number_of[MAX_THREADS];
        uint32_t node_of[MAX_THREADS];
        struct fixture f;
        uint32_t n_nodes = 0;
        double edge;

        for (uint32_t k = 0; k < n; k++) {
            number_of[k] = k;
        }
        make_chain(&f, 4, n, number_of);
        draw_counts(&f);
        mapping_draw(&f.view, f.current);
        fixture_finish(&f);
        edge = f.affinity.total / n;
        for (uint32_t x = 0; x < 4; x++) {
            n_nodes += f.counts[x] > 0;
        }
        partition_find(&f.problem, 0, node_of);
        assert_true(affinity_cut(&f.affinity, node_of) <=
                    n_nodes * edge * 1.001); // as many cuts as runs
        fixture_release(&f);
    }
}

/** The most that the swap of any pair would still win. */
static double most_to_win(const struct fixture *f, uint32_t *node_of)
{
    const double cut = affinity_cut(&f->affinity, node_of);
    double most = 0;

    for (uint32_t i = 0; i < f->view.n_threads; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const uint32_t x = node_of[i];

            node_of[i] = node_of[j];
            node_of[j] = x;
            most = fmax(most, cut - affinity_cut(&f->affinity, node_of));
            node_of[j] = node_of[i];
            node_of[i] = x;
        }
    }
    return most;
}

static void no_swap_that_wins_is_left(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        const struct view_plan plan = {2 + random_below(MAX_NODES - 1),
                                       8 + random_below(33),
                                       round % 2,
                                       1,
                                       SHARING_PAIRS,
                                       0};
        uint32_t node_of[MAX_THREADS];
        struct fixture f;

        view_draw(&f.view, &plan);
        f.view.nodes[0].packet_s = 0.1;
        mapping_draw(&f.view, f.current);
        mapping_draw(&f.view, node_of);
        fixture_finish(&f);
        partition_swap(&f.problem, node_of);
        assert_true(most_to_win(&f, node_of) <= 1e-8 * f.affinity.total);
        fixture_release(&f);
    }
}

static void nothing_moves_where_nothing_is_to_be_won(void **state)
{
    struct fixture f;
    uint32_t number_of[64];
    uint32_t node_of[64];

    (void)state;
    for (uint32_t k = 0; k < 64; k++) {
        number_of[k] = k;
    }
    make_chain(&f, 4, 64, number_of);
    mapping_in_blocks(&f.view, f.current);
    for (uint32_t x = 0; x < 4; x++) {
        f.counts[x] = 16;
    }
    fixture_finish(&f);
    partition_find(&f.problem, 0, node_of);
    assert_memory_equal(node_of, f.current, sizeof node_of);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affinity_is_symmetric_and_adds_up),
        cmocka_unit_test(weights_are_those_of_the_kinds),
        cmocka_unit_test(groups_have_the_sizes_asked_for),
        cmocka_unit_test(a_chain_in_order_is_cut_into_runs),
        cmocka_unit_test(no_swap_that_wins_is_left),
        cmocka_unit_test(nothing_moves_where_nothing_is_to_be_won),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
