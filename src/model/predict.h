// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_PREDICT_H
#define MODEL_PREDICT_H

#include "model/cost_model.h"

/** What one node is predicted to need for an iteration. */
struct node_prediction {
    uint32_t n_threads;
    double comp_s;         ///< Tcomp
    double mem_s;          ///< Tmem = in + out + fetch
    double mem_in_s;       ///< of it: swapping in, T_spi
    double mem_out_s;      ///< of it: swapping out, T_spo
    double mem_fetch_s;    ///< of it: fetching again what was dropped
    double comm_s;         ///< Tcomm
    double sum_s;          ///< Tcomp + Tmem + Tcomm
    double overlapped_s;   ///< max(Tcomp, Tcomm) + Tmem
    double time_s;         ///< the one of the two that the model asks for
    uint64_t demand_pages; ///< size of the union of its threads' pages
    double lack_pages;     ///< M_lack: of them, more than M, which corrections
                           ///< make a number of parts of pages
    double pages_in;       ///< replacements: pages swapped in
    double pages_out;      ///< pages swapped out
    double pages_fetched;  ///< pages dropped and fetched again
    double packets;        ///< sent to all other nodes
};

struct prediction {
    double iteration_s; ///< the largest time_s
    uint32_t slowest;   ///< whose it is; the lowest number among equals
    struct node_prediction *nodes; ///< [n_nodes]
};

/**
 * Predict one iteration under a mapping:
 *
 *     T_x = Tcomp_x + Tmem_x + Tcomm_x,    T = max over x of T_x
 *
 * Tcomp is the time of the slowest of p_x workers among which the threads'
 * t_i / C_x are dealt out, longest first (workers_makespan()). Tmem and Tcomm
 * are those of docs/model.md for model->kind.
 *
 * @param view     valid; not modified
 * @param model    corrections [n_nodes] or NULL
 * @param node_of  [n_threads]
 * @param[in,out] prediction  nodes [n_nodes] is the caller's array; all of it
 *                            is written
 * @return TM_OK
 * @return TM_EINVAL  a node number is n_nodes or more; prediction is untouched
 *
 * Context: any thread; allocates, time O(uses + threads log threads + pairs of
 * nodes that share).
 * Source: [Liu06] section 3; defects and departures in docs/model.md.
 */
TM_CHECKED tm_status predict(const struct cluster_view *view,
                             const struct cost_model *model,
                             const uint32_t *node_of,
                             struct prediction *prediction);

#endif
