// SPDX-License-Identifier: BSD-3-Clause
//
// Mutexes, the manager's part: who has the token, and who gets it. The token does not
// come here each time. Who asks for it is put in line, and named to the one before
// (lock_recall, or lock_grant), which sends it there: three messages, ask, recall and
// grant, of which only the last is sent after the mutex was unlocked. This is a
// distributed queue, as in [TreadMarks], whose end the manager keeps.
//
//   owner      had the token for sure; NODE_NONE: it is here
//   line       who gets it after that, in order, each named to the one before. The manager
//              does not know how far along the line it is, until one of it asks again
//              or gives it back: then all before that have had it
//   requests   who asks and has been named to nobody, in order: trylocks come first
//   has_recall the last in line knows that others wait, and gives the token back
//   question   has been asked of who has the token, and is to be answered
//
//   lock_ask, for good         named to the last in line, if nothing hinders
//   lock_ask, a trylock        RECALL_TRY goes to the owner, and along the line, behind
//                              the token, until it finds that
//   lock_cancel                if the last in line: RECALL_WITHDRAWN to the one before
//   lock_back                  granted to the first in line, or of the requests
//   lock_decline, to RECALL_TRY         the trylock fails
//   lock_decline, to RECALL_WITHDRAWN   the last is out of the line, or has the token
//
// A node that gives the token away and wants it again sends it here (again): so it is in
// line again without a message of its own, and the grant tells the next one of it, by
// name or by has_recall. That makes two messages for each turn where all nodes want the
// mutex all the time. To or from the manager's own node it always goes by here, which
// costs nothing: so while that node is in line, who asks is named by the grant, too.
//
// A trylock must not wait for the holder, nor fail if nobody has the mutex. If a node's
// request waits here for good, a thread there is in the middle of locking, so the trylock
// may count as coming after it: it fails without asking. Who gives up is taken out of the
// line if that can be: else the token would go to a node that does not want it any more.
//
// I1  Requests imply a question, or that the token comes back, between two messages.
// I2  owner NONE implies nobody in line and no requests, between two messages.
// I3  A node has at most one request of each kind, and one place in line.
// I4  There is at most one question, and each is answered once. Nobody is named while
//     there is one: it may bring the token back from who would be told.
// I5  Who is last in line was told nothing about another. So a node gives the token back
//     only if it was told to, by name of the next, by the recall or by RECALL_TRY, and
//     what it is told is always about the turn that it has or waits for.
//
// While a change of the roster is under way requests are only kept (manager_change.c).
#include "sync/lock_priv.h"

static bool has_request(const struct request_queue *queue, node_id node,
                        uint8_t only_try)
{
    for (const struct request *at = queue->first; at != NULL; at = at->next) {
        if (at->only_try == only_try &&
            (node == NODE_NONE || at->node == node)) {
            return true;
        }
    }
    return false;
}

static bool is_in_line(const struct lock *lock, node_id node)
{
    return has_request(&lock->line, node, 0);
}

static node_id last_in_line(const struct lock *lock)
{
    return lock->line.first == NULL ? lock->owner : lock->line.last->node;
}

/* Does the token come here before all that have asked are named? So it does if it goes
 * to or from this node. */
static bool comes_back(const struct lock *lock)
{
    const node_id self = lock->sync->port->self;

    return lock->has_recall || is_in_line(lock, self) ||
           (lock->owner == self && lock->line.first != NULL);
}

/* All in line up to a node have had the token. */
static void token_was_at(struct lock *lock, node_id node)
{
    while (is_in_line(lock, node)) {
        lock->owner = request_pop(lock->sync, &lock->line).node;
    }
}

node_id lock_token_is_beyond(const struct lock *lock, node_id node)
{
    const struct request *at = lock->line.first;

    if (lock->owner != node) {
        while (at != NULL && at->node != node) {
            at = at->next;
        }
        at = at == NULL ? NULL : at->next;
    }
    return at == NULL ? lock->owner : at->node;
}

static void send_recall(struct lock *lock, node_id to, enum recall what,
                        node_id next)
{
    struct message message = {.type = MESSAGE_lock_recall};

    message.u.lock_recall.key = lock->key;
    message.u.lock_recall.what = (uint8_t)what;
    message.u.lock_recall.next = next;
    send_to(lock->sync, to, &message);
}

static void send_empty(struct lock *lock, enum message_type type, node_id to)
{
    struct message message = {.type = type};

    message.u.lock_busy.key = lock->key; // the only field of these
    send_to(lock->sync, to, &message);
}

static bool first_waits_for_good(const struct lock *lock)
{
    return lock->requests.first != NULL && !lock->requests.first->only_try;
}

/* The first of the requests is the last in line now. @return it */
static node_id put_in_line(struct lock *lock)
{
    struct request request = request_pop(lock->sync, &lock->requests);

    request_push(lock->sync, &lock->line, request);
    return request.node;
}

/* The token is here, and somebody wants it. */
static void grant_first(struct lock *lock)
{
    struct message message = {.type = MESSAGE_lock_grant};
    struct message_lock_grant *grant = &message.u.lock_grant;
    struct request first = request_pop(
        lock->sync, lock->line.first != NULL ? &lock->line : &lock->requests);

    lock->owner = first.node;
    if (first.only_try && lock->tried == first.node) {
        lock->tried = NODE_NONE;
    }
    grant->key = lock->key;
    grant->is_try = first.only_try;
    grant->next = NODE_NONE;
    if (lock->line.first == NULL && first_waits_for_good(lock) &&
        lock->question == RECALL_NONE) { // I4
        grant->next = put_in_line(lock);
    }
    lock->has_recall = first_waits_for_good(lock);
    grant->recall = lock->has_recall;
    grant->type = lock->type;
    grant->was_held = lock->was_held;
    grant->thread = lock->last;
    grant->place = lock->last_place;
    lock_order(lock, lock->owner, SYNC_TAKES);
    lock_pack(lock->sync, lock->key, lock->owner, CARRY_MOVES, &message);
    send_to(lock->sync, lock->owner, &message);
    lock_forget_last(lock);
}

static void ask_for_trylock(struct lock *lock)
{
    lock->question = RECALL_TRY;
    lock->tried = lock->requests.first->node;
    send_recall(lock, lock->owner, RECALL_TRY, last_in_line(lock));
}

/* The last in line has given up: the one before may keep the token. */
static void withdraw_last(struct lock *lock)
{
    const struct request *last = lock->line.last;
    node_id before = lock->owner;

    for (const struct request *at = lock->line.first; at != last;
         at = at->next) {
        before = at->node;
    }
    lock->question = RECALL_WITHDRAWN;
    send_recall(lock, before, RECALL_WITHDRAWN, last->node);
}

/* Do what can be done for those that ask. */
static void advance(struct lock *lock)
{
    if (lock->sync->is_frozen) {
        return;
    }
    if (lock->owner == NODE_NONE &&
        (lock->line.first != NULL || lock->requests.first != NULL)) {
        grant_first(lock);
    }
    while (lock->question == RECALL_NONE && !comes_back(lock) && // I4, I5
           first_waits_for_good(lock)) {
        const node_id last = last_in_line(lock);

        send_recall(lock, last, RECALL_TO_NEXT, put_in_line(lock));
    }
    if (lock->question != RECALL_NONE || lock->owner == NODE_NONE) {
        return;
    }
    if (lock->requests.first != NULL && lock->requests.first->only_try) {
        ask_for_trylock(lock);
    } else if (lock->line.first != NULL && lock->line.last->is_cancelled &&
               !lock->has_recall) {
        withdraw_last(lock);
    }
}

/* A node has the token, unused: may it come back? */
static void take_unused(struct lock *lock, node_id from)
{
    if (lock->question == RECALL_NONE && lock->requests.first == NULL &&
        !lock->has_recall && last_in_line(lock) == from &&
        !lock->sync->is_frozen) {
        lock->question = RECALL_TRY;
        lock->tried = NODE_NONE;
        send_recall(lock, from, RECALL_TRY, from);
    }
}

tm_status lock_receive_ask(struct sync *sync, node_id from,
                           const struct message *message)
{
    uint64_t key = message->u.lock_ask.key;
    uint8_t what = message->u.lock_ask.what;
    struct lock *lock;

    if (!is_manager(sync, key) || what > WISH_NONE) {
        return TM_EWIRE;
    }
    lock = lock_of(sync, key);
    if (what == WISH_NONE) {
        take_unused(lock, from);
        return TM_OK;
    }
    if (has_request(&lock->requests, from, what)) {
        return TM_EWIRE; // I3
    }
    if (what == WISH_TRY && has_request(&lock->requests, NODE_NONE, 0)) {
        send_empty(lock, MESSAGE_lock_busy, from);
        return TM_OK;
    }
    if (what == WISH_FOR_GOOD) {
        if (last_in_line(lock) == from) {
            return TM_EWIRE; // I5
        }
        token_was_at(lock, from);
    }
    request_push(sync, &lock->requests,
                 (struct request){.node = from, .only_try = what == WISH_TRY});
    advance(lock);
    return TM_OK;
}

/* The mutex, if a node has or had its token, or is in line. */
static struct lock *passed_by(struct sync *sync, node_id from, uint64_t key)
{
    struct lock *lock = table_find(&sync->locks, key);

    return is_manager(sync, key) && lock != NULL && lock->owner != NODE_NONE &&
                   (lock->owner == from || is_in_line(lock, from))
               ? lock
               : NULL;
}

static struct request *find_request(const struct request_queue *queue,
                                    node_id node)
{
    struct request *request = queue->first;

    while (request != NULL && (request->node != node || request->only_try)) {
        request = request->next;
    }
    return request;
}

tm_status lock_receive_cancel(struct sync *sync, node_id from,
                              const struct message *message)
{
    uint64_t key = message->u.lock_cancel.key;
    struct lock *lock = table_find(&sync->locks, key);
    struct request *request;

    if (!is_manager(sync, key) || lock == NULL) {
        return TM_EWIRE;
    }
    request = find_request(&lock->requests, from);
    if (request != NULL) {
        request_drop(sync, &lock->requests, request);
        send_empty(lock, MESSAGE_lock_cancelled, from);
    }
    request = find_request(&lock->line, from);
    if (request != NULL) {
        request->is_cancelled = true;
    }
    advance(lock);
    return TM_OK; // it may have crossed the token
}

tm_status lock_receive_back(struct sync *sync, node_id from,
                            const struct message *message)
{
    const struct message_lock_back *back = &message->u.lock_back;
    struct lock *lock = passed_by(sync, from, back->key);

    if (lock == NULL || back->type > TM_MUTEX_RECURSIVE ||
        (back->is_answer && lock->question != RECALL_TRY) ||
        lock_unpack(sync, back->key, from, CARRY_MOVES, message) != TM_OK) {
        return TM_EWIRE;
    }
    token_was_at(lock, from);
    lock->owner = NODE_NONE;
    lock->has_recall = false;
    if (back->is_answer) {
        lock->question = RECALL_NONE;
    }
    lock->type = back->type;
    lock->was_held = back->was_held != 0;
    lock->last = back->thread;
    lock->last_place = back->place;
    if (back->again && !has_request(&lock->requests, from, 0)) {
        request_push(sync, &lock->requests, (struct request){.node = from});
    }
    advance(lock);
    return TM_OK;
}

/* Who was asked says that the mutex is held. */
static void fail_tried(struct lock *lock)
{
    if (lock->tried != NODE_NONE) {
        send_empty(lock, MESSAGE_lock_busy, lock->tried);
        (void)request_pop(lock->sync, &lock->requests);
    }
}

/* The one before the last keeps the token. */
static void drop_last(struct lock *lock)
{
    send_empty(lock, MESSAGE_lock_cancelled, lock->line.last->node);
    request_drop(lock->sync, &lock->line, lock->line.last);
}

tm_status lock_receive_decline(struct sync *sync, node_id from,
                               const struct message *message)
{
    uint64_t key = message->u.lock_decline.key;
    struct lock *lock = table_find(&sync->locks, key);
    const bool is_gone = message->u.lock_decline.is_gone != 0;

    if (!is_manager(sync, key) || lock == NULL ||
        lock->question == RECALL_NONE) {
        return TM_EWIRE;
    }
    if (lock->question == RECALL_TRY && is_gone && lock->owner != NODE_NONE) {
        send_recall(lock, lock_token_is_beyond(lock, from), RECALL_TRY,
                    last_in_line(lock));
        return TM_OK;
    }
    if (lock->question == RECALL_TRY) {
        if (!is_gone) {
            fail_tried(lock);
        }
    } else if (lock->line.first != NULL && lock->line.last->is_cancelled) {
        if (is_gone) {
            lock->line.last->is_cancelled = false; // the token goes there
        } else {
            drop_last(lock);
        }
    }
    lock->question = RECALL_NONE;
    advance(lock);
    return TM_OK;
}

void lock_manager_forget(struct lock *lock)
{
    while (lock->line.first != NULL) {
        (void)request_pop(lock->sync, &lock->line);
    }
    while (lock->requests.first != NULL) {
        (void)request_pop(lock->sync, &lock->requests);
    }
    lock->owner = NODE_NONE;
    lock->question = RECALL_NONE;
    lock->has_recall = false;
}

void lock_manager_goes_on(struct lock *lock)
{
    advance(lock);
}

bool lock_manager_is_blank(const struct lock *lock)
{
    return lock->owner == NODE_NONE && lock->requests.first == NULL &&
           lock->question == RECALL_NONE && lock->type == TM_MUTEX_NORMAL;
}

bool lock_manager_is_valid(const struct lock *lock)
{
    if (lock->sync->is_frozen) {
        return true;
    }
    if (lock->owner == NODE_NONE) {
        return lock->line.first == NULL && lock->requests.first == NULL; // I2
    }
    for (const struct request *at = lock->line.first; at != NULL;
         at = at->next) {
        if (has_request(&lock->requests, at->node, 0)) { // I3
            return false;
        }
    }
    return lock->requests.first == NULL || lock->question != RECALL_NONE ||
           comes_back(lock); // I1
}
