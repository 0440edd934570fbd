// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_CHEAPEST_H
#define PLANNER_CHEAPEST_H

#include "planner/plan.h"

/*
 * What is the least that has to be bought for a program to be so much faster? `teamster plan
 * --advise`.
 */

/** What things cost, in any money. All 0: not known. */
struct prices {
    double memory; ///< a GiB
    double speed;  ///< power 1.0, of one worker
    double node;   ///< one more, whichever it is like
};

struct wish {
    double
        gain; ///< 0.2: iterations that are 20 % shorter than with the mapping in force
    const struct policy *policy;
    struct prices prices;
};

enum purchase_kind { PURCHASE_MEMORY, PURCHASE_SPEED, PURCHASE_NODE };

/** One change that is enough, no smaller one of its kind at these nodes being so. */
struct purchase {
    enum purchase_kind kind;
    uint32_t
        like; ///< the node, the first of them, or the one that new ones are like
    uint32_t n_nodes; ///< that are changed, or new
    double amount;    ///< memory: MiB of each; speed: factor; node: how many
    double
        added; ///< memory: GiB of all; speed: power of all workers; node: how many
    double price; ///< 0: not known
    double iteration_s;
    uint32_t n_moves;
    char *changes; ///< as scenario_change() takes them, a line each
};

struct cheapest {
    double wanted_s;
    double free_s; ///< with the nodes as they are, threads as the policy wants
    uint32_t n_free_moves;
    struct purchase
        *purchases; ///< [n], cheapest first; none if wanted_s is free
    unsigned n;
    double nearest_s; ///< the shortest of all that was tried
};

enum {
    SPEED_MOST = 16,    ///< times as fast is tried, ...
    NEW_NODES_MOST = 8, ///< ... so many more nodes, ...
    CLASSES_MOST = 16,  ///< ... and nodes of so many classes
};

/**
 * @param base  settled; not modified
 * @param plan  of `base`, made by the wish's policy
 * @param[out] advice  to be released with cheapest_release()
 */
void cheapest_find(struct cheapest *advice, const struct scenario *base,
                   const struct plan *plan, const struct wish *wish);
void cheapest_release(struct cheapest *advice);

#endif
