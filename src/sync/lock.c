// SPDX-License-Identifier: BSD-3-Clause
//
// Mutexes, the node's part. A mutex has one token. The node that has it grants
// the mutex to its own threads without any message; the token goes through the
// mutex's manager from node to node, only when another node asks for it.
//
//   token    event                              what happens        then
//   AWAY     sync_lock, the first               lock_ask            AWAY
//   AWAY     lock_grant                         the first has it    HERE
//   AWAY     lock_busy                          a trylock fails     AWAY
//   AWAY     the last has waited long enough    lock_cancel         AWAY
//   AWAY     lock_grant, nobody waits any more  kept, or given back HERE, LEAVING
//   HERE     sync_lock, free                    granted at once     HERE
//   HERE     sync_unlock, no recall             the next has it     HERE
//   HERE     sync_unlock, recalled              release             LEAVING
//   HERE     lock_recall, free                  release             LEAVING
//   HERE     lock_recall, held: if free         lock_decline        HERE
//   HERE     lock_recall, held: for good        is recalled         HERE
//   HERE     lock_recall, held: withdrawn       lock_decline        HERE
//   HERE     unused for long (lock_tidy)        release             LEAVING
//   LEAVING  the release is done                lock_back           AWAY
//
// After a recall no further thread of the node gets the mutex: two nodes that
// both want it always take turns, thread by thread. The release stands between
// the last local unlock and lock_back, so whoever is granted the mutex
// elsewhere sees everything written under it here; local hand-offs need none,
// the memory is the same.
//
// I1  held implies HERE.
// I2  HERE and not held implies no waiters, no recall.
// I3  AWAY: `is_asked` if and only if there are waiters; a trylock is on its
//     way if and only if `trying` is not empty.
// I4  waiters and `trying` together, AWAY: `trying` was first.
// I5  Waiters with a time (until_ns) are counted in sync->n_timed.
// I6  depth is 0 unless a recursive mutex is held.
//
// Memory. A mutex is never destroyed, so a record that knows nothing any more may go:
// the node's part if the token is AWAY and nobody waits, the manager's if the token is
// here and the type is the usual one. When there are more than locks_kept records, each
// new one has lock_tidy() look at some of the others, round and round: what was
// not used since it last came by goes, or, where the token is HERE, gives it back
// to the manager, and goes the next time. What is lost is who held the mutex last.
//
// A thread that holds a mutex ought not to move (sync_thread_holds()); if it
// has, its unlock is carried to the token (unlock_away), as is every unlock by
// a thread that holds nothing, so that the message can name the holder.
#include <stdio.h>

#include "sync/lock_priv.h"

typedef unsigned long long number;

enum { TIDY_PLACES = 16 }; // looked at for each new record

static void token_may_leave(struct waiter *release);
static void lock_tidy(struct sync *sync);

struct lock *lock_of(struct sync *sync, uint64_t key)
{
    struct lock *lock = table_find(&sync->locks, key);

    if (lock == NULL) {
        lock_tidy(sync);
        lock = table_get(&sync->locks, key);
        lock->release.wake = token_may_leave;
        lock->sync = sync;
        lock->key = key;
        lock->owner = NODE_NONE;
    }
    lock->was_used = true;
    return lock;
}

static void let_go(struct lock *lock)
{
    lock->token = TOKEN_LEAVING;
    lock->is_recalled = false;
    release_for(lock->sync, manager_of(lock->sync, lock->key), &lock->release);
}

static bool is_blank(const struct lock *lock)
{
    return lock->token == TOKEN_AWAY && lock->waiters.n == 0 &&
           lock->trying.n == 0 && lock_manager_is_blank(lock);
}

static void tidy_one(struct lock *lock)
{
    struct sync *sync = lock->sync;

    if (lock->was_used) {
        lock->was_used = false;
    } else if (is_blank(lock)) {
        sync->has_forgotten |= lock->was_held;
        table_drop(&sync->locks, lock->key);
    } else if (lock->token == TOKEN_HERE && !lock->is_held) {
        let_go(lock);
    }
}

/* A record is about to be added: may some of the others go? */
static void lock_tidy(struct sync *sync)
{
    const struct map *locks = &sync->locks.map;

    for (int i = 0; i < TIDY_PLACES && !sync->is_frozen && locks->n > 0 &&
                    locks->n >= sync->locks_kept;
         i++) {
        struct lock *lock = map_at(locks, sync->tidied++ % locks->capacity);

        if (lock != NULL) {
            tidy_one(lock);
        }
    }
}

static void ask(struct lock *lock, uint8_t only_try)
{
    struct message message = {.type = MESSAGE_lock_ask};

    message.u.lock_ask.key = lock->key;
    message.u.lock_ask.only_try = only_try;
    send_to(lock->sync, manager_of(lock->sync, lock->key), &message);
}

static void hand_to(struct lock *lock, struct waiter *waiter)
{
    lock->is_held = true;
    lock->depth = 0;
    lock->holder = waiter->thread;
    lock->holder_place = waiter->place;
    waiter_wake(waiter, waiter->is_over ? TM_ETIMEDOUT : TM_OK, 0);
}

/* A trylock, or one whose time was over from the start. */
static void fail_try(struct waiter *waiter)
{
    waiter_wake(waiter, waiter->until_ns > 0 ? TM_ETIMEDOUT : TM_EBUSY, 0);
}

static void fail_trying(struct lock *lock)
{
    while (lock->trying.n > 0) {
        fail_try(queue_pop(&lock->trying));
    }
}

static struct waiter *first_waiter(struct lock *lock)
{
    struct waiter *waiter = queue_pop(&lock->waiters);

    lock->sync->n_timed -= waiter->until_ns > 0; // I5
    return waiter;
}

static void token_may_leave(struct waiter *release)
{
    struct lock *lock = (struct lock *)release;
    struct message message = {.type = MESSAGE_lock_back};

    lock->token = TOKEN_AWAY;
    lock->is_asked = lock->waiters.n > 0;
    message.u.lock_back.key = lock->key;
    message.u.lock_back.again = lock->is_asked;
    message.u.lock_back.type = lock->type;
    message.u.lock_back.was_held = lock->was_held;
    message.u.lock_back.thread = lock->last;
    message.u.lock_back.place = lock->last_place;
    order_gives(lock->sync, lock->key, manager_of(lock->sync, lock->key));
    send_to(lock->sync, manager_of(lock->sync, lock->key), &message);
    if (lock->is_asked) {
        fail_trying(lock);
    } else if (lock->trying.n > 0) {
        ask(lock, 1);
    }
}

static void give_back(struct lock *lock, uint64_t place)
{
    if (lock->depth > 0) {
        lock->depth--;
        return;
    }
    lock->is_held = false;
    lock->was_held = true;
    lock->last = lock->holder;
    lock->last_place = place;
    if (lock->is_recalled) {
        let_go(lock);
    } else if (lock->waiters.n > 0) {
        hand_to(lock, first_waiter(lock));
    }
}

static void lock_or_wait(struct lock *lock, struct waiter *waiter)
{
    if (lock->token == TOKEN_HERE && !lock->is_held) {
        hand_to(lock, waiter);
        return;
    }
    queue_push(&lock->waiters, waiter);
    time_begins(lock->sync, waiter->until_ns); // I5
    if (lock->token == TOKEN_AWAY && !lock->is_asked) {
        lock->is_asked = true;
        ask(lock, 0);
    }
}

static void lock_or_fail(struct lock *lock, struct waiter *waiter)
{
    if (lock->token == TOKEN_HERE && !lock->is_held) {
        hand_to(lock, waiter);
    } else if (lock->token == TOKEN_HERE || lock->waiters.n > 0) {
        fail_try(waiter);
    } else {
        queue_push(&lock->trying, waiter);
        if (lock->token == TOKEN_AWAY && lock->trying.n == 1) {
            ask(lock, 1);
        }
    }
}

tm_status lock_receive_grant(struct sync *sync, node_id from,
                             const struct message *message)
{
    uint64_t key = message->u.lock_grant.key;
    uint8_t type = message->u.lock_grant.type;
    struct lock *lock;

    if (from != manager_of(sync, key) || type > TM_MUTEX_RECURSIVE) {
        return TM_EWIRE;
    }
    lock = lock_of(sync, key);
    if (lock->token != TOKEN_AWAY) {
        return TM_EWIRE;
    }
    lock->token = TOKEN_HERE;
    lock->is_asked = false;
    lock->type = type;
    if (lock->waiters.n + lock->trying.n > 0) {
        lock->is_recalled = message->u.lock_grant.recall != 0;
        hand_to(lock, lock->trying.n > 0 ? queue_pop(&lock->trying)
                                         : first_waiter(lock)); // I4
    } else if (message->u.lock_grant.recall) {
        let_go(lock); // it has crossed lock_cancel
    }
    fail_trying(lock);
    return TM_OK;
}

tm_status lock_receive_recall(struct sync *sync, node_id from,
                              const struct message *message)
{
    uint64_t key = message->u.lock_recall.key;
    uint8_t what = message->u.lock_recall.what;
    struct lock *lock = table_find(&sync->locks, key);

    if (from != manager_of(sync, key) || what < RECALL_TRY ||
        what > RECALL_WITHDRAWN) {
        return TM_EWIRE;
    }
    if (lock == NULL || lock->token != TOKEN_HERE) {
        return TM_OK; // it crosses lock_back
    }
    if (lock->is_recalled != (what == RECALL_WITHDRAWN)) {
        return TM_EWIRE;
    }
    if (!lock->is_held) {
        let_go(lock);
    } else if (what == RECALL_FOR_GOOD) {
        lock->is_recalled = true;
    } else {
        struct message decline = {.type = MESSAGE_lock_decline};

        lock->is_recalled = false;
        decline.u.lock_decline.key = key;
        send_to(sync, from, &decline);
    }
    return TM_OK;
}

tm_status lock_receive_busy(struct sync *sync, node_id from,
                            const struct message *message)
{
    uint64_t key = message->u.lock_busy.key;
    struct lock *lock = table_find(&sync->locks, key);

    if (from != manager_of(sync, key) || lock == NULL ||
        lock->token != TOKEN_AWAY || lock->trying.n == 0) {
        return TM_EWIRE;
    }
    fail_try(queue_pop(&lock->trying));
    if (lock->waiters.n > 0) {
        fail_trying(lock);
    } else if (lock->trying.n > 0) {
        ask(lock, 1); // these may have begun after the answer was given
    }
    return TM_OK;
}

static void lock_again(struct lock *lock, int only_try, struct waiter *waiter)
{
    if (lock->type != TM_MUTEX_RECURSIVE) {
        waiter_wake(waiter, only_try ? TM_EBUSY : TM_EDEADLK, 0);
    } else if (lock->depth == UINT32_MAX) {
        waiter_wake(waiter, TM_ELIMIT, 0);
    } else {
        lock->depth++;
        waiter_wake(waiter, TM_OK, 0);
    }
}

/* Whoever has waited long enough goes. */
static void give_up(struct lock *lock, uint64_t now_ns)
{
    struct sync *sync = lock->sync;
    struct message message = {.type = MESSAGE_lock_cancel};
    struct waiter_queue kept = {0};

    while (lock->waiters.n > 0) {
        struct waiter *waiter = queue_pop(&lock->waiters);

        if (waiter->until_ns > 0 && waiter->until_ns <= now_ns) {
            sync->n_timed--; // I5
            waiter_wake(waiter, TM_ETIMEDOUT, 0);
            continue;
        }
        queue_push(&kept, waiter);
        time_goes_on(sync, waiter->until_ns);
    }
    lock->waiters = kept;
    if (kept.n == 0 && lock->is_asked) {
        lock->is_asked = false; // I3
        message.u.lock_cancel.key = lock->key;
        send_to(sync, manager_of(sync, lock->key), &message);
    }
}

void lock_poll(struct sync *sync, uint64_t now_ns)
{
    struct lock *lock;

    for (size_t at = 0; (lock = table_next(&sync->locks, &at)) != NULL;) {
        if (lock->waiters.n > 0) {
            give_up(lock, now_ns);
        }
    }
}

/* ---- unlocking what is not held here ---- */

static void report_wrong_unlock(struct lock *lock, uint64_t thread,
                                uint64_t place)
{
    struct sync *sync = lock->sync;
    char here[PLACE_SIZE];
    char there[PLACE_SIZE];

    place_text(sync, ", in ", place, here);
    if (lock->is_held) {
        report_error(sync,
                     "thread %llu unlocks the mutex at 0x%llx which thread "
                     "%llu holds%s; thread %llu locked it%s",
                     (number)thread, (number)lock->key, (number)lock->holder,
                     here, (number)lock->holder,
                     place_text(sync, " in ", lock->holder_place, there));
    } else if (lock->was_held) {
        report_error(sync,
                     "thread %llu unlocks the mutex at 0x%llx which nobody "
                     "holds%s; thread %llu unlocked it last%s",
                     (number)thread, (number)lock->key, here,
                     (number)lock->last,
                     place_text(sync, ", in ", lock->last_place, there));
    } else {
        report_error(sync,
                     "thread %llu unlocks the mutex at 0x%llx which nobody "
                     "holds%s%s",
                     (number)thread, (number)lock->key, here,
                     sync->has_forgotten ? "" : "; nobody has locked it yet");
    }
}

static void unlock_away(const struct lock *lock, struct waiter *waiter)
{
    struct sync *sync = lock->sync;
    struct call *call = call_manager(sync, CALL_UNLOCK, lock->key, waiter);

    call->message.u.unlock_away.key = lock->key;
    call->message.u.unlock_away.token = call->token;
    call->message.u.unlock_away.thread = waiter->thread;
    call->message.u.unlock_away.node = sync->port->self;
    call->message.u.unlock_away.place = waiter->place;
    call_send(call, 0);
}

/* Where to look for the token from here; self: here or nowhere. A node that has
 * just given it back asks the manager again, who knows that by then. */
static node_id towards_token(const struct lock *lock)
{
    node_id self = lock->sync->port->self;

    if (lock->token != TOKEN_AWAY) {
        return self;
    }
    if (!is_manager(lock->sync, lock->key)) {
        return manager_of(lock->sync, lock->key);
    }
    return lock->owner == NODE_NONE ? self : lock->owner;
}

tm_status lock_receive_unlock(struct sync *sync, node_id from,
                              const struct message *message)
{
    uint64_t thread = message->u.unlock_away.thread;
    uint64_t key = message->u.unlock_away.key;
    node_id node = message->u.unlock_away.node;
    tm_status status = TM_OK;
    struct lock *lock;

    if (!roster_has(&sync->port->roster, node) ||
        (!is_manager(sync, key) && from != manager_of(sync, key))) {
        return TM_EWIRE;
    }
    lock = lock_of(sync, key);
    if (towards_token(lock) != sync->port->self) {
        send_to(sync, towards_token(lock), message);
    } else if (lock->owner == sync->port->self && lock->token == TOKEN_AWAY) {
        send_to(sync, sync->port->self, message); // its grant is on the way
    } else {
        if (lock->is_held && lock->holder == thread) {
            give_back(lock, message->u.unlock_away.place);
        } else {
            if (lock->type == TM_MUTEX_NORMAL) {
                report_wrong_unlock(lock, thread, message->u.unlock_away.place);
            }
            status = TM_EPERM;
        }
        answer(sync, node, message->u.unlock_away.token, status, 0);
    }
    return TM_OK;
}

/* ---- for others ---- */

tm_status lock_may_wait(const struct sync *sync, uint64_t key, uint64_t thread)
{
    const struct lock *lock = table_find(&sync->locks, key);

    if (lock == NULL || !lock->is_held || lock->holder != thread) {
        return TM_EPERM;
    }
    return lock->depth > 0 ? TM_EINVAL : TM_OK;
}

void lock_give_back(struct sync *sync, uint64_t key,
                    const struct waiter *waiter)
{
    give_back(lock_of(sync, key), waiter->place);
}

void sync_lock(struct sync *sync, uint64_t key, int only_try,
               struct waiter *waiter)
{
    struct lock *lock = lock_of(sync, key);

    if (lock->is_held && lock->holder == waiter->thread) {
        lock_again(lock, only_try, waiter);
    } else if (only_try || is_over(sync, waiter)) {
        lock_or_fail(lock, waiter);
    } else {
        lock_or_wait(lock, waiter);
    }
}

void sync_unlock(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    struct lock *lock = lock_of(sync, key);

    if (lock->is_held && lock->holder == waiter->thread) {
        give_back(lock, waiter->place);
        waiter_wake(waiter, TM_OK, 0);
    } else {
        unlock_away(lock, waiter);
    }
}

tm_status sync_lock_set_type(struct sync *sync, uint64_t key, uint64_t thread,
                             enum tm_mutex_type type)
{
    struct lock *lock = table_find(&sync->locks, key);

    if (lock == NULL || !lock->is_held || lock->holder != thread) {
        return TM_EPERM;
    }
    if (lock->depth > 0) {
        return TM_EBUSY;
    }
    lock->type = (uint8_t)type;
    return TM_OK;
}

void sync_keep_locks(struct sync *sync, size_t n)
{
    sync->locks_kept = n;
}

size_t sync_n_locks(const struct sync *sync)
{
    return sync->locks.map.n;
}

int sync_thread_holds(const struct sync *sync, uint64_t thread)
{
    const struct lock *lock;

    for (size_t at = 0; (lock = table_next(&sync->locks, &at)) != NULL;) {
        if (lock->is_held && lock->holder == thread) {
            return 1;
        }
    }
    return 0;
}

enum wait_line lock_wait_line(const struct sync *sync, uint32_t place,
                              uint32_t position, char *text, size_t size)
{
    const struct lock *lock;
    const struct waiter *waiter;

    if (place >= sync->locks.map.capacity) {
        return LINE_NO_PLACE;
    }
    lock = map_at(&sync->locks.map, place);
    if (lock == NULL) {
        return LINE_NEXT_PLACE;
    }
    waiter = queue_at(&lock->waiters, position);
    if (waiter != NULL && lock->is_held) {
        snprintf(text, size,
                 "thread %llu waits for mutex 0x%llx held by thread %llu",
                 (number)waiter->thread, (number)lock->key,
                 (number)lock->holder);
    } else if (waiter != NULL) {
        snprintf(text, size, "thread %llu waits for mutex 0x%llx",
                 (number)waiter->thread, (number)lock->key);
    } else if (position == lock->waiters.n && lock->is_recalled) {
        snprintf(text, size,
                 "thread %llu holds mutex 0x%llx, which another node waits for",
                 (number)lock->holder, (number)lock->key);
    } else {
        return LINE_NEXT_PLACE;
    }
    return LINE_WRITTEN;
}

static bool node_part_is_valid(const struct lock *lock)
{
    if (!queue_is_valid(&lock->waiters) || !queue_is_valid(&lock->trying) ||
        (lock->depth > 0 &&
         (!lock->is_held || lock->type != TM_MUTEX_RECURSIVE))) { // I6
        return false;
    }
    switch (lock->token) {
    case TOKEN_HERE:
        return !lock->is_asked && lock->trying.n == 0 &&
               (lock->is_held ||
                (lock->waiters.n == 0 && !lock->is_recalled)); // I2
    case TOKEN_AWAY:
        return !lock->is_held && !lock->is_recalled &&  // I1
               lock->is_asked == (lock->waiters.n > 0); // I3
    default:
        return !lock->is_held && !lock->is_recalled && !lock->is_asked;
    }
}

bool lock_is_valid(const struct sync *sync, const void *record)
{
    (void)sync;
    return node_part_is_valid(record) && lock_manager_is_valid(record);
}
