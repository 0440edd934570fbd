// SPDX-License-Identifier: BSD-3-Clause
//
// The demand curves of [Liu06]'s first subphase: what n threads that are placed well use
// of pages, as a table over n.
//
// Groups are taken together by the number q of their users. A thread uses on
// average d_q pages of such groups. If the threads of a node are those that
// share most, n of them hold
//
//     f_q(n) = d_q max(1, n / q)
//
// pages: private ones (q = 1) add up, what all read (q = K) counts once, and a
// chain of neighbours (q = 2) comes out right but for its two ends. A page is
// written on the node if one of its m = min(n, q) users there writes it, which
// has the probability 1 - (1 - w/q)^m when w of its users write. Other pages
// are foreign, unless q = 1 or all threads are here.
//
// A node sends what lies at the two ends of its run of threads, at most
// min(f_q(n), 2 (1 - 1/q) d_q) pages, to the nodes over which the other users
// are spread. All parts grow with n, so T_x(n) never decreases as long as
// fetching a page costs no more than swapping it. (That a node with all threads
// sends nothing is left out for this reason; policies look at it by itself.)
//
// Small numbers of users, and K, have a class each; the others are taken
// together, two classes for each doubling of q.
#include <math.h>
#include <stdlib.h>

#include "base/ensure.h"
#include "base/memory.h"
#include "place/counts.h"

#define N_EXACT 8u   ///< numbers of users with a class of their own
#define N_CLASSES 80 ///< enough for 2^32 users

/** Groups with about the same number of users. */
struct class_sum {
    double pages;      ///< sum over groups
    double user_pages; ///< sum over groups and their users
    double writers;    ///< first such sums, in the end parts of user_pages
    double senders;
    double diff; ///< in the end: mean diff of one who sends
    double q;    ///< users
};

// ---- classes ----

static unsigned class_of(const struct cluster_view *view, uint32_t n_users)
{
    if (n_users <= N_EXACT) {
        return n_users;
    }
    if (n_users == view->n_threads) {
        return N_CLASSES - 1;
    }
    return N_EXACT + 1 + (unsigned)(2 * log2(n_users / (double)N_EXACT));
}

/** @param classes  [N_CLASSES] zeros */
static void sum_classes(const struct cluster_view *view,
                        const struct group_users *users,
                        struct class_sum *classes)
{
    for (uint32_t g = 0; g < view->n_groups; g++) {
        const struct group_users *sum = &users[g];
        struct class_sum *class = &classes[class_of(view, sum->n_users)];
        const double pages = view->group_pages[g];

        if (sum->n_users > 0) {
            class->pages += pages;
            class->user_pages += pages * sum->n_users;
            class->writers += pages * sum->n_writers;
            class->senders += pages * sum->n_senders;
            class->diff += pages * (double)sum->diff_bytes;
        }
    }
    for (unsigned c = 0; c < N_CLASSES; c++) {
        struct class_sum *class = &classes[c];

        if (class->pages > 0) {
            class->q = class->user_pages / class->pages;
            class->diff /= class->senders > 0 ? class->senders : 1;
            class->writers /= class->user_pages;
            class->senders /= class->user_pages;
        }
    }
}

// ---- the table ----

/** Of the pages that m of q users hold together, the part that one of these m
 * writes, if `part` of all users do. */
static double part_written(double part, double m, double q)
{
    if (part <= 0 || m <= 1) {
        return part;
    }
    if (part >= 1 || m >= q) { // all users are here: one writes, or none
        return fmin(1, part * q);
    }
    return 1 - exp(m * log1p(-part));
}

/** part_written() with the m that was asked for last: with n beyond q it stays. */
struct part {
    double part;
    double q;
    double m; ///< NAN: none has been
    double written;
};

static double part_for(struct part *part, double m)
{
    if (m != part->m) {
        part->m = m;
        part->written = part_written(part->part, m, part->q);
    }
    return part->written;
}

/** What a node sends of pages of which so many are at the ends of its run.
 * @param local  users of such a page there
 * @return bytes; packets if these are counted page by page */
static double sent_by(const struct demand_curve *curve,
                      const struct class_sum *class, double local,
                      double written_pages)
{
    const double others = (class->q - 1) * curve->n_nodes / curve->n_threads;
    const double peers = fmax(1, fmin(others, curve->n_nodes - 1.0));
    const double bytes =
        fmin(class->diff * fmax(1, local * class->senders), TM_PAGE_SIZE);

    return written_pages * peers *
           (curve->by_page ? ceil(bytes / curve->packet_bytes[0]) : bytes);
}

static void add_class(struct demand_curve *curve, const struct class_sum *class)
{
    const double per_thread = class->user_pages / curve->n_threads;
    struct part here = {class->writers, class->q, NAN, 0};
    struct part at_the_ends = here;
    struct part senders = {class->senders, class->q, NAN, 0};

    for (uint32_t n = 1; n <= curve->n_threads; n++) {
        struct node_load *point = &curve->points[n];
        const double local = fmax(1, fmin(n, class->q / 2));
        const double held = per_thread * (n > class->q ? n / class->q : 1);
        const double cut = fmin(held, 2 * (1 - 1 / class->q) * per_thread);
        const double written = held * part_for(&here, fmin(n, class->q));

        point->thread_pages += per_thread * n;
        point->written_pages += written;
        if (class->q <= 1 || n == curve->n_threads) {
            point->own_pages += held - written;
        } else {
            point->foreign_pages += held - written;
        }
        if (class->q <= 1 || curve->n_nodes == 1) {
            continue;
        }
        if (!curve->by_page) {
            point->updates += cut * part_for(&at_the_ends, local);
        }
        if (class->diff > 0) {
            point->packets +=
                sent_by(curve, class, local, cut * part_for(&senders, local));
        }
    }
}

static void fill_points(struct demand_curve *curve,
                        const struct cluster_view *view)
{
    struct class_sum classes[N_CLASSES] = {0};
    struct group_users *users = cluster_view_users(view);

    sum_classes(view, users, classes);
    free(users);
    for (unsigned c = 0; c < N_CLASSES; c++) {
        if (classes[c].pages > 0) {
            add_class(curve, &classes[c]);
        }
    }
}

// ---- the curve ----

static void look_at_threads(struct demand_curve *curve,
                            const struct cluster_view *view,
                            const uint32_t *current)
{
    double sum = 0;
    double squares = 0;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        const struct thread_view *it = &view->threads[i];

        sum += it->computation_s;
        squares += it->computation_s * it->computation_s;
    }
    counts_of_pinned(view, current, curve->floors);
    curve->thread_s = sum / view->n_threads;
    curve->are_alike =
        squares / view->n_threads <= 1.01 * curve->thread_s * curve->thread_s;
}

void demand_curve_init(struct demand_curve *curve,
                       const struct cluster_view *view,
                       const struct cost_model *model, const uint32_t *current,
                       unsigned terms)
{
    const size_t n = view->n_nodes;

    *curve = (struct demand_curve){.n_nodes = view->n_nodes,
                                   .n_threads = view->n_threads,
                                   .terms = terms,
                                   .by_page = model->kind != COST_MEASURED};
    curve->rates = memory_new(n, sizeof *curve->rates);
    curve->n_processors = memory_new(n, sizeof *curve->n_processors);
    curve->packet_bytes = memory_new(n, sizeof *curve->packet_bytes);
    curve->floors = memory_new(n, sizeof *curve->floors);
    curve->points = memory_new(view->n_threads + 1ull, sizeof *curve->points);
    for (uint32_t x = 0; x < n; x++) {
        rates_compute(view, model, x, &curve->rates[x]);
        if (!(terms & COUNT_COMM)) {
            curve->rates[x].rest_s = 0; // a part of Tcomm
        }
        curve->n_processors[x] = view->nodes[x].n_processors;
        curve->packet_bytes[x] = view->nodes[x].packet_bytes;
    }
    look_at_threads(curve, view, current);
    fill_points(curve, view);
}

void demand_curve_release(struct demand_curve *curve)
{
    free(curve->rates);
    free(curve->n_processors);
    free(curve->packet_bytes);
    free(curve->floors);
    free(curve->points);
    *curve = (struct demand_curve){0};
}

static double rounds(const struct demand_curve *curve, uint32_t node,
                     uint32_t n)
{
    const uint32_t p = curve->n_processors[node];

    if (curve->are_alike) {
        return ceil((double)n / p);
    }
    return n > p ? (double)n / p : 1;
}

double demand_curve_time(const struct demand_curve *curve, uint32_t node,
                         uint32_t n)
{
    struct node_load load;

    ensure(n <= curve->n_threads);
    if (n == 0) {
        return 0;
    }
    load = curve->points[n];
    load.n_threads = n;
    if (curve->terms & COUNT_COMP) {
        load.comp_s = curve->thread_s * rounds(curve, node, n);
    }
    if (!(curve->terms & COUNT_MEM)) {
        load.written_pages = load.own_pages = load.foreign_pages = 0;
    }
    if (!(curve->terms & COUNT_COMM)) {
        load.updates = load.packets = 0;
    } else if (!curve->by_page) {
        load.packets = ceil(load.packets / curve->packet_bytes[node]);
    }
    return terms_time(&curve->rates[node], &load);
}

static double time_on_curve(const void *curve, uint32_t node, uint32_t n)
{
    return demand_curve_time(curve, node, n);
}

struct node_times demand_curve_times(const struct demand_curve *curve)
{
    return (struct node_times){curve, time_on_curve, curve->n_nodes,
                               curve->n_threads, curve->floors};
}

double demand_curve_iteration(const struct demand_curve *curve,
                              const uint32_t *counts)
{
    double longest_s = 0;

    for (uint32_t x = 0; x < curve->n_nodes; x++) {
        const double time_s = demand_curve_time(curve, x, counts[x]);

        longest_s = time_s > longest_s ? time_s : longest_s;
    }
    return longest_s;
}
