// SPDX-License-Identifier: BSD-3-Clause
//
// Mutexes, the node's part. A mutex has one token. The node that has it grants
// the mutex to its own threads without any message; the token goes to another node only
// when that asks for it. The manager names that node (lock_manager.c), and the token goes
// straight there.
//
//   token    event                              what happens        then
//   AWAY     sync_lock, the first               lock_ask            AWAY
//   AWAY     lock_grant                         the first has it    HERE
//   AWAY     lock_busy                          a trylock fails     AWAY
//   AWAY     the last has waited long enough    lock_cancel         AWAY
//   AWAY     lock_cancelled                     is not in line      AWAY
//   AWAY     lock_grant, nobody waits any more  kept, or passed on  HERE, LEAVING
//   AWAY     lock_recall: to the next           is noted            AWAY
//   HERE     sync_lock, free                    granted at once     HERE
//   HERE     sync_unlock, nobody else wants it  the next has it     HERE
//   HERE     sync_unlock, another node wants it release             LEAVING
//   HERE     lock_recall: to the next, free     release             LEAVING
//   HERE     lock_recall: to the next, held     is noted            HERE
//   HERE     lock_recall: if free               release             LEAVING
//   HERE     lock_recall: if free, held         lock_decline        HERE
//   HERE     lock_recall: withdrawn             lock_decline        HERE
//   LEAVING  the release is done                lock_grant to the next, or
//                                               lock_back to the manager AWAY
//
// When others want it (is_wanted) no further thread of the node gets the mutex: two nodes
// that both want it always take turns, thread by thread. The release stands between
// the last local unlock and the message with the token, and is for the node that this goes
// to, so whoever is granted the mutex elsewhere sees everything written under it here; local
// hand-offs need none, the memory is the same.
//
// The token goes to the manager if no next one is known, or this node wants it again: then
// it is in line again without another message. If the manager is the next one, or here, it
// goes by there too, since no message more is sent for that.
//
// I1  held implies HERE.
// I2  HERE and not held implies no waiters, and nobody else that wants it.
// I3  AWAY: `is_asked` if there are waiters, unless a trylock is to be answered first; a
//     trylock is on its way (`try`) if `trying` is not empty. So the manager hears of a
//     wish for good only when it has answered all trylocks of this node.
// I4  waiters and `trying` together, AWAY: `trying` was first.
// I5  Waiters with a time (until_ns) are counted in sync->n_timed.
// I6  depth is 0 unless a recursive mutex is held.
// I7  A lock_recall "if free" is answered once: by lock_decline, or by lock_back. It goes
//     on behind the token to where that went; so it is never before it, and finds it. It
//     may be before a lock_recall that names the next, which has another way: so it says
//     who is the last in line, and only that one gives the token back.
//
// Memory. A mutex is never destroyed, so a record that knows nothing any more may go:
// the node's part if the token is AWAY and nobody waits, the manager's if the token is
// here and the type is the usual one. When there are more than locks_kept records, each
// new one has lock_tidy() look at some of the others, round and round: what was
// not used since it last came by goes, or, where the token is HERE, tells the manager,
// which takes it back, and goes another time. What is lost is who held the mutex last,
// and to whom the token went from here: the manager knows that too.
//
// A thread that holds a mutex ought not to move (sync_thread_holds()); if it
// has, its unlock is carried to the token (unlock_away), as is every unlock by
// a thread that holds nothing, so that the message can name the holder.
//
// Where anyone may unlock (sync_let_anyone_unlock()) a mutex of the usual kind is not its
// holder's: the unlock of another thread counts, one of a mutex that nobody holds does nothing,
// and who locks it twice waits for another's unlock. Such an unlock is a release of its own
// before it is carried away, since the writes of that thread go along with no token.
//
// Nothing is heard of memory that is freed with a mutex in it that is held. So who makes a mutex
// there again has it unlocked (sync_lock_renew()), which costs a message only where this node
// has a record of it and the token is elsewhere.
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
        lock->next = NODE_NONE;
        lock->passed_to = NODE_NONE;
        lock->try_until = NODE_NONE;
    }
    lock->was_used = true;
    return lock;
}

/* Does another node want the token, as far as this one has been told? */
static bool is_wanted(const struct lock *lock)
{
    return lock->is_recalled || lock->next != NODE_NONE;
}

static void let_go(struct lock *lock)
{
    const node_id manager = manager_of(lock->sync, lock->key);
    const node_id self = lock->sync->port->self;
    const bool is_direct = lock->next != NODE_NONE && lock->next != manager &&
                           manager != self && lock->waiters.n == 0;
    node_id first = is_direct ? lock->next : manager;

    lock->token = TOKEN_LEAVING;
    lock->leaves_to = first;
    if (manager == self && lock->next != NODE_NONE) {
        first = lock->next; // the manager here sends it there at once
    }
    release_for(lock->sync, first, &lock->release);
}

static bool is_blank(const struct lock *lock)
{
    return lock->token == TOKEN_AWAY && lock->waiters.n == 0 &&
           !lock->is_asked && lock->try == TRY_NONE &&
           lock_manager_is_blank(lock) && !lock_has_data(lock->sync, lock->key);
}

static void ask(struct lock *lock, enum lock_wish what)
{
    struct message message = {.type = MESSAGE_lock_ask};

    lock->is_asked |= what == WISH_FOR_GOOD;
    if (what == WISH_TRY) {
        lock->try = TRY_ASKED;
    }
    message.u.lock_ask.key = lock->key;
    message.u.lock_ask.what = (uint8_t)what;
    send_to(lock->sync, manager_of(lock->sync, lock->key), &message);
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
        lock->was_used = true; // until that is answered
        ask(lock, WISH_NONE);
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

static void decline(struct sync *sync, uint64_t key, bool is_gone)
{
    struct message message = {.type = MESSAGE_lock_decline};

    message.u.lock_decline.key = key;
    message.u.lock_decline.is_gone = is_gone;
    send_to(sync, manager_of(sync, key), &message);
}

static void set_held(struct lock *lock, bool is_held)
{
    lock->is_held = is_held;
    lock->sync->ops.held(lock->sync->ops.owner, lock->key, is_held);
}

static void hand_to(struct lock *lock, struct waiter *waiter)
{
    if (lock->try_until != NODE_NONE) {
        lock->try_until = NODE_NONE;
        decline(lock->sync, lock->key, false);
    }
    set_held(lock, true);
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

/* To the manager. @param again  this node is in line again */
static void send_back(struct lock *lock, bool again)
{
    struct message message = {.type = MESSAGE_lock_back};
    struct message_lock_back *back = &message.u.lock_back;

    back->key = lock->key;
    back->again = again;
    back->is_answer = lock->try_until != NODE_NONE;
    back->type = lock->type;
    back->was_held = lock->was_held;
    back->thread = lock->last;
    back->place = lock->last_place;
    lock_order(lock, lock->leaves_to, SYNC_GIVES);
    lock_pack(lock->sync, lock->key, lock->leaves_to, CARRY_MOVES, &message);
    send_to(lock->sync, lock->leaves_to, &message);
}

static void send_try(struct lock *lock, node_id to, node_id until)
{
    struct message message = {.type = MESSAGE_lock_recall};

    message.u.lock_recall.key = lock->key;
    message.u.lock_recall.what = RECALL_TRY;
    message.u.lock_recall.next = until;
    send_to(lock->sync, to, &message);
}

static void send_on(struct lock *lock)
{
    struct message message = {.type = MESSAGE_lock_grant};
    struct message_lock_grant *grant = &message.u.lock_grant;

    grant->key = lock->key;
    grant->next = NODE_NONE; // which the manager tells
    grant->recall = lock->is_recalled;
    grant->type = lock->type;
    grant->was_held = lock->was_held;
    grant->thread = lock->last;
    grant->place = lock->last_place;
    lock_order(lock, lock->leaves_to, SYNC_PASSES);
    lock_pack(lock->sync, lock->key, lock->leaves_to, CARRY_MOVES, &message);
    send_to(lock->sync, lock->leaves_to, &message);
    if (lock->try_until != NODE_NONE) {
        send_try(lock, lock->leaves_to, lock->try_until); // I7
    }
}

void lock_ask_anew(struct lock *lock)
{
    if (lock->token != TOKEN_AWAY || lock->is_asked || lock->try != TRY_NONE) {
        return;
    }
    if (lock->waiters.n > 0) {
        fail_trying(lock); // I3
        ask(lock, WISH_FOR_GOOD);
    } else if (lock->trying.n > 0) {
        ask(lock, WISH_TRY);
    }
}

static void token_may_leave(struct waiter *release)
{
    struct lock *lock = (struct lock *)release;
    const bool is_direct = lock->leaves_to != manager_of(lock->sync, lock->key);

    lock->token = TOKEN_AWAY;
    if (is_direct) {
        send_on(lock);
    } else {
        lock->is_asked = lock->waiters.n > 0 && lock->try == TRY_NONE; // I3
        send_back(lock, lock->is_asked);
    }
    lock->passed_to = is_direct ? lock->leaves_to : NODE_NONE;
    lock->next = NODE_NONE;
    lock->is_recalled = false;
    lock->try_until = NODE_NONE;
    lock_forget_last(lock);
    if (lock->waiters.n > 0) {
        fail_trying(lock);
    }
    lock_ask_anew(lock);
}

/* Is it one that others than its holder unlock? As far as is known here: true where the
 * token is. */
static bool is_open(const struct lock *lock)
{
    return lock->sync->anyone_unlocks && lock->type == TM_MUTEX_NORMAL;
}

static bool holds(const struct lock *lock, uint64_t thread)
{
    return lock->is_held && lock->holder == thread;
}

static bool may_unlock(const struct lock *lock, uint64_t thread)
{
    return holds(lock, thread) || (lock->is_held && is_open(lock));
}

static void give_back(struct lock *lock, uint64_t place)
{
    if (lock->depth > 0) {
        lock->depth--;
        return;
    }
    set_held(lock, false);
    lock->was_held = true;
    lock->last = lock->holder;
    lock->last_place = place;
    if (is_wanted(lock)) {
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
    lock_ask_anew(lock);
}

static void lock_or_fail(struct lock *lock, struct waiter *waiter)
{
    if (lock->token == TOKEN_HERE && !lock->is_held) {
        hand_to(lock, waiter);
    } else if (lock->token == TOKEN_HERE || lock->waiters.n > 0) {
        fail_try(waiter);
    } else {
        queue_push(&lock->trying, waiter);
        if (lock->token == TOKEN_AWAY && lock->try == TRY_NONE) {
            ask(lock, WISH_TRY);
        }
    }
}

/* Can this be who gets the token next, as told? */
static bool is_next(const struct sync *sync, node_id node)
{
    return node == NODE_NONE ||
           (node != sync->port->self && roster_has(&sync->port->roster, node));
}

/* From the manager, or from a node to which it has named this one. */
static bool may_take(const struct lock *lock, node_id from)
{
    const struct sync *sync = lock->sync;

    return lock->token == TOKEN_AWAY &&
           (from == manager_of(sync, lock->key) ||
            (lock->is_asked && roster_has(&sync->port->roster, from)));
}

static void take_token(struct lock *lock,
                       const struct message_lock_grant *grant)
{
    lock->token = TOKEN_HERE;
    lock->is_asked = false;
    lock->is_cancelled = false;
    lock->passed_to = NODE_NONE;
    lock->is_recalled = grant->recall != 0;
    if (grant->next != NODE_NONE) {
        lock->next = grant->next;
    }
    lock->type = grant->type;
    lock->was_held = grant->was_held != 0;
    lock->last = grant->thread;
    lock->last_place = grant->place;
    if (grant->is_try) {
        lock->try = TRY_NONE;
    } else if (lock->try == TRY_ASKED) {
        lock->try = TRY_STALE;
    }
}

tm_status lock_receive_grant(struct sync *sync, node_id from,
                             const struct message *message)
{
    const struct message_lock_grant *grant = &message->u.lock_grant;
    struct lock *lock;

    if (!roster_has(&sync->port->roster, from) ||
        grant->type > TM_MUTEX_RECURSIVE || !is_next(sync, grant->next)) {
        return TM_EWIRE;
    }
    lock = lock_of(sync, grant->key);
    if (!may_take(lock, from) ||
        lock_unpack(sync, grant->key, from, CARRY_MOVES, message) != TM_OK) {
        return TM_EWIRE;
    }
    take_token(lock, grant);
    if (lock->waiters.n + lock->trying.n > 0) {
        hand_to(lock, lock->trying.n > 0 ? queue_pop(&lock->trying)
                                         : first_waiter(lock)); // I4
    } else if (is_wanted(lock)) {
        let_go(lock); // nobody waits any more
    }
    fail_trying(lock);
    return TM_OK;
}

/* I7. Who waits for good is in the middle of locking: the trylock comes behind. Who is not
 * the last in line will be told who gets the token next. */
static void answer_try(struct lock *lock, node_id until)
{
    if (lock->token == TOKEN_LEAVING) {
        lock->try_until = until;
    } else if (lock->is_held || (lock->is_asked && lock->waiters.n > 0)) {
        decline(lock->sync, lock->key, false);
    } else if (lock->token == TOKEN_HERE) {
        lock->try_until = until;
        if (until == lock->sync->port->self) {
            let_go(lock);
        }
    } else if (lock->passed_to != NODE_NONE) {
        send_try(lock, lock->passed_to, until);
    } else {
        decline(lock->sync, lock->key, true);
    }
}

static tm_status note_next(struct lock *lock, node_id next)
{
    if (lock->token == TOKEN_LEAVING || is_wanted(lock) ||
        (lock->token == TOKEN_AWAY && !lock->is_asked)) {
        return TM_EWIRE;
    }
    lock->next = next;
    if (lock->token == TOKEN_HERE && !lock->is_held) {
        let_go(lock);
    }
    return TM_OK;
}

static void forget_next(struct lock *lock, node_id next)
{
    const bool is_gone = lock->token == TOKEN_LEAVING || lock->next != next;

    if (!is_gone) {
        lock->next = NODE_NONE;
    }
    decline(lock->sync, lock->key, is_gone);
}

tm_status lock_receive_recall(struct sync *sync, node_id from,
                              const struct message *message)
{
    const struct message_lock_recall *recall = &message->u.lock_recall;
    struct lock *lock;

    if (!roster_has(&sync->port->roster, from) ||
        (from != manager_of(sync, recall->key) && recall->what != RECALL_TRY) ||
        !roster_has(&sync->port->roster, recall->next)) {
        return TM_EWIRE;
    }
    lock = lock_of(sync, recall->key);
    switch (recall->what) {
    case RECALL_TRY:
        answer_try(lock, recall->next);
        return TM_OK;
    case RECALL_TO_NEXT:
        return is_next(sync, recall->next) ? note_next(lock, recall->next)
                                           : TM_EWIRE;
    case RECALL_WITHDRAWN:
        forget_next(lock, recall->next);
        return TM_OK;
    default:
        return TM_EWIRE;
    }
}

tm_status lock_receive_busy(struct sync *sync, node_id from,
                            const struct message *message)
{
    uint64_t key = message->u.lock_busy.key;
    struct lock *lock = table_find(&sync->locks, key);

    if (from != manager_of(sync, key) || lock == NULL ||
        lock->try == TRY_NONE) {
        return TM_EWIRE;
    }
    if (lock->try == TRY_ASKED) {
        fail_try(queue_pop(&lock->trying));
    }
    lock->try = TRY_NONE;
    if (lock->waiters.n > 0) {
        fail_trying(lock);
    }
    lock_ask_anew(lock); // those may have begun after the answer was given
    return TM_OK;
}

tm_status lock_receive_cancelled(struct sync *sync, node_id from,
                                 const struct message *message)
{
    uint64_t key = message->u.lock_cancelled.key;
    struct lock *lock = table_find(&sync->locks, key);

    if (from != manager_of(sync, key) || lock == NULL || !lock->is_asked ||
        lock->next != NODE_NONE) {
        return TM_EWIRE;
    }
    lock->is_asked = false;
    lock->is_cancelled = false;
    lock_ask_anew(lock);
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
    if (kept.n == 0 && lock->is_asked && !lock->is_cancelled) {
        lock->is_cancelled = true;
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

static void unlock_away(const struct lock *lock, bool is_renewal,
                        struct waiter *waiter)
{
    struct sync *sync = lock->sync;
    struct call *call = call_manager(sync, CALL_UNLOCK, lock->key, waiter);

    call->message.u.unlock_away.is_renewal = is_renewal;
    call->message.u.unlock_away.key = lock->key;
    call->message.u.unlock_away.token = call->token;
    call->message.u.unlock_away.thread = waiter->thread;
    call->message.u.unlock_away.node = sync->port->self;
    call->message.u.unlock_away.place = waiter->place;
    call_send(call, sync->anyone_unlocks);
}

/* Where to look for the token from here; self: here or nowhere. Who has given it back, or
 * has forgotten its record, asks the manager.
 * @param missed  at the manager: who has not found it, or NODE_NONE */
static node_id towards_token(const struct lock *lock, node_id missed)
{
    const struct sync *sync = lock->sync;
    const node_id self = sync->port->self;

    if (lock->token != TOKEN_AWAY) {
        return self;
    }
    if (is_manager(sync, lock->key)) {
        return lock->owner == NODE_NONE ? self
                                        : lock_token_is_beyond(lock, missed);
    }
    return lock->passed_to != NODE_NONE ? lock->passed_to
                                        : manager_of(sync, lock->key);
}

/* Is no message behind another one still to bring the token here? */
static bool is_settled_here(const struct lock *lock)
{
    return lock->token != TOKEN_AWAY || lock->owner == NODE_NONE;
}

/* It is a new mutex: nobody holds it, or has held it. */
static void renew(struct lock *lock)
{
    if (lock->is_held) {
        lock->depth = 0;
        give_back(lock, 0);
    }
    lock_forget_last(lock);
}

/* Where the token is, or that is at the manager and nobody holds the mutex. */
static tm_status unlock_here(struct lock *lock,
                             const struct message_unlock_away *unlock)
{
    tm_status status = TM_OK;

    order_comes(lock->sync, lock->key);
    if (unlock->is_renewal) {
        renew(lock);
    } else if (may_unlock(lock, unlock->thread)) {
        give_back(lock, unlock->place);
    } else if (!is_open(lock)) {
        if (lock->type == TM_MUTEX_NORMAL) {
            report_wrong_unlock(lock, unlock->thread, unlock->place);
        }
        status = TM_EPERM;
    }
    return status;
}

tm_status lock_receive_unlock(struct sync *sync, node_id from,
                              const struct message *message)
{
    uint64_t key = message->u.unlock_away.key;
    node_id node = message->u.unlock_away.node;
    struct lock *lock;
    node_id to;

    if (!roster_has(&sync->port->roster, node)) {
        return TM_EWIRE;
    }
    lock = lock_of(sync, key);
    to = towards_token(lock,
                       message->u.unlock_away.is_missed ? from : NODE_NONE);
    if (to != sync->port->self || !is_settled_here(lock)) {
        struct message on = *message;

        on.u.unlock_away.is_missed =
            !is_manager(sync, key) && to == manager_of(sync, key);
        order_relays(sync, key, to);
        send_to(sync, to, &on);
    } else {
        answer(sync, node, message->u.unlock_away.token,
               unlock_here(lock, &message->u.unlock_away), 0);
    }
    return TM_OK;
}

/* ---- for others ---- */

tm_status lock_may_wait(const struct sync *sync, uint64_t key, uint64_t thread)
{
    const struct lock *lock = table_find(&sync->locks, key);

    if (lock == NULL || !holds(lock, thread)) {
        return TM_EPERM;
    }
    return lock->depth > 0 ? TM_EINVAL : TM_OK;
}

void lock_give_back(struct sync *sync, uint64_t key,
                    const struct waiter *waiter)
{
    struct lock *lock = lock_of(sync, key);

    if (holds(lock, waiter->thread)) { // another may have unlocked it since
        give_back(lock, waiter->place);
    }
}

void sync_lock(struct sync *sync, uint64_t key, int only_try,
               struct waiter *waiter)
{
    struct lock *lock = lock_of(sync, key);

    if (holds(lock, waiter->thread) && !is_open(lock)) {
        lock_again(lock, only_try, waiter);
    } else if (only_try || is_over(sync, waiter)) {
        lock_or_fail(lock, waiter);
    } else {
        lock_or_wait(lock, waiter);
    }
}

int sync_lock_is_busy(const struct sync *sync, uint64_t key, uint64_t thread)
{
    const struct lock *lock = table_find(&sync->locks, key);

    return lock != NULL && lock->is_held && lock->holder != thread &&
           lock->waiters.n == 0 && !is_wanted(lock);
}

void sync_unlock(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    struct lock *lock = lock_of(sync, key);

    if (may_unlock(lock, waiter->thread)) {
        give_back(lock, waiter->place);
        waiter_wake(waiter, TM_OK, 0);
    } else {
        unlock_away(lock, false, waiter);
    }
}

void sync_lock_renew(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    struct lock *lock = table_find(&sync->locks, key);

    if (lock != NULL && (towards_token(lock, NODE_NONE) != sync->port->self ||
                         !is_settled_here(lock))) {
        unlock_away(lock, true, waiter);
        return;
    }
    if (lock != NULL) {
        renew(lock);
    }
    waiter_wake(waiter, TM_OK, 0);
}

tm_status sync_lock_set_type(struct sync *sync, uint64_t key, uint64_t thread,
                             enum tm_mutex_type type)
{
    struct lock *lock = table_find(&sync->locks, key);

    if (lock == NULL || !holds(lock, thread)) {
        return TM_EPERM;
    }
    if (lock->depth > 0) {
        return TM_EBUSY;
    }
    lock->type = (uint8_t)type;
    return TM_OK;
}

void sync_let_anyone_unlock(struct sync *sync)
{
    sync->anyone_unlocks = true;
}

void sync_keep_locks(struct sync *sync, size_t n)
{
    sync->locks_kept = n;
}

size_t sync_n_locks(const struct sync *sync)
{
    return sync->locks.map.n;
}

bool lock_is_held_by(const struct sync *sync, uint64_t key, uint64_t thread)
{
    const struct lock *lock = table_find(&sync->locks, key);

    return lock != NULL && holds(lock, thread);
}

bool lock_holds_any(const struct sync *sync, uint64_t thread)
{
    const struct lock *lock;

    for (size_t at = 0; (lock = table_next(&sync->locks, &at)) != NULL;) {
        if (holds(lock, thread)) {
            return true;
        }
    }
    return false;
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
    if (waiter != NULL && holds(lock, waiter->thread)) {
        snprintf(text, size,
                 "thread %llu waits for mutex 0x%llx, which it holds itself",
                 (number)waiter->thread, (number)lock->key);
    } else if (waiter != NULL && lock->is_held) {
        snprintf(text, size,
                 "thread %llu waits for mutex 0x%llx held by thread %llu",
                 (number)waiter->thread, (number)lock->key,
                 (number)lock->holder);
    } else if (waiter != NULL) {
        snprintf(text, size, "thread %llu waits for mutex 0x%llx",
                 (number)waiter->thread, (number)lock->key);
    } else if (position == lock->waiters.n && lock->is_held &&
               is_wanted(lock)) {
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
                (lock->waiters.n == 0 && !is_wanted(lock))); // I2
    case TOKEN_AWAY:
        return !lock->is_held && !lock->is_recalled && // I1
               (lock->is_asked || lock->next == NODE_NONE) &&
               (lock->is_asked || lock->try != TRY_NONE ||
                lock->waiters.n == 0) && // I3
               (lock->trying.n == 0 || lock->try != TRY_NONE);
    default:
        return !lock->is_held && !lock->is_asked;
    }
}

bool lock_is_valid(const struct sync *sync, const void *record)
{
    (void)sync;
    return node_part_is_valid(record) && lock_manager_is_valid(record);
}
