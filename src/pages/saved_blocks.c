// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks in a checkpoint, and out of it: what a node says of blocks and of the pages that it
// owns while nothing happens, and how the root makes the same blocks anew, in another run.
// Pages' contents go another way: a thread reads them, and another writes them, as the
// program does (runtime/checkpoint_clerk.c). So no protocol has to know of it.
//
// While main() prepares a run that goes on from a checkpoint it allocates what it allocated
// then. All that is freed again, on all nodes, as by tm_free(), and the blocks of the
// checkpoint take their places:
//
//   engine_drop_block      for each
//   engine_forget_heap     the heap is as new; no node knows a block
//   engine_restore_block   for each that was saved: EXTENT_NEW and so on, as by tm_alloc()
//   engine_restore_cells   what is in slabs, which are all the root's then
//
// V2 Each page that somebody has used is owned by one node, and its directory node knows: if
//    the pages that are owned are those that are known, none is missing, and none is saved
//    twice.
#include "base/ensure.h"
#include "base/random.h"
#include "mem/slabs.h"
#include "pages/small_blocks.h"

#include <string.h>

// ---- saving

const char *engine_why_unsaved(const struct engine *engine)
{
    for (size_t i = 0; i < engine->n_extents; i++) {
        if (engine->extents[i].row->why_unsaved != NULL) {
            return engine->extents[i].row->why_unsaved;
        }
    }
    return NULL;
}

int engine_settles(struct engine *engine)
{
    small_blocks_hurry(engine);
    return engine_is_still(engine);
}

void engine_save_blocks(const struct engine *engine, const struct port *to)
{
    if (engine->port->self == 0) {
        for (size_t i = 0; i < engine->n_extents; i++) {
            if (engine->extents[i].serial != 0) {
                blocks_describe(to, &engine->extents[i], 0);
            }
        }
    }
    small_blocks_save(engine, to);
}

int engine_next_owned(const struct engine *engine, page_no *page,
                      struct snapshot_page *saved)
{
    for (size_t i = 0; i < engine->n_extents; i++) {
        const struct extent *extent = &engine->extents[i];
        page_no at = *page > extent->page ? *page : extent->page;

        for (; at < extent->page + extent->n_pages; at++) {
            if (page_of(engine, at)->is_owner) {
                *saved = (struct snapshot_page){
                    .page = at,
                    .part = space_part(engine->space, at),
                    .is_variable = extent->serial == 0,
                };
                *page = at + 1;
                return 1;
            }
        }
    }
    return 0;
}

void engine_count_page(struct page_count *count, page_no page)
{
    count->n++;
    count->sum += random_mix(page);
}

// V2
struct page_count engine_known_pages(const struct engine *engine)
{
    struct page_count count = {0};

    for (size_t i = 0; i < engine->n_extents; i++) {
        const struct extent *extent = &engine->extents[i];

        for (page_no at = extent->page; at < extent->page + extent->n_pages;
             at++) {
            const struct page *page = page_of(engine, at);

            if (directory_of(engine, at) == engine->port->self &&
                (page->is_owner || page->hint != 0)) {
                engine_count_page(&count, at);
            }
        }
    }
    return count;
}

// ---- restoring

int engine_first_block(const struct engine *engine, page_no *page)
{
    for (size_t i = 0; i < engine->n_extents; i++) {
        if (engine->extents[i].serial != 0) {
            *page = engine->extents[i].page;
            return 1;
        }
    }
    return 0;
}

void engine_drop_block(struct engine *engine, page_no page,
                       struct waiter *waiter)
{
    static const struct heap_origin nobody = {.file = "the checkpoint"};

    blocks_ask_to_free(engine, page_address(engine, page), &nobody, waiter);
}

tm_status engine_forget_heap(struct engine *engine)
{
    small_blocks_clear(engine);
    blocks_root_close(engine);
    return blocks_root_open(engine);
}

tm_status engine_restore_block(struct engine *engine,
                               const struct message *message,
                               struct waiter *waiter)
{
    return message->type == MESSAGE_extent_is
               ? blocks_root_restore(engine, message, waiter)
               : TM_EWIRE;
}

tm_status engine_restore_slab(struct engine *engine,
                              const struct message *message)
{
    return message->u.extent_is.cell_kind == 0
               ? TM_OK
               : small_blocks_hold(engine, message->u.extent_is.page);
}

void engine_restore_cells(struct engine *engine, const struct message *message)
{
    small_blocks_hear(engine, message);
}
