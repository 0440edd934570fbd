// SPDX-License-Identifier: BSD-3-Clause
//
// The MEM-based policy as [Liu06] 5.1 words it: threads "according to the amount
// of physical memory space each processor is able to provide". Counts are in
// proportion to memory, whether it is short or not; which threads, says the second
// subphase. `mem` is the other reading: it minimises Tmem, as [Liang03] Table 3
// does, and where nothing is short it leaves threads where they are. Here to be
// compared with.
#include <stdlib.h>

#include "base/memory.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/policies.h"

static void count(const struct cluster_view *view, double *memory,
                  uint32_t *counts)
{
    double sum = 0;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        memory[x] = (double)view->nodes[x].memory_pages;
        sum += memory[x];
    }
    for (uint32_t x = 0; sum <= 0 && x < view->n_nodes; x++) {
        memory[x] = 1;
    }
    counts_in_proportion(view->n_threads, memory, view->n_nodes, counts);
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    const uint32_t n_nodes = request->view->n_nodes;
    double *memory = memory_new(n_nodes, sizeof *memory);
    uint32_t *counts = memory_new(n_nodes, sizeof *counts);

    count(request->view, memory, counts);
    answer_partition(request, counts, mapping->before_s, 0, mapping->node_of);
    free(memory);
    free(counts);
}

const struct policy policy_mem_share = {
    .name = "mem-share",
    .summary = "[Liu06] MEM-based: in proportion to memory, whatever it costs",
    .uses_memory = 1,
    .wants_uses = 1,
    .ignores_power = 1,
    .held_to = HELD_TO_NOTHING,
    .place = place,
};
