// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_LOCK_PRIV_H
#define SYNC_LOCK_PRIV_H

#include "sync/sync_priv.h"

enum token_place { TOKEN_AWAY, TOKEN_HERE, TOKEN_LEAVING };

/** What a node asks the manager for. */
enum lock_wish {
    WISH_FOR_GOOD, ///< the token, when it is this node's turn
    WISH_TRY,      ///< the token, if the mutex is free
    WISH_NONE,     ///< it has the token and has not used it for long
};

/** What the manager tells who has the token, or will have it. */
enum recall {
    RECALL_NONE,
    RECALL_TRY,       ///< to give it back, or to say that the mutex is held
    RECALL_TO_NEXT,   ///< who gets it next
    RECALL_WITHDRAWN, ///< not to that one after all, unless it is on its way
};

/** A trylock's question, from this node. */
enum try_state {
    TRY_NONE,
    TRY_ASKED,
    TRY_STALE, ///< the token came before the answer: that means nothing any more
};

/** A mutex: lock.c has the node's part, lock_manager.c the manager's. */
struct lock {
    struct waiter release; ///< first member
    struct sync *sync;
    uint64_t key;

    // the node's part
    enum token_place token;
    node_id next;      ///< who gets the token from here; NODE_NONE: not known
    node_id leaves_to; ///< LEAVING: `next`, or the manager
    node_id try_until; ///< a RECALL_TRY is to be answered, at the latest there;
                       ///< NODE_NONE: there is none
    node_id passed_to; ///< AWAY: to whom it went, NODE_NONE: ask the manager
    bool is_recalled;  ///< it goes back to the manager, for others wait there
    bool is_held;
    bool is_asked;      ///< the manager has this node in line
    bool is_cancelled;  ///< has been asked to take it out
    bool was_used;      ///< since lock_tidy() was here
    uint8_t type;       ///< of enum tm_mutex_type; true where the token is
    enum try_state try; ///< the first of `trying` has asked
    uint32_t depth;     ///< how often the holder has locked it again
    uint64_t holder;
    uint64_t holder_place; ///< where it locked
    bool was_held;         ///< where the token is: last_* are known
    uint64_t last;         ///< who gave it back last
    uint64_t last_place;
    struct waiter_queue waiters;
    struct waiter_queue trying; ///< trylocks that the manager has to decide

    // the manager's part
    node_id owner;        ///< has the token, or had it before those in line
    node_id tried;        ///< whose trylock RECALL_TRY is about
    enum recall question; ///< RECALL_TRY, RECALL_WITHDRAWN: not answered yet
    bool has_recall;      ///< the token comes back when all in line have had it
    struct request_queue line; ///< who gets it, each named to the one before
    struct request_queue requests; ///< not named to anybody yet
};

/** The record of a mutex, new if need be. */
struct lock *lock_of(struct sync *sync, uint64_t key);

/** A node in line has not the token, and does not know where that went.
 * @return who is to be asked next; from the last one on it begins again */
node_id lock_token_is_beyond(const struct lock *lock, node_id node);

/** The roster is another: nobody is in line any more. */
void lock_manager_forget(struct lock *lock);

/** Do what the requests need that have come while a change was under way. */
void lock_manager_goes_on(struct lock *lock);

/** Does the manager's part know nothing that a new record would not? */
bool lock_manager_is_blank(const struct lock *lock);

bool lock_manager_is_valid(const struct lock *lock);

/** The next message to a node is the token. */
static inline void lock_order(const struct lock *lock, node_id to,
                              enum sync_order order)
{
    lock->sync->ops.order_mutex(lock->sync->ops.owner, lock->key, to, order);
}

/** The token leaves: what kind of mutex it is, and who had it, is known there. */
static inline void lock_forget_last(struct lock *lock)
{
    lock->type = TM_MUTEX_NORMAL;
    lock->was_held = false;
}

/** Ask for what this node's threads wait for, of a manager that knows of nothing. */
void lock_ask_anew(struct lock *lock);

#endif
