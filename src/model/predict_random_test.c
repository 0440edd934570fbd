// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/predict.h"
#include "model/sample_views_test.h"
#include "model/workers.h"

/*
 * Predictions of random views and mappings against the equations written out
 * page by page, as they stand in [Liu06] and docs/model.md, with no regard for
 * speed.
 */

struct naive {
    const struct cluster_view *view;
    const uint32_t *node_of;
    int (*use_of)[64]; ///< [n_groups][threads]: index of the use, -1
};

static int use_index(const struct cluster_view *view, uint32_t thread,
                     uint32_t group)
{
    const struct thread_view *it = &view->threads[thread];

    for (uint32_t u = 0; u < it->n_uses; u++) {
        if (view->uses[it->first_use + u].group == group) {
            return (int)(it->first_use + u);
        }
    }
    return -1;
}

/** What the threads of a node do with a group. */
static void naive_use(const struct naive *naive, uint32_t node, uint32_t group,
                      unsigned *flags, unsigned *diff)
{
    *flags = 0;
    *diff = 0;
    for (uint32_t i = 0; i < naive->view->n_threads; i++) {
        const int u = naive->use_of[group][i];

        if (naive->node_of[i] == node && u >= 0) {
            *flags |= naive->view->uses[u].flags;
            *diff += naive->view->uses[u].diff_bytes;
        }
    }
    *diff = *diff < TM_PAGE_SIZE ? *diff : TM_PAGE_SIZE;
}

static double naive_comp(const struct naive *naive, uint32_t node)
{
    double times[64];
    uint32_t n = 0;

    for (uint32_t i = 0; i < naive->view->n_threads; i++) {
        if (naive->node_of[i] == node) {
            times[n++] = naive->view->threads[i].computation_s;
        }
    }
    return workers_makespan(times, n, naive->view->nodes[node].n_processors) /
           naive->view->nodes[node].power;
}

static double naive_mem(const struct naive *naive, uint32_t x)
{
    const struct node_view *node = &naive->view->nodes[x];
    double demand = 0;
    double cost = 0;

    for (uint32_t g = 0; g < naive->view->n_groups; g++) {
        const double pages = naive->view->group_pages[g];
        unsigned flags;
        unsigned diff;
        int others = 0;

        naive_use(naive, x, g, &flags, &diff);
        if (flags == 0) {
            continue;
        }
        for (uint32_t i = 0; i < naive->view->n_threads; i++) {
            others |= naive->node_of[i] != x && naive->use_of[g][i] >= 0;
        }
        demand += pages;
        cost += pages * (flags & USE_WRITE ? node->swap_in_s + node->swap_out_s
                         : others          ? node->fetch_s
                                           : node->swap_in_s);
    }
    return demand > (double)node->memory_pages
               ? cost * (demand - (double)node->memory_pages) / demand
               : 0;
}

static double naive_updates(const struct naive *naive, uint32_t x)
{
    double updates = 0;

    for (uint32_t g = 0; g < naive->view->n_groups; g++) {
        unsigned flags;
        unsigned diff;
        int others = 0;

        naive_use(naive, x, g, &flags, &diff);
        for (uint32_t i = 0; i < naive->view->n_threads; i++) {
            others |= naive->node_of[i] != x && naive->use_of[g][i] >= 0;
        }
        if ((flags & USE_WRITE) && others) {
            updates += naive->view->group_pages[g];
        }
    }
    return updates * naive->view->nodes[x].update_s;
}

static double naive_comm(const struct naive *naive, uint32_t x, int by_page)
{
    const struct node_view *node = &naive->view->nodes[x];
    double packets = 0;

    for (uint32_t y = 0; y < naive->view->n_nodes; y++) {
        double bytes = 0;

        for (uint32_t g = 0; y != x && g < naive->view->n_groups; g++) {
            const double pages = naive->view->group_pages[g];
            unsigned flags;
            unsigned diff;
            unsigned theirs;
            unsigned ignored;

            naive_use(naive, x, g, &flags, &diff);
            naive_use(naive, y, g, &theirs, &ignored);
            if (theirs == 0) {
                continue;
            }
            bytes += pages * diff;
            if (by_page) {
                packets += pages * ceil((double)diff / node->packet_bytes);
            }
        }
        if (!by_page) {
            packets += ceil(bytes / node->packet_bytes);
        }
    }
    return packets * node->packet_s;
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-9 * (fabs(a) + fabs(b)) + 1e-12) {
        fail_msg("%.17g is not %.17g", a, b);
    }
}

static void compare(const struct cluster_view *view)
{
    uint32_t node_of[64];
    struct node_prediction nodes[8] = {{0}};
    struct prediction result = {.nodes = nodes};
    const struct cost_model measured = {.kind = COST_MEASURED};
    const struct cost_model liu06 = {.kind = COST_LIU06,
                                     .reference = {.power = 1}};
    struct naive naive = {.view = view, .node_of = node_of};
    double longest = 0;

    mapping_draw(view, node_of);
    naive.use_of = must(calloc(view->n_groups + 1, sizeof *naive.use_of));
    for (uint32_t g = 0; g < view->n_groups; g++) {
        for (uint32_t i = 0; i < view->n_threads; i++) {
            naive.use_of[g][i] = use_index(view, i, g);
        }
    }
    assert_int_equal(predict(view, &measured, node_of, &result), TM_OK);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        assert_near(nodes[x].comp_s, naive_comp(&naive, x));
        assert_near(nodes[x].mem_s, naive_mem(&naive, x));
        assert_near(nodes[x].comm_s,
                    naive_comm(&naive, x, 0) + naive_updates(&naive, x));
        assert_near(nodes[x].time_s, nodes[x].sum_s);
        longest = nodes[x].time_s > longest ? nodes[x].time_s : longest;
    }
    assert_true(result.iteration_s == longest);
    assert_true(nodes[result.slowest].time_s == longest);
    assert_int_equal(predict(view, &liu06, node_of, &result), TM_OK);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        assert_near(nodes[x].comm_s, naive_comm(&naive, x, 1));
    }
    free(naive.use_of);
}

static void predictions_are_those_of_the_equations(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 250; round++) {
        const struct view_plan plan = {1 + random_below(6),
                                       1 + random_below(32),
                                       round % 2,
                                       1 + random_below(4),
                                       (enum sharing)(round % N_SHARINGS),
                                       random_between(0, 2)};
        struct cluster_view view;

        view_draw(&view, &plan);
        compare(&view);
        cluster_view_release(&view);
    }
}

/** Replacements by other rules are never fewer than the kept set's. */
static void no_rule_pages_less_than_the_kept_set(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 250; round++) {
        const struct view_plan plan = {
            3,  4 + random_below(20), 0, 1, (enum sharing)(round % N_SHARINGS),
            1.5};
        struct cluster_view view;
        uint32_t node_of[64];
        struct node_prediction nodes[2][3];

        view_draw(&view, &plan);
        mapping_draw(&view, node_of);
        for (unsigned rule = 0; rule < 2; rule++) {
            const struct cost_model model = {.replacement =
                                                 (enum replacement)rule};
            struct prediction result = {.nodes = nodes[rule]};

            assert_int_equal(predict(&view, &model, node_of, &result), TM_OK);
        }
        for (unsigned x = 0; x < 3; x++) {
            const double kept =
                nodes[0][x].pages_in + nodes[0][x].pages_fetched;
            const double lru = nodes[1][x].pages_in + nodes[1][x].pages_fetched;

            assert_near(kept, nodes[0][x].lack_pages);
            assert_true(lru >= kept - 1e-6);
        }
        cluster_view_release(&view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_are_those_of_the_equations),
        cmocka_unit_test(no_rule_pages_less_than_the_kept_set),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
