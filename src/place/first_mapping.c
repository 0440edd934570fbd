// SPDX-License-Identifier: BSD-3-Clause
#include "place/first_mapping.h"

#include <float.h>
#include <string.h>

#define ALIKE 0.9

void first_mapping_level(struct first_node *nodes, uint32_t n_nodes)
{
    double least = DBL_MAX;
    double most = 0;

    for (uint32_t x = 0; x < n_nodes; x++) {
        least = nodes[x].power < least ? nodes[x].power : least;
        most = nodes[x].power > most ? nodes[x].power : most;
    }
    for (uint32_t x = 0; x < n_nodes && least >= ALIKE * most; x++) {
        nodes[x].power = most;
    }
}

/** T_x(n) */
static double time_of(const struct first_node *node, uint32_t n)
{
    return (n + node->n_processors - 1) / node->n_processors / node->power;
}

static int has_room(const struct first_node *node, uint32_t n,
                    double pages_of_thread)
{
    return n * pages_of_thread <= (double)node->memory_pages;
}

/** Is x better for one more thread than y, which is before it? */
static int is_better(const struct first_node *nodes, const uint32_t *counts,
                     uint32_t x, uint32_t y)
{
    const uint32_t n_x = nodes[x].n_threads + counts[x] + 1;
    const uint32_t n_y = nodes[y].n_threads + counts[y] + 1;
    const double x_s = time_of(&nodes[x], n_x);
    const double y_s = time_of(&nodes[y], n_y);

    // As long: where less of the node's power is taken.
    return x_s < y_s ||
           (x_s <= y_s && n_x * nodes[y].n_processors * nodes[y].power <=
                              n_y * nodes[x].n_processors * nodes[x].power);
}

/** @return the node for one more, or n_nodes: none has room */
static uint32_t find_best(const struct first_node *nodes, uint32_t n_nodes,
                          double pages_of_thread, const uint32_t *counts)
{
    uint32_t best = n_nodes;

    for (uint32_t x = 0; x < n_nodes; x++) {
        if (has_room(&nodes[x], nodes[x].n_threads + counts[x] + 1,
                     pages_of_thread) &&
            (best == n_nodes || is_better(nodes, counts, x, best))) {
            best = x;
        }
    }
    return best;
}

void first_mapping_share_out(const struct first_node *nodes, uint32_t n_nodes,
                             uint32_t n_threads, double pages_of_thread,
                             uint32_t *counts)
{
    memset(counts, 0, n_nodes * sizeof *counts);
    for (uint32_t i = 0; i < n_threads; i++) {
        uint32_t best = find_best(nodes, n_nodes, pages_of_thread, counts);

        if (best == n_nodes) { // all are full
            pages_of_thread = 0;
            best = find_best(nodes, n_nodes, 0, counts);
        }
        counts[best]++;
    }
}
