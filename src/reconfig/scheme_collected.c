// SPDX-License-Identifier: BSD-3-Clause
//
// What nodes have told of themselves besides times, in words: a line for each.
#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"
#include "base/text.h"
#include "reconfig/scheme_priv.h"

enum { MOST_PEERS = 3 }; // that are named: those that get most

/** Less would be shown as 0.0 KiB. */
#define LEAST_BYTES 51.2

#define KIB 1024.0
#define MIB (1024.0 * 1024)

static double list_peers(const struct scheme *scheme, node_id from,
                         struct ranked *peers)
{
    double sum = 0;

    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        peers[i].number = i;
        peers[i].value = history_sent_bytes(scheme->history, from, (node_id)i);
        sum += peers[i].value;
    }
    qsort(peers, scheme->config.n_nodes, sizeof *peers, compare_falling);
    return sum;
}

// @param peers  [n_nodes] for those that the node has sent to
static void add_sent(const struct scheme *scheme, node_id from,
                     struct ranked *peers, struct text *line)
{
    double left = list_peers(scheme, from, peers);

    text_add(line, "; %.1f KiB sent", left / KIB);
    for (unsigned i = 0;
         i < scheme->config.n_nodes && peers[i].value >= LEAST_BYTES; i++) {
        if (i == MOST_PEERS) {
            text_add(line, ", %.1f to others", left / KIB);
            break;
        }
        left -= peers[i].value;
        text_add(line, "%s%.1f to %s", i == 0 ? ": " : ", ",
                 peers[i].value / KIB, scheme->nodes[peers[i].number].name);
    }
}

void scheme_explain_collected(const struct scheme *scheme)
{
    struct ranked *peers;

    if (!scheme->config.explains) {
        return;
    }
    peers = memory_new(scheme->config.n_nodes, sizeof *peers);
    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        const uint64_t free_bytes =
            history_free_bytes(scheme->history, (node_id)i);
        char bytes[256];
        struct text line = {bytes, sizeof bytes, 0};
        struct history_node usual;

        history_node_lately(scheme->history, (node_id)i, &usual);
        text_add(&line, "%s an iteration: %.1f pages came, %.1f went",
                 scheme->nodes[i].name, usual.pages_in, usual.pages_out);
        if (free_bytes > 0) {
            text_add(&line, "; %.0f MiB free", (double)free_bytes / MIB);
        }
        add_sent(scheme, (node_id)i, peers, &line);
        scheme->ops.explain(scheme->ops.owner, bytes);
    }
    free(peers);
}
