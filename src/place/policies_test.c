// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/sample_views_test.h"
#include "place/policies.h"
#include "place/table3_test.h"

/* What each policy decides in cases that are easily understood. */

#define MAX_NODES 4
#define MAX_THREADS 40

static const struct cost_model measured_model = {.kind = COST_MEASURED};

struct answer {
    uint32_t node_of[MAX_THREADS];
    uint32_t counts[MAX_NODES];
    struct mapping mapping;
};

static void ask_by(const struct cost_model *model, const struct policy *policy,
                   const struct cluster_view *view, const uint32_t *current,
                   const struct measurement *measured, struct answer *answer)
{
    const struct place_request request = {
        .view = view, .model = model, .current = current, .measured = measured};

    answer->mapping.node_of = answer->node_of;
    assert_int_equal(policy_place(policy, &request, &answer->mapping), TM_OK);
    memset(answer->counts, 0, sizeof answer->counts);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        answer->counts[answer->node_of[i]]++;
    }
}

static void ask(const struct policy *policy, const struct cluster_view *view,
                const uint32_t *current, const struct measurement *measured,
                struct answer *answer)
{
    ask_by(&measured_model, policy, view, current, measured, answer);
}

static void assert_counts(const struct answer *answer, uint32_t n0, uint32_t n1,
                          uint32_t n2, uint32_t n3)
{
    const uint32_t expected[] = {n0, n1, n2, n3};

    for (unsigned x = 0; x < 4; x++) {
        assert_int_equal(answer->counts[x], expected[x]);
    }
}

// ---- [Liang03] Table 3 ----

static void table_3_comes_out_of_the_policies(void **state)
{
    const double memory[] = {400, 36, 45, 72};
    const double memory_mm[] = {400, 27, 33.75, 54};
    struct cluster_view view;
    uint32_t current[32];
    struct answer a;

    (void)state;
    make_table3(&view, 9, 0, memory, 9.0 / 9); // SOR
    mapping_in_blocks(&view, current);
    ask(&policy_cpu_mem, &view, current, NULL, &a);
    assert_counts(&a, 14, 5, 5, 8);
    ask(&policy_mem, &view, current, NULL, &a);
    assert_counts(&a, 15, 4, 5, 8);
    ask(&policy_cpu, &view, current, NULL, &a);
    assert_counts(&a, 8, 8, 8, 8);
    cluster_view_release(&view);

    make_table3(&view, 9, 0, memory, 2.5 / 9); // Jacobi
    ask(&policy_cpu_mem, &view, current, NULL, &a);
    assert_counts(&a, 11, 6, 6, 9);
    ask(&policy_mem, &view, current, NULL, &a);
    assert_counts(&a, 15, 4, 5, 8);
    cluster_view_release(&view);

    make_table3(&view, 4.5, 72, memory_mm, 0.04); // MM, B counted once
    ask(&policy_cpu_mem, &view, current, NULL, &a);
    assert_counts(&a, 10, 7, 7, 8);
    cluster_view_release(&view);
}

// ---- the others ----

static void make_powers(struct cluster_view *view, uint32_t n_threads)
{
    const double powers[] = {1, 0.8, 0.8, 0.6};

    view_make(view, 4, n_threads);
    for (uint32_t x = 0; x < 4; x++) {
        view->nodes[x].power = powers[x];
    }
}

static void initial_spreads_blocks(void **state)
{
    struct cluster_view view;
    const uint32_t current[MAX_THREADS] = {0};
    const uint32_t expected[] = {0, 0, 0, 1, 1, 1, 2, 2, 3, 3};
    struct answer a;

    (void)state;
    view_make(&view, 4, 10);
    ask(&policy_initial, &view, current, NULL, &a);
    assert_memory_equal(a.node_of, expected, sizeof expected);
    assert_int_equal(a.mapping.n_moves, 7);
    cluster_view_release(&view);
}

static void cpu_and_cvm_share_out_by_power(void **state)
{
    struct cluster_view view;
    uint32_t current[32];
    struct answer a;

    (void)state;
    make_powers(&view, 32);
    mapping_in_blocks(&view, current);
    ask(&policy_cpu, &view, current, NULL, &a);
    assert_counts(&a, 10, 8, 8, 6);
    assert_int_equal(a.mapping.n_moves, 2);
    ask(&policy_cvm, &view, current, NULL, &a);
    assert_counts(&a, 10, 8, 8, 6);
    cluster_view_release(&view);
}

static void processors_count(void **state)
{
    struct cluster_view view;
    uint32_t current[24];
    struct answer a;

    (void)state;
    view_make(&view, 4, 24);
    view.nodes[1].n_processors = 3;
    mapping_in_blocks(&view, current);
    ask(&policy_cpu_mem, &view, current, NULL, &a);
    assert_counts(&a, 4, 12, 4, 4);
    ask(&policy_cpu, &view, current, NULL, &a);
    assert_counts(&a, 4, 12, 4, 4);
    cluster_view_release(&view);
}

static void liang03_stops_early(void **state)
{
    struct cluster_view view;
    uint32_t current[32];
    struct answer a;

    (void)state;
    // Two nodes are the slowest: moving from one of them shortens nothing.
    view_make(&view, 4, 32);
    view.nodes[1].power = view.nodes[2].power = 0.5;
    mapping_in_blocks(&view, current);
    ask(&policy_liang03, &view, current, NULL, &a);
    assert_counts(&a, 8, 8, 8, 8);
    ask(&policy_cpu_mem, &view, current, NULL, &a);
    assert_true(a.mapping.after_s <= 11);
    cluster_view_release(&view);
}

static void cvm_puts_together_what_shares(void **state)
{
    struct cluster_view view;
    struct page_lists lists;
    uint32_t current[16];
    struct answer a;

    (void)state;
    // Thread i shares with i + 8.
    view_make(&view, 4, 16);
    lists_init(&lists, 16);
    for (uint32_t i = 0; i < 16; i++) {
        lists_add(&lists, i, i % 8 * 10, 5, USE_READ, 0);
    }
    lists_build(&lists, &view);
    lists_release(&lists);
    mapping_in_blocks(&view, current);
    ask(&policy_cvm, &view, current, NULL, &a);
    assert_counts(&a, 4, 4, 4, 4);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(a.node_of[i], a.node_of[i + 8]);
    }
    assert_in_range(a.mapping.n_moves, 8, 8); // no fewer will do
    cluster_view_release(&view);
}

/** A ring of threads; thread number_of[k] is the k-th. */
static void make_ring(struct cluster_view *view, uint32_t n_threads,
                      const uint32_t *number_of)
{
    struct page_lists lists;

    view_make(view, 4, n_threads);
    lists_init(&lists, n_threads);
    for (uint32_t k = 0; k < n_threads; k++) {
        lists_add(&lists, number_of[k], 10 * k, 1, USE_WRITE, 1000);
        lists_add(&lists, number_of[(k + 1) % n_threads], 10 * k, 1, USE_READ,
                  0);
    }
    lists_build(&lists, view);
    lists_release(&lists);
}

static void cvm_cuts_a_ring_into_runs_however_it_is_numbered(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        const uint32_t n = round % 2 ? 24 : 40;
        struct cluster_view view;
        uint32_t number_of[40];
        uint32_t current[40];
        unsigned n_cut = 0;
        struct answer a;

        for (uint32_t k = 0; k < n; k++) {
            const uint32_t at = random_below(k + 1);

            number_of[k] = number_of[at];
            number_of[at] = k;
        }
        make_ring(&view, n, number_of);
        mapping_draw(&view, current);
        ask(&policy_cvm, &view, current, NULL, &a);
        for (uint32_t k = 0; k < n; k++) {
            n_cut +=
                a.node_of[number_of[k]] != a.node_of[number_of[(k + 1) % n]];
        }
        assert_in_range(n_cut, 4, 8); // as many as runs, or a few more
        cluster_view_release(&view);
    }
}

static void cvm_gives_clusters_to_the_nodes_that_have_most_of_them(void **state)
{
    struct cluster_view view;
    uint32_t number_of[40];
    uint32_t current[40];
    struct answer a;

    (void)state;
    for (uint32_t k = 0; k < 40; k++) {
        number_of[k] = k;
        current[k] = (k / 10 + 1) % 4;
    }
    make_ring(&view, 40, number_of);
    ask(&policy_cvm, &view, current, NULL, &a);
    assert_memory_equal(a.node_of, current, sizeof current);
    // But only to those of their size.
    view.nodes[1].power = 1.5;
    ask(&policy_cvm, &view, current, NULL, &a);
    assert_counts(&a, 9, 13, 9, 9);
    cluster_view_release(&view);
}

static void jiajia_learns_power_from_times(void **state)
{
    struct cluster_view view;
    uint32_t current[32];
    struct node_measurement at[4] = {
        {.time_s = 8}, {.time_s = 16}, {.time_s = 8}, {.time_s = 8}};
    const struct measurement measured = {16, at};
    struct answer a;

    (void)state;
    view_make(&view, 4, 32);
    mapping_in_blocks(&view, current);
    ask(&policy_jiajia, &view, current, &measured, &a);
    assert_counts(&a, 9, 5, 9, 9);
    assert_true(a.mapping.owners_move);
    for (uint32_t i = 1; i < 32; i++) {
        assert_true(a.node_of[i] >= a.node_of[i - 1]);
    }
    // Little differences are left alone.
    at[1].time_s = 8.8;
    ask(&policy_jiajia, &view, current, &measured, &a);
    assert_counts(&a, 8, 8, 8, 8);
    assert_false(a.mapping.owners_move);
    cluster_view_release(&view);
}

static void cohesion_moves_to_the_lightest_and_swaps_what_shares(void **state)
{
    struct cluster_view view;
    struct page_lists lists;
    uint32_t current[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3};
    struct answer a;

    (void)state;
    // Threads 2k and 2k + 1 write the same pages.
    view_make(&view, 4, 16);
    lists_init(&lists, 16);
    for (uint32_t i = 0; i < 16; i++) {
        lists_add(&lists, i, i / 2 * 10, 5, USE_WRITE, 0);
    }
    lists_build(&lists, &view);
    lists_release(&lists);
    ask(&policy_cohesion, &view, current, NULL, &a);
    assert_counts(&a, 4, 4, 4, 4);
    for (uint32_t i = 0; i < 16; i += 2) {
        assert_int_equal(a.node_of[i], a.node_of[i + 1]);
    }
    assert_int_equal(a.mapping.n_moves, 6);
    cluster_view_release(&view);
}

static void gate_fills_no_node_beyond_its_memory(void **state)
{
    struct cluster_view view;
    struct page_lists lists;
    uint32_t current[32];
    struct answer a;

    (void)state;
    view_make(&view, 4, 32);
    lists_init(&lists, 32);
    for (uint32_t i = 0; i < 32; i++) {
        lists_add(&lists, i, i * 100, 10, USE_WRITE, 0);
    }
    lists_build(&lists, &view);
    lists_release(&lists);
    view.nodes[0].memory_pages = 59; // 5 threads
    view.nodes[1].memory_pages = 70;
    view.nodes[2].memory_pages = 1000;
    view.nodes[3].memory_pages = 1000;
    mapping_in_blocks(&view, current);
    ask(&policy_gate, &view, current, NULL, &a);
    assert_counts(&a, 5, 7, 10, 10);
    view.nodes[2].memory_pages = 90;
    view.nodes[3].memory_pages = 30; // 24 fit in all, 8 do not
    ask(&policy_gate, &view, current, NULL, &a);
    assert_counts(&a, 5 + 2, 7 + 2, 9 + 2, 3 + 2);
    cluster_view_release(&view);
}

static void mem_share_is_in_proportion_to_memory_short_or_not(void **state)
{
    const double memory[] = {400, 36, 45, 72};
    struct cluster_view view;
    uint32_t current[32];
    struct answer a;

    (void)state;
    // Group 1 B of [Liu06], ample: `mem` sees no difference, `mem-share` does.
    make_powers(&view, 32);
    for (uint32_t x = 0; x < 4; x++) {
        view.nodes[x].memory_pages = 256 * (90 - 15 * x);
    }
    mapping_in_blocks(&view, current);
    ask(&policy_mem, &view, current, NULL, &a);
    assert_int_equal(a.mapping.n_moves, 0);
    ask(&policy_mem_share, &view, current, NULL, &a);
    assert_counts(&a, 11, 9, 7, 5);
    assert_int_equal(a.mapping.n_moves, 4); // no more than needed
    cluster_view_release(&view);

    make_table3(&view, 9, 0, memory, 1);
    ask(&policy_mem_share, &view, current, NULL, &a);
    assert_counts(&a, 23, 2, 3, 4);
    for (uint32_t x = 0; x < 4; x++) {
        view.nodes[x].memory_pages = 0;
    }
    ask(&policy_mem_share, &view, current, NULL, &a);
    assert_counts(&a, 8, 8, 8, 8);
    cluster_view_release(&view);
}

static void policies_without_tcomm_ignore_its_rest(void **state)
{
    const struct correction learned[] = {
        {1, 1, 1, 1, .rest_s = 9},
        {1, 1, 1, 1, .rest_s = 3},
        {1, 1, 1, 1, .rest_s = 0},
        {1, 1, 1, 1, .rest_s = 6},
    };
    const struct cost_model model = {.kind = COST_MEASURED,
                                     .corrections = learned};
    struct cluster_view view;
    uint32_t current[32];
    struct answer a;

    (void)state;
    make_powers(&view, 32);
    mapping_in_blocks(&view, current);
    ask_by(&model, &policy_mem, &view, current, NULL, &a); // memory is ample
    assert_int_equal(a.mapping.n_moves, 0);
    ask_by(&model, &policy_cpu, &view, current, NULL, &a);
    assert_counts(&a, 10, 8, 8, 6);
    ask(&policy_liang03, &view, current, NULL, &a);
    const struct answer without = a;
    ask_by(&model, &policy_liang03, &view, current, NULL, &a);
    assert_counts(&a, without.counts[0], without.counts[1], without.counts[2],
                  without.counts[3]);
    ask_by(&model, &policy_cpu_mem, &view, current, NULL, &a);
    assert_true(a.counts[0] < 8); // to that one it is something
    cluster_view_release(&view);
}

static void cpu_mem_leaves_what_cannot_be_bettered(void **state)
{
    struct cluster_view view;
    uint32_t current[32];
    struct answer a;

    (void)state;
    make_powers(&view, 32);
    mapping_in_blocks(&view, current);
    ask(&policy_cpu_mem, &view, current, NULL, &a);
    assert_counts(&a, 10, 8, 8, 6);
    memcpy(current, a.node_of, sizeof current);
    ask(&policy_cpu_mem, &view, current, NULL, &a);
    assert_int_equal(a.mapping.n_moves, 0);
    cluster_view_release(&view);
}

static void cpu_mem_puts_all_on_one_node_if_sending_costs_most(void **state)
{
    struct cluster_view view;
    struct page_lists lists;
    uint32_t current[8];
    struct answer a;

    (void)state;
    view_make(&view, 4, 8);
    lists_init(&lists, 8);
    for (uint32_t i = 0; i < 8; i++) {
        lists_add(&lists, i, 0, 50, USE_READ | USE_WRITE, 500);
    }
    lists_build(&lists, &view);
    lists_release(&lists);
    for (uint32_t x = 0; x < 4; x++) {
        view.nodes[x].packet_s = 1;
    }
    view.nodes[2].power = 2;
    mapping_in_blocks(&view, current);
    ask(&policy_cpu_mem, &view, current, NULL, &a);
    assert_counts(&a, 0, 0, 8, 0);
    cluster_view_release(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_3_comes_out_of_the_policies),
        cmocka_unit_test(initial_spreads_blocks),
        cmocka_unit_test(cpu_and_cvm_share_out_by_power),
        cmocka_unit_test(processors_count),
        cmocka_unit_test(liang03_stops_early),
        cmocka_unit_test(cvm_puts_together_what_shares),
        cmocka_unit_test(cvm_cuts_a_ring_into_runs_however_it_is_numbered),
        cmocka_unit_test(
            cvm_gives_clusters_to_the_nodes_that_have_most_of_them),
        cmocka_unit_test(jiajia_learns_power_from_times),
        cmocka_unit_test(cohesion_moves_to_the_lightest_and_swaps_what_shares),
        cmocka_unit_test(gate_fills_no_node_beyond_its_memory),
        cmocka_unit_test(mem_share_is_in_proportion_to_memory_short_or_not),
        cmocka_unit_test(policies_without_tcomm_ignore_its_rest),
        cmocka_unit_test(cpu_mem_leaves_what_cannot_be_bettered),
        cmocka_unit_test(cpu_mem_puts_all_on_one_node_if_sending_costs_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
