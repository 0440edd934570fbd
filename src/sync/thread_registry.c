// SPDX-License-Identifier: BSD-3-Clause
//
// The root's list of threads. A slot, which is also a stack's number, goes
//
//     FREE --thread_create--> HELD --launch--> LIVE --thread_exit-->
//     ENDED --thread_join--> FREE
//
// (from LIVE straight to FREE if somebody waits already, or it is detached);
// thread_launch.c has the way to LIVE. A thread's number is its slot with a generation
// above it; the first threads are 1, 2, 3, and each number is higher than all before
// it: a slot that is not behind that of the thread before begins a new generation. So sums in the order of
// numbers are sums in the order in which threads were created, and have the same
// bits in each run, also if other threads came and went meanwhile. The lowest free
// slot is taken: a program that joins what it created gets the same numbers in
// each run, wherever its threads ran. When all slots are used, that of a thread that has ended without being
// joined is taken, and its result moves to `ended`.
//
// Where a thread is, is told by the node it has moved to (thread_at), with the
// number of its moves: of two such messages that overtake each other the later
// move counts. A target that finds its thread gone comes back (thread_missed),
// and is sent on; if nobody knows yet where the thread is, its next thread_at
// is waited for. Of several requests for one thread the last counts (order).
//
// I1  n_alive counts HELD and LIVE; n_joiners those with is_waited_for, and main() if it
//     waits for all others.
// I2  No slot below lowest_free is FREE.
// I3  n_on_node sums up to the LIVE threads without main().
// I4  is_waited_for and is_detached imply HELD or LIVE, and exclude each other.
// I5  No number is higher than last_number.
#include "sync/thread_registry.h"

#include <stdlib.h>

#include "base/vector.h"
#include "sync/thread_registry_priv.h"

struct ended_thread {
    uint64_t result;
};

/* ---- slots ---- */

static struct thread_record *find(struct thread_registry *registry,
                                  uint64_t number)
{
    uint32_t slot = thread_slot_of(number);
    struct thread_record *thread;

    if (slot >= registry->n_threads) {
        return NULL;
    }
    thread = &registry->threads[slot];
    if (thread->number != number || thread->state == THREAD_FREE) {
        return NULL;
    }
    return thread;
}

struct thread_record *thread_registry_find_live(
    struct thread_registry *registry, uint64_t number)
{
    struct thread_record *thread = find(registry, number);

    return thread != NULL && thread->state == THREAD_LIVE ? thread : NULL;
}

static void free_slot(struct thread_registry *registry,
                      struct thread_record *thread)
{
    uint32_t slot = thread_slot_of(thread->number);

    *thread = (struct thread_record){.number = thread->number};
    if (slot < registry->lowest_free) {
        registry->lowest_free = slot;
    }
}

struct thread_record *thread_registry_add_slot(struct thread_registry *registry)
{
    struct thread_record *thread;

    vector_reserve(registry->threads, registry->n_room,
                   registry->n_threads + 1);
    thread = &registry->threads[registry->n_threads];
    *thread = (struct thread_record){.number = registry->n_threads};
    registry->n_threads++;
    return thread;
}

void thread_registry_keep_result(struct thread_registry *registry,
                                 uint64_t number, uint64_t result)
{
    struct ended_thread *ended = table_get(&registry->ended, number);

    ended->result = result;
}

/* Take the slot of a thread that nobody has joined; its result is kept. */
static struct thread_record *reclaim_slot(struct thread_registry *registry)
{
    for (uint32_t slot = 1; slot < registry->n_threads; slot++) {
        struct thread_record *thread = &registry->threads[slot];

        if (thread->state == THREAD_ENDED) {
            thread_registry_keep_result(registry, thread->number,
                                        thread->result);
            free_slot(registry, thread);
            return thread;
        }
    }
    return NULL;
}

static struct thread_record *find_slot(struct thread_registry *registry)
{
    while (registry->lowest_free < registry->n_threads) {
        struct thread_record *thread =
            &registry->threads[registry->lowest_free];

        if (thread->state == THREAD_FREE) {
            return thread;
        }
        registry->lowest_free++;
    }
    if (registry->n_threads <= registry->max_threads) {
        return thread_registry_add_slot(registry);
    }
    return reclaim_slot(registry);
}

struct thread_record *thread_registry_take_slot(
    struct thread_registry *registry)
{
    struct thread_record *thread = find_slot(registry);

    if (thread != NULL && thread->number <= registry->last_number) {
        uint32_t slot = thread_slot_of(thread->number);
        uint64_t generation = registry->last_number >> 32;

        generation += slot <= thread_slot_of(registry->last_number);
        thread->number = generation << 32 | slot;
    }
    if (thread != NULL) {
        registry->last_number = thread->number;
    }
    return thread;
}

/* ---- ending and joining ---- */

/* main() waits for the end of all others: one of them has ended. */
static void note_last(struct sync *sync, uint64_t number)
{
    struct thread_registry *registry = &sync->registry;

    if (!registry->main_waits) {
        return;
    }
    order_takes(sync, THREAD_OBJECT(number), ROOT);
    if (registry->n_alive == 1) {
        registry->main_waits = false;
        registry->n_joiners--;
        answer(sync, ROOT, registry->main_token, TM_OK, 0);
    }
}

/* main() begins to wait for that. */
static tm_status await_last(struct sync *sync, node_id from, uint64_t token)
{
    struct thread_registry *registry = &sync->registry;

    if (from != ROOT || registry->main_waits) {
        return TM_EWIRE;
    }
    if (registry->n_alive == 1) {
        answer(sync, ROOT, token, TM_OK, 0);
        return TM_OK;
    }
    registry->main_waits = true;
    registry->main_token = token;
    registry->n_joiners++;
    return TM_OK;
}

tm_status thread_registry_receive_exit(struct sync *sync, node_id from,
                                       const struct message *message)
{
    struct thread_registry *registry = &sync->registry;
    struct thread_record *thread =
        thread_registry_find_live(registry, message->u.thread_exit.thread);
    uint64_t number = message->u.thread_exit.thread;
    uint64_t result = message->u.thread_exit.result;

    (void)from;
    if (thread == NULL || thread == registry->threads) {
        return TM_EWIRE;
    }
    thread_launch_held(sync, thread, thread->n_held);
    registry->n_on_node[thread->node]--;
    registry->n_alive--;
    if (thread->is_waited_for) {
        registry->n_joiners--;
        order_takes(sync, THREAD_OBJECT(thread->number), thread->joiner_node);
        answer(sync, thread->joiner_node, thread->joiner_token, TM_OK, result);
        free_slot(registry, thread);
    } else if (thread->is_detached) {
        free_slot(registry, thread);
    } else {
        thread->state = THREAD_ENDED;
        thread->result = result;
    }
    note_last(sync, number);
    return TM_OK;
}

/* Join a thread that has ended long ago: 1 and its result, or 0. */
static int take_ended(struct thread_registry *registry, uint64_t number,
                      uint64_t *result)
{
    const struct ended_thread *ended = table_find(&registry->ended, number);

    if (ended == NULL) {
        return 0;
    }
    *result = ended->result;
    table_drop(&registry->ended, number);
    return 1;
}

tm_status thread_registry_receive_join(struct sync *sync, node_id from,
                                       const struct message *message)
{
    struct thread_registry *registry = &sync->registry;
    uint64_t number = message->u.thread_join.thread;
    uint64_t token = message->u.thread_join.token;
    struct thread_record *thread = find(registry, number);
    uint64_t result = 0;

    if (number == 0 && message->u.thread_join.joiner == 0) {
        return await_last(sync, from, token);
    }
    if (thread == NULL && take_ended(registry, number, &result)) {
        order_takes(sync, THREAD_OBJECT(number), from);
        answer(sync, from, token, TM_OK, result);
    } else if (thread == NULL || number == 0 || thread->is_waited_for ||
               number == message->u.thread_join.joiner) {
        answer(sync, from, token, TM_ENOTHREAD, 0);
    } else if (thread->is_detached) {
        answer(sync, from, token, TM_EINVAL, 0);
    } else if (thread->state == THREAD_ENDED) {
        order_takes(sync, THREAD_OBJECT(number), from);
        answer(sync, from, token, TM_OK, thread->result);
        free_slot(registry, thread);
    } else {
        thread->is_waited_for = true;
        thread->joiner_node = from;
        thread->joiner_token = token;
        registry->n_joiners++;
    }
    return TM_OK;
}

tm_status thread_registry_receive_detach(struct sync *sync, node_id from,
                                         const struct message *message)
{
    struct thread_registry *registry = &sync->registry;
    uint64_t number = message->u.thread_detach.thread;
    struct thread_record *thread = find(registry, number);
    tm_status status = TM_OK;
    uint64_t result;

    if (thread == NULL) {
        status = take_ended(registry, number, &result) ? TM_OK : TM_ENOTHREAD;
    } else if (number == 0 || thread->is_detached || thread->is_waited_for) {
        status = TM_EINVAL;
    } else if (thread->state == THREAD_ENDED) {
        free_slot(registry, thread);
    } else {
        thread->is_detached = true;
    }
    answer(sync, from, message->u.thread_detach.token, status, 0);
    return TM_OK;
}

/* ---- moving ---- */

static void send_target(struct sync *sync, struct thread_record *thread)
{
    struct message message = {.type = MESSAGE_thread_target};

    thread->has_target = false;
    message.u.thread_target.thread = thread->number;
    message.u.thread_target.node = thread->target;
    message.u.thread_target.order = thread->target_order;
    send_to(sync, thread->node, &message);
}

tm_status thread_registry_receive_migrate(struct sync *sync, node_id from,
                                          const struct message *message)
{
    const struct message_thread_migrate *fields = &message->u.thread_migrate;
    struct thread_record *thread = find(&sync->registry, fields->thread);
    tm_status status = TM_OK;

    if (fields->thread == 0 ||
        !roster_takes(sync->registry.roster, fields->node)) {
        status = TM_EINVAL;
    } else if (thread == NULL || thread->state == THREAD_ENDED) {
        status = TM_ENOTHREAD;
    } else {
        thread->target = fields->node;
        thread->target_order++;
        thread->has_target = true;
        if (thread->state == THREAD_LIVE) {
            send_target(sync, thread);
        }
    }
    answer(sync, from, fields->token, status, 0);
    return TM_OK;
}

tm_status thread_registry_receive_at(struct sync *sync, node_id from,
                                     const struct message *message)
{
    struct thread_registry *registry = &sync->registry;
    struct thread_record *thread =
        thread_registry_find_live(registry, message->u.thread_at.thread);

    // It may have moved on, or ended, and that news may have come first.
    if (thread == NULL || message->u.thread_at.moves <= thread->moves) {
        return TM_OK;
    }
    registry->n_on_node[thread->node]--;
    registry->n_on_node[from]++;
    thread->node = from;
    thread->moves = message->u.thread_at.moves;
    if (thread->has_target) {
        send_target(sync, thread);
    }
    return TM_OK;
}

tm_status thread_registry_receive_missed(struct sync *sync, node_id from,
                                         const struct message *message)
{
    struct thread_record *thread = thread_registry_find_live(
        &sync->registry, message->u.thread_missed.thread);

    if (thread == NULL ||
        message->u.thread_missed.order != thread->target_order) {
        return TM_OK; // has ended, or a later request counts
    }
    thread->has_target = true;
    if (thread->node != from) {
        send_target(sync, thread);
    }
    return TM_OK;
}

/* ---- the rest ---- */

uint32_t sync_n_threads_on(const struct sync *sync, node_id node)
{
    return sync->registry.n_on_node[node];
}

uint64_t sync_next_thread_on(const struct sync *sync, node_id node,
                             uint32_t *cursor)
{
    const struct thread_registry *registry = &sync->registry;

    while (++*cursor < registry->n_threads) {
        const struct thread_record *thread = &registry->threads[*cursor];

        if (thread->state == THREAD_LIVE && thread->node == node) {
            return thread->number;
        }
    }
    return 0;
}

tm_status thread_registry_receive_check(struct sync *sync, node_id from,
                                        const struct message *message)
{
    const struct thread_registry *registry = &sync->registry;
    uint64_t n_blocked =
        (uint64_t)message->u.barrier_check.n_arrived + registry->n_joiners;
    struct message starved = {.type = MESSAGE_barrier_starved};

    if (n_blocked == registry->n_alive) {
        starved.u.barrier_starved.key = message->u.barrier_check.key;
        starved.u.barrier_starved.episode = message->u.barrier_check.episode;
        starved.u.barrier_starved.n_arrived =
            message->u.barrier_check.n_arrived;
        send_to(sync, from, &starved);
    }
    return TM_OK;
}

tm_status thread_registry_init(struct thread_registry *registry,
                               const struct roster *roster,
                               uint32_t max_threads)
{
    struct thread_record *main_thread;

    *registry = (struct thread_registry){
        .roster = roster,
        .max_threads = max_threads,
        .n_room = 64,
        .n_alive = 1,
    };
    table_init(&registry->ended, sizeof(struct ended_thread));
    registry->threads = calloc(registry->n_room, sizeof *registry->threads);
    if (registry->threads == NULL) {
        thread_registry_release(registry);
        return TM_ENOMEM;
    }
    main_thread = thread_registry_add_slot(registry);
    main_thread->state = THREAD_LIVE;
    registry->lowest_free = 1;
    return TM_OK;
}

void thread_registry_release(struct thread_registry *registry)
{
    free(registry->threads);
    table_release(&registry->ended);
    *registry = (struct thread_registry){0};
}

static bool thread_is_valid(const struct thread_registry *registry,
                            uint32_t slot)
{
    const struct thread_record *thread = &registry->threads[slot];
    bool is_alive =
        thread->state == THREAD_HELD || thread->state == THREAD_LIVE;

    if (thread_slot_of(thread->number) != slot ||
        thread->number > registry->last_number || // I5
        ((thread->is_waited_for || thread->is_detached) && !is_alive) ||
        (thread->is_waited_for && thread->is_detached)) { // I4
        return false;
    }
    if (slot < registry->lowest_free && thread->state == THREAD_FREE) { // I2
        return false;
    }
    return thread_launch_chain_is_valid(registry, thread);
}

bool thread_registry_is_valid(const struct thread_registry *registry)
{
    uint32_t n_alive = 0;
    uint32_t n_joiners = 0;
    uint32_t n_live = 0;

    for (uint32_t slot = 0; slot < registry->n_threads; slot++) {
        const struct thread_record *thread = &registry->threads[slot];

        if (!thread_is_valid(registry, slot)) {
            return false;
        }
        n_live += slot > 0 && thread->state == THREAD_LIVE;
        n_alive += thread->state == THREAD_HELD || thread->state == THREAD_LIVE;
        n_joiners += thread->is_waited_for;
    }
    n_joiners += registry->main_waits;
    for (unsigned node = 0; node < TM_MAX_NODES; node++) {
        n_live -= registry->n_on_node[node];
    }
    return n_alive == registry->n_alive && n_joiners == registry->n_joiners &&
           n_live == 0 && map_is_valid(&registry->ended.map); // I1, I3
}
