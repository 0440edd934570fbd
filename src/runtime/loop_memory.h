// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_LOOP_MEMORY_H
#define RUNTIME_LOOP_MEMORY_H

#include "reconfig/loop_scheme.h"
#include "tasks/pieces.h"

struct node;

/* What is known of a loop from the times that it was entered before: which node does what. */

/** A loop that is entered. */
struct loop_call {
    uint64_t key;     ///< which one it is
    uint64_t place;   ///< of the call
    const char *name; ///< that the program has given it, or NULL
    int64_t first;
    int64_t end;
    size_t room; ///< bytes that pieces_bytes() of a node may be
};

/** An entry: who does what, and what came of it. loop_visit_begin() fills it in. */
struct loop_visit {
    struct share *shares; ///< [n] of the nodes; what they do if `place` is NULL
    unsigned n;
    uint32_t round; ///< it is tracked: of the round; 0: it is not

    // For loop_memory.c.
    uint64_t key;
    uint32_t epoch; ///< of the roster
    double usual_s; ///< of the place's slowest node, the latest time
    int counts;     ///< what comes of it is remembered
    int64_t first;
    int64_t end;
    struct loop_place *place; ///< NULL: shares go by time
    uint32_t *node_of;        ///< [n_pieces] then: who does what
    unsigned n_pieces;
    struct history_node *reports; ///< [n]
    double *piece_s;              ///< [n_pieces]
};

/** A loop is entered: who does what? */
void loop_visit_begin(struct node *node, struct loop_visit *visit,
                      const struct loop_call *call);

/** What the i-th node does.
 * @param[out] grid  the pieces that the runs are of
 * @param[out] runs  [NODE_PIECES_MAX]
 * @return how many; 0: nothing */
unsigned loop_visit_runs(const struct loop_visit *visit, unsigned i,
                         struct grid *grid, struct piece_run *runs);

/** How long it is likely to take one worker, ns; 0: not known. */
uint64_t loop_visit_usual_ns(const struct loop_visit *visit, unsigned i);

/** What that has cost.
 * @param runs    [n_runs]  as it was told
 * @param cost_ns [n of all runs]  of each piece */
void loop_visit_note(struct loop_visit *visit, unsigned i,
                     const struct piece_run *runs, unsigned n_runs,
                     const uint64_t *cost_ns,
                     const struct history_node *report);

/** All have done their parts: remember it, perhaps decide anew. Not under the node lock. */
void loop_visit_end(struct node *node, struct loop_visit *visit);

#endif
