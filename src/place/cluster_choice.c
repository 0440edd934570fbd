// SPDX-License-Identifier: BSD-3-Clause
//
// Which threads share a node. The sizes are given; the best clustering is hard
// to find, so it is looked for in several cheap ways, one after the other, until one is
// good enough:
//
// - the threads as they are now, those that lose least moved to where threads
//   are missing: few moves;
// - blocks of thread numbers: best for most programs;
// - clusters grown by affinity: finds blocks that are numbered otherwise.
//
// What a way finds is improved by swaps, which keep the sizes, and relabelled. Swaps
// take longest where they lead least far: a clustering that is far from good enough
// waits until all have been found, and is dropped if it is far from the best.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "place/clusters.h"

#define GROW_MAX 4096u     ///< threads that clusters are grown of
#define ALMOST_EQUAL 1.001 ///< cuts
#define NEAR 2.0 ///< times the cut that is wanted: swaps may lead there

enum way { WAY_REPAIR, WAY_BLOCKS, WAY_GROW, N_WAYS };

/** A clustering, as one of the ways makes it. */
struct candidate {
    uint32_t *node_of; ///< [n_threads]; NULL: there is none, or it is done with
    double cut;
};

struct choice {
    const struct cluster_problem *problem;
    double worth;
    struct candidate candidates[N_WAYS];
    uint32_t *best; ///< [n_threads], the caller's
    double cut;     ///< INFINITY: there is no best yet
    uint32_t n_moves;
};

static uint32_t count_moves(const struct cluster_problem *problem,
                            const uint32_t *node_of)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < problem->view->n_threads; i++) {
        n += node_of[i] != problem->current[i];
    }
    return n;
}

static void drop(struct candidate *candidate)
{
    free(candidate->node_of);
    candidate->node_of = NULL;
}

/** Keep an improved candidate if it is the best so far. Relabelling changes no cut. */
static tm_status compare_with_best(struct choice *choice, uint32_t *node_of)
{
    const struct cluster_problem *problem = choice->problem;
    const double cut = affinity_cut(problem->affinity, node_of);
    tm_status status;
    uint32_t n_moves;

    if (cut > choice->cut * ALMOST_EQUAL) {
        return TM_OK;
    }
    status = clusters_relabel(problem, node_of);
    if (status != TM_OK) {
        return status;
    }
    n_moves = count_moves(problem, node_of);
    if (cut * ALMOST_EQUAL < choice->cut || n_moves < choice->n_moves) {
        memcpy(choice->best, node_of,
               problem->view->n_threads * sizeof *node_of);
        choice->cut = cut;
        choice->n_moves = n_moves;
    }
    return TM_OK;
}

static tm_status improve(struct choice *choice, struct candidate *candidate)
{
    tm_status status = clusters_swap(choice->problem, candidate->node_of);

    if (status == TM_OK) {
        status = compare_with_best(choice, candidate->node_of);
    }
    drop(candidate);
    return status;
}

static tm_status make(const struct choice *choice, enum way way,
                      uint32_t *node_of)
{
    const struct cluster_problem *problem = choice->problem;

    switch (way) {
    case WAY_BLOCKS:
        return clusters_blocks(problem, node_of);
    case WAY_GROW:
        return clusters_grow(problem, node_of);
    case WAY_REPAIR:
    default:
        memcpy(node_of, problem->current,
               problem->view->n_threads * sizeof *node_of);
        return clusters_repair(problem, node_of);
    }
}

/** Make a candidate; improve it at once if it may be good enough then. */
static tm_status try_way(struct choice *choice, enum way way)
{
    struct candidate *candidate = &choice->candidates[way];
    tm_status status;

    candidate->node_of =
        malloc(choice->problem->view->n_threads * sizeof(uint32_t));
    if (candidate->node_of == NULL) {
        return TM_ENOMEM;
    }
    status = make(choice, way, candidate->node_of);
    if (status != TM_OK) {
        return status;
    }
    candidate->cut =
        affinity_cut(choice->problem->affinity, candidate->node_of);
    return candidate->cut <= NEAR * choice->worth ? improve(choice, candidate)
                                                  : TM_OK;
}

static struct candidate *least_cut(struct choice *choice)
{
    struct candidate *least = NULL;

    for (unsigned k = 0; k < N_WAYS; k++) {
        struct candidate *it = &choice->candidates[k];

        if (it->node_of != NULL && (least == NULL || it->cut < least->cut)) {
            least = it;
        }
    }
    return least;
}

/** Improve those that swaps may make the best. */
static tm_status improve_the_rest(struct choice *choice)
{
    tm_status status = TM_OK;

    for (;;) {
        struct candidate *it = least_cut(choice);

        if (status != TM_OK || it == NULL || it->cut > NEAR * choice->cut) {
            return status;
        }
        status = improve(choice, it);
    }
}

static tm_status try_all(struct choice *choice)
{
    const int may_grow = choice->problem->view->n_threads <= GROW_MAX;
    tm_status status = TM_OK;

    for (unsigned way = 0; way < N_WAYS; way++) {
        if (way == WAY_GROW && !may_grow) {
            continue;
        }
        status = try_way(choice, (enum way)way);
        if (status != TM_OK || choice->cut <= choice->worth) {
            return status;
        }
    }
    return improve_the_rest(choice);
}

tm_status clusters_find(const struct cluster_problem *problem, double worth,
                        uint32_t *node_of)
{
    struct choice choice = {
        .problem = problem, .worth = worth, .best = node_of, .cut = INFINITY};
    tm_status status = try_all(&choice);

    for (unsigned k = 0; k < N_WAYS; k++) {
        drop(&choice.candidates[k]);
    }
    return status;
}
