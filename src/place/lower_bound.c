// SPDX-License-Identifier: BSD-3-Clause
//
// Three bounds; the largest counts.
//
// **Fluid.** Work and pages can be cut up at will and meet in any proportion.
// In time tau a node computes for c of it and pages for the rest: c C p of the
// work, and M + (tau - c) / cost of the pages. All work must be done, and each
// page must be somewhere. Who pays best for the pages that fit nowhere is who
// loses least computation for one: the smallest C p cost.
//
// **The longest thread** runs somewhere.
//
// **Threshold.** Any n threads compute at least as long as the n shortest, and
// their union is at least the sum of the n smallest shares, where each page
// is divided among its users: |union of S| = sum of pages with a user in S >=
// sum of pages * users in S / users. Pages that all threads use come on top
// undivided. With the rule of the kept set, T_mem grows with each of its parts,
// so least parts make a least time. The smallest tau at which all threads find
// room is a bound, by the bisection of threshold.c; it is exact if
// threads are alike and share nothing, or with all.
//
// I1  Entry n of a table is a sum over the n smallest.
#include "place/lower_bound.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"
#include "place/counts.h"

struct tables {
    double *comp_s;  ///< [n_threads + 1], I1: computation
    double *written; ///< [n_threads + 1]: shares of pages that all users write
    double *others;  ///< [n_threads + 1]: shares of other pages
    double *pages;   ///< [n_threads + 1]: pages of a thread, for COST_CLIFF
    double common_written; ///< pages that all threads use
    double common_others;
    double all_pages; ///< union of all
    double all_s;     ///< computation of all
    int has_foreign;  ///< pages of `others` may be fetched instead of swapped
    int all_written;  ///< there are no others
};

// ---- tables ----

/** From values of threads at 1..n to sums over the smallest at 0..n. Often they are
 * all equal. */
static void sum_smallest(double *table, uint32_t n)
{
    uint32_t n_sorted = 1;

    table[0] = 0;
    while (n_sorted < n && table[n_sorted] <= table[n_sorted + 1]) {
        n_sorted++;
    }
    if (n_sorted < n) {
        qsort(table + 1, n, sizeof *table, compare_doubles);
    }
    for (uint32_t i = 1; i <= n; i++) {
        table[i] += table[i - 1];
    }
}

static void look_at_groups(const struct cluster_view *view,
                           const struct group_users *users,
                           struct tables *tables)
{
    for (uint32_t g = 0; g < view->n_groups; g++) {
        const struct group_users *it = &users[g];
        const double pages = view->group_pages[g];
        const int is_written = it->n_users == it->n_writers;

        if (it->n_users == 0) {
            continue;
        }
        tables->all_pages += pages;
        if (!is_written) {
            tables->all_written = 0;
            tables->has_foreign |= it->n_users > 1;
        }
        if (it->n_users == view->n_threads && is_written) {
            tables->common_written += pages;
        } else if (it->n_users == view->n_threads) {
            tables->common_others += pages;
        }
    }
}

static void look_at_threads(const struct cluster_view *view,
                            const struct group_users *users,
                            struct tables *tables)
{
    for (uint32_t i = 0; i < view->n_threads; i++) {
        const struct thread_view *it = &view->threads[i];

        tables->comp_s[i + 1] = it->computation_s;
        tables->all_s += it->computation_s;
        for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
            const uint32_t g = view->uses[u].group;
            const double pages = view->group_pages[g];
            const uint32_t n = users[g].n_users;

            tables->pages[i + 1] += pages;
            if (n < view->n_threads && users[g].n_writers == n) {
                tables->written[i + 1] += pages / n;
            } else if (n < view->n_threads) {
                tables->others[i + 1] += pages / n;
            }
        }
    }
}

static void tables_release(struct tables *tables)
{
    free(tables->comp_s);
    free(tables->written);
    free(tables->others);
    free(tables->pages);
}

static void tables_init(struct tables *tables, const struct cluster_view *view,
                        enum cost_kind kind)
{
    const size_t n = view->n_threads + 1ull;
    struct group_users *users = cluster_view_users(view);

    *tables = (struct tables){.all_written = 1};
    tables->comp_s = memory_new(n, sizeof(double));
    tables->written = memory_new(n, sizeof(double));
    tables->others = memory_new(n, sizeof(double));
    tables->pages = memory_new(n, sizeof(double));
    look_at_groups(view, users, tables);
    look_at_threads(view, users, tables);
    free(users);
    sum_smallest(tables->comp_s, view->n_threads);
    sum_smallest(tables->written, view->n_threads);
    sum_smallest(tables->others, view->n_threads);
    if (kind == COST_CLIFF) { // the others do not look at it
        sum_smallest(tables->pages, view->n_threads);
    }
}

// ---- the threshold ----

/** What the threshold is of. */
struct least {
    const struct cluster_view *view;
    const struct tables *tables;
    const struct node_rates *rates; ///< [n_nodes]
};

static double least_time(const void *of, uint32_t node, uint32_t n)
{
    const struct least *least = of;
    const struct tables *tables = least->tables;
    const struct node_rates *rates = &least->rates[node];
    const uint32_t n_processors = least->view->nodes[node].n_processors;
    struct node_load load = {.n_threads = n};
    double others;

    if (n == 0) {
        return 0;
    }
    // Some worker has at least n / p threads, rounded up.
    load.comp_s = fmax(tables->comp_s[n] / n_processors,
                       tables->comp_s[(n + n_processors - 1) / n_processors]);
    load.written_pages = tables->common_written + tables->written[n];
    others = tables->common_others + tables->others[n];
    if (tables->has_foreign && rates->fetch_s < rates->in_s) {
        load.foreign_pages = others;
    } else {
        load.own_pages = others;
    }
    load.thread_pages = tables->pages[n];
    return terms_time(rates, &load);
}

static double threshold_bound(const struct least *least)
{
    const struct node_times times = {
        .of = least,
        .time = least_time,
        .n_nodes = least->view->n_nodes,
        .n_threads = least->view->n_threads,
    };
    double high_s = INFINITY;

    for (uint32_t x = 0; x < times.n_nodes; x++) {
        high_s = fmin(high_s, least_time(least, x, times.n_threads));
    }
    return counts_threshold(&times, high_s);
}

// ---- fluid ----

struct payer {
    double speed;  ///< computation a second
    double page_s; ///< seconds for one page more than memory has
    double loss;   ///< speed * page_s: computation lost for such a page
};

/** Smallest loss of computation for a page first. */
static int compare_payers(const void *left, const void *right)
{
    const double a = ((const struct payer *)left)->loss;
    const double b = ((const struct payer *)right)->loss;

    return (a > b) - (a < b);
}

/** The work that can be done in tau, all pages being somewhere. */
static double work_within(const struct payer *payers, uint32_t n, double tau_s,
                          double pages)
{
    double work = 0;

    for (uint32_t k = 0; k < n; k++) {
        const double needed_s = pages > 0 ? pages * payers[k].page_s : 0;
        const double paging_s = needed_s < tau_s ? needed_s : tau_s;

        work += (tau_s - paging_s) * payers[k].speed;
        pages -= payers[k].page_s > 0 ? paging_s / payers[k].page_s : pages;
    }
    return pages > 1e-9 ? -1 : work;
}

static double page_cost(const struct tables *tables,
                        const struct node_rates *rates)
{
    if (rates->kind != COST_MEASURED || tables->all_written) {
        return rates->in_s + rates->out_s;
    }
    return tables->has_foreign ? rates_cheapest_page(rates) : rates->in_s;
}

static double fluid_bound(const struct cluster_view *view,
                          const struct tables *tables,
                          const struct node_rates *rates, struct payer *payers)
{
    double pages = tables->all_pages;
    double speed = 0;
    double low_s;
    double high_s;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        payers[x].speed = view->nodes[x].n_processors / rates[x].comp;
        payers[x].page_s = page_cost(tables, &rates[x]);
        payers[x].loss = payers[x].speed * payers[x].page_s;
        speed += payers[x].speed;
        pages -= rates[x].memory_pages;
    }
    low_s = tables->all_s / speed;
    if (pages <= 0) {
        return low_s;
    }
    qsort(payers, view->n_nodes, sizeof *payers, compare_payers);
    high_s = low_s + pages * payers[0].page_s;
    while (high_s - low_s > 1e-7 * high_s) {
        const double middle_s = low_s + (high_s - low_s) / 2;

        if (work_within(payers, view->n_nodes, middle_s, pages) >=
            tables->all_s) {
            high_s = middle_s;
        } else {
            low_s = middle_s;
        }
    }
    return low_s;
}

// ---- all ----

static double longest_thread(const struct cluster_view *view,
                             const struct node_rates *rates)
{
    double longest_s = 0;
    double least = INFINITY;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        longest_s = fmax(longest_s, view->threads[i].computation_s);
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        least = fmin(least, rates[x].comp);
    }
    return longest_s * least;
}

double lower_bound_iteration(const struct cluster_view *view,
                             const struct cost_model *model)
{
    const size_t n = view->n_nodes;
    struct node_rates *rates = memory_new(n, sizeof *rates);
    struct payer *payers = memory_new(n, sizeof *payers);
    struct tables tables;
    double bound_s;

    tables_init(&tables, view, model->kind);
    for (uint32_t x = 0; x < n; x++) {
        rates_compute(view, model, x, &rates[x]);
        rates[x].replacement = REPLACEMENT_KEPT_SET; // the least there is
    }
    bound_s = fmax(longest_thread(view, rates),
                   threshold_bound(&(struct least){view, &tables, rates}));
    if (model->kind != COST_CLIFF) {
        bound_s = fmax(bound_s, fluid_bound(view, &tables, rates, payers));
    }
    tables_release(&tables);
    free(rates);
    free(payers);
    return bound_s;
}
