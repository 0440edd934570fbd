// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_NODE_CLASSES_H
#define PLANNER_NODE_CLASSES_H

#include "model/cluster_view.h"

/*
 * Nodes that are alike: as many processors, power and memory within 2 % of those of the
 * first of them. Many nodes are told, and asked about, by class.
 */

struct node_class {
    uint32_t first; ///< its first node
    uint32_t n_nodes;
};

struct node_classes {
    struct node_class *classes; ///< [n], by their first nodes
    uint32_t n;
    uint32_t *class_of; ///< [n_nodes of the view]
};

/** @param[out] classes  to be released with node_classes_release() */
void node_classes_make(struct node_classes *classes,
                       const struct cluster_view *view);
void node_classes_release(struct node_classes *classes);

#endif
