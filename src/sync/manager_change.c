// SPDX-License-Identifier: BSD-3-Clause
//
// Managers when nodes come and go. An object's manager is drawn from the roster, so
// with another roster most objects have another manager. This happens while nothing
// else does, on no node: no message is on its way, threads wait
// (reconfig/membership.c).
//
//   sync_roster_changed   calls that wait wait for another node now; who is in line for
//                         a mutex is forgotten
//   sync_spread           each node sends what it knows as a manager to the new ones:
//                         cond_part, sem_part, rwlock_part, rwlock_data, once_part,
//                         barrier_part; and
//                         what it has or wants of mutexes: lock_part, lock_last, lock_ask
//   sync_freeze           managers of mutexes do what those asks need
//
// A node that has left has no threads: it is in no queue, and holds no mutex; what
// it has are tokens, and parts of objects that it managed.
//
// M1 What a node has sent away it knows no more: the part is as in a new record.
// M2 Requests that do not fit into a message follow in the next; they add up in
//    their order.
#include <string.h>

#include "base/random.h"
#include "sync/barrier_priv.h"
#include "sync/lock_priv.h"

enum {
    REQUESTS_MAX = 4096, // of a message
    CLAIMS_MAX = 2048,
    VALUES_MAX = 8192,
};

static int was_manager(const struct sync *sync, uint64_t key)
{
    return roster_pick(&sync->before, random_mix(key)) == sync->port->self;
}

static int goes_away(const struct sync *sync, uint64_t key)
{
    return was_manager(sync, key) && !is_manager(sync, key);
}

// M3 Parts come while a change is under way, and to the new manager, or are refused.
static bool takes(const struct sync *sync, uint64_t key)
{
    return sync->is_frozen && is_manager(sync, key);
}

/* The same, of a part with requests: nodes that there are will be answered. */
static bool takes_requests(const struct sync *sync, uint64_t key,
                           const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    if (!takes(sync, key)) {
        return false;
    }
    while (wire_has_more(&reader)) {
        if (!roster_has(&sync->port->roster, wire_get_request(&reader).node)) {
            return false;
        }
    }
    return !reader.failed;
}

// ---- requests

/* Send a part, with all requests of a queue, which is empty then. */
static void send_part(struct sync *sync, uint64_t key, struct message *message,
                      struct request_queue *queue)
{
    do {
        uint8_t *body = scratch_get(sync, REQUESTS_MAX * WIRE_SIZE_request);
        struct wire_writer writer = {
            body, body + REQUESTS_MAX * WIRE_SIZE_request, 0};

        for (unsigned n = 0; n < REQUESTS_MAX && queue->first != NULL; n++) {
            struct request request = request_pop(sync, queue);

            wire_put_request(&writer, &(struct wire_request){
                                          .node = request.node,
                                          .only_try = request.only_try,
                                          .token = request.token,
                                      });
        }
        message->body = writer.at > body ? body : NULL;
        message->body_size = (uint32_t)(writer.at - body);
        send_to(sync, manager_of(sync, key), message);
    } while (queue->first != NULL);
}

static void take_requests(struct sync *sync, const struct message *message,
                          struct request_queue *queue)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_request request = wire_get_request(&reader);

        request_push(sync, queue,
                     (struct request){
                         .node = request.node,
                         .only_try = request.only_try,
                         .token = request.token,
                     });
    }
}

// ---- mutexes

/* M4 Who is in line for a mutex is forgotten by its manager, and the nodes tell the new
 * one: who has the token, that; who waits, by lock_ask, which is kept until all go on. Of
 * the token of a manager, or of a node that has left, all that matters is what kind of
 * mutex it is, and who had it. */
static void send_last(struct sync *sync, const struct lock *lock)
{
    struct message message = {.type = MESSAGE_lock_last};

    message.u.lock_last.key = lock->key;
    message.u.lock_last.type = lock->type;
    message.u.lock_last.was_held = lock->was_held;
    message.u.lock_last.thread = lock->last;
    message.u.lock_last.place = lock->last_place;
    lock_pack(sync, lock->key, manager_of(sync, lock->key), CARRY_MOVES,
              &message);
    send_to(sync, manager_of(sync, lock->key), &message);
}

static bool was_at_manager(const struct sync *sync, const struct lock *lock)
{
    return lock->token == TOKEN_AWAY && lock->owner == NODE_NONE &&
           goes_away(sync, lock->key) &&
           (lock->was_held || lock->type != TM_MUTEX_NORMAL);
}

static void spread_lock(struct sync *sync, struct lock *lock)
{
    const bool stays = roster_has(&sync->port->roster, sync->port->self);
    struct message message = {.type = MESSAGE_lock_part};

    if (was_at_manager(sync, lock) || (lock->token == TOKEN_HERE && !stays)) {
        send_last(sync, lock);
        lock->type = TM_MUTEX_NORMAL; // M1
        lock->was_held = false;
    } else if (lock->token == TOKEN_HERE) {
        message.u.lock_part.key = lock->key;
        send_to(sync, manager_of(sync, lock->key), &message);
    }
    lock_ask_anew(lock); // also where the token came back when all stood still
}

static void forget_line(struct sync *sync, struct lock *lock)
{
    (void)sync;
    lock_manager_forget(lock);
    lock->next = NODE_NONE;
    lock->passed_to = NODE_NONE;
    lock->is_recalled = false;
    lock->is_asked = false;
    lock->is_cancelled = false;
    lock->try = TRY_NONE;
}

tm_status lock_receive_part(struct sync *sync, node_id from,
                            const struct message *message)
{
    uint64_t key = message->u.lock_part.key;
    struct lock *lock;

    if (!takes(sync, key) || !roster_has(&sync->port->roster, from)) {
        return TM_EWIRE;
    }
    lock = lock_of(sync, key);
    if (lock->owner != NODE_NONE) {
        return TM_EWIRE; // another node has said so
    }
    lock->owner = from;
    return TM_OK;
}

tm_status lock_receive_last(struct sync *sync, node_id from,
                            const struct message *message)
{
    const struct message_lock_last *last = &message->u.lock_last;
    struct lock *lock;

    if (!takes(sync, last->key) || last->type > TM_MUTEX_RECURSIVE) {
        return TM_EWIRE;
    }
    lock = lock_of(sync, last->key);
    if (lock->token != TOKEN_AWAY || lock->owner != NODE_NONE ||
        lock_unpack(sync, last->key, from, CARRY_MOVES, message) != TM_OK) {
        return TM_EWIRE; // the token is elsewhere
    }
    lock->type = last->type;
    lock->was_held = last->was_held != 0;
    lock->last = last->thread;
    lock->last_place = last->place;
    return TM_OK;
}

static void for_each_lock(struct sync *sync,
                          void (*act)(struct sync *sync, struct lock *lock))
{
    struct lock *lock;

    for (size_t at = 0; (lock = table_next(&sync->locks, &at)) != NULL;) {
        act(sync, lock);
    }
}

static void let_go_on(struct sync *sync, struct lock *lock)
{
    if (is_manager(sync, lock->key)) {
        lock_manager_goes_on(lock);
    }
}

// ---- condition variables and semaphores

static void send_cond(struct sync *sync, void *record)
{
    struct cond *cond = record;
    struct message message = {.type = MESSAGE_cond_part};

    if (cond->waiting.first != NULL) {
        message.u.cond_part.key = cond->key;
        send_part(sync, cond->key, &message, &cond->waiting);
    }
}

tm_status cond_receive_part(struct sync *sync, node_id from,
                            const struct message *message)
{
    uint64_t key = message->u.cond_part.key;
    struct cond *cond;

    (void)from;
    if (!takes_requests(sync, key, message)) {
        return TM_EWIRE;
    }
    cond = object_get(&sync->conds, key);
    take_requests(sync, message, &cond->waiting);
    return TM_OK;
}

static void send_sem(struct sync *sync, void *record)
{
    struct sem *sem = record;
    struct message message = {.type = MESSAGE_sem_part};

    message.u.sem_part.key = sem->key;
    message.u.sem_part.is_initialised = sem->is_initialised;
    message.u.sem_part.value = sem->value;
    send_part(sync, sem->key, &message, &sem->waiting);
    sem->is_initialised = false; // M1
    sem->value = 0;
}

tm_status sem_receive_part(struct sync *sync, node_id from,
                           const struct message *message)
{
    const struct message_sem_part *part = &message->u.sem_part;
    struct sem *sem;

    (void)from;
    if (!takes_requests(sync, part->key, message) ||
        (message->body_size > 0 &&
         (part->value > 0 || !part->is_initialised))) {
        return TM_EWIRE;
    }
    sem = object_get(&sync->sems, part->key);
    sem->is_initialised = part->is_initialised;
    sem->value = part->value;
    take_requests(sync, message, &sem->waiting);
    return TM_OK;
}

// ---- reader-writer locks

static void write_claim(struct wire_writer *writer, struct request claim,
                        bool is_holder)
{
    wire_put_rwlock_claim(writer, &(struct wire_rwlock_claim){
                                      .n_times = is_holder ? claim.n_times : 0,
                                      .is_writer = claim.is_writer,
                                      .node = claim.node,
                                      .token = claim.token,
                                      .thread = claim.thread,
                                      .place = claim.place,
                                  });
}

static void send_rwlock_data(struct sync *sync, uint64_t key)
{
    struct message message = {.type = MESSAGE_rwlock_data};

    if (lock_has_data(sync, key)) {
        message.u.rwlock_data.key = key;
        lock_pack(sync, key, manager_of(sync, key), CARRY_MOVES, &message);
        send_to(sync, manager_of(sync, key), &message);
    }
}

tm_status rwlock_receive_data(struct sync *sync, node_id from,
                              const struct message *message)
{
    const uint64_t key = message->u.rwlock_data.key;

    if (!takes(sync, key) ||
        lock_unpack(sync, key, from, CARRY_MOVES, message) != TM_OK) {
        return TM_EWIRE;
    }
    (void)object_get(&sync->rwlocks, key);
    return TM_OK;
}

static void send_rwlock(struct sync *sync, void *record)
{
    struct rwlock *lock = record;
    struct message message = {.type = MESSAGE_rwlock_part};

    send_rwlock_data(sync, lock->key);
    message.u.rwlock_part.key = lock->key;
    while (lock->holders.first != NULL || lock->waiting.first != NULL) { // M1
        uint8_t *body = scratch_get(sync, CLAIMS_MAX * WIRE_SIZE_rwlock_claim);
        struct wire_writer writer = {
            body, body + CLAIMS_MAX * WIRE_SIZE_rwlock_claim, 0};

        for (unsigned n = 0; n < CLAIMS_MAX; n++) {
            const bool is_holder = lock->holders.first != NULL;
            struct request_queue *queue =
                is_holder ? &lock->holders : &lock->waiting;

            if (queue->first == NULL) {
                break;
            }
            write_claim(&writer, request_pop(sync, queue), is_holder);
        }
        message.body = body;
        message.body_size = (uint32_t)(writer.at - body);
        send_to(sync, manager_of(sync, lock->key), &message);
    }
}

static struct request read_claim(struct wire_reader *reader)
{
    const struct wire_rwlock_claim claim = wire_get_rwlock_claim(reader);

    return (struct request){
        .n_times = claim.n_times,
        .is_writer = claim.is_writer != 0,
        .node = claim.node,
        .token = claim.token,
        .thread = claim.thread,
        .place = claim.place,
    };
}

/* Do claims fit behind those that have come before? */
static bool claims_fit(const struct sync *sync, const struct rwlock *before,
                       const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    struct request holder; // the first
    struct rwlock so_far = {0};
    bool waits = false;

    if (before != NULL && before->holders.first != NULL) {
        holder = *before->holders.first;
        so_far.holders.first = &holder;
        waits = before->waiting.first != NULL;
    }
    while (reader.at < reader.end) {
        struct request claim = read_claim(&reader);
        const bool fits = rwlock_fits(&so_far, claim.is_writer);

        if ((claim.n_times == 0
                 ? !roster_has(&sync->port->roster, claim.node) ||
                       (!waits && fits)
                 : waits || !fits) ||
            (claim.is_writer && claim.n_times > 1)) {
            return false;
        }
        waits |= claim.n_times == 0;
        if (so_far.holders.first == NULL) {
            holder = claim;
            so_far.holders.first = &holder;
        }
    }
    return true;
}

tm_status rwlock_receive_part(struct sync *sync, node_id from,
                              const struct message *message)
{
    uint64_t key = message->u.rwlock_part.key;
    struct wire_reader reader = wire_read_body(message);
    struct rwlock *lock;

    (void)from;
    if (!takes(sync, key) || message->body_size == 0 ||
        !claims_fit(sync, table_find(&sync->rwlocks, key), message)) {
        return TM_EWIRE;
    }
    lock = object_get(&sync->rwlocks, key);
    while (reader.at < reader.end) {
        struct request claim = read_claim(&reader);

        if (claim.n_times > 0) {
            request_push(sync, &lock->holders, claim);
        } else {
            claim.n_times = 1;
            request_push(sync, &lock->waiting, claim);
        }
    }
    return TM_OK;
}

// ---- what is done once

static void send_once(struct sync *sync, void *record)
{
    struct once *once = record;
    struct message message = {.type = MESSAGE_once_part};

    if (once->state == ONCE_NEW) {
        return;
    }
    message.u.once_part.key = once->key;
    message.u.once_part.state = (uint8_t)once->state;
    message.u.once_part.thread = once->thread;
    send_part(sync, once->key, &message, &once->waiting);
    once->state = ONCE_NEW; // M1
}

tm_status once_receive_part(struct sync *sync, node_id from,
                            const struct message *message)
{
    const struct message_once_part *part = &message->u.once_part;
    struct once *once;

    (void)from;
    if (!takes_requests(sync, part->key, message) ||
        (part->state != ONCE_RUNNING &&
         (part->state != ONCE_DONE || message->body_size > 0))) {
        return TM_EWIRE;
    }
    once = object_get(&sync->onces, part->key);
    if (once->state != ONCE_NEW && once->state != part->state) {
        return TM_EWIRE;
    }
    once->state = (enum once_state)part->state;
    once->thread = part->thread;
    take_requests(sync, message, &once->waiting);
    return TM_OK;
}

// ---- barriers

static uint16_t write_counts(const struct barrier *barrier,
                             struct wire_writer *writer)
{
    uint16_t n = 0;

    for (unsigned i = 0; barrier->n_of_node != NULL && i < TM_MAX_NODES; i++) {
        if (barrier->n_of_node[i] > 0) {
            wire_put_arrived(writer, &(struct wire_arrived){
                                         (uint16_t)i, barrier->n_of_node[i]});
            n++;
        }
    }
    return n;
}

static void forget_meeting(struct barrier *barrier)
{
    barrier->count = 0;
    barrier->n_arrived = 0;
    barrier->n_values = 0;
    barrier->episode = 0;
    if (barrier->n_of_node != NULL) {
        memset(barrier->n_of_node, 0,
               TM_MAX_NODES * sizeof *barrier->n_of_node);
    }
}

static void send_barrier(struct sync *sync, void *record)
{
    struct barrier *barrier = record;
    size_t size =
        TM_MAX_NODES * WIRE_SIZE_arrived + VALUES_MAX * WIRE_SIZE_contribution;
    struct message message = {.type = MESSAGE_barrier_part};
    uint32_t sent = 0;

    if (barrier->count == 0) {
        return; // nobody meets there
    }
    message.u.barrier_part = (struct message_barrier_part){
        .key = barrier->key,
        .count = barrier->count,
        .count_place = barrier->count_place,
        .episode = barrier->episode,
        .first = barrier->first,
        .first_place = barrier->first_place,
        .most = barrier->most,
        .kind = barrier->kind,
        .op = barrier->op,
    };
    do {
        uint8_t *body = scratch_get(sync, size);
        struct wire_writer writer = {body, body + size, 0};

        message.u.barrier_part.n_nodes =
            sent == 0 ? write_counts(barrier, &writer) : 0;
        for (unsigned n = 0; n < VALUES_MAX && sent < barrier->n_values; n++) {
            wire_put_contribution(&writer, &barrier->values[sent++]);
        }
        message.body = writer.at > body ? body : NULL;
        message.body_size = (uint32_t)(writer.at - body);
        send_to(sync, manager_of(sync, barrier->key), &message);
    } while (sent < barrier->n_values);
    forget_meeting(barrier); // M1
}

/* Is it a part that a manager has sent, as far as that can be seen?
 * @param barrier  what has come before it, or NULL */
static bool part_fits(const struct sync *sync, const struct barrier *barrier,
                      const struct message *message)
{
    const struct message_barrier_part *part = &message->u.barrier_part;
    struct wire_reader reader = wire_read_body(message);
    uint64_t n_arrived = barrier == NULL ? 0 : barrier->n_arrived;
    uint64_t n_values = barrier == NULL ? 0 : barrier->n_values;

    if (part->count == 0 || part->kind > ARRIVE_INT64 || part->op > TM_MAX ||
        part->n_nodes > TM_MAX_NODES) {
        return false;
    }
    for (unsigned i = 0; i < part->n_nodes; i++) {
        const struct wire_arrived arrived = wire_get_arrived(&reader);

        if (!roster_has(&sync->port->roster, arrived.node)) {
            return false;
        }
        n_arrived += arrived.n_threads;
    }
    n_values += (size_t)(reader.end - reader.at) / WIRE_SIZE_contribution;
    return n_arrived < part->count &&
           n_values <= (kind_reduces(part->kind) ? n_arrived : 0);
}

static void take_part(struct barrier *barrier, const struct message *message)
{
    const struct message_barrier_part *part = &message->u.barrier_part;
    struct wire_reader reader = wire_read_body(message);

    barrier->count = part->count;
    barrier->count_place = part->count_place;
    barrier->episode = part->episode;
    barrier->first = part->first;
    barrier->first_place = part->first_place;
    barrier->most = part->most;
    barrier->kind = part->kind;
    barrier->op = part->op;
    if (barrier->n_of_node == NULL) {
        barrier_make_counts(barrier);
    }
    for (unsigned i = 0; i < part->n_nodes; i++) {
        const struct wire_arrived arrived = wire_get_arrived(&reader);

        barrier->n_of_node[arrived.node] += arrived.n_threads;
        barrier->ways[arrived.node] = NODE_NONE;
        barrier->n_arrived += arrived.n_threads;
    }
    barrier_keep_values(
        barrier, &reader,
        (uint32_t)((reader.end - reader.at) / WIRE_SIZE_contribution));
    if (barrier->n_arrived > 0) {
        barrier_expect(barrier);
    }
}

tm_status barrier_receive_part(struct sync *sync, node_id from,
                               const struct message *message)
{
    uint64_t key = message->u.barrier_part.key;

    (void)from;
    if (!takes(sync, key) ||
        !part_fits(sync, table_find(&sync->barriers, key), message)) {
        return TM_EWIRE;
    }
    take_part(barrier_of(sync, key), message);
    return TM_OK;
}

// ---- public

void sync_freeze(struct sync *sync, int is_frozen)
{
    const bool goes_on = sync->is_frozen && !is_frozen;

    sync->is_frozen = is_frozen != 0;
    if (is_frozen) {
        barriers_freeze(sync);
    }
    if (goes_on) {
        for_each_lock(sync, let_go_on);
    }
}

void sync_roster_changed(struct sync *sync, const struct roster *before)
{
    sync->before = *before;
    calls_turn(sync);
    for_each_lock(sync, forget_line);
    barriers_forget_ways(sync);
}

// Send the objects of a table that have another manager now.
static void spread(struct sync *sync, const struct table *objects,
                   void (*send)(struct sync *sync, void *record))
{
    void *record;

    for (size_t at = 0; (record = table_next(objects, &at)) != NULL;) {
        if (goes_away(sync, objects->map.entries[at - 1].key)) {
            send(sync, record);
        }
    }
}

void sync_spread(struct sync *sync)
{
    for_each_lock(sync, spread_lock);
    spread(sync, &sync->conds, send_cond);
    spread(sync, &sync->sems, send_sem);
    spread(sync, &sync->rwlocks, send_rwlock);
    spread(sync, &sync->onces, send_once);
    spread(sync, &sync->barriers, send_barrier);
}
