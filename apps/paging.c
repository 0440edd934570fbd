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

enum { EVERY = 8, LINE_BYTES = 6000 };

struct counted {
    uint64_t ins;
    uint64_t outs;
};

static TM_SHARED struct counted last[TM_MAX_NODES];

// @return whether some node has a limit
static bool count(struct counted *now)
{
    bool has_limit = false;

    for (unsigned node = 0; node < tm_node_count(); node++) {
        struct tm_node_stats stats;

        memset(&now[node], 0, sizeof now[node]);
        if (tm_stats(node, &stats) == TM_OK) {
            now[node] = (struct counted){stats.page_ins, stats.page_outs};
            has_limit |= stats.memory > 0;
        }
    }
    return has_limit;
}

static size_t add_numbers(char *line, size_t n, const struct counted *now,
                          bool is_out)
{
    for (unsigned node = 0; node < tm_node_count(); node++) {
        const uint64_t pages = is_out ? now[node].outs - last[node].outs
                                      : now[node].ins - last[node].ins;

        n += (size_t)snprintf(line + n, LINE_BYTES - n, " %" PRIu64, pages);
    }
    return n;
}

void paging_note(unsigned iteration, bool report)
{
    struct counted now[TM_MAX_NODES];
    char line[LINE_BYTES];
    size_t n;

    if (!report || iteration % EVERY != 0 || !count(now)) {
        return;
    }
    n = (size_t)snprintf(line, sizeof line, "pages of iterations %u-%u: in",
                         iteration - EVERY + 1, iteration);
    n = add_numbers(line, n, now, false);
    n += (size_t)snprintf(line + n, sizeof line - n, ", out");
    add_numbers(line, n, now, true);
    printf("%s\n", line);
    memcpy(last, now, tm_node_count() * sizeof *now);
}
