// SPDX-License-Identifier: BSD-3-Clause
//
// Mutexes, the manager's part: where the token is, and who asks for it. `owner`
// has it (NODE_NONE: it is here), `requests` are the nodes that ask, in order
// of arrival; owner_is_recalled says that the owner has been asked to give it
// back for the first of them. The token comes back here before it goes on, so
// that the manager always knows; lock_grant carries the recall for the next
// node with it.
//
//   lock_ask, from another than the owner   queued; the owner is recalled, once
//   lock_back                               granted to the first in the queue
//   lock_decline                            the first, a trylock, fails
//
// A trylock must not wait for the holder, nor fail if nobody has the mutex. The
// manager asks the owner (lock_recall, only_try); the owner declines if the
// mutex is held. If a node already waits in the queue for good, a thread there
// is in the middle of locking, so the trylock may count as coming after it: it
// fails without asking.
//
// I1  owner_is_recalled if and only if there are requests, between two
//     messages.
// I2  owner NONE implies no requests, between two messages.
// I3  A node has at most one request of each kind; the owner has none.
//
// A lock_ask from the owner itself crossed the grant that a trylock of the same
// node brought about: the grant has served it, it is passed over.
#include "sync/lock_priv.h"

/* The grant serves all that the node has asked for (I3). */
static void drop_requests(struct lock *lock, node_id node)
{
    struct request_queue kept = {0};

    while (lock->requests.first != NULL) {
        struct request request = request_pop(lock->sync, &lock->requests);

        if (request.node != node) {
            request_push(lock->sync, &kept, request);
        }
    }
    lock->requests = kept;
}

static void grant_first(struct lock *lock)
{
    struct message message = {.type = MESSAGE_lock_grant};
    struct request *next;

    lock->owner = lock->requests.first->node;
    drop_requests(lock, lock->owner);
    next = lock->requests.first;
    lock->owner_is_recalled = next != NULL && !next->only_try;
    message.u.lock_grant.key = lock->key;
    message.u.lock_grant.recall = lock->owner_is_recalled;
    order_takes(lock->sync, lock->key, lock->owner);
    send_to(lock->sync, lock->owner, &message);
}

/* Do what the first request needs. */
static void advance(struct lock *lock)
{
    if (lock->owner == NODE_NONE && lock->requests.first != NULL) {
        grant_first(lock);
    }
    if (!lock->owner_is_recalled && lock->requests.first != NULL) {
        struct message message = {.type = MESSAGE_lock_recall};

        lock->owner_is_recalled = true;
        message.u.lock_recall.key = lock->key;
        message.u.lock_recall.only_try = lock->requests.first->only_try;
        send_to(lock->sync, lock->owner, &message);
    }
}

static void send_busy(struct lock *lock, node_id to)
{
    struct message message = {.type = MESSAGE_lock_busy};

    message.u.lock_busy.key = lock->key;
    send_to(lock->sync, to, &message);
}

/* Is there a request of this kind, of this node or (NODE_NONE) of any? */
static bool has_request(const struct lock *lock, node_id node, uint8_t only_try)
{
    for (const struct request *at = lock->requests.first; at != NULL;
         at = at->next) {
        if (at->only_try == only_try &&
            (node == NODE_NONE || at->node == node)) {
            return true;
        }
    }
    return false;
}

tm_status lock_receive_ask(struct sync *sync, node_id from,
                           const struct message *message)
{
    uint64_t key = message->u.lock_ask.key;
    uint8_t only_try = message->u.lock_ask.only_try;
    struct lock *lock;

    if (!is_manager(sync, key) || only_try > 1) {
        return TM_EWIRE;
    }
    lock = lock_of(sync, key);
    if (lock->owner == from) {
        return only_try ? TM_EWIRE : TM_OK;
    }
    if (has_request(lock, from, only_try)) {
        return TM_EWIRE; // I3
    }
    if (only_try && has_request(lock, NODE_NONE, 0)) {
        send_busy(lock, from);
        return TM_OK;
    }
    request_push(sync, &lock->requests,
                 (struct request){.node = from, .only_try = only_try});
    advance(lock);
    return TM_OK;
}

/* The lock whose owner `from` answers a recall, NULL if there is none. */
static struct lock *recalled_from(struct sync *sync, node_id from, uint64_t key)
{
    struct lock *lock = table_find(&sync->locks, key);

    if (!is_manager(sync, key) || lock == NULL || lock->owner != from ||
        !lock->owner_is_recalled) {
        return NULL;
    }
    return lock;
}

tm_status lock_receive_back(struct sync *sync, node_id from,
                            const struct message *message)
{
    struct lock *lock = recalled_from(sync, from, message->u.lock_back.key);

    if (lock == NULL) {
        return TM_EWIRE;
    }
    lock->owner = NODE_NONE;
    lock->owner_is_recalled = false;
    lock->was_held = true;
    lock->last = message->u.lock_back.thread;
    lock->last_place = message->u.lock_back.place;
    if (message->u.lock_back.again) {
        request_push(sync, &lock->requests, (struct request){.node = from});
    }
    advance(lock);
    return TM_OK;
}

tm_status lock_receive_decline(struct sync *sync, node_id from,
                               const struct message *message)
{
    struct lock *lock = recalled_from(sync, from, message->u.lock_decline.key);

    if (lock == NULL || !lock->requests.first->only_try) {
        return TM_EWIRE;
    }
    lock->owner_is_recalled = false;
    send_busy(lock, request_pop(sync, &lock->requests).node);
    advance(lock);
    return TM_OK;
}

bool lock_manager_is_valid(const struct lock *lock)
{
    if (lock->owner == NODE_NONE) {
        return lock->requests.first == NULL && !lock->owner_is_recalled; // I2
    }
    // I1; and whoever asks makes the manager recall
    return lock->owner_is_recalled == (lock->requests.first != NULL) &&
           !has_request(lock, lock->owner, 0) && // I3
           !has_request(lock, lock->owner, 1);
}
