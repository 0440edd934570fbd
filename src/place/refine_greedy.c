// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include <stdlib.h>

#include "place/refine.h"

struct job {
    double time_s;
    uint32_t thread;
};

static int compare_jobs(const void *left, const void *right)
{
    const struct job *a = left;
    const struct job *b = right;

    if (a->time_s != b->time_s) {
        return a->time_s < b->time_s ? 1 : -1;
    }
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/** Where the longest of the changed times is shortest. */
static uint32_t best_node(struct load_table *table, uint32_t thread)
{
    uint32_t best = 0;
    double best_s = INFINITY;

    for (uint32_t x = 0; x < table->view->n_nodes; x++) {
        const double comp_s = table->loads[x].comp_s;
        double longest_s = 0;

        load_table_put(table, thread, x);
        for (unsigned k = 0; k < table->n_changed; k++) {
            longest_s =
                fmax(longest_s, load_table_time(table, table->changed[k]));
        }
        load_table_take(table, thread);
        table->loads[x].comp_s = comp_s;
        load_table_forget(table);
        if (longest_s < best_s) {
            best_s = longest_s;
            best = x;
        }
    }
    return best;
}

tm_status refine_greedy(struct load_table *table, const uint32_t *current)
{
    const uint32_t n = table->view->n_threads;
    struct job *jobs = malloc(n * sizeof *jobs);

    if (jobs == NULL) {
        return TM_ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct thread_view *it = &table->view->threads[i];

        jobs[i] = (struct job){it->is_pinned ? INFINITY : it->computation_s, i};
        if (table->node_of[i] != UNPLACED) {
            load_table_take(table, i);
        }
    }
    load_table_settle(table);
    qsort(jobs, n, sizeof *jobs, compare_jobs);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = jobs[k].thread;

        load_table_put(table, i,
                       table->view->threads[i].is_pinned ? current[i]
                                                         : best_node(table, i));
        load_table_settle(table);
    }
    free(jobs);
    return TM_OK;
}
