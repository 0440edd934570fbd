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

enum atomic_op {
    ATOMIC_ADD,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCHANGE,
    ATOMIC_COMPARE, ///< exchange if it is as expected
    ATOMIC_LOAD,
    ATOMIC_OPS
};

/** On a word of 1, 2, 4 or 8 bytes, which lies at a multiple of them. */
struct atomic {
    enum atomic_op op;
    unsigned size;
    uint64_t operand;
    uint64_t expected; ///< of ATOMIC_COMPARE
};

/** What becomes of a word; the bytes above its size are 0. */
uint64_t atomic_result(const struct atomic *atomic, uint64_t before);

/** Perform an atomic operation at the owner of an eager-release page. The caller
 * has released, or engine_atomic_follows(). Result of the waiter: the word's value before. */
void engine_atomic(struct engine *engine, page_no page, unsigned offset,
                   const struct atomic *atomic, struct waiter *waiter);

/** Does such an operation find all that this node has written in the page, whoever owns it when
 * it comes? Then it may be performed before that is released, if it is to order nothing else. */
int engine_atomic_follows(const struct engine *engine, page_no page);

// ---- choices.c

/** Say what adaptive has chosen for pages that this node owned, a line for each block. */
void engine_explain_choices(const struct engine *engine,
                            void (*say)(void *owner, const char *text),
                            void *owner);

// ---- entry.c

/** What is to be known of locks. Slots may be NULL: whoever asks holds them, errors are
 * not told. */
struct lock_ops {
    void *owner;
    /** Does the thread, of this node, hold it? @param is_write  so that it may write */
    int (*holds)(void *owner, uint64_t key, uint64_t thread, int is_write);
    /** As of struct sync_ops. */
    void (*program_error)(void *owner, const char *text);
};

/** Before anything is bound. */
void engine_use_locks(struct engine *engine, const struct lock_ops *ops);

/** Where a lock's bytes are that has none yet, when a thread binds some to it. */
enum lock_home {
    HOME_HERE,      ///< with its token
    HOME_HERE_LENT, ///< here for good, and the thread has borrowed them
    HOME_ELSEWHERE, ///< they go there when the thread gives the lock back
};

/**
 * Bind bytes to a lock, which the thread holds on this node, so that it may write.
 *
 * @param key    of the lock
 * @param start  position of the first byte, page * TM_PAGE_SIZE + offset
 * @return TM_OK
 * @return TM_EINVAL  they are not of one block of such a protocol, or bound in part
 * @return TM_EBUSY   they are bound to another lock, which the thread does not hold so
 */
tm_status engine_bind(struct engine *engine, uint64_t key, enum lock_home home,
                      uint64_t start, uint64_t size, uint64_t thread);

/** How a lock's bytes go from node to node. */
enum lock_way {
    LOCK_MOVES, ///< with its token, or its manager: the sender gives them away
    LOCK_LENT,  ///< the sender keeps them; to be read
    LOCK_LENT_TO_WRITE, ///< the same, but the receiver has the last ones then
    LOCK_BACK,          ///< what was written meanwhile by who has borrowed them
};

/** A lock is about to go to a node, in the next message to it, which may be this one.
 * @param[out] size  bytes
 * @return what goes along, until the next call; NULL and 0: nothing */
const void *engine_lock_leaves(struct engine *engine, uint64_t key, node_id to,
                               enum lock_way way, uint32_t *size);

/** It has come, and this along with it. @return TM_OK, TM_EWIRE: nothing was done */
tm_status engine_lock_comes(struct engine *engine, uint64_t key, node_id from,
                            enum lock_way way, const void *bytes,
                            uint32_t size);

/** Are bytes bound to the lock, and is it for this node to pass them on? */
int engine_lock_has_data(const struct engine *engine, uint64_t key);

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
