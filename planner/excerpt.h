// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_EXCERPT_H
#define PLANNER_EXCERPT_H

#include "model/predict.h"

/*
 * What is shown of a cluster: all nodes, or of a large one the slowest. To
 * model/explain.h it looks like a cluster of these nodes alone.
 */

/** Some nodes of a view with their predictions. */
struct excerpt {
    struct cluster_view view; ///< only nodes and n_nodes are set
    struct prediction before;
    struct prediction after;
    uint32_t *numbers; ///< [view.n_nodes]: in the whole view
};

/** Is a cluster small enough to be shown as a whole? */
int excerpt_is_all(const struct cluster_view *view);

/**
 * @param before, after  of the whole view; after says which nodes are slowest
 * @param is_all         all nodes, however many
 * @param[out] excerpt   to be released with excerpt_release() in any case
 */
void excerpt_make(struct excerpt *excerpt, const struct cluster_view *view,
                  const struct prediction *before,
                  const struct prediction *after, int is_all);
void excerpt_release(struct excerpt *excerpt);

#endif
