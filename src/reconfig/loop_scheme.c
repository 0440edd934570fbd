// SPDX-License-Identifier: BSD-3-Clause
#include "reconfig/loop_scheme.h"

#include <stdlib.h>

#include "base/memory.h"

/** More than this part of a node's time is paging: it is short of memory. */
#define SHORT 0.05

/** Pages that may come in by chance. */
#define LEAST_PAGES 8.0

int loop_is_short(const struct history_node *done, unsigned n_nodes)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        if (done[i].pages_in > LEAST_PAGES &&
            done[i].mem_s > SHORT * done[i].busy_s) {
            return 1;
        }
    }
    return 0;
}

// The pieces that a node has done.
static uint32_t list_arrivals(const struct loop_entry *entry, uint32_t node,
                              struct history_arrival *arrivals)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < entry->n_pieces; i++) {
        if (entry->node_of[i] == node) {
            arrivals[n++] =
                (struct history_arrival){LOOP_THREAD(i), entry->piece_s[i]};
        }
    }
    return n;
}

void loop_take_entry(struct scheme *scheme, const struct loop_entry *entry,
                     uint64_t now_ns)
{
    struct history_arrival *arrivals =
        memory_new(entry->n_pieces, sizeof *arrivals);

    for (uint32_t i = 0; i < entry->n_nodes; i++) {
        const struct history_report report = {
            .node = (node_id)i,
            .iteration = entry->number,
            .done = entry->done[i],
            .n_arrivals = list_arrivals(entry, i, arrivals),
            .arrivals = arrivals,
        };

        if (report.n_arrivals > 0) {
            scheme_take(scheme, &report, now_ns);
        }
    }
    free(arrivals);
}
