// SPDX-License-Identifier: BSD-3-Clause
//
// Small blocks: allocated and freed without a message. A node that needs room for them
// asks the root for a slab, an extent of equal cells, and is its *holder* from then on:
// it alone says which of the cells are blocks (mem/slabs.h). All nodes know who holds
// which slab, from its extent.
//
//   tm_alloc   of a node: a cell of a slab that it holds. If none is free: ALLOC_ASK
//              for one more slab; who needs such a cell meanwhile waits, too.
//   tm_free    at the holder: the cell is free. The last block of a slab: FREE_ASK, as
//              of any extent; nobody waits for that.
//              elsewhere: it is noted. So many as CELLS_SENT are sent together, in
//              CELLS_FREED to their holders, when a release that began after them is
//              over. A thread waits only if CELLS_KEPT have not been sent yet.
//
// Who frees a cell leaves word of that in the cell (runtime/cell.h). So who frees it once
// more sees who was first, and asks that node (FREE_ASK with is_cell): it passes this on
// behind what it has noted. The holder, which has all that is known of the block, hears
// of both in their order, and answers FREE_DONE.
//
// A node that leaves gives its slabs and what it knows of blocks to the root, CELLS_GIVEN,
// while all nodes stand still and nobody has noted a cell (engine_is_still()).
//
// F1 A slab has one holder, the same on all nodes whenever threads run: on_node of its
//    extent. It alone gives out its cells.
// F2 A cell is given out again when all that was written to it before it was freed is
//    released, and its holder has heard of that release. (If the holder itself frees it,
//    the program has ordered such writes before that.) CELLS_FREED is an acquire, and
//    notices and clocks travel in front of it: so nothing that was written to the block
//    before comes to a copy after what is written to the next one, and its holder's old
//    copies are none when it writes zeros to it.
// F3 Cells that are noted go in the order in which they were freed.
#include "pages/small_blocks.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "mem/slabs.h"
#include "pages/causality.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_SENT 64u
#define CELLS_KEPT 256u

// Cells of a message CELLS_FREED, at most.
#define CELLS_A_MESSAGE 64u

#define ENTRY_BYTES_MAX                                                        \
    (WIRE_SIZE_cell_entry + 2 * sizeof((struct heap_block *)0)->file +         \
     sizeof((struct heap_block *)0)->name)
#define ENTRIES_A_MESSAGE 64u

/** An allocation that waits for a slab. */
struct wanted {
    struct wanted *next;
    struct waiter *waiter;
    uint64_t size;
    uint32_t cell_kind;
    uint32_t line;
    char name[32];
    char file[64];
};

/** A slab that the root has been asked for. */
struct slab_request {
    struct waiter waiter; ///< first: found from it
    struct slab_request *next;
    struct engine *engine;
    uint32_t cell_kind;
};

/** A cell of another's slab, freed. */
struct freed_cell {
    uint64_t address; ///< 0: it has been sent
    uint32_t line;
    node_id node;   ///< that waits for the answer ...
    uint32_t token; ///< ... by this token; 0: none does
    char file[64];
};

struct small_blocks {
    struct waiter released; ///< first: found from it
    struct engine *engine;
    struct slabs *slabs;
    struct wanted *wanted; ///< oldest first
    struct slab_request *requests;
    struct freed_cell *freed; ///< F3
    size_t n_freed;
    size_t freed_room;
    size_t n_leaving;       ///< of them, those that a release is under way for
    struct waiter *waiting; ///< until they have gone
    int is_urgent;          ///< somebody waits for the answer
};

// ---- extents of slabs

const struct extent *small_blocks_slab(const struct engine *engine,
                                       uint64_t address)
{
    const struct space *space = engine->space;
    const uint64_t base = (uint64_t)(uintptr_t)SPACE_HEAP_BASE;
    const struct extent *extent =
        address < base
            ? NULL
            : extent_find(engine,
                          space->heap_page + (address - base) / TM_PAGE_SIZE);

    return extent != NULL && extent->cell_kind > 0 && !extent->is_closed
               ? extent
               : NULL;
}

int engine_cell(const struct engine *engine, uint64_t address, uint64_t *start,
                uint32_t *size)
{
    const struct extent *slab = small_blocks_slab(engine, address);
    uint64_t first;
    uint64_t cell;

    if (slab == NULL) {
        return 0;
    }
    first = page_address(engine, slab->page);
    *size = slabs_cell_bytes(slab->cell_kind);
    if (!slabs_cell_around(slab->cell_kind, slab->n_pages, address - first,
                           &cell)) {
        return 0;
    }
    *start = first + slabs_cell_offset(slab->cell_kind, slab->n_pages, cell);
    return *start + *size <= first + slab->n_pages * TM_PAGE_SIZE;
}

// ---- allocating

static struct slab_request *find_request(const struct engine *engine,
                                         uint32_t cell_kind)
{
    struct slab_request *request = engine->small->requests;

    while (request != NULL && request->cell_kind != cell_kind) {
        request = request->next;
    }
    return request;
}

// The oldest that needs a cell of this size. @return where it is linked
static struct wanted **find_wanted(struct engine *engine, uint32_t cell_kind)
{
    struct wanted **link = &engine->small->wanted;

    while (*link != NULL && (*link)->cell_kind != cell_kind) {
        link = &(*link)->next;
    }
    return link;
}

static void end_wanted(struct wanted **link, tm_status status, uint64_t address)
{
    struct wanted *wanted = *link;

    *link = wanted->next;
    wanted->waiter->result2 = slabs_cell_bytes(wanted->cell_kind);
    waiter_wake(wanted->waiter, status, address);
    free(wanted);
}

static tm_status hold_slab(struct engine *engine, uint64_t address,
                           uint32_t cell_kind)
{
    const struct extent *slab = small_blocks_slab(engine, address);

    if (slab == NULL || slab->cell_kind != cell_kind ||
        slab->on_node != engine->port->self ||
        page_address(engine, slab->page) != address) {
        return TM_EINVAL;
    }
    return slabs_add(engine->small->slabs, address, slab->n_pages, cell_kind);
}

static void serve_wanted(struct engine *engine, uint32_t cell_kind);

static void slab_has_come(struct waiter *waiter)
{
    struct slab_request *request = (struct slab_request *)waiter;
    struct engine *engine = request->engine;
    const uint32_t cell_kind = request->cell_kind;
    struct wanted **wanted = find_wanted(engine, cell_kind);

    list_remove(engine->small->requests, request);
    if (waiter->status != TM_OK) {
        end_wanted(wanted, TM_ENOMEM, 0); // said by the root
    } else if (hold_slab(engine, waiter->result, cell_kind) != TM_OK) {
        log_error("tm_alloc(): this node has no memory left to note small "
                  "blocks; see ulimit -v and what else runs on this machine");
        end_wanted(wanted, TM_ENOMEM, 0);
    }
    free(request);
    serve_wanted(engine, cell_kind);
}

static tm_protocol protocol_of_cells(const struct engine *engine,
                                     uint32_t cell_kind)
{
    return cell_kind & CELL_GRAIN
               ? engine_grain_protocol(engine, TM_PROTOCOL_DEFAULT)
               : TM_PROTOCOL_DEFAULT;
}

static void ask_for_slab(struct engine *engine, const struct wanted *wanted)
{
    struct slab_request *request = calloc(1, sizeof *request);
    uint8_t body[sizeof wanted->name + sizeof wanted->file];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_alloc_ask, .body = body};

    ensure_memory(request != NULL);
    request->waiter.wake = slab_has_come;
    request->engine = engine;
    request->cell_kind = wanted->cell_kind;
    list_push(engine->small->requests, request);
    wire_put_block_name(&writer,
                        &(struct wire_block_name){wanted->name, wanted->file});
    message.body_size = (uint32_t)(writer.at - body);
    message.u.alloc_ask = (struct message_alloc_ask){
        .token = engine_await(engine, &request->waiter, MESSAGE_alloc_done),
        .size = wanted->size,
        .protocol = (uint8_t)protocol_of_cells(engine, wanted->cell_kind),
        .placement = TM_ON_NODE,
        .on_node = engine->port->self,
        .line = wanted->line,
        .cell_kind = wanted->cell_kind,
    };
    port_send(engine->port, 0, &message);
}

// As long as there is room; then a slab is asked for.
static void serve_wanted(struct engine *engine, uint32_t cell_kind)
{
    struct wanted **link = find_wanted(engine, cell_kind);

    while (*link != NULL) {
        const struct wanted *wanted = *link;
        const struct heap_origin origin = {wanted->name, wanted->file,
                                           wanted->line};
        const uint64_t address =
            slabs_alloc(engine->small->slabs, cell_kind, wanted->size, &origin);

        if (address == 0) {
            break;
        }
        end_wanted(link, TM_OK, address);
        link = find_wanted(engine, cell_kind);
    }
    if (*link != NULL && find_request(engine, cell_kind) == NULL) {
        ask_for_slab(engine, *link);
    }
}

void small_blocks_alloc(struct engine *engine, uint32_t cell_kind,
                        uint64_t size, const struct heap_origin *origin,
                        struct waiter *waiter)
{
    struct wanted **link = &engine->small->wanted;
    uint64_t address = 0;

    if (*find_wanted(engine, cell_kind) == NULL) {
        address = slabs_alloc(engine->small->slabs, cell_kind, size, origin);
    }
    if (address != 0) {
        waiter->result2 = slabs_cell_bytes(cell_kind);
        waiter_wake(waiter, TM_OK, address);
        return;
    }
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = calloc(1, sizeof **link);
    ensure_memory(*link != NULL);
    (*link)->waiter = waiter;
    (*link)->size = size;
    (*link)->cell_kind = cell_kind;
    (*link)->line = origin->line;
    snprintf((*link)->name, sizeof(*link)->name, "%s", origin->name);
    snprintf((*link)->file, sizeof(*link)->file, "%s", origin->file);
    serve_wanted(engine, cell_kind);
}

// ---- freeing what is held here

static void forget_waiter(struct waiter *waiter)
{
    free(waiter);
}

// Nobody waits for that.
static void give_back(struct engine *engine, uint64_t slab,
                      const struct heap_origin *place)
{
    struct waiter *waiter = calloc(1, sizeof *waiter);

    ensure_memory(waiter != NULL);
    waiter->wake = forget_waiter;
    blocks_ask_to_free(engine, slab, place, waiter);
}

static tm_status free_here(struct engine *engine, uint64_t address,
                           const struct heap_origin *place)
{
    char freed_at[HEAP_PLACE_SIZE];
    struct heap_block block;
    uint64_t empty = 0;
    tm_status status = slabs_release(engine->small->slabs, address, place,
                                     &block, &empty, freed_at);

    if (status != TM_OK) {
        blocks_log_bad_free(status, address, place, &block, freed_at);
    } else if (empty != 0) {
        give_back(engine, empty, place);
    }
    return status;
}

// ---- noting what others hold

static void send_cells(struct engine *engine, node_id to, const uint8_t *body,
                       struct wire_writer *writer, unsigned count)
{
    struct message message = {
        .type = MESSAGE_cells_freed,
        .u.cells_freed = {.count = (uint16_t)count},
        .body = body,
        .body_size = (uint32_t)(writer->at - body),
    };

    ensure(!writer->failed);
    engine_order(engine, ORDER_HEAP, to, ORDER_MOVES); // F2
    port_send(engine->port, to, &message);
}

// Where a cell's block is known, or was last; the root finds out (blocks_root_last_holder).
static node_id holder_of(const struct engine *engine, uint64_t address)
{
    const struct extent *slab = small_blocks_slab(engine, address);

    return slab == NULL ? 0 : slab->on_node;
}

static void put_cell(struct wire_writer *writer, const struct freed_cell *cell)
{
    wire_put_freed_cell(writer, &(struct wire_freed_cell){
                                    .address = cell->address,
                                    .line = cell->line,
                                    .node = cell->node,
                                    .token = cell->token,
                                    .file = cell->file,
                                });
}

// Those of the node that holds the first one's slab, so many as a message takes.
static void send_some(struct engine *engine, struct freed_cell *cells, size_t n)
{
    uint8_t body[CELLS_A_MESSAGE * (WIRE_SIZE_freed_cell + sizeof cells->file)];
    struct wire_writer writer = {body, body + sizeof body, 0};
    const node_id to = holder_of(engine, cells[0].address);
    unsigned count = 0;

    for (size_t i = 0; i < n && count < CELLS_A_MESSAGE; i++) {
        if (cells[i].address != 0 &&
            holder_of(engine, cells[i].address) == to) {
            put_cell(&writer, &cells[i]);
            cells[i].address = 0;
            count++;
        }
    }
    send_cells(engine, to, body, &writer, count);
}

// F2: what was written to them is released.
static void send_leaving(struct waiter *waiter)
{
    struct small_blocks *small = (struct small_blocks *)waiter;
    struct waiter *waiting = small->waiting;

    for (size_t i = 0; i < small->n_leaving; i++) {
        if (small->freed[i].address != 0) {
            send_some(small->engine, &small->freed[i], small->n_leaving - i);
        }
    }
    small->n_freed -= small->n_leaving;
    memmove(small->freed, small->freed + small->n_leaving,
            small->n_freed * sizeof *small->freed);
    small->n_leaving = 0;
    small->waiting = NULL;
    waiter_wake_all(waiting);
}

static void begin_sending(struct engine *engine)
{
    struct small_blocks *small = engine->small;

    if (small->n_leaving == 0 && small->n_freed > 0) {
        small->n_leaving = small->n_freed;
        small->is_urgent = 0;
        bases_release(engine, &small->released);
    }
}

static void note_cell(struct engine *engine, const struct freed_cell *cell)
{
    struct small_blocks *small = engine->small;

    vector_reserve(small->freed, small->freed_room, small->n_freed + 1);
    small->freed[small->n_freed++] = *cell;
    small->is_urgent |= cell->token != 0;
    if (small->is_urgent || small->n_freed >= CELLS_SENT) {
        begin_sending(engine);
    }
}

static struct freed_cell make_cell(uint64_t address,
                                   const struct heap_origin *place,
                                   node_id node, uint32_t token)
{
    struct freed_cell cell = {
        .address = address, .line = place->line, .node = node, .token = token};

    snprintf(cell.file, sizeof cell.file, "%s", place->file);
    return cell;
}

static void free_elsewhere(struct engine *engine, uint64_t address,
                           const struct heap_origin *place,
                           struct waiter *waiter)
{
    struct small_blocks *small = engine->small;
    const struct freed_cell cell =
        make_cell(address, place, engine->port->self, 0);

    note_cell(engine, &cell);
    if (small->n_leaving > 0 && small->n_freed >= CELLS_KEPT) {
        list_push(small->waiting, waiter);
    } else {
        waiter_wake(waiter, TM_OK, 0);
    }
}

void small_blocks_free(struct engine *engine, uint64_t address,
                       const struct heap_origin *place, struct waiter *waiter)
{
    if (holder_of(engine, address) == engine->port->self) {
        waiter_wake(waiter, free_here(engine, address, place), 0);
    } else {
        free_elsewhere(engine, address, place, waiter);
    }
}

void engine_release_freed(struct engine *engine, uint64_t address,
                          node_id freed_by, const struct heap_origin *place,
                          struct waiter *waiter)
{
    const node_id self = engine->port->self;
    const uint32_t token = engine_await(engine, waiter, MESSAGE_free_done);

    if (freed_by != self && roster_has(&engine->port->roster, freed_by)) {
        blocks_send_free_ask(
            engine, freed_by, address, place,
            &(struct message_free_ask){.token = token, .is_cell = 1});
    } else {
        const struct freed_cell cell = make_cell(address, place, self, token);

        note_cell(engine, &cell);
    }
}

void small_blocks_tick(struct engine *engine)
{
    if (engine->small->is_urgent || engine->is_frozen) {
        begin_sending(engine);
    }
}

void small_blocks_hurry(struct engine *engine)
{
    engine->small->is_urgent |= engine->small->n_freed > 0;
}

// ---- the holder hears

static void answer(struct engine *engine, const struct wire_freed_cell *cell,
                   tm_status status)
{
    if (cell->token != 0 && roster_has(&engine->port->roster, cell->node)) {
        blocks_send_free_done(engine, cell->node, cell->token, status);
    }
}

static void hear_of_cell(struct engine *engine,
                         const struct wire_freed_cell *cell)
{
    const struct heap_origin place = {.file = cell->file, .line = cell->line};
    const node_id other = blocks_root_last_holder(engine, cell->address);

    if (other != NODE_NONE && other != engine->port->self) {
        struct freed_cell on =
            make_cell(cell->address, &place, cell->node, cell->token);
        uint8_t body[WIRE_SIZE_freed_cell + sizeof on.file];
        struct wire_writer writer = {body, body + sizeof body, 0};

        put_cell(&writer, &on);
        send_cells(engine, other, body, &writer, 1);
    } else {
        answer(engine, cell, free_here(engine, cell->address, &place));
    }
}

int small_blocks_explain(struct engine *engine, node_id from, uint64_t address,
                         const struct heap_origin *place, uint32_t token)
{
    const struct wire_freed_cell cell = {.address = address,
                                         .line = place->line,
                                         .node = from,
                                         .token = token,
                                         .file = place->file};

    if (blocks_root_last_holder(engine, address) == NODE_NONE) {
        return 0;
    }
    hear_of_cell(engine, &cell);
    return 1;
}

static void receive_freed(struct engine *engine, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    for (unsigned i = 0; i < message->u.cells_freed.count; i++) {
        const struct wire_freed_cell cell = wire_get_freed_cell(&reader);

        hear_of_cell(engine, &cell);
    }
}

void small_blocks_receive_ask(struct engine *engine, node_id from,
                              const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    const struct heap_origin place = {.file = wire_get_file_name(&reader).file,
                                      .line = message->u.free_ask.line};
    const struct freed_cell cell = make_cell(
        message->u.free_ask.address, &place, from, message->u.free_ask.token);

    note_cell(engine, &cell);
}

tm_status small_blocks_around(const struct engine *engine, uint64_t address,
                              struct heap_block *block)
{
    return slabs_around(engine->small->slabs, address, block);
}

// ---- nodes come and go

int small_blocks_are_still(struct engine *engine)
{
    const struct small_blocks *small = engine->small;

    small_blocks_tick(engine);
    return small->n_freed == 0 && small->wanted == NULL &&
           small->requests == NULL;
}

void small_blocks_roster_changed(struct engine *engine)
{
    for (size_t i = 0; i < engine->n_extents; i++) {
        struct extent *extent = &engine->extents[i];

        if (extent->cell_kind == 0 ||
            roster_has(&engine->port->roster, extent->on_node)) {
            continue;
        }
        extent->on_node = 0; // F1
        if (engine->port->self == 0) {
            ensure_memory(hold_slab(engine, page_address(engine, extent->page),
                                    extent->cell_kind) == TM_OK);
        }
    }
}

/** What is told of blocks, on its way. */
struct telling {
    const struct port *to;
    struct wire_writer writer;
    uint16_t count;
    uint8_t body[ENTRIES_A_MESSAGE * ENTRY_BYTES_MAX];
};

static void send_entries(struct telling *telling)
{
    const struct message message = {
        .type = MESSAGE_cells_given,
        .u.cells_given = {.count = telling->count},
        .body = telling->body,
        .body_size = (uint32_t)(telling->writer.at - telling->body),
    };

    ensure(!telling->writer.failed);
    if (telling->count > 0) {
        port_send(telling->to, 0, &message);
    }
    telling->count = 0;
    telling->writer.at = telling->body;
}

static void tell_entry(void *owner, const struct slabs_entry *entry)
{
    struct telling *telling = owner;
    const struct heap_block *block = &entry->block;
    const int is_freed = entry->freed_file != NULL;

    wire_put_cell_entry(&telling->writer,
                        &(struct wire_cell_entry){
                            .address = block->address,
                            .size = block->size,
                            .line = block->line,
                            .freed = (uint8_t)is_freed,
                            .freed_line = entry->freed_line,
                            .name = block->name,
                            .file = block->file,
                            .freed_file = is_freed ? entry->freed_file : "",
                        });
    if (++telling->count == ENTRIES_A_MESSAGE) {
        send_entries(telling);
    }
}

void small_blocks_save(const struct engine *engine, const struct port *to)
{
    struct telling *telling = calloc(1, sizeof *telling);

    ensure_memory(telling != NULL);
    telling->to = to;
    telling->writer.at = telling->body;
    telling->writer.end = telling->body + sizeof telling->body;
    slabs_tell(engine->small->slabs, tell_entry, telling);
    send_entries(telling);
    free(telling);
}

void small_blocks_clear(struct engine *engine)
{
    slabs_clear(engine->small->slabs);
}

void small_blocks_give(struct engine *engine)
{
    small_blocks_save(engine, engine->port);
    small_blocks_clear(engine);
}

tm_status small_blocks_hold(struct engine *engine, page_no page)
{
    const struct extent *slab = extent_at(engine, page);

    return slab == NULL
               ? TM_EINVAL
               : hold_slab(engine, page_address(engine, page), slab->cell_kind);
}

static void hear_entry(struct engine *engine,
                       const struct wire_cell_entry *told)
{
    struct slabs_entry entry = {
        .block = {.address = told->address,
                  .size = told->size,
                  .line = told->line},
        .freed_file = told->freed ? told->freed_file : NULL,
        .freed_line = told->freed_line,
    };

    snprintf(entry.block.name, sizeof entry.block.name, "%s", told->name);
    snprintf(entry.block.file, sizeof entry.block.file, "%s", told->file);
    if (slabs_hear(engine->small->slabs, &entry) != TM_OK) {
        engine_refuse_part(engine, told->address / TM_PAGE_SIZE,
                           "a block of a node that leaves");
    }
}

void small_blocks_hear(struct engine *engine, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    for (unsigned i = 0; i < message->u.cells_given.count; i++) {
        const struct wire_cell_entry entry = wire_get_cell_entry(&reader);

        hear_entry(engine, &entry);
    }
}

static tm_status receive_given(struct engine *engine,
                               const struct message *message)
{
    if (!engine->is_frozen || engine->port->self != 0) {
        return TM_EWIRE;
    }
    small_blocks_hear(engine, message);
    return TM_OK;
}

tm_status small_blocks_receive(struct engine *engine,
                               const struct message *message)
{
    if (message->type == MESSAGE_cells_given) {
        return receive_given(engine, message);
    }
    receive_freed(engine, message);
    return TM_OK;
}

// ---- the beginning and the end

int small_blocks_are_valid(const struct engine *engine)
{
    const struct small_blocks *small = engine->small;

    return small->n_leaving <= small->n_freed;
}

tm_status small_blocks_open(struct engine *engine)
{
    engine->small = calloc(1, sizeof *engine->small);
    if (engine->small == NULL) {
        return TM_ENOMEM;
    }
    engine->small->engine = engine;
    engine->small->released.wake = send_leaving;
    engine->small->slabs = slabs_new();
    return engine->small->slabs == NULL ? TM_ENOMEM : TM_OK;
}

void small_blocks_close(struct engine *engine)
{
    struct small_blocks *small = engine->small;

    if (small == NULL) {
        return;
    }
    list_take_each (wanted, small->wanted) {
        free(wanted);
    }
    list_take_each (request, small->requests) {
        free(request);
    }
    free(small->freed);
    slabs_free(small->slabs);
    free(small);
    engine->small = NULL;
}
