// SPDX-License-Identifier: BSD-3-Clause
//
// Mutexes, the manager's part: where the token is, and who asks for it. `owner`
// has it (NODE_NONE: it is here), `requests` are the nodes that ask, in order
// of arrival; `recall` says what the owner has been asked for because of the first of
// them. The token comes back here before it goes on, so that the manager always
// knows; lock_grant carries the recall for the next node with it.
//
//   lock_ask, from another than the owner   queued; the owner is recalled, once
//   lock_cancel                             taken out of the queue
//   lock_back                               granted to the first in the queue
//   lock_decline, to RECALL_TRY             the first, a trylock, fails
//   lock_decline, to RECALL_WITHDRAWN       the first, if there is one, is looked at
//
// An owner may send the token back without having been asked (lock_tidy()); a recall
// that crosses it finds nothing there, and is passed over.
//
// A trylock must not wait for the holder, nor fail if nobody has the mutex. The
// manager asks the owner (lock_recall, only_try); the owner declines if the
// mutex is held. If a node already waits in the queue for good, a thread there
// is in the middle of locking, so the trylock may count as coming after it: it
// fails without asking. When the last of these gives up (lock_cancel) the owner's promise
// to give the token back is withdrawn: else a trylock would wait for the holder,
// or fail although the token only goes to a node that does not want it any more.
//
// I1  Requests imply a recall, between two messages. RECALL_TRY: the first is a
//     trylock. RECALL_FOR_GOOD: there is one that waits for good.
// I2  owner NONE implies no requests, between two messages.
// I3  A node has at most one request of each kind; the owner has none.
//
// A lock_ask from the owner itself crossed a grant, to a trylock of the same node or to
// somebody there who has given up: the grant serves it, it is passed over.
#include "sync/lock_priv.h"

/* Take out what a node has asked for: all, for a grant serves all (I3), or only what
 * it waits for for good. */
static void drop_requests(struct lock *lock, node_id node, bool with_tries)
{
    struct request_queue kept = {0};

    while (lock->requests.first != NULL) {
        struct request request = request_pop(lock->sync, &lock->requests);

        if (request.node != node || (request.only_try && !with_tries)) {
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
    drop_requests(lock, lock->owner, true);
    next = lock->requests.first;
    lock->recall =
        next != NULL && !next->only_try ? RECALL_FOR_GOOD : RECALL_NONE;
    message.u.lock_grant.key = lock->key;
    message.u.lock_grant.recall = lock->recall != RECALL_NONE;
    message.u.lock_grant.type = lock->type;
    order_takes(lock->sync, lock->key, lock->owner);
    send_to(lock->sync, lock->owner, &message);
}

static void send_recall(struct lock *lock, enum recall recall)
{
    struct message message = {.type = MESSAGE_lock_recall};

    lock->recall = recall;
    message.u.lock_recall.key = lock->key;
    message.u.lock_recall.what = (uint8_t)recall;
    send_to(lock->sync, lock->owner, &message);
}

/* Do what the first request needs. */
static void advance(struct lock *lock)
{
    if (lock->owner == NODE_NONE && lock->requests.first != NULL) {
        grant_first(lock);
    }
    if (lock->recall == RECALL_NONE && lock->requests.first != NULL) {
        send_recall(lock, lock->requests.first->only_try ? RECALL_TRY
                                                         : RECALL_FOR_GOOD);
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
        return TM_OK;
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

/* The lock whose token a node has, NULL if there is none. */
static struct lock *owned_by(struct sync *sync, node_id from, uint64_t key)
{
    struct lock *lock = table_find(&sync->locks, key);

    return is_manager(sync, key) && lock != NULL && lock->owner == from ? lock
                                                                        : NULL;
}

tm_status lock_receive_cancel(struct sync *sync, node_id from,
                              const struct message *message)
{
    uint64_t key = message->u.lock_cancel.key;
    struct lock *lock = table_find(&sync->locks, key);

    if (!is_manager(sync, key) || lock == NULL) {
        return TM_EWIRE;
    }
    if (lock->owner == from) {
        return TM_OK; // it crosses the grant, which stays there
    }
    if (!has_request(lock, from, 0)) {
        return TM_EWIRE;
    }
    drop_requests(lock, from, false);
    if (lock->recall == RECALL_FOR_GOOD && !has_request(lock, NODE_NONE, 0)) {
        send_recall(lock, RECALL_WITHDRAWN);
    }
    return TM_OK;
}

tm_status lock_receive_back(struct sync *sync, node_id from,
                            const struct message *message)
{
    const struct message_lock_back *back = &message->u.lock_back;
    struct lock *lock = owned_by(sync, from, back->key);

    if (lock == NULL || back->type > TM_MUTEX_RECURSIVE) {
        return TM_EWIRE;
    }
    lock->owner = NODE_NONE;
    lock->recall = RECALL_NONE;
    lock->type = back->type;
    lock->was_held |= back->was_held != 0;
    lock->last = back->thread;
    lock->last_place = back->place;
    if (back->again) {
        request_push(sync, &lock->requests, (struct request){.node = from});
    }
    advance(lock);
    return TM_OK;
}

tm_status lock_receive_decline(struct sync *sync, node_id from,
                               const struct message *message)
{
    struct lock *lock = owned_by(sync, from, message->u.lock_decline.key);

    if (lock == NULL ||
        (lock->recall != RECALL_TRY && lock->recall != RECALL_WITHDRAWN)) {
        return TM_EWIRE;
    }
    // Who has asked since the withdrawal may know that the mutex is free by now.
    if (lock->recall == RECALL_TRY) {
        send_busy(lock, request_pop(sync, &lock->requests).node);
    }
    lock->recall = RECALL_NONE;
    advance(lock);
    return TM_OK;
}

bool lock_manager_is_blank(const struct lock *lock)
{
    return lock->owner == NODE_NONE && lock->requests.first == NULL &&
           lock->type == TM_MUTEX_NORMAL;
}

bool lock_manager_is_valid(const struct lock *lock)
{
    const struct request *first = lock->requests.first;

    if (lock->owner == NODE_NONE) {
        return first == NULL && lock->recall == RECALL_NONE; // I2
    }
    return (lock->recall != RECALL_NONE || first == NULL) && // I1
           (lock->recall != RECALL_TRY || (first != NULL && first->only_try)) &&
           (lock->recall != RECALL_FOR_GOOD ||
            has_request(lock, NODE_NONE, 0)) &&
           !has_request(lock, lock->owner, 0) && // I3
           !has_request(lock, lock->owner, 1);
}
