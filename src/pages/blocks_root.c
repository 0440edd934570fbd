// SPDX-License-Identifier: BSD-3-Clause
//
// The root's part of blocks.c: it answers requests for blocks, and counts who has
// heard of what it tells all nodes.
//
// An allocation or a free that all nodes have to know of waits in a list, and goes
// on when the last of them has acknowledged the step that it is at:
//
//   ALLOCATING ----------------> done    receive_alloc_ask(), finish_step()
//   CLOSING ----> FORGETTING --> done    receive_free_ask(), finish_step()
#include "base/ensure.h"
#include "base/log.h"
#include "mem/slabs.h"
#include "pages/causality.h"
#include "pages/pages.h"

#include <inttypes.h>
#include <stdlib.h>

/** A step that all nodes have to take. */
struct allocation {
    struct allocation *next;
    uint32_t serial;
    struct node_set missing; ///< nodes that have not acknowledged
    enum { ALLOCATING, CLOSING, FORGETTING } step;
    struct heap_extent extent;
    // Who has asked for a block, or frees one, and waits.
    node_id from;
    uint32_t token;    ///< of `from`
    uint64_t address;  ///< of the block that it gets
    uint64_t capacity; ///< of it
};

static void expect_all(const struct engine *engine,
                       struct allocation *allocation)
{
    const struct roster *roster = &engine->port->roster;

    for (unsigned i = 0; i < roster->n_live; i++) {
        node_set_add(&allocation->missing, roster->live[i]);
    }
}

static struct allocation *start_step(struct engine *engine, node_id from,
                                     uint32_t token,
                                     const struct heap_extent *extent)
{
    struct allocation *allocation = calloc(1, sizeof *allocation);

    ensure_memory(allocation != NULL);
    allocation->serial = ++engine->last_allocation;
    expect_all(engine, allocation);
    allocation->extent = *extent;
    allocation->from = from;
    allocation->token = token;
    list_push(engine->allocations, allocation);
    return allocation;
}

static void send_alloc_done(struct engine *engine, node_id to, uint32_t token,
                            uint64_t address, uint64_t capacity)
{
    struct message message = {
        .type = MESSAGE_alloc_done,
        .u.alloc_done = {.token = token,
                         .address = address,
                         .capacity = capacity},
    };

    engine_order(engine, ORDER_HEAP, to, ORDER_TAKES);
    port_send(engine->port, to, &message);
}

// A slab has closed; or, with NODE_NONE, its pages are to be another block's.
static void note_last_holder(struct engine *engine,
                             const struct heap_extent *pages, node_id holder)
{
    for (page_no at = pages->page; at < pages->page + pages->n_pages; at++) {
        (void)map_take(&engine->last_holders, at);
        if (holder != NODE_NONE) {
            map_add_index(&engine->last_holders, at, holder);
        }
    }
}

node_id blocks_root_last_holder(const struct engine *engine, uint64_t address)
{
    const page_no page =
        engine->space->heap_page +
        (address - (uint64_t)(uintptr_t)SPACE_HEAP_BASE) / TM_PAGE_SIZE;
    const uint32_t holder = map_find_index(&engine->last_holders, page);

    if (holder == MAP_NONE) {
        return NODE_NONE;
    }
    return roster_has(&engine->port->roster, (node_id)holder) ? (node_id)holder
                                                              : 0;
}

static void announce_extent(struct engine *engine, node_id from,
                            const struct message_alloc_ask *ask,
                            const struct heap_block *block,
                            const struct heap_extent *extent)
{
    struct allocation *allocation =
        start_step(engine, from, ask->token, extent);
    uint8_t body[sizeof block->name + sizeof block->file];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_extent_new, .body = body};

    allocation->step = ALLOCATING;
    allocation->address = block->address;
    allocation->capacity = block->capacity;
    note_last_holder(engine, extent, NODE_NONE);
    message.u.extent_new = (struct message_extent_new){
        .token = allocation->serial,
        .page = extent->page,
        .n_pages = extent->n_pages,
        .size = block->size,
        .protocol = ask->protocol,
        .placement = ask->placement,
        .sharing = ask->sharing,
        .on_node = ask->on_node,
        .cell_kind = ask->cell_kind,
        .line = block->line,
    };
    wire_put_block_name(&writer,
                        &(struct wire_block_name){block->name, block->file});
    message.body_size = (uint32_t)(writer.at - body);
    port_send_all(engine->port, &message);
}

static int is_good_request(const struct engine *engine, node_id from,
                           const struct message_alloc_ask *ask)
{
    return protocol_by_id(engine->protocols, (tm_protocol)ask->protocol) !=
               NULL &&
           ask->placement <= TM_ON_NODE && ask->sharing <= TM_REDUCTION &&
           ask->on_node < engine->port->roster.n_ids &&
           (ask->cell_kind == 0 ||
            (ask->on_node == from && ask->placement == TM_ON_NODE &&
             protocols_have_cells(engine->protocols, (tm_protocol)ask->protocol,
                                  ask->cell_kind)));
}

/** A block, or a slab: smaller if that is all there is. */
static tm_status take_pages(struct engine *engine,
                            const struct message_alloc_ask *ask,
                            const struct wire_block_name *name,
                            struct heap_block *block,
                            struct heap_extent *extent)
{
    static const struct heap_origin of_slabs = {.name = "small blocks"};
    const struct heap_origin origin = {name->name, name->file, ask->line};
    const uint32_t n_views = slabs_cell_views(ask->cell_kind);
    const uint64_t room = heap_room(engine->heap) / n_views;

    if (ask->cell_kind == 0) {
        return heap_alloc(engine->heap, ask->size, &origin, block, extent);
    }
    return room == 0 ? TM_ENOMEM
                     : heap_alloc(engine->heap,
                                  (room < SLAB_PAGES ? room : SLAB_PAGES) *
                                      n_views * TM_PAGE_SIZE,
                                  &of_slabs, block, extent);
}

static tm_status receive_alloc_ask(struct engine *engine, node_id from,
                                   const struct message *message)
{
    struct message_alloc_ask ask = message->u.alloc_ask;
    struct wire_reader reader = wire_read_body(message);
    const struct wire_block_name name = wire_get_block_name(&reader);
    struct heap_block block;
    struct heap_extent extent;
    tm_status status;

    if (ask.protocol == TM_PROTOCOL_DEFAULT) {
        ask.protocol = (uint8_t)engine->default_protocol;
    }
    if (!is_good_request(engine, from, &ask)) {
        send_alloc_done(engine, from, ask.token, 0, 0);
        return TM_EWIRE;
    }
    status = take_pages(engine, &ask, &name, &block, &extent);
    if (status != TM_OK) {
        log_error("tm_alloc() of %" PRIu64 " bytes at %s:%u: %s; --space "
                  "gives more",
                  ask.size, name.file, ask.line, tm_strerror(status));
        send_alloc_done(engine, from, ask.token, 0, 0);
    } else {
        announce_extent(engine, from, &ask, &block, &extent);
    }
    return TM_OK;
}

// Who held a slab, or where a block is to be, was a node of another run.
tm_status blocks_root_restore(struct engine *engine,
                              const struct message *extent_is,
                              struct waiter *waiter)
{
    const struct message_extent_is *is = &extent_is->u.extent_is;
    struct wire_reader reader = wire_read_body(extent_is);
    const struct wire_block_name name = wire_get_block_name(&reader);
    const struct heap_origin origin = {name.name, name.file, is->line};
    struct message_alloc_ask ask = {
        .size = is->size,
        .protocol = is->protocol,
        .placement = is->placement,
        .sharing = is->sharing,
        .on_node = is->cell_kind > 0
                       ? engine->port->self
                       : roster_pick(&engine->port->roster, is->on_node),
        .cell_kind = is->cell_kind,
        .line = is->line,
    };
    struct heap_extent extent;
    struct heap_block block;

    if (!is_good_request(engine, engine->port->self, &ask) ||
        heap_alloc_at(engine->heap, is->page, is->size, &origin, &block,
                      &extent) != TM_OK ||
        extent.n_pages != is->n_pages) {
        return TM_EWIRE;
    }
    waiter->result2 = 0;
    ask.token = engine_await(engine, waiter, MESSAGE_alloc_done);
    announce_extent(engine, engine->port->self, &ask, &block, &extent);
    return TM_OK;
}

// Who held it, if it is a slab?
static void note_holder(struct engine *engine, const struct heap_extent *closed)
{
    const struct extent *extent = extent_at(engine, closed->page);

    if (extent != NULL && extent->cell_kind > 0) {
        note_last_holder(engine, closed, extent->on_node);
    }
}

static void close_extent(struct engine *engine, node_id from,
                         const struct message *free_ask,
                         const struct heap_extent *extent)
{
    const struct message_free_ask *ask = &free_ask->u.free_ask;
    struct allocation *allocation =
        start_step(engine, from, ask->token, extent);
    struct message message = {
        .type = MESSAGE_extent_close,
        .u.extent_close = {.token = allocation->serial,
                           .page = extent->page,
                           .line = ask->line},
        .body = free_ask->body, // the file
        .body_size = free_ask->body_size,
    };

    allocation->step = CLOSING;
    note_holder(engine, extent);
    port_send_all(engine->port, &message);
}

static tm_status receive_free_ask(struct engine *engine, node_id from,
                                  const struct message *message)
{
    const struct message_free_ask *ask = &message->u.free_ask;
    struct wire_reader reader = wire_read_body(message);
    const struct heap_origin place = {.file = wire_get_file_name(&reader).file,
                                      .line = ask->line};
    struct heap_block block;
    struct heap_extent extent;
    char freed_at[HEAP_PLACE_SIZE];
    tm_status status;

    status = heap_release(engine->heap, ask->address, &place, &block, &extent,
                          freed_at);
    if (status == TM_OK) {
        close_extent(engine, from, message, &extent);
    } else {
        blocks_log_bad_free(status, ask->address, &place, &block, freed_at);
        blocks_send_free_done(engine, from, ask->token, status);
    }
    return TM_OK;
}

static void forget_everywhere(struct engine *engine,
                              struct allocation *allocation)
{
    struct message message = {.type = MESSAGE_extent_gone};

    allocation->step = FORGETTING;
    expect_all(engine, allocation);
    message.u.extent_gone.token = allocation->serial;
    message.u.extent_gone.page = allocation->extent.page;
    port_send_all(engine->port, &message);
}

static void finish_allocating(struct engine *engine,
                              const struct allocation *allocation)
{
    const struct message open = {
        .type = MESSAGE_extent_open,
        .u.extent_open = {.serial = allocation->serial,
                          .page = allocation->extent.page},
    };

    port_send_all(engine->port, &open); // B3 in blocks.c
    send_alloc_done(engine, allocation->from, allocation->token,
                    allocation->address, allocation->capacity);
}

static void finish_freeing(struct engine *engine,
                           const struct allocation *allocation)
{
    heap_reuse(engine->heap, allocation->extent.page);
    blocks_send_free_done(engine, allocation->from, allocation->token, TM_OK);
}

static void finish_step(struct engine *engine, struct allocation *allocation)
{
    if (allocation->step == CLOSING) {
        forget_everywhere(engine, allocation);
        return;
    }
    if (allocation->step == FORGETTING) {
        finish_freeing(engine, allocation);
    } else {
        finish_allocating(engine, allocation);
    }
    list_remove(engine->allocations, allocation);
    free(allocation);
}

static tm_status receive_ack(struct engine *engine, node_id from,
                             uint32_t serial)
{
    struct allocation *allocation = engine->allocations;

    while (allocation != NULL && allocation->serial != serial) {
        allocation = allocation->next;
    }
    if (allocation == NULL || !node_set_has(&allocation->missing, from)) {
        return TM_EWIRE;
    }
    node_set_remove(&allocation->missing, from);
    if (node_set_is_empty(&allocation->missing)) {
        finish_step(engine, allocation);
    }
    return TM_OK;
}

tm_status blocks_root_receive(struct engine *engine, node_id from,
                              const struct message *message)
{
    switch (message->type) {
    case MESSAGE_alloc_ask:
        return receive_alloc_ask(engine, from, message);
    case MESSAGE_free_ask:
        return receive_free_ask(engine, from, message);
    case MESSAGE_extent_ack:
        return receive_ack(engine, from, message->u.extent_ack.token);
    default:
        return TM_EWIRE;
    }
}

tm_status blocks_root_open(struct engine *engine)
{
    const struct space *space = engine->space;

    engine->heap = heap_new(space->heap_page, space->n_pages - space->heap_page,
                            (uint64_t)(uintptr_t)SPACE_HEAP_BASE);
    return engine->heap == NULL ? TM_ENOMEM : TM_OK;
}

void blocks_root_close(struct engine *engine)
{
    list_take_each (allocation, engine->allocations) {
        free(allocation);
    }
    map_release(&engine->last_holders);
    heap_free(engine->heap);
}
