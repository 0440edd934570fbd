// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGES_SMALL_BLOCKS_H
#define PAGES_SMALL_BLOCKS_H

#include "pages/pages.h"

/*
 * Small blocks, for those who answer for blocks of all sizes. See small_blocks.c.
 */

/** The extent, a slab of small blocks, that an address lies in; NULL: none. Any number
 * may be asked for. */
const struct extent *small_blocks_slab(const struct engine *engine,
                                       uint64_t address);

/** As engine_alloc(). @param cell_kind  of slabs_kind() or slabs_grain_kind(), > 0 */
void small_blocks_alloc(struct engine *engine, uint32_t cell_kind,
                        uint64_t size, const struct heap_origin *origin,
                        struct waiter *waiter);

/** As engine_release_block(), of an address in a slab. */
void small_blocks_free(struct engine *engine, uint64_t address,
                       const struct heap_origin *place, struct waiter *waiter);

/** The block here that an address lies in. @return TM_OK, TM_ENOBLOCK */
TM_CHECKED tm_status small_blocks_around(const struct engine *engine,
                                         uint64_t address,
                                         struct heap_block *block);

/** CELLS_FREED or CELLS_GIVEN has come. */
tm_status small_blocks_receive(struct engine *engine,
                               const struct message *message);
/** FREE_ASK has come, for a cell that this node has freed. */
void small_blocks_receive_ask(struct engine *engine, node_id from,
                              const struct message *message);

/** Send what somebody waits for, and while nodes come and go what there is. */
void small_blocks_tick(struct engine *engine);

// ---- on the root

/** A node frees what is no block: was it in a slab that has closed since? Then its last
 * holder explains it, and answers. @return 1 if so */
int small_blocks_explain(struct engine *engine, node_id from, uint64_t address,
                         const struct heap_origin *place, uint32_t token);

// ---- nodes come and go

/** See engine_is_still(). */
int small_blocks_are_still(struct engine *engine);
void small_blocks_roster_changed(struct engine *engine);
/** This node leaves: all that it knows of blocks is the root's. */
void small_blocks_give(struct engine *engine);

// ---- checkpoints: saved_blocks.c

/** Have what is noted go to its holders, so that small_blocks_are_still() soon. */
void small_blocks_hurry(struct engine *engine);
/** What this node knows of blocks, as small_blocks_give() says it. */
void small_blocks_save(const struct engine *engine, const struct port *to);
/** On the root: nothing is known of any block. */
void small_blocks_clear(struct engine *engine);
/** On the root: hold the slab that begins at a page. @return TM_OK, TM_EINVAL, TM_ENOMEM */
TM_CHECKED tm_status small_blocks_hold(struct engine *engine, page_no page);
/** On the root: what small_blocks_save() has said. */
void small_blocks_hear(struct engine *engine, const struct message *message);

int small_blocks_are_valid(const struct engine *engine);
tm_status small_blocks_open(struct engine *engine);
void small_blocks_close(struct engine *engine);

#endif
