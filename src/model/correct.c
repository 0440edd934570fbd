// SPDX-License-Identifier: BSD-3-Clause
#include "model/correct.h"

#include <math.h>

#define FACTOR_MAX 8.0
#define MEMORY_MIN 0.25
#define MEMORY_MAX 2.0
#define FEW (1 / 64.) ///< of memory: too few pages to learn what one costs
#define SWEEPS_MAX 64
#define KEPT 0.5   ///< of memory: so much a pager keeps at least
#define MUCH 0.2   ///< of a node's time: it pages, and computes beside that
#define LITTLE 0.1 ///< of the paging predicted: counts as none
#define TINY 0.01  ///< of the iteration: too short to learn from

static double within(double low, double value, double high)
{
    return value < low ? low : value > high ? high : value;
}

void correction_init(struct correction *correction)
{
    *correction = (struct correction){1, 1, 1, 1, 0, 0};
}

static void learn(double *factor, double predicted_s, double measured_s,
                  double tiny_s, double gain, double most)
{
    if (predicted_s <= 0 || measured_s <= 0 ||
        (predicted_s < tiny_s && measured_s < tiny_s)) {
        return;
    }
    *factor = within(1 / FACTOR_MAX,
                     *factor * pow(measured_s / predicted_s, gain), most);
}

// A page that is gone over s times in an iteration costs s times as much.
static double dearest(const struct correction *correction)
{
    return FACTOR_MAX * fmax(1, correction->n_sweeps);
}

/**
 * What a node did besides computing and paging was sending, and waiting for answers
 * that no term has: half of the error is put down to the terms, the rest does not
 * depend on the mapping.
 */
static void learn_communication(const struct node_prediction *predicted,
                                double measured_s, double tiny_s, double gain,
                                struct correction *correction)
{
    double of_mapping_s = predicted->comm_s - correction->rest_s;
    const double before = correction->comm;

    if (of_mapping_s > 0 && measured_s > 0) {
        learn(&correction->comm, predicted->comm_s, measured_s, tiny_s,
              gain / 2, FACTOR_MAX);
        of_mapping_s *= correction->comm / before;
    }
    correction->rest_s +=
        gain * (fmax(0, measured_s - of_mapping_s) - correction->rest_s);
}

/** Move M so that a node would lack as many pages. */
static void set_lack(const struct node_view *node,
                     const struct node_prediction *predicted, double lack,
                     struct correction *correction)
{
    if (node->memory_pages > 0) {
        correction->memory = within(MEMORY_MIN,
                                    ((double)predicted->demand_pages - lack) /
                                        (double)node->memory_pages,
                                    MEMORY_MAX);
    }
}

/** What was measured as lacking says what M is, if it was measured.
 * @return whether the lack was wrong by more than a twentieth, and is now set */
static int learn_lack(const struct node_view *node,
                      const struct node_prediction *predicted,
                      const struct node_measurement *measured,
                      struct correction *correction)
{
    const double lack = (double)measured->lack_pages;
    const double error = fabs(predicted->lack_pages - lack);

    if (lack <= 0 || error <= 0.05 * lack) {
        return 0;
    }
    set_lack(node, predicted, lack, correction);
    return 1;
}

/** Where lack and time were measured, so was what a page costs, whatever lack was
 * predicted. */
static void learn_price(const struct node_view *node,
                        const struct node_prediction *predicted,
                        const struct node_measurement *measured, double gain,
                        struct correction *correction)
{
    const double page_s =
        predicted->lack_pages > 0
            ? predicted->mem_s / predicted->lack_pages
            : (node->swap_in_s + node->swap_out_s) * correction->mem;

    if ((double)measured->lack_pages >= FEW * (double)node->memory_pages) {
        learn(&correction->mem, page_s * (double)measured->lack_pages,
              measured->mem_s, 0, gain, dearest(correction));
    }
}

/** Paging came where none was predicted: the program gets less than M. */
static void shrink_memory(const struct node_view *node,
                          const struct node_prediction *predicted,
                          double measured_s, struct correction *correction)
{
    const double page_s =
        (node->swap_in_s + node->swap_out_s) * correction->mem;

    if (page_s > 0) {
        set_lack(node, predicted, measured_s / page_s, correction);
    }
}

/** Some was predicted and some came. What the factor cannot make up for within
 * its bounds, the lack must be wrong by. */
static void scale_paging(const struct node_view *node,
                         const struct node_prediction *predicted,
                         double measured_s, double tiny_s, double gain,
                         struct correction *correction)
{
    const double wanted = correction->mem * measured_s / predicted->mem_s;
    const double possible = within(1 / FACTOR_MAX, wanted, dearest(correction));

    learn(&correction->mem, predicted->mem_s, measured_s, tiny_s, gain,
          dearest(correction));
    if (wanted != possible && measured_s >= tiny_s) {
        set_lack(node, predicted, predicted->lack_pages * wanted / possible,
                 correction);
    }
}

static void learn_memory(const struct node_view *node,
                         const struct node_prediction *predicted,
                         const struct node_measurement *measured, double tiny_s,
                         double gain, struct correction *correction)
{
    const int pages = measured->mem_s >= tiny_s && measured->mem_s > 0 &&
                      (measured->lack_pages > 0 ||
                       measured->mem_s > LITTLE * predicted->mem_s);

    if (pages && learn_lack(node, predicted, measured, correction)) {
        learn_price(node, predicted, measured, gain, correction);
        return;
    }
    if (predicted->mem_s <= 0) {
        if (pages) {
            shrink_memory(node, predicted, measured->mem_s, correction);
        }
    } else if (!pages && predicted->mem_s >= tiny_s &&
               correction->memory < MEMORY_MAX) {
        set_lack(node, predicted, 0, correction); // the program gets more
    } else {
        scale_paging(node, predicted, measured->mem_s, tiny_s, gain,
                     correction);
    }
}

// ---- pages that are gone over more than once
//
// A program that goes over its data s times in an iteration, red points and then
// black ones, pages in s M_lack. To believe that M is that much smaller would be
// right for the mapping in force and wrong for any other: what a thread less saves
// is s times its pages. A pager keeps its budget, but for what is on its way; so s is
// the least for which every node that pages has most of its memory.

static int has_paged(const struct node_view *node,
                     const struct node_measurement *measured)
{
    return measured->mem_s > 0 && measured->lack_pages > 0 &&
           (double)measured->lack_pages >= FEW * (double)node->memory_pages;
}

// @param n_sweeps  those known so far: a program does not change in that
static unsigned count_sweeps(const struct cluster_view *view,
                             const struct prediction *prediction,
                             const struct measurement *measured,
                             unsigned n_sweeps)
{
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const double possible = (double)prediction->nodes[x].demand_pages -
                                KEPT * (double)view->nodes[x].memory_pages;

        if (!has_paged(&view->nodes[x], &measured->nodes[x]) || possible <= 0) {
            continue;
        }
        while (n_sweeps < SWEEPS_MAX &&
               (double)measured->nodes[x].lack_pages > n_sweeps * possible) {
            n_sweeps++;
        }
    }
    return n_sweeps;
}

// Caches are cold where pages come and go, and not all that faults take is known: what
// a node that pages computes too long is part of its paging, and goes with that.
static void settle_computation(const struct node_view *node,
                               const struct node_prediction *predicted,
                               struct node_measurement *measured)
{
    const double excess_s = measured->comp_s - predicted->comp_s;

    if (has_paged(node, measured) && predicted->comp_s > 0 && excess_s > 0 &&
        measured->mem_s > MUCH * (measured->comp_s + measured->mem_s)) {
        measured->mem_s += excess_s;
        measured->comp_s = predicted->comp_s;
    }
}

// What a page costs, and how often it is gone over, is not known of nodes that have
// never paged: as much as it was off by elsewhere.
static void share_prices(const struct cluster_view *view,
                         const struct measurement *measured,
                         struct correction *corrections)
{
    double sum = 0;
    uint32_t n = 0;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        if (has_paged(&view->nodes[x], &measured->nodes[x])) {
            sum += log(corrections[x].mem);
            n++;
        }
    }
    for (uint32_t x = 0; n > 0 && x < view->n_nodes; x++) {
        if (corrections[x].mem == 1) {
            corrections[x].mem = exp(sum / n);
        }
    }
}

void correct(const struct cluster_view *view,
             const struct prediction *prediction,
             const struct measurement *measured, double gain,
             struct correction *corrections)
{
    const double tiny_s = TINY * measured->iteration_s;
    const unsigned n_sweeps =
        count_sweeps(view, prediction, measured,
                     corrections[0].n_sweeps > 0 ? corrections[0].n_sweeps : 1);

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const struct node_prediction *p = &prediction->nodes[x];
        struct node_measurement m = measured->nodes[x];

        corrections[x].n_sweeps = n_sweeps;
        settle_computation(&view->nodes[x], p, &m);
        m.lack_pages /= n_sweeps;
        learn(&corrections[x].comp, p->comp_s, m.comp_s, tiny_s, gain,
              FACTOR_MAX);
        if (p->n_threads > 0) {
            learn_communication(p, m.comm_s, tiny_s, gain, &corrections[x]);
        }
        learn_memory(&view->nodes[x], p, &m, tiny_s, gain, &corrections[x]);
    }
    share_prices(view, measured, corrections);
}

double prediction_error(const struct prediction *prediction,
                        const struct measurement *measured)
{
    if (measured->iteration_s <= 0) {
        return 0;
    }
    return prediction->iteration_s / measured->iteration_s - 1;
}
