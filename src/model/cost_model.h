// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_COST_MODEL_H
#define MODEL_COST_MODEL_H

#include "model/cluster_view.h"

/*
 * Which equations, and what was measured that they start from. A value of
 * zeros is the default: `measured`, a kept set, sums, no corrections.
 */

enum cost_kind {
    COST_MEASURED, ///< each node's own costs times the replacements that its
                   ///< order of use makes
    COST_LIU06,    ///< [Liu06] section 3, the final formula
    COST_CLIFF,    ///< [Liu06]'s first equation of T_mem: short of one page, a
                   ///< node replaces all pages of all its threads
};

/** What a node that is short of memory keeps; for COST_MEASURED. */
enum replacement {
    REPLACEMENT_KEPT_SET, ///< as much as fits stays, the rest streams: M_lack
                          ///< replacements, the fewest possible
    REPLACEMENT_LRU,      ///< least recently used, threads in order of number
};

/** How the three terms make a node's time. */
enum overlap {
    OVERLAP_NONE, ///< T = Tcomp + Tmem + Tcomm
    OVERLAP_COMM, ///< T = max(Tcomp, Tcomm) + Tmem
};

/** The reference processor of [Liu06], as measured in an iteration. */
struct reference {
    double power;         ///< C_ref
    uint64_t lack_pages;  ///< M_lack_ref; 0: nobody was short, and the costs
                          ///< below are of one page
    uint64_t free_pages;  ///< M_free_ref
    uint64_t total_pages; ///< M_total_ref
    double swap_in_s;     ///< T_spi_ref, of all its pages; of one if lack is 0
    double swap_out_s;    ///< T_spo_ref, likewise
};

/** What a node's predictions are multiplied with, learned by correct(). */
struct correction {
    double comp;
    double mem;
    double comm;
    double memory; ///< of M: how much of it the program really gets
    double rest_s; ///< not a factor: added to Tcomm of a node that has threads
    unsigned
        n_sweeps; ///< how often pages are gone over in an iteration, of all
                  ///< nodes the same; 0: not known, 1
};

struct cost_model {
    enum cost_kind kind;
    enum replacement replacement;
    enum overlap overlap;
    struct reference reference;           ///< for COST_LIU06
    const struct correction *corrections; ///< [n_nodes]; NULL: all 1.0
};

/**
 * Find the equations of a name of base/models.def, for who is asked which to decide by.
 * @param[out] model  nothing but its equations is set
 * @return 0 if there are none of that name
 */
int cost_model_find(const char *name, struct cost_model *model);

/** Are its predictions corrected by what was measured? The papers' are not. */
static inline int cost_model_is_corrected(const struct cost_model *model)
{
    return model->kind == COST_MEASURED;
}

/** Do its equations start from a reference processor? */
static inline int cost_kind_needs_reference(enum cost_kind kind)
{
    return kind == COST_LIU06;
}

/** Does the model look at the order in which threads use their groups? */
static inline int cost_model_needs_order(const struct cost_model *model)
{
    return model->kind == COST_MEASURED &&
           model->replacement != REPLACEMENT_KEPT_SET;
}

/** One node in a measured iteration. */
struct node_measurement {
    double comp_s;       ///< as Tcomp: of the slowest of its workers
    double mem_s;        ///< waiting for pages swapped in, out and fetched
    double swap_in_s;    ///< T_spi, part of mem_s
    double swap_out_s;   ///< T_spo, part of mem_s
    double comm_s;       ///< sending and acknowledging updates
    double time_s;       ///< all of it: until its last thread is at the barrier
    uint64_t lack_pages; ///< M_lack: pages needed less pages there
};

/** @return whether more than this part of the node's time was paging */
static inline int node_pages_more(const struct node_measurement *measured,
                                  double part)
{
    return measured->mem_s > part * measured->time_s;
}

/** An iteration as it was, under the current mapping. */
struct measurement {
    double iteration_s;             ///< from barrier to barrier
    struct node_measurement *nodes; ///< [n_nodes]
};

/**
 * Choose [Liu06]'s reference processor: the node that measured most time of
 * swapping. If nobody swapped, the node with the least memory free stands for
 * all, with its costs per page ([Liu06] divides by zero there).
 *
 * @param measured       NULL if nothing was measured
 * @param[out] reference
 * @return its number, < n_nodes
 *
 * Context: any thread; pure.
 * Source: [Liu06] section 3, before the final form of T.
 */
uint32_t reference_choose(const struct cluster_view *view,
                          const struct measurement *measured,
                          struct reference *reference);

/**
 * M_lack_ref is what the reference processor lacks, not the pages that came in: these
 * are more where pages are gone over several times in an iteration. With it Tmem of
 * the reference processor is what was measured, T_spi_ref + T_spo_ref.
 *
 * @param node          the reference processor
 * @param demand_pages  its, under the mapping that was measured. If it has room for
 *                      them, or nobody swapped, M_lack_ref is left as it is
 *
 * Context: any thread; pure.
 * Source: [Liu06] section 3, M_lack.
 */
void reference_set_lack(struct reference *reference,
                        const struct node_view *node, uint64_t demand_pages);

#endif
