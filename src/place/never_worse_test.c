// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "place/random_clusters_test.h"

/* What `cpu-mem` promises, on thousands of random clusters. */

static void cpu_mem_is_never_worse_than_initial_or_current(void **state)
{
    double sum = 0;
    const unsigned n = 3000;

    (void)state;
    for (unsigned round = 0; round < n; round++) {
        struct cluster_view view;
        uint32_t current[MAX_THREADS];
        uint32_t node_of[MAX_THREADS];
        struct mapping mapping = {.node_of = node_of};
        double initial_s;
        double after_s;

        draw_view(&view, round, MAX_NODES, MAX_THREADS);
        if (round % 2) {
            mapping_draw(&view, current);
        } else {
            mapping_in_blocks(&view, current);
        }
        initial_s = ask(&policy_initial, &view, current, &mapping);
        after_s = ask(&policy_cpu_mem, &view, current, &mapping);
        assert_true(after_s <= initial_s * (1 + 1e-9));
        assert_true(after_s <= mapping.before_s * (1 + 1e-9));
        sum += initial_s / after_s;
        cluster_view_release(&view);
    }
    printf("initial takes %.2f times as long as cpu-mem\n", sum / n);
}

/** Other rules of replacement, and [Liu06]'s formulas, keep that promise too. */
static void it_keeps_that_under_every_model(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        struct cluster_view view;
        uint32_t current[MAX_THREADS];
        uint32_t node_of[MAX_THREADS];
        struct mapping mapping = {.node_of = node_of};
        struct cost_model model = {.kind = (enum cost_kind)(round % 3),
                                   .replacement =
                                       (enum replacement)(round / 3 % 3),
                                   .overlap = (enum overlap)(round / 9 % 2)};
        struct place_request request = {
            .view = &view, .model = &model, .current = current};
        double initial_s;

        draw_view(&view, round, 5, 30);
        reference_choose(&view, NULL, &model.reference);
        mapping_draw(&view, current);
        assert_int_equal(policy_place(&policy_initial, &request, &mapping),
                         TM_OK);
        initial_s = mapping.after_s;
        assert_int_equal(policy_place(&policy_cpu_mem, &request, &mapping),
                         TM_OK);
        assert_true(mapping.after_s <= initial_s * (1 + 1e-9));
        assert_true(mapping.after_s <= mapping.before_s * (1 + 1e-9));
        cluster_view_release(&view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_mem_is_never_worse_than_initial_or_current),
        cmocka_unit_test(it_keeps_that_under_every_model),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
