// SPDX-License-Identifier: BSD-3-Clause
//
// Reader-writer locks. All of one is at its manager: the threads that hold it, and those
// that wait, in order. A thread's claim goes
//
//     rwlock_ask --it fits--> holders, answered --rwlock_unlock--> gone
//     rwlock_ask --it does not--> waiting --it fits and is the first--> holders, answered
//     waiting --wait_cancel--> gone, answered that the time is over
//
// It is granted in order of request: who comes to read waits behind a writer that waits, so
// neither readers nor writers starve. But who reads already may read once more at once:
// else it would wait for a writer that waits for it.
//
// Claims are of threads, not of nodes, so a thread that holds one may move, if no data are
// bound to it. rwlock_unlock releases before it goes out, also a reader's: who gets the
// lock after a thread sees all that the thread wrote before it unlocked.
//
// A record without claims and data knows nothing, and goes.
//
// I1  Who holds it to write is alone, and holds it once.
// I2  The first that waits does not fit: it is a writer, or a writer holds the lock.
#include <stdio.h>

#include "sync/sync_priv.h"

typedef unsigned long long number;

static void let_go(struct sync *sync, const struct rwlock *lock)
{
    if (lock->own.first == NULL && lock->holders.first == NULL &&
        lock->waiting.first == NULL && !lock_has_data(sync, lock->key)) {
        table_drop(&sync->rwlocks, lock->key);
    }
}

/* ---- claims ---- */

static struct request *find_claim(const struct request_queue *claims,
                                  uint64_t thread)
{
    struct request *claim = claims->first;

    while (claim != NULL && claim->thread != thread) {
        claim = claim->next;
    }
    return claim;
}

bool rwlock_fits(const struct rwlock *lock, bool is_writer)
{
    const struct request *holder = lock->holders.first;

    return holder == NULL || (!is_writer && !holder->is_writer); // I1
}

static void grant_first(struct sync *sync, struct rwlock *lock)
{
    struct request claim = request_pop(sync, &lock->waiting);
    struct message message = {.type = MESSAGE_call_done};

    request_push(sync, &lock->holders, claim);
    order_takes(sync, lock->key, claim.node);
    message.u.call_done.token = claim.token;
    lock_pack(sync, lock->key, claim.node,
              claim.is_writer ? CARRY_LENT_TO_WRITE : CARRY_LENT, &message);
    send_to(sync, claim.node, &message);
}

static void advance(struct sync *sync, struct rwlock *lock)
{
    while (lock->waiting.first != NULL &&
           rwlock_fits(lock, lock->waiting.first->is_writer)) {
        grant_first(sync, lock); // I2
    }
    let_go(sync, lock);
}

/* ---- data that are bound to one ----
 *
 * The manager has them, and lends them to nodes whose threads hold the lock: with the
 * answer that grants it, and back with rwlock_unlock. So each node knows its own threads
 * that hold such a lock, and they stay there. */

static void push_own(struct sync *sync, uint64_t key, uint64_t thread,
                     bool is_writer)
{
    struct rwlock *lock = object_get(&sync->rwlocks, key);

    request_push(sync, &lock->own,
                 (struct request){
                     .thread = thread, .n_times = 1, .is_writer = is_writer});
}

static tm_status take_grant(struct sync *sync, const struct call *call,
                            node_id from, const struct message *message)
{
    const struct rwlock *lock = table_find(&sync->rwlocks, call->key);
    struct request *own;

    if (message->u.call_done.status != TM_OK) {
        return message->body_size == 0 ? TM_OK : TM_EWIRE;
    }
    if (lock_unpack(sync, call->key, from, CARRY_LENT, message) != TM_OK) {
        return TM_EWIRE;
    }
    own = lock == NULL ? NULL : find_claim(&lock->own, call->thread);
    if (own != NULL) {
        own->n_times++;
    } else if (message->body_size > 0 || lock_has_data(sync, call->key)) {
        push_own(sync, call->key, call->thread, call->kind == CALL_WRLOCK);
    }
    return TM_OK;
}

/* ---- calls and messages ---- */

void sync_rwlock(struct sync *sync, uint64_t key, enum sync_hold hold,
                 int only_try, struct waiter *waiter)
{
    const bool is_writer = hold == HOLD_TO_WRITE;
    struct call *call =
        call_manager(sync, is_writer ? CALL_WRLOCK : CALL_RDLOCK, key, waiter);
    struct message_rwlock_ask *ask = &call->message.u.rwlock_ask;

    ask->key = key;
    ask->token = call->token;
    ask->thread = waiter->thread;
    ask->place = waiter->place;
    ask->is_writer = is_writer;
    ask->only_try = only_try != 0;
    call->take = take_grant;
    call_send(call, 0);
}

/* The thread holds the lock already. */
static tm_status claim_again(struct request *holder,
                             const struct message_rwlock_ask *ask)
{
    if (holder->is_writer || ask->is_writer) {
        return ask->only_try ? TM_EBUSY : TM_EDEADLK;
    }
    if (holder->n_times == UINT32_MAX) {
        return TM_ELIMIT;
    }
    holder->n_times++;
    return TM_OK;
}

tm_status rwlock_receive_ask(struct sync *sync, node_id from,
                             const struct message *message)
{
    const struct message_rwlock_ask *ask = &message->u.rwlock_ask;
    struct request *claim;
    struct rwlock *lock;

    if (!is_manager(sync, ask->key) || ask->is_writer > 1 ||
        ask->only_try > 1) {
        return TM_EWIRE;
    }
    lock = object_get(&sync->rwlocks, ask->key);
    claim = find_claim(&lock->holders, ask->thread);
    if (claim != NULL) {
        answer(sync, from, ask->token, claim_again(claim, ask), 0);
        return TM_OK;
    }
    if (ask->only_try &&
        (lock->waiting.first != NULL || !rwlock_fits(lock, ask->is_writer))) {
        answer(sync, from, ask->token, TM_EBUSY, 0);
        return TM_OK;
    }
    request_push(sync, &lock->waiting,
                 (struct request){.node = from,
                                  .token = ask->token,
                                  .thread = ask->thread,
                                  .place = ask->place,
                                  .n_times = 1,
                                  .is_writer = ask->is_writer});
    advance(sync, lock);
    return TM_OK;
}

void rwlock_cancel(struct sync *sync, node_id from, uint64_t key,
                   uint64_t token)
{
    struct rwlock *lock = table_find(&sync->rwlocks, key);

    if (lock != NULL && request_take(sync, &lock->waiting, from, token)) {
        answer(sync, from, token, TM_ETIMEDOUT, 0);
        advance(sync, lock); // readers that it kept back
    }
}

/* A thread gives the lock back. @return whether it had data, and has them no more */
static bool drop_own(struct sync *sync, uint64_t key, uint64_t thread)
{
    struct rwlock *lock = table_find(&sync->rwlocks, key);
    struct request *own = lock == NULL ? NULL : find_claim(&lock->own, thread);

    if (own == NULL || --own->n_times > 0) {
        return false;
    }
    request_drop(sync, &lock->own, own);
    let_go(sync, lock);
    return true;
}

void sync_rwlock_unlock(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    struct call *call = call_manager(sync, CALL_RWUNLOCK, key, waiter);
    struct message_rwlock_unlock *unlock = &call->message.u.rwlock_unlock;

    unlock->key = key;
    unlock->token = call->token;
    unlock->thread = waiter->thread;
    unlock->place = waiter->place;
    call->gives_back = drop_own(sync, key, waiter->thread);
    call_send(call, 1);
}

static void report_wrong_unlock(struct sync *sync, const struct rwlock *lock,
                                const struct message_rwlock_unlock *unlock)
{
    const struct request *holder = lock == NULL ? NULL : lock->holders.first;
    char here[PLACE_SIZE];
    char there[PLACE_SIZE];

    place_text(sync, ", in ", unlock->place, here);
    if (holder == NULL) {
        report_error(sync,
                     "thread %llu unlocks the reader-writer lock at 0x%llx "
                     "which nobody holds%s",
                     (number)unlock->thread, (number)unlock->key, here);
        return;
    }
    report_error(sync,
                 "thread %llu unlocks the reader-writer lock at 0x%llx which "
                 "it does not hold%s; thread %llu locked it to %s%s",
                 (number)unlock->thread, (number)unlock->key, here,
                 (number)holder->thread, holder->is_writer ? "write" : "read",
                 place_text(sync, " in ", holder->place, there));
}

tm_status rwlock_receive_unlock(struct sync *sync, node_id from,
                                const struct message *message)
{
    const struct message_rwlock_unlock *unlock = &message->u.rwlock_unlock;
    struct rwlock *lock = table_find(&sync->rwlocks, unlock->key);
    struct request *holder =
        lock == NULL ? NULL : find_claim(&lock->holders, unlock->thread);

    if (!is_manager(sync, unlock->key) ||
        lock_unpack(sync, unlock->key, from, CARRY_BACK, message) != TM_OK) {
        return TM_EWIRE;
    }
    if (holder == NULL) {
        report_wrong_unlock(sync, lock, unlock);
    } else if (--holder->n_times == 0) {
        request_drop(sync, &lock->holders, holder);
        advance(sync, lock);
    }
    answer(sync, from, unlock->token, holder == NULL ? TM_EPERM : TM_OK, 0);
    return TM_OK;
}

/* ---- for others ---- */

void sync_rwlock_bound(struct sync *sync, uint64_t key, uint64_t thread)
{
    const struct rwlock *lock = table_find(&sync->rwlocks, key);

    if (lock == NULL || find_claim(&lock->own, thread) == NULL) {
        push_own(sync, key, thread, true);
    }
}

bool rwlock_is_held_by(const struct sync *sync, uint64_t key, uint64_t thread,
                       int to_write)
{
    const struct rwlock *lock = table_find(&sync->rwlocks, key);
    const struct request *own =
        lock == NULL ? NULL : find_claim(&lock->own, thread);

    return own != NULL && (own->is_writer || !to_write);
}

bool rwlock_holds_any(const struct sync *sync, uint64_t thread)
{
    const struct rwlock *lock;

    for (size_t at = 0; (lock = table_next(&sync->rwlocks, &at)) != NULL;) {
        if (find_claim(&lock->own, thread) != NULL) {
            return true;
        }
    }
    return false;
}

enum wait_line rwlock_wait_line(const struct sync *sync, uint32_t place,
                                uint32_t position, char *text, size_t size)
{
    const struct request *holder;
    const struct rwlock *lock;

    if (place >= sync->rwlocks.map.capacity) {
        return LINE_NO_PLACE;
    }
    lock = map_at(&sync->rwlocks.map, place);
    if (lock == NULL || lock->waiting.first == NULL) {
        return LINE_NEXT_PLACE;
    }
    holder = lock->holders.first;
    for (; holder != NULL && position > 0; position--) {
        holder = holder->next;
    }
    if (holder == NULL) {
        return LINE_NEXT_PLACE;
    }
    snprintf(text, size,
             "thread %llu holds reader-writer lock 0x%llx to %s, which others "
             "wait for",
             (number)holder->thread, (number)lock->key,
             holder->is_writer ? "write" : "read");
    return LINE_WRITTEN;
}

bool rwlock_is_valid(const struct sync *sync, const void *record)
{
    const struct rwlock *lock = record;
    const struct request *holder = lock->holders.first;

    (void)sync;
    for (; holder != NULL; holder = holder->next) {
        if (holder->n_times == 0 ||
            (holder->is_writer &&
             (holder != lock->holders.first || holder->next != NULL ||
              holder->n_times > 1))) { // I1
            return false;
        }
    }
    return lock->waiting.first == NULL ||
           !rwlock_fits(lock, lock->waiting.first->is_writer); // I2
}
