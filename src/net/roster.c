// SPDX-License-Identifier: BSD-3-Clause
#include "net/roster.h"

#include <string.h>

#include "base/ensure.h"

static void list_live(struct roster *roster)
{
    roster->n_live = 0;
    for (unsigned i = 0; i < roster->n_ids; i++) {
        if (roster->is_live[i]) {
            roster->live[roster->n_live++] = (node_id)i;
        }
    }
}

void roster_init(struct roster *roster, unsigned n)
{
    ensure(n >= 1 && n <= TM_MAX_NODES);
    memset(roster, 0, sizeof *roster);
    memset(roster->is_live, 1, n);
    roster->epoch = 1;
    roster->n_ids = n;
    roster->leaving = NODE_NONE;
    list_live(roster);
}

void roster_add(struct roster *roster, node_id node)
{
    ensure(node < TM_MAX_NODES && !roster->is_live[node]);
    roster->is_live[node] = 1;
    roster->n_ids = node >= roster->n_ids ? node + 1u : roster->n_ids;
    roster->epoch++;
    list_live(roster);
}

void roster_remove(struct roster *roster, node_id node)
{
    ensure(node != 0 && roster_has(roster, node));
    roster->is_live[node] = 0;
    roster->leaving = roster->leaving == node ? NODE_NONE : roster->leaving;
    roster->epoch++;
    list_live(roster);
}

unsigned roster_open(const struct roster *roster, node_id *nodes)
{
    unsigned n = 0;

    for (unsigned i = 0; i < roster->n_live; i++) {
        if (roster->live[i] != roster->leaving) {
            nodes[n++] = roster->live[i];
        }
    }
    return n;
}

int roster_is_valid(const struct roster *roster)
{
    unsigned n = 0;

    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        if (!roster->is_live[i]) {
            continue;
        }
        if (i >= roster->n_ids || n >= roster->n_live || roster->live[n] != i) {
            return 0;
        }
        n++;
    }
    return n == roster->n_live && n > 0 && roster->live[0] == 0 &&
           (roster->leaving == NODE_NONE ||
            roster_has(roster, roster->leaving));
}
