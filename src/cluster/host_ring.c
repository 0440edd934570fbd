// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/host_ring.h"

static node_id leader_of(const struct roster *roster, const uint16_t *host_of,
                         node_id node)
{
    unsigned i = 0;

    while (host_of[roster->live[i]] != host_of[node]) {
        i++;
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
