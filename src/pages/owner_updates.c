// SPDX-License-Identifier: BSD-3-Clause
//
// Owner updates: a node that has become the owner of a page tells the page's directory
// node, many pages in one message. Nobody answers. While the roster stays as it is, nothing
// depends on it but how many hops the next request takes: the directory node knows of some
// owner, and the owners know of each other. When the roster changes, these updates are all that
// a new directory node knows (K3 in roster_change.c), and without them it would grant the
// page once more (H3): so a change is not over before they have come.
#include "pages/pages.h"

#define OWNER_UPDATES_MAX 512u

void owner_updates_announce(struct engine *engine, page_no page, node_id from)
{
    node_id directory = directory_of(engine, page);

    if (directory == engine->port->self || directory == from) {
        return;
    }
    page_list_add(&engine->owner_updates[directory], page);
    if (engine->owner_updates[directory].n >= OWNER_UPDATES_MAX) {
        owner_updates_send(engine);
    }
}

static void send_to(struct engine *engine, node_id node)
{
    struct page_list *list = &engine->owner_updates[node];
    uint8_t body[OWNER_UPDATES_MAX * WIRE_SIZE_owner_entry];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_owner_is};

    for (size_t i = 0; i < list->n; i++) {
        const struct page *page = page_of(engine, list->at[i]);
        const struct extent *extent = extent_find(engine, list->at[i]);

        if (page->is_owner && extent != NULL) {
            wire_put_owner_entry(&writer, &(struct wire_owner_entry){
                                              .page = list->at[i],
                                              .epoch = page->epoch,
                                              .serial = extent->serial,
                                          });
        }
    }
    list->n = 0;
    message.u.owner_is.owner = engine->port->self;
    message.body = body;
    message.body_size = (uint32_t)(writer.at - body);
    if (message.body_size > 0) {
        port_send(engine->port, node, &message);
    }
}

void owner_updates_send(struct engine *engine)
{
    const struct roster *roster = &engine->port->roster;

    for (unsigned i = 0; i < roster->n_live; i++) {
        if (engine->owner_updates[roster->live[i]].n > 0) {
            send_to(engine, roster->live[i]);
        }
    }
}

tm_status owner_updates_receive(struct engine *engine, node_id from,
                                const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    if (message->u.owner_is.owner != from) {
        return TM_EWIRE;
    }
    while (wire_has_more(&reader)) {
        const struct wire_owner_entry entry = wire_get_owner_entry(&reader);
        const struct extent *extent = extent_find(engine, entry.page);

        if (extent != NULL && !extent->is_closed &&
            extent->serial == entry.serial) { // B1 of blocks.c
            hint_set(page_of(engine, entry.page), from, entry.epoch);
            steps_made(engine, entry.page,
                       (struct step_cause){.event = STEP_OWNER_IS,
                                           .from = from,
                                           .epoch = entry.epoch});
        }
    }
    return TM_OK;
}
