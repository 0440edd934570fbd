// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_TERMS_H
#define MODEL_TERMS_H

#include "model/predict.h"

/*
 * The equations of one node, apart from how its load is found out: predict()
 * adds the load up from a mapping, searches keep it up to date move by move.
 */

/** What one node has to do in an iteration. */
struct node_load {
    uint32_t n_threads;
    double comp_s; ///< of its slowest worker, at power 1.0
    // The union of its threads' pages, in three parts. To replace a page ...
    double written_pages; ///< ... written here: swap out, swap in
    double own_pages;     ///< ... only read, here alone: swap in
    double foreign_pages; ///< ... only read, others have it: fetch
    double thread_pages;  ///< sum of the threads' pages, for COST_CLIFF
    double packets;       ///< sent to all other nodes
    double updates;       ///< pages written here and held elsewhere
};

/** The size of the union. */
static inline double node_demand(const struct node_load *load)
{
    return load->written_pages + load->own_pages + load->foreign_pages;
}

/** Replacements found by going through the order of use. */
struct replacements {
    double in;
    double out;
    double fetched;
};

/** A node's costs, all corrections and scalings applied. */
struct node_rates {
    enum cost_kind kind;
    enum replacement replacement;
    enum overlap overlap;
    double comp;         ///< seconds per second at power 1.0
    double memory_pages; ///< M
    double in_s;         ///< one page in; COST_LIU06: one page of M_lack
    double out_s;
    double fetch_s;
    double packet_s;
    double update_s;
    double rest_s; ///< of each iteration
};

/** The rates of a node under a model. */
void rates_compute(const struct cluster_view *view,
                   const struct cost_model *model, uint32_t node,
                   struct node_rates *rates);

/**
 * The terms of a node.
 *
 * @param replaced  NULL: by a rule, of the three kinds of pages in proportion:
 *                  M_lack for a kept set; for LRU everything as soon as
 *                  something lacks
 * @param[out] terms  all of it
 */
void terms_compute(const struct node_rates *rates, const struct node_load *load,
                   const struct replacements *replaced,
                   struct node_prediction *terms);

/** Only time_s of terms_compute(), by the rule of replacement; quick. */
double terms_time(const struct node_rates *rates, const struct node_load *load);

/** Seconds that replacing one page costs at least. */
double rates_cheapest_page(const struct node_rates *rates);

#endif
