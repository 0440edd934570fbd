// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_LOCK_PRIV_H
#define SYNC_LOCK_PRIV_H

#include "sync/sync_priv.h"

enum token_place { TOKEN_AWAY, TOKEN_HERE, TOKEN_LEAVING };

/** What the manager has asked the owner of the token for, and waits for. */
enum recall {
    RECALL_NONE,
    RECALL_TRY,       ///< to give it back, or to say that the mutex is held
    RECALL_FOR_GOOD,  ///< to give it back when the mutex is free
    RECALL_WITHDRAWN, ///< to keep it after all, unless it is on its way
};

/** A mutex: lock.c has the node's part, lock_manager.c the manager's. */
struct lock {
    struct waiter release; ///< first member
    struct sync *sync;
    uint64_t key;

    // the node's part
    enum token_place token;
    bool is_held;
    bool is_asked;
    bool is_recalled;
    bool was_used;  ///< since lock_tidy() was here
    uint8_t type;   ///< of enum tm_mutex_type; true where the token is
    uint32_t depth; ///< how often the holder has locked it again
    uint64_t holder;
    uint64_t holder_place; ///< where it locked
    bool was_held;         ///< where the token is: last_* are known
    uint64_t last;         ///< who gave it back last
    uint64_t last_place;
    struct waiter_queue waiters;
    struct waiter_queue trying; ///< trylocks that the manager has to decide

    // the manager's part
    node_id owner;
    enum recall recall; ///< of the owner
    struct request_queue requests;
};

/** The record of a mutex, new if need be. */
struct lock *lock_of(struct sync *sync, uint64_t key);

/** Does the manager's part know nothing that a new record would not? */
bool lock_manager_is_blank(const struct lock *lock);

bool lock_manager_is_valid(const struct lock *lock);

#endif
