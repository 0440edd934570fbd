// SPDX-License-Identifier: BSD-3-Clause
//
// Who gives signs of life to whom, among many nodes:
//
//   a node      to the leader of its host
//   a leader    to the nodes of its host, and to the leaders of the HOST_RING_REACH hosts
//               behind its own, or of all others if there are not more
//
// R1  What one node gives to another one the other one expects, and nothing else: all see
//     the same roster and the same hosts.
// R2  These are fewer than 2 + HOST_RING_REACH for each node, all together.
// R3  Whoever dies, as long as anybody lives, somebody who lives expects something of
//     somebody who has died. Nodes of a host and their leader expect it of each other; and
//     if leaders have died and others live, somewhere in the ring one that lives is right
//     behind one that has died.
#include "cluster/host_ring.h"

#include <string.h>

#include "base/ensure.h"

static node_id leader_of(const struct roster *roster, const uint16_t *host_of,
                         node_id node)
{
    unsigned i = 0;

    while (host_of[roster->live[i]] != host_of[node]) {
        i++;
        ensure(i < roster->n_live); // the node is in it itself
    }
    return roster->live[i];
}

int host_ring_is_leader(const struct roster *roster, const uint16_t *host_of,
                        node_id node)
{
    return leader_of(roster, host_of, node) == node;
}

node_id host_ring_next(const struct roster *roster, const uint16_t *host_of,
                       node_id node)
{
    const node_id own = leader_of(roster, host_of, node);
    const unsigned place = roster_place(roster, own);

    for (unsigned i = 1; i < roster->n_live; i++) {
        const node_id other = roster->live[(place + i) % roster->n_live];

        if (host_of[other] != host_of[own] &&
            host_ring_is_leader(roster, host_of, other)) {
            return other;
        }
    }
    return NODE_NONE;
}

// [n_live]  in the order of the ring
static unsigned list_leaders(const struct roster *roster,
                             const uint16_t *host_of, node_id *leaders)
{
    unsigned n = 0;

    for (unsigned i = 0; i < roster->n_live; i++) {
        if (host_ring_is_leader(roster, host_of, roster->live[i])) {
            leaders[n++] = roster->live[i];
        }
    }
    return n;
}

static void mark_leaders(const struct roster *roster, const uint16_t *host_of,
                         node_id self, uint8_t *near)
{
    node_id leaders[TM_MAX_NODES];
    const unsigned n = list_leaders(roster, host_of, leaders);
    unsigned place = 0;

    while (place + 1 < n && leaders[place] != self) {
        place++;
    }
    for (unsigned i = 1; i <= HOST_RING_REACH && i < n; i++) {
        near[leaders[(place + i) % n]] |= HOST_RING_TO;
        near[leaders[(place + n - i) % n]] |= HOST_RING_FROM;
    }
}

void host_ring_mark_near(const struct roster *roster, const uint16_t *host_of,
                         node_id self, uint8_t *near)
{
    const node_id leader = leader_of(roster, host_of, self);

    memset(near, 0, roster->n_ids);
    if (self != leader) {
        near[leader] = HOST_RING_TO | HOST_RING_FROM;
        return;
    }
    for (unsigned i = 0; i < roster->n_live; i++) {
        const node_id node = roster->live[i];

        if (node != self && host_of[node] == host_of[self]) {
            near[node] = HOST_RING_TO | HOST_RING_FROM;
        }
    }
    mark_leaders(roster, host_of, self, near);
}

unsigned host_ring_fullest(const struct roster *roster, const uint16_t *host_of)
{
    uint16_t n_on[TM_MAX_NODES] = {0}; // by the leader
    unsigned most = 0;

    for (unsigned i = 0; i < roster->n_live; i++) {
        const unsigned n = ++n_on[leader_of(roster, host_of, roster->live[i])];

        most = n > most ? n : most;
    }
    return most;
}
