// SPDX-License-Identifier: BSD-3-Clause
//
// What nodes have told of themselves besides times, in words: a line for each.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "reconfig/scheme_priv.h"

enum { MOST_PEERS = 3 }; // that are named: those that get most

/** Less would be shown as 0.0 KiB. */
#define LEAST_BYTES 51.2

#define KIB 1024.0
#define MIB (1024.0 * 1024)

struct line {
    char text[256];
    size_t length;
};

struct peer {
    node_id node;
    double bytes;
};

static void add(struct line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    const size_t room = sizeof line->text - line->length;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    if (n > 0) {
        line->length += (size_t)n < room ? (size_t)n : room - 1;
    }
}

static int compare_peers(const void *left, const void *right)
{
    const struct peer *a = left;
    const struct peer *b = right;

    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

static double list_peers(const struct scheme *scheme, node_id from,
                         struct peer *peers)
{
    double sum = 0;

    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        peers[i].node = (node_id)i;
        peers[i].bytes = history_sent_bytes(scheme->history, from, (node_id)i);
        sum += peers[i].bytes;
    }
    qsort(peers, scheme->config.n_nodes, sizeof *peers, compare_peers);
    return sum;
}

// @param peers  [n_nodes] for those that the node has sent to
static void add_sent(const struct scheme *scheme, node_id from,
                     struct peer *peers, struct line *line)
{
    double left = list_peers(scheme, from, peers);

    add(line, "; %.1f KiB sent", left / KIB);
    for (unsigned i = 0;
         i < scheme->config.n_nodes && peers[i].bytes >= LEAST_BYTES; i++) {
        if (i == MOST_PEERS) {
            add(line, ", %.1f to others", left / KIB);
            break;
        }
        left -= peers[i].bytes;
        add(line, "%s%.1f to %s", i == 0 ? ": " : ", ", peers[i].bytes / KIB,
            scheme->nodes[peers[i].node].name);
    }
}

void scheme_explain_collected(const struct scheme *scheme)
{
    struct peer *peers = calloc(scheme->config.n_nodes, sizeof *peers);

    if (!scheme->config.explains || peers == NULL) {
        free(peers);
        return;
    }
    for (unsigned i = 0; i < scheme->config.n_nodes; i++) {
        const uint64_t free_bytes =
            history_free_bytes(scheme->history, (node_id)i);
        struct line line = {.length = 0};
        struct history_node usual;

        history_node(scheme->history, (node_id)i, &usual);
        add(&line, "%s an iteration: %.1f pages came, %.1f went",
            scheme->nodes[i].name, usual.pages_in, usual.pages_out);
        if (free_bytes > 0) {
            add(&line, "; %.0f MiB free", (double)free_bytes / MIB);
        }
        add_sent(scheme, (node_id)i, peers, &line);
        scheme->ops.explain(scheme->ops.owner, line.text);
    }
    free(peers);
}
