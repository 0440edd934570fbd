// SPDX-License-Identifier: BSD-3-Clause
/*
 * Page-ins of one sweep under mem/replace, as multiples of Belady's number, after
 * the first sweeps, of which one was tracked. The table is printed; what is
 * asserted:
 *
 * - one worker, regular shapes: at most 1.2; where victims are asked for 16 at
 *   once, .05 and a group a sweep more, because what goes early is missed;
 * - more workers, regular shapes: at most 1.5. Workers that share pages are not
 *   seen where the other's page-ins save them faults, so that they are taken to
 *   be behind where they are;
 * - whatever the shape, and without anything learned: not much worse than random
 *   choice of single pages. Groups of neighbours, taken early, cost up to two
 *   groups a sweep more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "belady.h"
#include "play.h"
#include "shapes.h"

#define AT_ONCE 16u
#define WARM_UP 3u ///< iterations that are not counted

struct row {
    const struct shape *shape;
    uint32_t n_workers;
    double demand;
    double sweeps;
    double least; ///< page-ins of Belady's rule, of all sweeps
    double one;   ///< of replace, one victim at a time
    double group; ///< AT_ONCE victims
    double ahead; ///< and as many pages read ahead
    double blind; ///< nothing learned
    double lru;
    double random;
};

static void print_row(const struct row *row)
{
    printf("%-10s %u %5.3f %8.1f %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f\n",
           row->shape->name, row->n_workers, row->demand,
           row->least / row->sweeps, row->one / row->least,
           row->group / row->least, row->ahead / row->least,
           row->blind / row->least, row->lru / row->least,
           row->random / row->least);
}

static void check_row(const struct row *row)
{
    double limit = row->n_workers == 1 ? 1.2 : 1.5;

    if (row->shape->is_regular) {
        assert_true(row->one <= limit * row->least);
        assert_true(row->group <=
                    (limit + .05) * row->least + row->sweeps * AT_ONCE);
    } else {
        assert_true(row->one <= 1.1 * row->random + row->sweeps);
    }
    assert_true(row->blind <= 1.2 * row->random + 2 * row->sweeps * AT_ONCE);
}

static struct row play_all(const struct trace *trace, uint32_t budget)
{
    const size_t first = trace->marks[WARM_UP];
    struct play how = {.budget = budget, .learn = 1};
    struct row row = {
        .sweeps = trace->n_marks - WARM_UP,
        .least = (double)belady_page_ins(trace, budget, first),
        .lru = (double)lru_page_ins(trace, budget, first),
        .random = (double)random_page_ins(trace, budget, first, 1),
    };

    row.one = (double)play(trace, &how, first);
    how.at_once = AT_ONCE;
    row.group = (double)play(trace, &how, first);
    how.ahead = AT_ONCE;
    how.horizon = 4 * AT_ONCE;
    row.ahead = (double)play(trace, &how, first);
    how.ahead = 0;
    how.is_blind = 1;
    row.blind = (double)play(trace, &how, first);
    return row;
}

static void shape_comes_close_to_belady(const struct shape *shape,
                                        uint32_t n_workers)
{
    static const double demands[] = {1.03, 1.125, 1.25, 1.5, 2, 3};
    struct trace trace = {0};
    uint32_t n_pages;

    shape->make(&trace, n_workers);
    n_pages = trace_union(&trace, trace.marks[WARM_UP], trace.n);
    for (unsigned i = 0; i < sizeof demands / sizeof *demands; i++) {
        struct row row = play_all(&trace, (uint32_t)(n_pages / demands[i]));

        row.shape = shape;
        row.n_workers = n_workers;
        row.demand = demands[i];
        print_row(&row);
        check_row(&row);
    }
    trace_release(&trace);
}

static void shapes_come_close_to_belady(void **state)
{
    const uint32_t n_workers = *(const uint32_t *)*state;

    printf("%-10s w %5s %8s %6s %6s %6s %6s %6s %6s\n", "shape", "W/M", "least",
           "one", "group", "ahead", "blind", "lru", "random");
    for (unsigned i = 0; i < n_shapes; i++) {
        shape_comes_close_to_belady(&shapes[i], n_workers);
    }
}

static void beladys_number_is_that_of_a_search(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (unsigned k = 0; k < 50; k++) {
        struct trace trace = {0};

        for (unsigned i = 0; i < 300; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            trace_add(&trace, 0, 0,
                      i % 10 == 0 ? TRACE_TURN : (random >> 33) % (10 + k));
        }
        for (uint32_t budget = 1; budget < 10 + k; budget += 3) {
            size_t least = belady_page_ins(&trace, budget, 50);

            assert_int_equal(least, belady_page_ins_slowly(&trace, budget, 50));
            assert_true(least <= lru_page_ins(&trace, budget, 0));
            assert_true(least <= random_page_ins(&trace, budget, 0, k));
        }
        trace_release(&trace);
    }
}

static void records_stay_valid_while_shapes_are_played(void **state)
{
    (void)state;
    for (unsigned i = 0; i < n_shapes; i++) {
        struct trace trace = {0};
        struct play how = {.budget = 1500,
                           .at_once = AT_ONCE,
                           .ahead = AT_ONCE,
                           .horizon = 4 * AT_ONCE,
                           .learn = 1,
                           .again = 2,
                           .check_every = 997};

        shapes[i].make(&trace, 2);
        assert_true(play(&trace, &how, 0) > 0);
        trace_release(&trace);
    }
}

int main(void)
{
    static uint32_t n_workers[] = {1, 2, 4};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beladys_number_is_that_of_a_search),
        cmocka_unit_test(records_stay_valid_while_shapes_are_played),
        cmocka_unit_test_prestate(shapes_come_close_to_belady, &n_workers[0]),
        cmocka_unit_test_prestate(shapes_come_close_to_belady, &n_workers[1]),
        cmocka_unit_test_prestate(shapes_come_close_to_belady, &n_workers[2]),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
