// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that went through the swap files of all nodes. The thread that asks may be on
// another node the next time, so what was counted last is shared.
#include "paging.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "teamster.h"

enum { EVERY = 8 };

struct counted {
    uint64_t ins;
    uint64_t outs;
};

static TM_SHARED struct counted last[TM_MAX_NODES];

// @param[out] now  [n_nodes]  of a node that has left, what was counted last
// @return whether some node has a limit
static bool count(struct counted *now, unsigned n_nodes)
{
    bool has_limit = false;

    for (unsigned node = 0; node < n_nodes; node++) {
        struct tm_node_stats stats;

        now[node] = last[node];
        if (tm_stats(node, &stats) == TM_OK) {
            now[node] = (struct counted){stats.page_ins, stats.page_outs};
            has_limit |= stats.memory > 0;
        }
    }
    return has_limit;
}

void paging_note(unsigned iteration, bool report)
{
    const unsigned n_nodes = tm_node_count(); // it may become more meanwhile
    struct counted now[TM_MAX_NODES];

    if (!report || iteration % EVERY != 0 || !count(now, n_nodes)) {
        return;
    }
    printf("pages of iterations %u-%u: in", iteration - EVERY + 1, iteration);
    for (unsigned node = 0; node < n_nodes; node++) {
        printf(" %" PRIu64, now[node].ins - last[node].ins);
    }
    printf(", out");
    for (unsigned node = 0; node < n_nodes; node++) {
        printf(" %" PRIu64, now[node].outs - last[node].outs);
    }
    printf("\n");
    memcpy(last, now, n_nodes * sizeof *now);
}
