// SPDX-License-Identifier: BSD-3-Clause
//
// Which pages are whose block. The root gives out addresses (mem/heap.h); every
// node knows the extents, so that a fault knows its protocol and its limits
// without asking.
//
//   tm_alloc   ALLOC_ASK -> root; a new extent: EXTENT_NEW to all, all EXTENT_ACK,
//              then EXTENT_OPEN to all, and ALLOC_DONE. So no node can meet an
//              address it does not know.
//   tm_free    FREE_ASK -> root; if the extent is unused now: EXTENT_CLOSE to all;
//              each stops access and acknowledges when nothing of the extent is
//              under way there; then EXTENT_GONE: each forgets the pages and gives
//              their memory back, acknowledges; then the addresses can be given
//              out again, FREE_DONE.
//
// Blocks smaller than a page lie together in such an extent, a slab; the node that holds
// it says which: small_blocks.c. Here is what every node does, and those who ask;
// blocks_root.c has the root's part, extents.c the table.
//
// B1 When EXTENT_GONE is sent, no message about a page of the extent is on its
//    way: every node had stopped asking, and had all its answers and
//    acknowledgements. What it has written to the extent and not released by then it
//    releases no more; who frees a block may have written to it just before. But for
//    OWNER_IS and MUTEX_PAGES, which nobody answers; they name the extent by its serial
//    number, so that what is said of one life of a page is not taken for the next.
//    (A program that frees what it still operates on breaks this:
//    ATOMIC changes nothing of a page that is in no extent.)
// B2 Pages outside of extents are untouched: no message makes them anything else.
// B3 A page of an extent that is not open yet is asked for by nobody: no thread knows
//    its address, and what a node fetches unasked (advice.c) it does not there. The
//    numbers of its pages may have been another block's before, whose pages were used
//    in some order.
// B4 A page that is in no extent is mapped nowhere. What a node had asked for when its
//    extent was closed comes after that, and is mapped: so access is stopped again
//    when the extent is gone. A fault source that goes by protection would else let a
//    thread write to the next block there unseen.
#include "base/ensure.h"
#include "mem/slabs.h"
#include "pages/causality.h"
#include "pages/small_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- every node: extents come and go

static void acknowledge(struct engine *engine, uint32_t token)
{
    struct message message = {
        .type = MESSAGE_extent_ack,
        .u.extent_ack = {.token = token},
    };

    port_send(engine->port, 0, &message);
}

static void copy_text(char *to, size_t room, const char *from)
{
    snprintf(to, room, "%s", from == NULL ? "" : from);
}

// Do its pages lie in the heap, and in no other extent?
static int has_free_pages(const struct engine *engine,
                          const struct extent *extent)
{
    const struct space *space = engine->space;
    const struct extent *below;

    if (extent->page < space->heap_page || extent->page >= space->n_pages ||
        extent->n_pages == 0 ||
        extent->n_pages > space->n_pages - extent->page) {
        return 0;
    }
    below = engine_extent_below(engine, extent->page + extent->n_pages - 1);
    return below == NULL || below->page + below->n_pages <= extent->page;
}

// A slab has cells of a kind that there is, and a holder.
static int has_good_cells(const struct engine *engine,
                          const struct extent *extent)
{
    if (extent->cell_kind == 0) {
        return 1;
    }
    return extent->placement == TM_ON_NODE &&
           protocols_have_cells(engine->protocols, extent->protocol,
                                extent->cell_kind) &&
           extent->n_pages % slabs_cell_views(extent->cell_kind) == 0;
}

static void share_frames(struct engine *engine, const struct extent *extent)
{
    if (extent->cell_kind & CELL_GRAIN) {
        const uint32_t n_views = slabs_cell_views(extent->cell_kind);

        space_share_frames(
            engine->space,
            &(struct grain_area){.page = extent->page,
                                 .n_frames = extent->n_pages / n_views,
                                 .n_views = n_views});
    }
}

// @return TM_OK and the extent is there, TM_EWIRE
static tm_status add_extent(struct engine *engine, struct extent *extent,
                            const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    const struct wire_block_name name = wire_get_block_name(&reader);

    if (!has_free_pages(engine, extent) || extent->serial == 0 ||
        extent->size > extent->n_pages * TM_PAGE_SIZE ||
        protocol_by_id(engine->protocols, extent->protocol) == NULL ||
        extent->placement > TM_ON_NODE || extent->sharing > TM_REDUCTION ||
        extent->on_node >= TM_MAX_NODES || !has_good_cells(engine, extent)) {
        return TM_EWIRE;
    }
    copy_text(extent->name, sizeof extent->name, name.name);
    copy_text(extent->file, sizeof extent->file, name.file);
    extent_insert(engine, extent);
    share_frames(engine, extent);
    return TM_OK;
}

static tm_status receive_new(struct engine *engine,
                             const struct message *message)
{
    const struct message_extent_new *extent_new = &message->u.extent_new;
    struct extent extent = {
        .page = extent_new->page,
        .n_pages = extent_new->n_pages,
        .size = extent_new->size,
        .protocol = (tm_protocol)extent_new->protocol,
        .placement = (tm_placement)extent_new->placement,
        .sharing = (tm_sharing)extent_new->sharing,
        .on_node = extent_new->on_node,
        .cell_kind = extent_new->cell_kind,
        .serial = extent_new->token,
        .line = extent_new->line,
    };
    tm_status status = add_extent(engine, &extent, message);

    if (status == TM_OK) {
        acknowledge(engine, extent_new->token);
    }
    return status;
}

// This node comes in the middle of the run; the others know already.
static tm_status receive_is(struct engine *engine,
                            const struct message *message)
{
    const struct message_extent_is *is = &message->u.extent_is;
    struct extent extent = {
        .page = is->page,
        .n_pages = is->n_pages,
        .size = is->size,
        .protocol = (tm_protocol)is->protocol,
        .placement = (tm_placement)is->placement,
        .sharing = (tm_sharing)is->sharing,
        .on_node = is->on_node,
        .cell_kind = is->cell_kind,
        .serial = is->serial,
        .line = is->line,
        .is_open = 1,
    };

    return add_extent(engine, &extent, message);
}

void blocks_describe(const struct port *port, const struct extent *extent,
                     node_id to)
{
    uint8_t body[sizeof extent->name + sizeof extent->file];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_extent_is, .body = body};

    message.u.extent_is = (struct message_extent_is){
        .serial = extent->serial,
        .page = extent->page,
        .n_pages = extent->n_pages,
        .size = extent->size,
        .protocol = (uint8_t)extent->protocol,
        .placement = (uint8_t)extent->placement,
        .sharing = (uint8_t)extent->sharing,
        .on_node = extent->on_node,
        .cell_kind = extent->cell_kind,
        .line = extent->line,
    };
    wire_put_block_name(&writer,
                        &(struct wire_block_name){extent->name, extent->file});
    message.body_size = (uint32_t)(writer.at - body);
    port_send(port, to, &message);
}

void blocks_check_closing(struct engine *engine, struct extent *extent)
{
    if (extent->closing != 0 && extent->n_fetching == 0 &&
        engine->n_unfinished == 0) {
        acknowledge(engine, extent->closing);
        extent->closing = 0;
    }
}

static void check_all_closing(struct engine *engine)
{
    for (size_t i = 0; i < engine->n_extents; i++) {
        blocks_check_closing(engine, &engine->extents[i]);
    }
}

void engine_finished(struct engine *engine)
{
    if (engine->n_unfinished == 0) {
        check_all_closing(engine);
    }
}

// Deny access to all pages, neighbours in one call.
static void deny_all(struct engine *engine, const struct extent *extent)
{
    page_no end = extent->page + extent->n_pages;
    page_no at = extent->page;

    while (at < end) {
        page_no n = 0;

        while (at + n < end && page_of(engine, at + n)->access != ACCESS_NONE) {
            n++;
        }
        if (n > 0) {
            space_set_access(engine->space, at, n, ACCESS_NONE);
        }
        at += n + 1;
    }
}

static tm_status receive_open(struct engine *engine,
                              const struct message_extent_open *open)
{
    struct extent *extent = extent_at(engine, open->page);

    if (extent == NULL || extent->is_open || extent->is_closed ||
        extent->serial != open->serial) {
        return TM_EWIRE;
    }
    extent->is_open = 1;
    return TM_OK;
}

static tm_status receive_close(struct engine *engine,
                               const struct message_extent_close *close)
{
    struct extent *extent = extent_at(engine, close->page);

    if (extent == NULL || !extent->is_open || extent->is_closed ||
        close->token == 0) {
        return TM_EWIRE;
    }
    extent->is_closed = 1;
    extent->closing = close->token;
    deny_all(engine, extent);
    bases_closed(engine, extent); // B1
    steps_made_run(engine, extent->page, extent->n_pages, STEP_CLOSED);
    blocks_check_closing(engine, extent);
    return TM_OK;
}

// As B2 has it. (A hint may be gone, and its epoch there: K3 in roster_change.c.)
static int is_forgotten(const struct page *page)
{
    return page->hint == 0 && page->epoch == 0 && page->state == PAGE_ABSENT;
}

static void forget_page(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    ensure(page->access == ACCESS_NONE); // B4
    if (page->twin != NULL) {
        twin_pool_put(&engine->space->twins, page->twin);
    }
    copyset_clear(engine, page);
    deferred_drop(&page->deferred);
    // Claims are of threads, not of the block.
    *page = (struct page){.claims = page->claims};
}

static tm_status receive_gone(struct engine *engine,
                              const struct message_extent_gone *gone)
{
    struct extent *extent = extent_at(engine, gone->page);

    if (extent == NULL || !extent->is_closed || extent->closing != 0 ||
        extent->n_fetching > 0) {
        return TM_EWIRE;
    }
    bases_forget(engine, extent);
    pinning_forget(engine, extent);
    deny_all(engine, extent);
    if (extent->cell_kind & CELL_GRAIN) {
        space_part_frames(engine->space, extent->page);
    }
    space_discard(engine->space, extent->page, extent->n_pages);
    for (page_no at = extent->page; at < extent->page + extent->n_pages; at++) {
        if (!is_forgotten(page_of(engine, at))) {
            forget_page(engine, at);
        }
    }
    steps_forget(engine, extent);
    extent_remove(engine, extent);
    acknowledge(engine, gone->token);
    return TM_OK;
}

// ---- requesters

// Are these bytes of one extent? Any numbers may be asked for.
static int are_of_an_extent(const struct engine *engine, uint64_t address,
                            uint64_t n_bytes)
{
    const uint64_t offset = address - (uint64_t)(uintptr_t)SPACE_HEAP_BASE;
    const page_no page = engine->space->heap_page + offset / TM_PAGE_SIZE;
    const struct extent *extent = extent_find(engine, page);

    return extent != NULL && address >= (uint64_t)(uintptr_t)SPACE_HEAP_BASE &&
           n_bytes <= (extent->page + extent->n_pages - page) * TM_PAGE_SIZE -
                          offset % TM_PAGE_SIZE;
}

static tm_status receive_alloc_done(struct engine *engine,
                                    const struct message_alloc_done *done)
{
    struct waiter *waiter =
        engine_answered(engine, MESSAGE_alloc_done, done->token);

    if (waiter == NULL ||
        (done->address != 0 &&
         (done->capacity < waiter->result2 ||
          !are_of_an_extent(engine, done->address, done->capacity)))) {
        return TM_EWIRE;
    }
    tokens_take(&engine->tokens, done->token);
    waiter->result2 = done->capacity;
    waiter_wake(waiter, done->address != 0 ? TM_OK : TM_ENOMEM, done->address);
    return TM_OK;
}

static tm_status receive_free_done(struct engine *engine,
                                   const struct message_free_done *done)
{
    struct waiter *waiter =
        engine_answered(engine, MESSAGE_free_done, done->token);

    if (waiter == NULL) {
        return TM_EWIRE;
    }
    tokens_take(&engine->tokens, done->token);
    waiter_wake(waiter, (tm_status)done->status, 0);
    return TM_OK;
}

static tm_status receive_block_is(struct engine *engine,
                                  const struct message *message)
{
    const struct message_block_is *is = &message->u.block_is;
    struct wire_reader reader = wire_read_body(message);
    const struct wire_block_name name = wire_get_block_name(&reader);
    struct waiter *waiter =
        engine_answered(engine, MESSAGE_block_is, is->token);
    struct heap_block *block = waiter == NULL ? NULL : waiter->answer;

    if (waiter == NULL ||
        (is->size > 0 &&
         (is->capacity < is->size ||
          !are_of_an_extent(engine, is->address, is->capacity)))) {
        return TM_EWIRE;
    }
    tokens_take(&engine->tokens, is->token);
    block->address = is->address;
    block->size = is->size;
    block->capacity = is->capacity;
    block->line = is->line;
    copy_text(block->name, sizeof block->name, name.name);
    copy_text(block->file, sizeof block->file, name.file);
    waiter_wake(waiter, is->size > 0 ? TM_OK : TM_ENOBLOCK, 0);
    return TM_OK;
}

// What the root tells the others.
static tm_status receive_told(struct engine *engine,
                              const struct message *message)
{
    switch (message->type) {
    case MESSAGE_alloc_done:
        return receive_alloc_done(engine, &message->u.alloc_done);
    case MESSAGE_extent_new:
        return receive_new(engine, message);
    case MESSAGE_extent_is:
        return receive_is(engine, message);
    case MESSAGE_extent_open:
        return receive_open(engine, &message->u.extent_open);
    case MESSAGE_extent_close:
        return receive_close(engine, &message->u.extent_close);
    case MESSAGE_extent_gone:
        return receive_gone(engine, &message->u.extent_gone);
    default:
        return TM_EWIRE;
    }
}

static void receive_block_ask(struct engine *engine, node_id from,
                              const struct message_block_ask *ask)
{
    struct heap_block block;
    uint8_t body[sizeof block.name + sizeof block.file];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_block_is, .body = body};

    if (small_blocks_around(engine, ask->address, &block) != TM_OK &&
        (engine->heap == NULL ||
         small_blocks_slab(engine, ask->address) != NULL ||
         heap_around(engine->heap, ask->address, &block) != TM_OK)) {
        block = (struct heap_block){.address = ask->address};
    }
    message.u.block_is = (struct message_block_is){
        .token = ask->token,
        .address = block.address,
        .size = block.size,
        .capacity = block.capacity,
        .line = block.line,
    };
    wire_put_block_name(&writer,
                        &(struct wire_block_name){block.name, block.file});
    message.body_size = (uint32_t)(writer.at - body);
    port_send(engine->port, from, &message);
}

// What only the root is asked.
static tm_status receive_asked(struct engine *engine, node_id from,
                               const struct message *message)
{
    return engine->heap == NULL ? TM_EWIRE
                                : blocks_root_receive(engine, from, message);
}

static tm_status receive_free_ask(struct engine *engine, node_id from,
                                  const struct message *message)
{
    const struct message_free_ask *ask = &message->u.free_ask;
    struct wire_reader reader = wire_read_body(message);
    const struct heap_origin place = {.file = wire_get_file_name(&reader).file,
                                      .line = ask->line};

    if (ask->is_cell) {
        small_blocks_receive_ask(engine, from, message);
        return TM_OK;
    }
    return small_blocks_explain(engine, from, ask->address, &place, ask->token)
               ? TM_OK
               : receive_asked(engine, from, message);
}

tm_status blocks_receive(struct engine *engine, node_id from,
                         const struct message *message)
{
    switch (message->type) {
    case MESSAGE_alloc_ask:
    case MESSAGE_extent_ack:
        return receive_asked(engine, from, message);
    case MESSAGE_free_ask:
        return receive_free_ask(engine, from, message);
    case MESSAGE_block_ask:
        receive_block_ask(engine, from, &message->u.block_ask);
        return TM_OK;
    case MESSAGE_free_done:
        return receive_free_done(engine, &message->u.free_done);
    case MESSAGE_block_is:
        return receive_block_is(engine, message);
    case MESSAGE_cells_freed:
    case MESSAGE_cells_given:
        return small_blocks_receive(engine, message);
    default:
        return from != 0 ? TM_EWIRE : receive_told(engine, message);
    }
}

// Long paths keep their end, which tells more.
static const char *file_tail(const char *file)
{
    size_t length = strlen(file);

    return length > 63 ? file + length - 63 : file;
}

// In which cells does the block lie? 0: with a protocol, a placement or a sharing it starts
// on a page of its own, as does what is no small block; unless it has a grain.
static uint32_t cell_kind_of(uint64_t size, const tm_alloc_attr *attr)
{
    if (attr->grain > 0) {
        return slabs_grain_kind(attr->grain);
    }
    if (size == 0 || attr->protocol != TM_PROTOCOL_DEFAULT ||
        attr->placement != TM_FIRST_TOUCH ||
        attr->sharing != TM_SHARING_DEFAULT) {
        return 0;
    }
    return slabs_kind(size,
                      attr->alignment < 16 ? 16 : (uint32_t)attr->alignment);
}

static void ask_for_block(struct engine *engine, uint64_t size,
                          const tm_alloc_attr *attr,
                          const struct heap_origin *origin,
                          struct waiter *waiter)
{
    uint8_t body[128];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_alloc_ask, .body = body};

    wire_put_block_name(&writer,
                        &(struct wire_block_name){origin->name, origin->file});
    message.body_size = (uint32_t)(writer.at - body);
    waiter->result2 = size; // for receive_alloc_done()
    message.u.alloc_ask = (struct message_alloc_ask){
        .token = engine_await(engine, waiter, MESSAGE_alloc_done),
        .size = size,
        .protocol = (uint8_t)attr->protocol,
        .placement = (uint8_t)attr->placement,
        .sharing = (uint8_t)attr->sharing,
        .on_node = (uint16_t)(attr->placement == TM_ON_NODE ? attr->node : 0),
        .line = origin->line,
    };
    port_send(engine->port, 0, &message);
}

void engine_alloc(struct engine *engine, uint64_t size,
                  const tm_alloc_attr *attr, const char *file, int line,
                  struct waiter *waiter)
{
    static const tm_alloc_attr none;
    const tm_alloc_attr *use = attr == NULL ? &none : attr;
    const uint32_t cell_kind = cell_kind_of(size, use);
    char name[32];
    const struct heap_origin origin = {name, file_tail(file), (uint32_t)line};

    copy_text(name, sizeof name, use->name);
    if (cell_kind > 0) {
        small_blocks_alloc(engine, cell_kind, size, &origin, waiter);
    } else {
        ask_for_block(engine, size, use, &origin, waiter);
    }
}

void blocks_send_free_ask(struct engine *engine, node_id to, uint64_t address,
                          const struct heap_origin *place,
                          const struct message_free_ask *ask)
{
    uint8_t body[72];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_free_ask, .body = body};

    wire_put_file_name(&writer,
                       &(struct wire_file_name){file_tail(place->file)});
    message.body_size = (uint32_t)(writer.at - body);
    message.u.free_ask = *ask;
    message.u.free_ask.address = address;
    message.u.free_ask.line = place->line;
    port_send(engine->port, to, &message);
}

void blocks_ask_to_free(struct engine *engine, uint64_t address,
                        const struct heap_origin *place, struct waiter *waiter)
{
    const struct message_free_ask ask = {
        .token = engine_await(engine, waiter, MESSAGE_free_done)};

    engine_order(engine, ORDER_HEAP, 0, ORDER_GIVES);
    blocks_send_free_ask(engine, 0, address, place, &ask);
}

void engine_release_block(struct engine *engine, uint64_t address,
                          const struct heap_origin *place,
                          struct waiter *waiter)
{
    if (small_blocks_slab(engine, address) != NULL) {
        small_blocks_free(engine, address, place, waiter);
    } else {
        blocks_ask_to_free(engine, address, place, waiter);
    }
}

void engine_block(struct engine *engine, uint64_t address,
                  struct heap_block *block, struct waiter *waiter)
{
    const struct extent *slab = small_blocks_slab(engine, address);
    struct message message = {.type = MESSAGE_block_ask};

    waiter->answer = block;
    message.u.block_ask.token = engine_await(engine, waiter, MESSAGE_block_is);
    message.u.block_ask.address = address;
    port_send(engine->port, slab == NULL ? 0 : slab->on_node, &message);
}

tm_status blocks_open(struct engine *engine)
{
    tm_status status = small_blocks_open(engine);

    return status == TM_OK && engine->port->self == 0 ? blocks_root_open(engine)
                                                      : status;
}

void blocks_close(struct engine *engine)
{
    blocks_root_close(engine);
    small_blocks_close(engine);
    free(engine->extents);
}
