// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/sample_views_test.h"
#include "place/counts.h"
#include "place/policies.h"

/* The policies that are in use now: what each decides in cases that can be worked out by
 * hand, and what holds of it on random clusters. */

#define MAX_NODES 4
#define MAX_THREADS 40
#define N_ROUNDS 300

static const struct cost_model measured_model = {.kind = COST_MEASURED};

struct answer {
    uint32_t node_of[MAX_THREADS];
    uint32_t counts[MAX_NODES];
    struct mapping mapping;
};

static void ask(const struct policy *policy, const struct cluster_view *view,
                struct answer *answer)
{
    uint32_t current[MAX_THREADS];
    const struct place_request request = {
        .view = view, .model = &measured_model, .current = current};

    mapping_in_blocks(view, current);
    answer->mapping.node_of = answer->node_of;
    assert_int_equal(policy_place(policy, &request, &answer->mapping), TM_OK);
    counts_of(view, answer->node_of, answer->counts);
}

static void assert_counts(const struct answer *answer, uint32_t n0, uint32_t n1,
                          uint32_t n2, uint32_t n3)
{
    const uint32_t expected[] = {n0, n1, n2, n3};

    for (unsigned x = 0; x < 4; x++) {
        assert_int_equal(answer->counts[x], expected[x]);
    }
}

/** Pages that do not fit, of all nodes. */
static double lack_of(const struct cluster_view *view, const uint32_t *node_of)
{
    struct node_prediction nodes[MAX_NODES];
    struct prediction prediction = {.nodes = nodes};
    double lack = 0;

    assert_int_equal(predict(view, &measured_model, node_of, &prediction),
                     TM_OK);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        lack += nodes[x].lack_pages;
    }
    return lack;
}

/** Each thread writes 10 pages of its own, and reads some that all do. */
static void make_tens(struct cluster_view *view, uint32_t n_nodes,
                      uint32_t n_threads, uint32_t n_common)
{
    struct page_lists lists;

    view_make(view, n_nodes, n_threads);
    lists_init(&lists, n_threads);
    for (uint32_t i = 0; i < n_threads; i++) {
        lists_add(&lists, i, i * 100, 10, USE_WRITE, 0);
        lists_add(&lists, i, 100000, n_common, USE_READ, 0);
    }
    lists_build(&lists, view);
    lists_release(&lists);
}

// ---- by hand ----

static void set_memory(struct cluster_view *view, uint64_t m0, uint64_t m1,
                       uint64_t m2, uint64_t m3)
{
    const uint64_t memory[] = {m0, m1, m2, m3};

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        view->nodes[x].memory_pages = memory[x];
    }
}

static void waterfill_is_by_memory_first_then_by_speed(void **state)
{
    struct cluster_view view;
    struct answer a;

    (void)state;
    make_tens(&view, 4, 32, 0);
    set_memory(&view, 59, 70, 1000, 1000);
    ask(&policy_waterfill, &view, &a);
    assert_counts(&a, 5, 7, 10, 10);
    set_memory(&view, 1000, 1000, 1000, 1000);
    view.nodes[1].power = view.nodes[2].power = 0.8;
    view.nodes[3].power = 0.6;
    ask(&policy_waterfill, &view, &a);
    assert_counts(&a, 10, 8, 8, 6);
    // 24 of 32 fit: all memories are filled a third too far.
    set_memory(&view, 59, 70, 90, 30);
    ask(&policy_waterfill, &view, &a);
    assert_counts(&a, 7, 9, 12, 4);
    cluster_view_release(&view);
}

static void waterfill_counts_what_all_read_once_a_node(void **state)
{
    struct cluster_view view;
    struct answer a;

    (void)state;
    make_tens(&view, 4, 32, 40);
    set_memory(&view, 90, 1000, 1000, 1000);
    ask(&policy_waterfill, &view, &a);
    assert_counts(&a, 5, 9, 9, 9);
    cluster_view_release(&view);
}

/** Two equal nodes, of which the first has room for 2 of 10 threads. */
static void make_short(struct cluster_view *view, uint64_t memory, double in_s,
                       double out_s)
{
    make_tens(view, 2, 10, 0);
    set_memory(view, memory, 1000, 0, 0);
    for (uint32_t x = 0; x < 2; x++) {
        view->nodes[x].swap_in_s = in_s;
        view->nodes[x].swap_out_s = out_s;
    }
}

static void fpm_has_all_end_together_paging_included(void **state)
{
    struct cluster_view view;
    struct answer a;

    (void)state;
    // T_0(n) = n + (n - 2), T_1(n) = n
    make_short(&view, 20, 0.02, 0.08);
    ask(&policy_fpm, &view, &a);
    assert_int_equal(a.counts[0], 4);
    assert_int_equal(a.counts[1], 6);
    cluster_view_release(&view);
}

static void halda_prices_what_lacks_by_reading_the_disk(void **state)
{
    struct cluster_view view;
    struct answer a;

    (void)state;
    // T_0(n) = n + 0.2 (n - 2): nothing is written out.
    make_short(&view, 20, 0.02, 0.08);
    ask(&policy_halda, &view, &a);
    assert_int_equal(a.counts[0], 5);
    assert_int_equal(a.counts[1], 5);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(a.node_of[i], i / 5); // blocks
    }
    cluster_view_release(&view);
}

static void ccm_has_memory_as_a_bound(void **state)
{
    struct cluster_view view;
    struct answer a;

    (void)state;
    make_short(&view, 20, 0.001, 0.001); // paging would cost next to nothing
    ask(&policy_ccm, &view, &a);
    assert_int_equal(a.counts[0], 2);
    assert_int_equal(a.counts[1], 8);
    set_memory(&view, 20, 30, 0, 0); // fits nowhere: what lacks is spread
    ask(&policy_ccm, &view, &a);
    assert_in_range(a.counts[0], 4, 5);
    cluster_view_release(&view);
}

static void ccm_brings_together_what_sends(void **state)
{
    struct cluster_view view;
    struct page_lists lists;
    struct answer a;

    (void)state;
    view_make(&view, 2, 4);
    lists_init(&lists, 4);
    for (uint32_t i = 0; i < 4; i++) { // 0 with 2, 1 with 3
        lists_add(&lists, i, i % 2 * 10, 5, USE_READ | USE_WRITE, 500);
    }
    lists_build(&lists, &view);
    lists_release(&lists);
    view.nodes[0].packet_s = view.nodes[1].packet_s = 1;
    ask(&policy_ccm, &view, &a);
    assert_int_equal(a.node_of[0], a.node_of[2]);
    assert_int_equal(a.node_of[1], a.node_of[3]);
    assert_int_not_equal(a.node_of[0], a.node_of[1]);
    cluster_view_release(&view);
}

static void peris_keeps_away_from_where_chance_is(void **state)
{
    struct cluster_view view;
    struct answer a;

    (void)state;
    // The least paging there can be is 10 pages of 50: 5 + 0.8 s. At random it is
    // 18.6: 5 + 1.5 s, and 4 + 6 threads end in 6 s.
    make_short(&view, 40, 0.04, 0.04);
    ask(&policy_fpm, &view, &a);
    assert_int_equal(a.counts[0], 5);
    ask(&policy_peris, &view, &a);
    assert_int_equal(a.counts[0], 4);
    // Ample memory and equal nodes: equal shares.
    set_memory(&view, 1000, 1000, 0, 0);
    ask(&policy_peris, &view, &a);
    assert_int_equal(a.counts[0], 5);
    cluster_view_release(&view);
}

static void where_fetching_is_dear_one_node_has_it_all(void **state)
{
    const struct policy *const both[] = {&policy_fpm, &policy_peris};
    struct page_lists lists;
    struct cluster_view view;
    struct answer a;

    (void)state;
    // All read the same 100 pages. T(10) = 10 ms + 50 pages in 10 us, as they are its own;
    // of 9 threads half are fetched, in 1 ms each.
    view_make(&view, 2, 10);
    lists_init(&lists, 10);
    for (uint32_t i = 0; i < 10; i++) {
        lists_add(&lists, i, 0, 100, USE_READ, 0);
        view.threads[i].computation_s = 1e-3;
    }
    lists_build(&lists, &view);
    lists_release(&lists);
    set_memory(&view, 50, 50, 0, 0);
    for (uint32_t x = 0; x < 2; x++) {
        view.nodes[x].swap_in_s = 1e-5;
        view.nodes[x].swap_out_s = 1e-5;
        view.nodes[x].fetch_s = 1e-3;
    }
    for (unsigned k = 0; k < 2; k++) {
        ask(both[k], &view, &a);
        assert_int_equal(a.counts[0] * a.counts[1], 0);
    }
    cluster_view_release(&view);
}

static void pinned_threads_count_where_they_are(void **state)
{
    const struct policy *const all[] = {&policy_fpm, &policy_halda,
                                        &policy_peris, &policy_waterfill};
    struct cluster_view view;
    struct answer a;

    (void)state;
    // Node 0 is a tenth as quick, and keeps 4 threads; node 1 keeps one.
    make_tens(&view, 4, 16, 0);
    view.nodes[0].power = 0.1;
    for (uint32_t i = 0; i < 5; i++) {
        view.threads[i].is_pinned = 1;
    }
    for (unsigned k = 0; k < 4; k++) {
        ask(all[k], &view, &a);
        assert_counts(&a, 4, 4, 4, 4);
    }
    // Where they are there is no room: no more go there.
    view.nodes[0].power = 1;
    set_memory(&view, 30, 1000, 1000, 1000);
    ask(&policy_waterfill, &view, &a);
    assert_int_equal(a.counts[0], 4);
    cluster_view_release(&view);
}

static double falls_at_the_end(const void *of, uint32_t node, uint32_t n)
{
    const uint32_t *n_threads = of;

    return n == 0 ? 0 : n == *n_threads ? 5 : 10 + n + node;
}

static void counts_add_up_where_times_fall(void **state)
{
    const uint32_t n_threads = 17;
    const uint32_t pinned[3] = {2, 0, 3};
    struct node_times times = {&n_threads, falls_at_the_end, 3, n_threads,
                               NULL};
    uint32_t counts[3];

    (void)state;
    counts_from_times(&times, counts);
    assert_int_equal(counts[0], 17);
    times.floors = pinned;
    counts_from_times(&times, counts);
    assert_int_equal(counts[0] + counts[1] + counts[2], 17);
    assert_in_range(counts[0], 2, 7); // nobody can have them all
    assert_in_range(counts[2], 3, 7);
}

// ---- random clusters ----

static void draw(struct cluster_view *view, int are_alike, uint32_t n_threads,
                 enum sharing sharing)
{
    const struct view_plan plan = {
        2 + random_below(MAX_NODES - 1), n_threads, are_alike, 1, sharing, 1};

    view_draw(view, &plan);
}

/** The pages of a thread, shared ones too. */
static uint64_t pages_of(const struct cluster_view *view, uint32_t thread)
{
    const struct thread_view *it = &view->threads[thread];
    uint64_t pages = 0;

    for (uint32_t k = 0; k < it->n_uses; k++) {
        pages += view->group_pages[view->uses[it->first_use + k].group];
    }
    return pages;
}

static void threads_alike_fit_if_any_mapping_does(void **state)
{
    unsigned n_fit = 0;

    (void)state;
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        struct cluster_view view;
        struct answer a;
        uint64_t room = 0;

        draw(&view, 1, 4 + random_below(20), SHARING_NONE);
        for (uint32_t x = 0; x < view.n_nodes; x++) {
            view.nodes[x].memory_pages *= 2;
            room += view.nodes[x].memory_pages / pages_of(&view, 0);
        }
        if (room >= view.n_threads) {
            n_fit++;
            ask(&policy_waterfill, &view, &a);
            assert_true(lack_of(&view, a.node_of) <= 0);
            ask(&policy_ccm, &view, &a);
            assert_true(lack_of(&view, a.node_of) <= 0);
        }
        cluster_view_release(&view);
    }
    assert_true(n_fit > N_ROUNDS / 4);
}

/** With room for one more of the largest on each node, whatever threads use. */
static void threads_that_differ_fit_if_there_is_some_room(void **state)
{
    (void)state;
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        struct cluster_view view;
        struct answer a;
        uint64_t sum = 0;
        uint64_t most = 0;
        uint64_t room = 0;

        draw(&view, 0, 4 + random_below(20),
             (enum sharing)(round % N_SHARINGS));
        for (uint32_t i = 0; i < view.n_threads; i++) {
            const uint64_t pages = pages_of(&view, i);

            sum += pages;
            most = pages > most ? pages : most;
        }
        for (uint32_t x = 0; x < view.n_nodes; x++) {
            view.nodes[x].memory_pages = random_below(2 * (uint32_t)most);
            room += view.nodes[x].memory_pages;
        }
        if (room < sum + view.n_nodes * most) {
            view.nodes[random_below(view.n_nodes)].memory_pages +=
                sum + view.n_nodes * most - room;
        }
        ask(&policy_waterfill, &view, &a);
        assert_true(lack_of(&view, a.node_of) <= 0);
        ask(&policy_ccm, &view, &a);
        assert_true(lack_of(&view, a.node_of) <= 0);
        cluster_view_release(&view);
    }
}

/** How long the slowest node computes. */
static double level_of(const struct cluster_view *view, const uint32_t *node_of)
{
    double level = 0;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        double work_s = 0;

        for (uint32_t i = 0; i < view->n_threads; i++) {
            work_s += node_of[i] == x ? view->threads[i].computation_s : 0;
        }
        level = fmax(level, work_s / view->nodes[x].power);
    }
    return level;
}

/** The best blocks that fit, all of them tried; INFINITY if none do. */
static double best_blocks(const struct cluster_view *view, uint32_t *node_of,
                          uint32_t node, uint32_t first)
{
    double best;

    if (node + 1 == view->n_nodes) {
        for (uint32_t i = first; i < view->n_threads; i++) {
            node_of[i] = node;
        }
        return lack_of(view, node_of) <= 0 ? level_of(view, node_of) : INFINITY;
    }
    best = best_blocks(view, node_of, node + 1, first);
    for (uint32_t i = first; i < view->n_threads; i++) {
        for (uint32_t k = first; k <= i; k++) {
            node_of[k] = node;
        }
        best = fmin(best, best_blocks(view, node_of, node + 1, i + 1));
    }
    return best;
}

static void waterfill_finds_the_best_blocks_that_fit(void **state)
{
    unsigned n_fit = 0;

    (void)state;
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        struct cluster_view view;
        struct answer a;
        uint32_t tried[MAX_THREADS];
        double best;

        draw(&view, 0, 3 + random_below(6), (enum sharing)(round % N_SHARINGS));
        for (uint32_t x = 0; x < view.n_nodes; x++) {
            view.nodes[x].memory_pages *= 2;
        }
        best = best_blocks(&view, tried, 0, 0);
        ask(&policy_waterfill, &view, &a);
        if (best < INFINITY) {
            n_fit++;
            assert_true(lack_of(&view, a.node_of) <= 0);
            assert_true(level_of(&view, a.node_of) <= best * 1.0011);
        }
        cluster_view_release(&view);
    }
    assert_true(n_fit > N_ROUNDS / 10);
}

/** The least longest T_x(n_x) of all counts. */
static double best_counts(double (*time)(const void *, uint32_t, uint32_t),
                          const void *of, uint32_t n_nodes, uint32_t node,
                          uint32_t left)
{
    double best = INFINITY;

    if (node + 1 == n_nodes) {
        return time(of, node, left);
    }
    for (uint32_t n = 0; n <= left; n++) {
        const double here = time(of, node, n);
        const double there = best_counts(time, of, n_nodes, node + 1, left - n);

        best = fmin(best, fmax(here, there));
    }
    return best;
}

static double time_on_curve(const void *curve, uint32_t node, uint32_t n)
{
    return demand_curve_time(curve, node, n);
}

static void fpm_finds_the_best_counts(void **state)
{
    (void)state;
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        const uint32_t current[MAX_THREADS] = {0};
        struct cluster_view view;
        struct demand_curve curve;
        struct answer a;
        double best;

        draw(&view, round % 2, 3 + random_below(14),
             (enum sharing)(round % N_SHARINGS));
        demand_curve_init(&curve, &view, &measured_model, current,
                          COUNT_COMP | COUNT_MEM);
        best =
            best_counts(time_on_curve, &curve, view.n_nodes, 0, view.n_threads);
        ask(&policy_fpm, &view, &a);
        assert_true(demand_curve_iteration(&curve, a.counts) <=
                    best * (1 + 1e-9));
        demand_curve_release(&curve);
        cluster_view_release(&view);
    }
}

static double time_of_layers(const void *of, uint32_t node, uint32_t n)
{
    const struct cluster_view *view = of;
    const struct node_view *it = &view->nodes[node];
    const double lack =
        (double)(n * pages_of(view, 0)) - (double)it->memory_pages;

    return n == 0 ? 0
                  : n / it->power + (lack > 0 ? lack * it->swap_in_s : 0) +
                        2 * it->packet_s;
}

static void halda_finds_the_best_counts(void **state)
{
    (void)state;
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        struct cluster_view view;
        struct answer a;
        double best;
        double longest = 0;

        draw(&view, 1, 3 + random_below(14), SHARING_NONE);
        best =
            best_counts(time_of_layers, &view, view.n_nodes, 0, view.n_threads);
        ask(&policy_halda, &view, &a);
        for (uint32_t x = 0; x < view.n_nodes; x++) {
            longest = fmax(longest, time_of_layers(&view, x, a.counts[x]));
        }
        assert_true(longest <= best * (1 + 1e-9));
        cluster_view_release(&view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waterfill_is_by_memory_first_then_by_speed),
        cmocka_unit_test(waterfill_counts_what_all_read_once_a_node),
        cmocka_unit_test(fpm_has_all_end_together_paging_included),
        cmocka_unit_test(halda_prices_what_lacks_by_reading_the_disk),
        cmocka_unit_test(ccm_has_memory_as_a_bound),
        cmocka_unit_test(ccm_brings_together_what_sends),
        cmocka_unit_test(peris_keeps_away_from_where_chance_is),
        cmocka_unit_test(where_fetching_is_dear_one_node_has_it_all),
        cmocka_unit_test(pinned_threads_count_where_they_are),
        cmocka_unit_test(counts_add_up_where_times_fall),
        cmocka_unit_test(threads_alike_fit_if_any_mapping_does),
        cmocka_unit_test(threads_that_differ_fit_if_there_is_some_room),
        cmocka_unit_test(waterfill_finds_the_best_blocks_that_fit),
        cmocka_unit_test(fpm_finds_the_best_counts),
        cmocka_unit_test(halda_finds_the_best_counts),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
