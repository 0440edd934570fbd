// SPDX-License-Identifier: BSD-3-Clause
#include "planner/excerpt.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"

#define N_SHOWN 32   ///< nodes at most; of more ...
#define N_SLOWEST 10 ///< ... so many are shown

/** Choose the slowest after a change, or all. */
static void choose_nodes(struct excerpt *excerpt,
                         const struct cluster_view *view,
                         const struct prediction *after, int is_all)
{
    struct ranked *ranked = memory_new(view->n_nodes, sizeof *ranked);
    const uint32_t n =
        is_all || excerpt_is_all(view) ? view->n_nodes : N_SLOWEST;

    excerpt->numbers = memory_new(n, sizeof *excerpt->numbers);
    excerpt->view.n_nodes = n;
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        ranked[x] = (struct ranked){after->nodes[x].time_s, x};
    }
    if (n < view->n_nodes) {
        qsort(ranked, view->n_nodes, sizeof *ranked, compare_falling);
    }
    for (uint32_t k = 0; k < n; k++) {
        excerpt->numbers[k] = ranked[k].number;
    }
    free(ranked);
}

/** Part of a prediction; its slowest node is given a number of the part, the
 * first if it is not in it. */
static void cut_prediction(const struct excerpt *excerpt,
                           const struct prediction *whole,
                           struct prediction *part)
{
    const uint32_t n = excerpt->view.n_nodes;

    *part = (struct prediction){.iteration_s = whole->iteration_s,
                                .nodes = memory_new(n, sizeof *part->nodes)};
    for (uint32_t k = 0; k < n; k++) {
        part->nodes[k] = whole->nodes[excerpt->numbers[k]];
        if (excerpt->numbers[k] == whole->slowest) {
            part->slowest = k;
        }
    }
}

int excerpt_is_all(const struct cluster_view *view)
{
    return view->n_nodes <= N_SHOWN;
}

void excerpt_make(struct excerpt *excerpt, const struct cluster_view *view,
                  const struct prediction *before,
                  const struct prediction *after, int is_all)
{
    *excerpt = (struct excerpt){0};
    choose_nodes(excerpt, view, after, is_all);
    excerpt->view.nodes =
        memory_new(excerpt->view.n_nodes, sizeof *excerpt->view.nodes);
    for (uint32_t k = 0; k < excerpt->view.n_nodes; k++) {
        excerpt->view.nodes[k] = view->nodes[excerpt->numbers[k]];
    }
    cut_prediction(excerpt, before, &excerpt->before);
    cut_prediction(excerpt, after, &excerpt->after);
}

void excerpt_release(struct excerpt *excerpt)
{
    free(excerpt->view.nodes);
    free(excerpt->before.nodes);
    free(excerpt->after.nodes);
    free(excerpt->numbers);
}
