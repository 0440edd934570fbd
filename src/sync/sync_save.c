// SPDX-License-Identifier: BSD-3-Clause
//
// Synchronisation objects and the list of threads, in a checkpoint and out of it. It is made
// while no thread runs but main(), which waits for the end of another, and nothing is on its
// way (runtime/checkpoint.c). So nobody waits for an object, and objects are what remains
// then: a count, a value, a kind, "it is done". Of what was saved each is made anew by the
// call that made it first: managers are others by then.
//
//   sync_save        a manager's parts, as messages that move them to another manager; the
//                    root adds keys and threads
//   sync_restore     a part is there again: such a call
//   sync_hold_threads   while main() prepares a run that goes on from a checkpoint, the
//                    threads that it creates do not start: they are in the checkpoint
//   sync_restore_threads   the list is that of the checkpoint
//
// V1 The list that is restored has the threads' numbers, also the highest one ever given:
//    those that come are higher, as in the run that was saved.
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "sync/barrier_priv.h"
#include "sync/lock_priv.h"
#include "sync/thread_registry_priv.h"

// ---- may it be saved?

static bool lock_is_held(const void *record)
{
    const struct lock *lock = record;

    return lock->token == TOKEN_HERE && lock->is_held;
}

static bool rwlock_is_held(const void *record)
{
    const struct rwlock *lock = record;

    return lock->holders.first != NULL || lock->own.first != NULL;
}

static bool once_is_running(const void *record)
{
    return ((const struct once *)record)->state == ONCE_RUNNING;
}

static bool barrier_has_some(const void *record)
{
    return ((const struct barrier *)record)->n_arrived > 0;
}

static bool has_such(const struct table *objects,
                     bool (*is_such)(const void *record))
{
    const void *record;

    for (size_t at = 0; (record = table_next(objects, &at)) != NULL;) {
        if (is_such(record)) {
            return true;
        }
    }
    return false;
}

const char *sync_why_unsaved(const struct sync *sync)
{
    if (has_such(&sync->locks, lock_is_held)) {
        return "a mutex is held";
    }
    if (has_such(&sync->rwlocks, rwlock_is_held)) {
        return "a reader-writer lock is held";
    }
    if (has_such(&sync->onces, once_is_running)) {
        return "a function of tm_once_run() is under way";
    }
    return has_such(&sync->barriers, barrier_has_some)
               ? "a thread waits at a barrier"
               : NULL;
}

// ---- saving

static void put(const struct port *to, enum message_type type,
                struct message message)
{
    message.type = type;
    port_send(to, ROOT, &message);
}

// Where the token is, its kind is known; a manager that has it has no record of it as held.
static void save_lock(const struct port *to, const struct lock *lock)
{
    struct message message = {0};

    if (lock->type != TM_MUTEX_NORMAL &&
        (lock->token == TOKEN_HERE || lock->owner == NODE_NONE)) {
        message.u.lock_last.key = lock->key;
        message.u.lock_last.type = lock->type;
        put(to, MESSAGE_lock_last, message);
    }
}

static void save_sem(const struct port *to, const struct sem *sem)
{
    struct message message = {0};

    if (sem->is_initialised) {
        message.u.sem_part.key = sem->key;
        message.u.sem_part.is_initialised = 1;
        message.u.sem_part.value = sem->value;
        put(to, MESSAGE_sem_part, message);
    }
}

static void save_once(const struct port *to, const struct once *once)
{
    struct message message = {0};

    if (once->state == ONCE_DONE) {
        message.u.once_part.key = once->key;
        message.u.once_part.state = (uint8_t)once->state;
        message.u.once_part.thread = once->thread;
        put(to, MESSAGE_once_part, message);
    }
}

static void save_barrier(const struct port *to, const struct barrier *barrier)
{
    struct message message = {0};

    if (barrier->count > 0) {
        message.u.barrier_part.key = barrier->key;
        message.u.barrier_part.count = barrier->count;
        message.u.barrier_part.count_place = barrier->count_place;
        put(to, MESSAGE_barrier_part, message);
    }
}

static void save_objects(const struct sync *sync, const struct port *to)
{
    const void *record;

    for (size_t at = 0; (record = table_next(&sync->locks, &at)) != NULL;) {
        save_lock(to, record);
    }
    for (size_t at = 0; (record = table_next(&sync->sems, &at)) != NULL;) {
        save_sem(to, record);
    }
    for (size_t at = 0; (record = table_next(&sync->onces, &at)) != NULL;) {
        save_once(to, record);
    }
    for (size_t at = 0; (record = table_next(&sync->barriers, &at)) != NULL;) {
        save_barrier(to, record);
    }
}

static void save_keys(const struct sync *sync, const struct port *to)
{
    for (uint32_t i = 0; i < sync->n_keys; i++) {
        const struct key_record *key = &sync->keys[i];
        struct message message = {0};

        message.u.saved_key.key = key->number;
        message.u.saved_key.destructor = key->destructor;
        message.u.saved_key.is_used = key->is_used;
        put(to, MESSAGE_saved_key, message);
    }
}

static void save_record(const struct port *to,
                        const struct thread_record *thread)
{
    struct message message = {0};
    uint8_t body[sizeof thread->name + 1];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_thread_name(&writer, &(struct wire_thread_name){thread->name});
    message.u.saved_thread = (struct message_saved_thread){
        .thread = thread->number,
        .state = (uint8_t)thread->state,
        .is_detached = thread->is_detached,
        .start = thread->start,
        .arg = thread->arg,
        .result = thread->result,
        .creator = thread->creator,
        .moves = thread->moves,
    };
    message.body = body;
    message.body_size = (uint32_t)(writer.at - body);
    put(to, MESSAGE_saved_thread, message);
}

static void save_ended(const struct table *ended, const struct port *to)
{
    const uint64_t *result;

    for (size_t at = 0; (result = table_next(ended, &at)) != NULL;) {
        struct message message = {0};

        message.u.saved_result.thread = ended->map.entries[at - 1].key;
        message.u.saved_result.result = *result;
        put(to, MESSAGE_saved_result, message);
    }
}

static void save_threads(const struct thread_registry *registry,
                         const struct port *to)
{
    struct message message = {0};

    message.u.saved_threads.last = registry->last_number;
    message.u.saved_threads.most = registry->n_threads;
    put(to, MESSAGE_saved_threads, message);
    for (uint32_t slot = 1; slot < registry->n_threads; slot++) {
        save_record(to, &registry->threads[slot]);
    }
    save_ended(&registry->ended, to);
}

void sync_save(const struct sync *sync, const struct port *to)
{
    save_objects(sync, to);
    if (sync->port->self == ROOT) {
        save_keys(sync, to);
        save_threads(&sync->registry, to);
    }
}

uint32_t sync_n_alive(const struct sync *sync)
{
    return sync->registry.n_alive;
}

int sync_has_joiner(const struct sync *sync)
{
    return sync->registry.n_joiners > 0;
}

// ---- restoring objects

void sync_restore_key(struct sync *sync, const struct message *message)
{
    const struct message_saved_key *saved = &message->u.saved_key;
    const uint32_t place = (uint32_t)saved->key;

    if (place == 0 || place > SYNC_KEYS_MAX) {
        return;
    }
    if (place > sync->n_keys) {
        sync->keys = realloc(sync->keys, place * sizeof *sync->keys);
        ensure_memory(sync->keys != NULL);
        for (uint32_t i = sync->n_keys; i < place; i++) {
            sync->keys[i] = (struct key_record){.number = i + 1}; // K1
        }
        sync->n_keys = place;
    }
    sync->keys[place - 1] = (struct key_record){
        .number = saved->key,
        .destructor = saved->destructor,
        .is_used = saved->is_used != 0,
    };
}

// ---- the list of threads

void sync_hold_threads(struct sync *sync)
{
    sync->registry.holds_all = true;
}

// @return TM_EWIRE it cannot have been such a list
static tm_status restore_record(struct thread_registry *registry,
                                const struct message *message)
{
    const struct message_saved_thread *saved = &message->u.saved_thread;
    const uint32_t slot = (uint32_t)saved->thread;
    struct wire_reader reader = wire_read_body(message);
    const char *name = wire_get_thread_name(&reader).name;
    struct thread_record *thread;

    if (reader.failed || slot != registry->n_threads ||
        slot > registry->max_threads || saved->state == THREAD_HELD ||
        saved->state > THREAD_ENDED ||
        saved->thread > registry->last_number) { // V1
        return TM_EWIRE;
    }
    thread = thread_registry_add_slot(registry);
    thread->number = saved->thread;
    thread->state = (enum thread_state)saved->state;
    thread->is_detached = saved->is_detached != 0;
    thread->start = saved->start;
    thread->arg = saved->arg;
    thread->result = saved->result;
    thread->creator = saved->creator;
    thread->moves = saved->moves;
    strncpy(thread->name, name, sizeof thread->name - 1);
    if (thread->state == THREAD_LIVE) {
        registry->n_alive++;
        registry->n_on_node[ROOT]++; // until it is placed
    }
    return TM_OK;
}

// What main() has created while it prepared, is forgotten.
static void forget_threads(struct sync *sync, uint64_t last_number)
{
    struct thread_registry *registry = &sync->registry;

    registry->threads[0].n_held = 0;
    registry->threads[0].first_held = 0;
    registry->threads[0].last_held = 0;
    registry->n_threads = 1;
    registry->n_alive = 1;
    registry->lowest_free = 1;
    registry->last_number = last_number;
    registry->holds_all = false;
    memset(registry->n_on_node, 0, sizeof registry->n_on_node);
}

tm_status sync_restore_threads(struct sync *sync, const struct message *message)
{
    switch (message->type) {
    case MESSAGE_saved_threads:
        forget_threads(sync, message->u.saved_threads.last);
        return TM_OK;
    case MESSAGE_saved_thread:
        return restore_record(&sync->registry, message);
    case MESSAGE_saved_result:
        thread_registry_keep_result(&sync->registry,
                                    message->u.saved_result.thread,
                                    message->u.saved_result.result);
        return TM_OK;
    default:
        return TM_EWIRE;
    }
}

tm_status sync_restore_place(struct sync *sync, uint64_t number, node_id node)
{
    struct thread_registry *registry = &sync->registry;
    struct thread_record *thread = thread_registry_find_live(registry, number);

    if (thread == NULL || number == 0) {
        return TM_EWIRE;
    }
    registry->n_on_node[thread->node]--;
    registry->n_on_node[node]++;
    thread->node = node;
    return TM_OK;
}
