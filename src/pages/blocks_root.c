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
//
// A small block may be of an extent that another allocation is still telling the nodes
// of. Then its request waits with that one: its requester would touch the block, and
// perhaps a node be asked for a page of an extent that it has not heard of.
#include "base/ensure.h"
#include "base/log.h"
#include "pages/causality.h"
#include "pages/pages.h"

#include <inttypes.h>
#include <stdlib.h>

/** Who has asked for a block, or frees one, and waits. */
struct request {
    struct request *next;
    node_id from;
    uint32_t token;    ///< of `from`
    uint64_t address;  ///< of the block that it gets
    uint64_t capacity; ///< of it
};

/** A step that all nodes have to take. */
struct allocation {
    struct allocation *next;
    uint32_t serial;
    struct node_set missing; ///< nodes that have not acknowledged
    enum { ALLOCATING, CLOSING, FORGETTING } step;
    page_no page;             ///< of the extent
    struct request *requests; ///< done with it; at least one
};

static void expect_all(const struct engine *engine,
                       struct allocation *allocation)
{
    const struct roster *roster = &engine->port->roster;

    for (unsigned i = 0; i < roster->n_live; i++) {
        node_set_add(&allocation->missing, roster->live[i]);
    }
}

/** @param block the one that the request gets; NULL: none */
static void add_request(struct allocation *allocation, node_id from,
                        uint32_t token, const struct heap_block *block)
{
    struct request *request = calloc(1, sizeof *request);

    ensure_memory(request != NULL);
    request->from = from;
    request->token = token;
    if (block != NULL) {
        request->address = block->address;
        request->capacity = block->capacity;
    }
    request->next = allocation->requests;
    allocation->requests = request;
}

static struct allocation *start_step(struct engine *engine, page_no page)
{
    struct allocation *allocation = calloc(1, sizeof *allocation);

    ensure_memory(allocation != NULL);
    allocation->serial = ++engine->last_allocation;
    expect_all(engine, allocation);
    allocation->page = page;
    allocation->next = engine->allocations;
    engine->allocations = allocation;
    return allocation;
}

static void allocation_free(struct allocation *allocation)
{
    while (allocation->requests != NULL) {
        struct request *next = allocation->requests->next;

        free(allocation->requests);
        allocation->requests = next;
    }
    free(allocation);
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

/** The allocation that tells the nodes of an extent, if one still does. */
static struct allocation *find_announcement(const struct engine *engine,
                                            page_no page)
{
    struct allocation *found = engine->allocations;

    while (found != NULL &&
           (found->step != ALLOCATING || found->page != page)) {
        found = found->next;
    }
    return found;
}

/** A block in an extent that is there, or that all nodes are being told of. */
static void add_to_extent(struct engine *engine, node_id from, uint32_t token,
                          const struct heap_block *block, page_no page)
{
    struct allocation *allocation = find_announcement(engine, page);

    if (allocation == NULL) {
        send_alloc_done(engine, from, token, block->address, block->capacity);
    } else {
        add_request(allocation, from, token, block);
    }
}

static void announce_extent(struct engine *engine, node_id from,
                            const struct message_alloc_ask *ask,
                            const struct heap_block *block,
                            const struct heap_extent *extent)
{
    struct allocation *allocation = start_step(engine, extent->page);
    uint8_t body[sizeof block->name + sizeof block->file];
    struct wire_writer writer = {body, body + sizeof body, 0};
    int is_slab = block->capacity < extent->n_pages * TM_PAGE_SIZE;
    struct message message = {.type = MESSAGE_extent_new, .body = body};

    allocation->step = ALLOCATING;
    add_request(allocation, from, ask->token, block);
    message.u.extent_new = (struct message_extent_new){
        .token = allocation->serial,
        .page = extent->page,
        .n_pages = extent->n_pages,
        .size = is_slab ? extent->n_pages * TM_PAGE_SIZE : block->size,
        .protocol = ask->protocol,
        .placement = ask->placement,
        .on_node = ask->on_node,
        .line = is_slab ? 0 : block->line,
    };
    wire_put_block_name(&writer, &(struct wire_block_name){
                                     is_slab ? "small blocks" : block->name,
                                     is_slab ? "" : block->file});
    message.body_size = (uint32_t)(writer.at - body);
    port_send_all(engine->port, &message);
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
    if (protocol_by_id(engine->protocols, (tm_protocol)ask.protocol) == NULL ||
        ask.placement > TM_ON_NODE || ask.alignment < 16 ||
        ask.alignment > TM_PAGE_SIZE ||
        (ask.alignment & (ask.alignment - 1)) != 0 ||
        ask.on_node >= engine->port->roster.n_ids) {
        send_alloc_done(engine, from, ask.token, 0, 0);
        return TM_EWIRE;
    }
    status = heap_alloc(engine->heap, ask.size, ask.alignment, name.name,
                        name.file, ask.line, &block, &extent);
    if (status != TM_OK) {
        log_error("tm_alloc() of %" PRIu64 " bytes at %s:%u: %s; --space "
                  "gives more",
                  ask.size, name.file, ask.line, tm_strerror(status));
        send_alloc_done(engine, from, ask.token, 0, 0);
    } else if (extent.n_pages == 0) {
        add_to_extent(engine, from, ask.token, &block, extent.page);
    } else {
        announce_extent(engine, from, &ask, &block, &extent);
    }
    return TM_OK;
}

static void send_free_done(struct engine *engine, node_id to, uint32_t token,
                           tm_status status)
{
    struct message message = {
        .type = MESSAGE_free_done,
        .u.free_done = {.token = token, .status = (uint32_t)status},
    };

    port_send(engine->port, to, &message);
}

static void log_bad_free(tm_status status, const struct message_free_ask *ask,
                         const char *file, const struct heap_block *block,
                         const char *freed_at)
{
    if (status == TM_EFREED) {
        log_error("tm_free(0x%" PRIx64 ") at %s:%u: freed before at %s, "
                  "allocated at %s:%u",
                  ask->address, file, ask->line, freed_at, block->file,
                  block->line);
    } else {
        log_error("tm_free(0x%" PRIx64 ") at %s:%u: %s", ask->address, file,
                  ask->line, tm_strerror(status));
    }
}

static void close_extent(struct engine *engine, node_id from,
                         const struct message *free_ask, page_no page)
{
    const struct message_free_ask *ask = &free_ask->u.free_ask;
    struct allocation *allocation = start_step(engine, page);
    struct message message = {
        .type = MESSAGE_extent_close,
        .u.extent_close = {.token = allocation->serial,
                           .page = page,
                           .line = ask->line},
        .body = free_ask->body, // the file
        .body_size = free_ask->body_size,
    };

    allocation->step = CLOSING;
    add_request(allocation, from, ask->token, NULL);
    port_send_all(engine->port, &message);
}

static tm_status receive_free_ask(struct engine *engine, node_id from,
                                  const struct message *message)
{
    const struct message_free_ask *ask = &message->u.free_ask;
    struct wire_reader reader = wire_read_body(message);
    const char *file = wire_get_file_name(&reader).file;
    struct heap_block block;
    struct heap_extent extent;
    char freed_at[80];
    tm_status status;

    status = heap_release(engine->heap, ask->address, file, ask->line, &block,
                          &extent, freed_at);
    if (status != TM_OK) {
        log_bad_free(status, ask, file, &block, freed_at);
    }
    if (status == TM_OK && extent.n_pages > 0) {
        close_extent(engine, from, message, extent.page);
    } else {
        send_free_done(engine, from, ask->token, status);
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
    message.u.extent_gone.page = allocation->page;
    port_send_all(engine->port, &message);
}

static void finish_allocating(struct engine *engine,
                              const struct allocation *allocation)
{
    const struct message open = {
        .type = MESSAGE_extent_open,
        .u.extent_open = {.serial = allocation->serial,
                          .page = allocation->page},
    };

    port_send_all(engine->port, &open); // B3 in blocks.c
    for (const struct request *request = allocation->requests; request != NULL;
         request = request->next) {
        send_alloc_done(engine, request->from, request->token, request->address,
                        request->capacity);
    }
}

static void finish_freeing(struct engine *engine,
                           const struct allocation *allocation)
{
    heap_reuse(engine->heap, allocation->page);
    send_free_done(engine, allocation->requests->from,
                   allocation->requests->token, TM_OK);
}

static void finish_step(struct engine *engine, struct allocation **link)
{
    struct allocation *allocation = *link;

    if (allocation->step == CLOSING) {
        forget_everywhere(engine, allocation);
        return;
    }
    if (allocation->step == FORGETTING) {
        finish_freeing(engine, allocation);
    } else {
        finish_allocating(engine, allocation);
    }
    *link = allocation->next;
    allocation_free(allocation);
}

static tm_status receive_ack(struct engine *engine, node_id from,
                             uint32_t serial)
{
    struct allocation **link = &engine->allocations;

    while (*link != NULL && (*link)->serial != serial) {
        link = &(*link)->next;
    }
    if (*link == NULL || !node_set_has(&(*link)->missing, from)) {
        return TM_EWIRE;
    }
    node_set_remove(&(*link)->missing, from);
    if (node_set_is_empty(&(*link)->missing)) {
        finish_step(engine, link);
    }
    return TM_OK;
}

static void receive_block_ask(struct engine *engine, node_id from,
                              const struct message_block_ask *ask)
{
    struct heap_block block = {0};
    uint8_t body[sizeof block.name + sizeof block.file];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_block_is, .body = body};

    if (heap_lookup(engine->heap, ask->address, &block) != TM_OK) {
        block = (struct heap_block){0};
    }
    message.u.block_is = (struct message_block_is){
        .token = ask->token,
        .size = block.size,
        .capacity = block.capacity,
        .line = block.line,
    };
    wire_put_block_name(&writer,
                        &(struct wire_block_name){block.name, block.file});
    message.body_size = (uint32_t)(writer.at - body);
    port_send(engine->port, from, &message);
}

tm_status blocks_root_receive(struct engine *engine, node_id from,
                              const struct message *message)
{
    switch (message->type) {
    case MESSAGE_alloc_ask:
        return receive_alloc_ask(engine, from, message);
    case MESSAGE_free_ask:
        return receive_free_ask(engine, from, message);
    case MESSAGE_block_ask:
        receive_block_ask(engine, from, &message->u.block_ask);
        return TM_OK;
    case MESSAGE_extent_ack:
        return receive_ack(engine, from, message->u.extent_ack.token);
    default:
        return TM_EWIRE;
    }
}

tm_status engine_block_around(const struct engine *engine, uint64_t address,
                              struct heap_block *block)
{
    return heap_around(engine->heap, address, block);
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
    while (engine->allocations != NULL) {
        struct allocation *next = engine->allocations->next;

        allocation_free(engine->allocations);
        engine->allocations = next;
    }
    heap_free(engine->heap);
}
