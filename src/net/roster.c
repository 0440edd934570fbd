// SPDX-License-Identifier: BSD-3-Clause
#include "net/roster.h"

#include <string.h>

#include "base/ensure.h"
#include "net/message.h"

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

unsigned roster_place(const struct roster *roster, node_id node)
{
    unsigned place = 0;

    while (place < roster->n_live && roster->live[place] != node) {
        place++;
    }
    return place;
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

size_t roster_encode(const struct roster *roster, uint8_t *at)
{
    struct wire_writer writer = {.at = at, .end = at + ROSTER_BYTES_MAX};

    wire_put_u16(&writer, (uint16_t)roster->n_ids);
    for (unsigned i = 0; i < roster->n_live; i++) {
        wire_put_u16(&writer, roster->live[i]);
    }
    return (size_t)(writer.at - at);
}

tm_status roster_decode(struct roster *roster, const void *bytes, size_t size)
{
    struct wire_reader reader = wire_read(bytes, size);
    struct roster read = {.epoch = roster->epoch, .leaving = NODE_NONE};

    read.n_ids = wire_get_u16(&reader);
    if (read.n_ids > TM_MAX_NODES) {
        return TM_EWIRE;
    }
    while (reader.at < reader.end && read.n_live < TM_MAX_NODES) {
        node_id node = wire_get_u16(&reader);

        if (reader.failed || node >= TM_MAX_NODES) {
            return TM_EWIRE;
        }
        read.is_live[node] = 1;
        read.live[read.n_live++] = node;
    }
    if (reader.failed || reader.at < reader.end || !roster_is_valid(&read)) {
        return TM_EWIRE;
    }
    *roster = read;
    return TM_OK;
}
