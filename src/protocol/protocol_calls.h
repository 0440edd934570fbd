// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_PROTOCOL_CALLS_H
#define PROTOCOL_PROTOCOL_CALLS_H

#include "pages/engine.h"

/* Calls of an engine that its protocols carry out. */

// ---- release.c

/** Push what this node has written; wakes the waiter when every copy has it (at
 * once if there is nothing to do).
 * @param next  the node that hears of this release first, by a message that the
 *              waiter's wake() sends: its copies may still lack updates that are
 *              on the way to it, ahead of that message. NODE_NONE: nobody */
void engine_release(struct engine *engine, node_id next, struct waiter *waiter);

/** Has all that this node has written been made known? Then engine_release() would do
 * nothing. */
int engine_has_released(const struct engine *engine);

// ---- atomic.c

enum atomic_op { ATOMIC_ADD, ATOMIC_EXCHANGE, ATOMIC_COMPARE, ATOMIC_LOAD };

/** Perform an atomic operation at the owner of an eager-release page. The caller
 * has released. Result of the waiter: the word's value before.
 * @param offset  in the page, a multiple of 8 */
void engine_atomic(struct engine *engine, page_no page, unsigned offset,
                   enum atomic_op op, uint64_t operand, uint64_t expected,
                   struct waiter *waiter);

// ---- choices.c

/** Say what adaptive has chosen for pages that this node owned, a line for each block. */
void engine_explain_choices(const struct engine *engine,
                            void (*say)(void *owner, const char *text),
                            void *owner);

// ---- race.c

/** Bytes that threads of two nodes have written, and nothing orders the writes. */
struct race_found {
    page_no page;
    uint16_t offset; ///< of the first one in the page
    uint16_t length; ///< to the last one; not each between need be
    node_id nodes[2];
    uint64_t threads[2]; ///< of each node, which wrote the page first
};

/** On the root, under the node lock. */
typedef void race_found_fn(void *owner, const struct race_found *found);

/** Look for data races on pages of eager-release from now on. On all nodes, before
 * engine_add_globals(). @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status engine_look_for_races(struct engine *engine,
                                           race_found_fn *found, void *owner);

#endif
