// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces of a loop's range: as many for each node as a share has bins, with few nodes. What
// a node does is told it by runs of neighbouring pieces.
#include "tasks/pieces.h"

#include "base/status.h"

#define MANY 256u // pieces: with more nodes each has fewer of them
#define LEAST 16u // of a node

unsigned pieces_count(unsigned n_nodes, int64_t first, int64_t end)
{
    unsigned n = n_nodes * SHARE_BINS;

    if (n > MANY) {
        n = n_nodes * LEAST > MANY ? n_nodes * LEAST : MANY;
    }
    return end - first < (int64_t)n ? (unsigned)(end - first) : n;
}

int64_t piece_at(const struct grid *grid, unsigned piece)
{
    const int64_t length = grid->end - grid->first;

    return grid->first + length / grid->n * piece +
           length % grid->n * piece / grid->n;
}

void pieces_of_shares(const struct share *shares, unsigned n_shares, unsigned n,
                      uint32_t *node_of)
{
    const struct grid grid = {shares[0].first, shares[n_shares - 1].end, n};
    unsigned at = 0;

    for (unsigned i = 0; i < n; i++) {
        const int64_t from = piece_at(&grid, i);
        const int64_t middle = from + (piece_at(&grid, i + 1) - from) / 2;

        while (at + 1 < n_shares && shares[at].end <= middle) {
            at++;
        }
        node_of[i] = at;
    }
}

unsigned pieces_list_runs(const uint32_t *node_of, unsigned n, uint32_t node,
                          struct piece_run *runs)
{
    unsigned n_runs = 0;
    unsigned n_pieces = 0;

    for (unsigned i = 0; i < n; i++) {
        if (node_of[i] != node) {
            continue;
        }
        if (n_pieces++ == NODE_PIECES_MAX) {
            return NODE_PIECES_MAX + 1;
        }
        if (n_runs > 0 &&
            runs[n_runs - 1].piece + runs[n_runs - 1].n == (int)i) {
            runs[n_runs - 1].n++;
        } else {
            runs[n_runs++] = (struct piece_run){(uint16_t)i, 1};
        }
    }
    return n_runs;
}

static size_t bytes_of(unsigned n_runs, unsigned n_pieces)
{
    return n_runs * sizeof(struct piece_run) + n_pieces * sizeof(uint64_t);
}

size_t pieces_bytes(const struct piece_run *runs, unsigned n_runs)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_runs; i++) {
        n += runs[i].n;
    }
    return bytes_of(n_runs, n);
}

// Gone through once, whatever the number of nodes: it is asked at each entry of a loop.
int pieces_are_possible(const uint32_t *node_of, unsigned n, unsigned n_nodes,
                        size_t room)
{
    unsigned n_pieces[TM_MAX_NODES] = {0};
    unsigned n_runs[TM_MAX_NODES] = {0};
    unsigned node = 0;

    for (unsigned i = 0; i < n; i++) {
        n_pieces[node_of[i]]++;
        n_runs[node_of[i]] += i == 0 || node_of[i - 1] != node_of[i];
    }
    while (node < n_nodes && n_pieces[node] <= NODE_PIECES_MAX &&
           bytes_of(n_runs[node], n_pieces[node]) <= room) {
        node++;
    }
    return node == n_nodes;
}
