// SPDX-License-Identifier: BSD-3-Clause
//
// A loop with memory. What its iterations cost is known where it has been measured: for
// SHARE_BINS parts of each node's share, within which all are taken for equal. In units of
// work, which is time by power: so a part may be thought of on another node. Cuts between
// shares are then where each node has its part, by power and workers, of all work.
//
// If the powers are wrong, the work of a share is wrong by the same factor; a cut then moves
// the right way, and each time it is measured again: of twice too much a third is left each
// time.
#include "tasks/shares.h"

#include <string.h>

#include "base/status.h"

#define LEAST_GAIN 0.02

static double strength(const struct share *share)
{
    return share->power * share->n_workers;
}

static uint64_t sum_bins(const struct share *share)
{
    uint64_t sum_ns = 0;

    for (unsigned i = 0; i < SHARE_BINS; i++) {
        sum_ns += share->bin_ns[i];
    }
    return sum_ns;
}

double share_ns(const struct share *share)
{
    return (double)sum_bins(share) / share->n_workers;
}

// @param cut  [n + 1]  0 to 1
static void take_cuts(struct share *shares, unsigned n, const double *cut,
                      int64_t first, int64_t end)
{
    const double length = (double)(end - first);

    for (unsigned i = 0; i < n; i++) {
        const double at = cut[i + 1] * length + 0.5;

        shares[i].first = i == 0 ? first : shares[i - 1].end;
        // Of a length near 2^63 a double may be more.
        shares[i].end = i + 1 == n || at >= length ? end : first + (int64_t)at;
        shares[i].end =
            shares[i].end < shares[i].first ? shares[i].first : shares[i].end;
        memset(shares[i].bin_ns, 0, sizeof shares[i].bin_ns);
    }
}

void shares_begin(struct share *shares, unsigned n, int64_t first, int64_t end)
{
    double cut[TM_MAX_NODES + 1] = {0};
    double all = 0;

    for (unsigned i = 0; i < n; i++) {
        all += strength(&shares[i]);
        cut[i + 1] = all;
    }
    for (unsigned i = 0; i < n; i++) {
        cut[i + 1] /= all;
    }
    take_cuts(shares, n, cut, first, end);
}

// @param[out] cut  [n + 1]  as they are
// @return the longest time beside what it would be if all ended together
static double assess(const struct share *shares, unsigned n, double *cut)
{
    const int64_t first = shares[0].first;
    const double length = (double)(shares[n - 1].end - first);
    double longest_ns = 0;
    double work = 0;
    double all = 0;

    for (unsigned i = 0; i < n; i++) {
        const double ns = share_ns(&shares[i]);

        cut[i] = (double)(shares[i].first - first) / length;
        longest_ns = ns > longest_ns ? ns : longest_ns;
        work += ns * strength(&shares[i]);
        all += strength(&shares[i]);
    }
    cut[n] = 1;
    return work > 0 ? longest_ns / (work / all) : 1;
}

/** A walk through all parts, in their order. */
struct walk {
    const struct share *shares;
    unsigned share;
    unsigned bin;
    double part; ///< of the bin that is behind it
};

static double bin_work(const struct walk *walk)
{
    const struct share *share = &walk->shares[walk->share];

    return (double)share->bin_ns[walk->bin] * share->power;
}

// Go on until so much work is behind. @return how much of the range is then, 0 to 1
static double walk_on(struct walk *walk, unsigned n, double work,
                      const double *cut)
{
    double width;

    while (walk->share < n) {
        const double here = bin_work(walk);
        const double left = here * (1 - walk->part);

        if (left > work) {
            walk->part += work / here;
            break;
        }
        work -= left;
        walk->part = 0;
        if (++walk->bin == SHARE_BINS) {
            walk->bin = 0;
            walk->share++;
        }
    }
    if (walk->share == n) {
        return 1;
    }
    width = (cut[walk->share + 1] - cut[walk->share]) / SHARE_BINS;
    return cut[walk->share] + width * (walk->bin + walk->part);
}

void shares_keep(struct share *shares, unsigned n, int64_t first, int64_t end)
{
    double cut[TM_MAX_NODES + 1];

    (void)assess(shares, n, cut);
    take_cuts(shares, n, cut, first, end);
}

void shares_adapt(struct share *shares, unsigned n, int64_t first, int64_t end)
{
    struct walk walk = {.shares = shares};
    double old[TM_MAX_NODES + 1];
    double cut[TM_MAX_NODES + 1] = {0};
    double work = 0;
    double all = 0;

    if (assess(shares, n, old) < 1 + LEAST_GAIN) {
        take_cuts(shares, n, old, first, end);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        work += (double)sum_bins(&shares[i]) * shares[i].power;
        all += strength(&shares[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        cut[i + 1] = walk_on(&walk, n, work * strength(&shares[i]) / all, old);
    }
    take_cuts(shares, n, cut, first, end);
}
