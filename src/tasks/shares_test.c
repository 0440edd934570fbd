// SPDX-License-Identifier: BSD-3-Clause
// Shares of loops, on predicted times: after three entries all nodes end together, nearly.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/status.h"
#include "tasks/shares.h"

enum { N = 4, RANGE = 100000 };

typedef double cost_fn(double at);

static double even(double at)
{
    (void)at;
    return 1;
}

static double rising(double at)
{
    return at;
}

// A tenth of the iterations has most of the work.
static double lumpy(double at)
{
    return at > 0.35 && at < 0.45 ? 30 : 1;
}

// Which part of the share an iteration is in.
static unsigned share_bin(const struct share *share, int64_t at)
{
    return (unsigned)((double)(at - share->first) * SHARE_BINS /
                      (double)(share->end - share->first));
}

// What the nodes measure. @param speed  [N] what a worker really does
static void measure(struct share *shares, cost_fn *cost, const double *speed)
{
    for (unsigned i = 0; i < N; i++) {
        for (int64_t k = shares[i].first; k < shares[i].end; k++) {
            shares[i].bin_ns[share_bin(&shares[i], k)] +=
                (uint64_t)(1000 * cost((double)k / RANGE) / speed[i]);
        }
    }
}

// @return the longest time beside the best possible
static double imbalance(const struct share *shares, cost_fn *cost,
                        const double *speed)
{
    double longest = 0;
    double work = 0;
    double all = 0;

    for (unsigned i = 0; i < N; i++) {
        double own = 0;

        for (int64_t k = shares[i].first; k < shares[i].end; k++) {
            own += cost((double)k / RANGE);
        }
        work += own;
        all += speed[i] * shares[i].n_workers;
        longest = fmax(longest, own / (speed[i] * shares[i].n_workers));
    }
    return longest / (work / all);
}

// @return how far from the best split the entry is that follows so many
static double enter_loop(cost_fn *cost, const double *speed,
                         const double *believed, unsigned n_entries)
{
    static struct share shares[N];

    for (unsigned i = 0; i < N; i++) {
        shares[i] = (struct share){
            .node = (uint16_t)i, .power = believed[i], .n_workers = 1 + i % 2};
    }
    shares_begin(shares, N, 0, RANGE);
    for (unsigned i = 0; i < n_entries; i++) {
        measure(shares, cost, speed);
        shares_adapt(shares, N, 0, RANGE);
        assert_int_equal(shares[0].first, 0);
        assert_int_equal(shares[N - 1].end, RANGE);
    }
    return imbalance(shares, cost, speed);
}

static void unequal_nodes_end_together_after_three_entries(void **state)
{
    const double speed[N] = {1, 0.5, 0.35, 2};
    cost_fn *const costs[] = {even, rising, lumpy};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(enter_loop(costs[i], speed, speed, 3) < 1.05);
    }
    assert_true(enter_loop(rising, speed, speed, 0) >
                1.2); // there was something to do
    assert_true(enter_loop(even, speed, speed, 0) < 1.01);
}

static void powers_that_are_wrong_are_made_up_for(void **state)
{
    const double speed[N] = {1, 0.5, 0.8, 1};
    const double believed[N] = {1, 1, 1, 1};

    (void)state;
    assert_true(enter_loop(even, speed, believed, 0) > 1.4);
    assert_true(enter_loop(even, speed, believed, 3) < 1.05);
    assert_true(enter_loop(rising, speed, believed, 5) < 1.05);
}

static void a_loop_in_balance_keeps_its_shares(void **state)
{
    struct share shares[N];
    const double speed[N] = {1, 1, 1, 1};
    int64_t ends[N];

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        shares[i] = (struct share){.power = 1, .n_workers = 1};
    }
    shares_begin(shares, N, 0, RANGE);
    measure(shares, even, speed);
    shares[1].bin_ns[3] += 20000; // by chance
    for (unsigned i = 0; i < N; i++) {
        ends[i] = shares[i].end;
    }
    shares_adapt(shares, N, 0, RANGE);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(shares[i].end, ends[i]);
        assert_int_equal(shares[i].bin_ns[3], 0);
    }
}

static void another_range_is_cut_alike_and_a_short_one_too(void **state)
{
    struct share shares[N];

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        shares[i] = (struct share){.power = 1 + i, .n_workers = 1};
    }
    shares_begin(shares, N, 0, 1000);
    assert_int_equal(shares[0].end, 100);
    shares_adapt(shares, N, -50, 50); // nothing was measured
    assert_int_equal(shares[0].first, -50);
    assert_int_equal(shares[0].end, -40);
    assert_int_equal(shares[N - 1].end, 50);
    shares_begin(shares, N, 7, 8);
    for (unsigned i = 0; i < N; i++) {
        assert_true(shares[i].end >= shares[i].first);
    }
    assert_int_equal(shares[N - 1].end, 8);
}

static void as_many_nodes_as_may_be_have_shares(void **state)
{
    static struct share shares[TM_MAX_NODES];

    (void)state;
    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        shares[i] = (struct share){
            .node = (uint16_t)i, .power = 1, .n_workers = 1 + i % 2};
    }
    shares_begin(shares, TM_MAX_NODES, 0, RANGE);
    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        shares[i].bin_ns[0] = 1000;
    }
    shares_adapt(shares, TM_MAX_NODES, 0, RANGE);
    shares_keep(shares, TM_MAX_NODES, 0, 2 * RANGE);
    assert_int_equal(shares[0].first, 0);
    for (unsigned i = 1; i < TM_MAX_NODES; i++) {
        assert_int_equal(shares[i].first, shares[i - 1].end);
    }
    assert_int_equal(shares[TM_MAX_NODES - 1].end, 2 * RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unequal_nodes_end_together_after_three_entries),
        cmocka_unit_test(powers_that_are_wrong_are_made_up_for),
        cmocka_unit_test(a_loop_in_balance_keeps_its_shares),
        cmocka_unit_test(another_range_is_cut_alike_and_a_short_one_too),
        cmocka_unit_test(as_many_nodes_as_may_be_have_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
