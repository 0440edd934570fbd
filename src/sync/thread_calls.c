// SPDX-License-Identifier: BSD-3-Clause
//
// Threads, a node's part: carries their calls to the root's list (thread_registry.c)
// and the root's wishes to sync_ops.
//
// Threads that one caller creates start together, so that the root can spread
// them evenly. A creator record counts those that the root has made and holds;
// it is launched when the creator blocks or ends, or 2 ms after the first. The
// release begins when the launch does, so the new threads see what their
// creator wrote before it created them; the launch says how many it is for,
// because the creator may go on creating meanwhile.
#include <string.h>

#include "sync/sync_priv.h"

#define LAUNCH_NS 2000000u

static void note_batches(struct sync *sync)
{
    atomic_store_explicit(&sync->n_batches, (uint32_t)sync->creators.map.n,
                          memory_order_relaxed);
}

static void launch(struct sync *sync, struct creator *creator)
{
    struct call *call = call_root(sync, CALL_LAUNCH, creator->thread, NULL);

    call->message.u.thread_launch.creator = creator->thread;
    call->message.u.thread_launch.n_threads = creator->n_held;
    table_drop(&sync->creators, creator->thread);
    note_batches(sync);
    call_send(call, 1);
}

void sync_thread_create(struct sync *sync, uint64_t start, uint64_t arg,
                        const tm_thread_attr *attr, struct waiter *waiter)
{
    const bool is_placed = attr->placement == TM_ON_NODE;
    struct call *call;

    if (start == 0 || (!is_placed && attr->placement != TM_ANYWHERE) ||
        (is_placed && attr->node >= sync->port->roster.n_ids)) {
        waiter_wake(waiter, TM_EINVAL, 0);
        return;
    }
    call = call_root(sync, CALL_CREATE, waiter->thread, waiter);
    call->message.u.thread_create.token = call->token;
    call->message.u.thread_create.start = start;
    call->message.u.thread_create.arg = arg;
    call->message.u.thread_create.on_node =
        is_placed ? (uint16_t)(attr->node + 1) : 0;
    call->message.u.thread_create.is_detached = attr->is_detached != 0;
    call->message.u.thread_create.creator = waiter->thread;
    if (attr->name != NULL) {
        memcpy(call->name, attr->name,
               strnlen(attr->name, sizeof call->name - 1));
    }
    call->message.body_size = (uint32_t)strlen(call->name) + 1;
    call_send(call, is_placed); // that one starts at once
}

void threads_created(struct sync *sync, uint64_t thread)
{
    struct creator *creator = table_get(&sync->creators, thread);

    if (creator->n_held++ == 0) {
        creator->thread = thread;
        creator->since_ns = time_now(sync);
        note_batches(sync);
    }
}

void sync_thread_launch(struct sync *sync, uint64_t thread)
{
    struct creator *creator = table_find(&sync->creators, thread);

    if (creator != NULL) {
        launch(sync, creator);
    }
}

void threads_poll(struct sync *sync)
{
    uint64_t now_ns;

    if (sync->creators.map.n == 0) {
        return;
    }
    now_ns = time_now(sync);
    for (size_t i = 0; i < sync->creators.map.capacity;) {
        struct creator *creator = map_at(&sync->creators.map, i);

        if (creator != NULL && now_ns - creator->since_ns >= LAUNCH_NS) {
            launch(sync, creator); // another may be at this place now
        } else {
            i++;
        }
    }
}

tm_status threads_receive_start(struct sync *sync, node_id from,
                                const struct message *message)
{
    uint32_t slot = thread_slot_of(message->u.thread_start.thread);

    if (from != ROOT || slot < 1 || slot > sync->registry.max_threads) {
        return TM_EWIRE;
    }
    return sync->ops.start(sync->ops.owner, message->u.thread_start.thread,
                           message->u.thread_start.start,
                           message->u.thread_start.arg, message->body);
}

void sync_thread_exit(struct sync *sync, uint64_t thread, uint64_t result)
{
    struct call *call = call_root(sync, CALL_EXIT, thread, NULL);

    table_drop(&sync->creators, thread); // the root starts them
    note_batches(sync);
    call->message.u.thread_exit.thread = thread;
    call->message.u.thread_exit.result = result;
    call_send(call, 1);
}

void sync_thread_join(struct sync *sync, uint64_t thread, struct waiter *waiter)
{
    struct call *call = call_root(sync, CALL_JOIN, waiter->thread, waiter);

    call->key = thread;
    call->message.u.thread_join.token = call->token;
    call->message.u.thread_join.thread = thread;
    call->message.u.thread_join.joiner = waiter->thread;
    call_send(call, 0);
}

void sync_thread_detach(struct sync *sync, uint64_t thread,
                        struct waiter *waiter)
{
    struct call *call = call_root(sync, CALL_DETACH, waiter->thread, waiter);

    call->key = thread;
    call->message.u.thread_detach.token = call->token;
    call->message.u.thread_detach.thread = thread;
    call_send(call, 0);
}

void sync_thread_migrate(struct sync *sync, uint64_t thread, node_id node,
                         struct waiter *waiter)
{
    struct call *call = call_root(sync, CALL_MIGRATE, waiter->thread, waiter);

    call->key = thread;
    call->message.u.thread_migrate.token = call->token;
    call->message.u.thread_migrate.thread = thread;
    call->message.u.thread_migrate.node = node;
    call_send(call, 0);
}

tm_status threads_receive_target(struct sync *sync, node_id from,
                                 const struct message *message)
{
    uint64_t thread = message->u.thread_target.thread;
    struct message missed = {.type = MESSAGE_thread_missed};

    if (from != ROOT ||
        message->u.thread_target.node >= sync->port->roster.n_ids) {
        return TM_EWIRE;
    }
    if (!sync->ops.set_target(sync->ops.owner, thread,
                              message->u.thread_target.node)) {
        missed.u.thread_missed.thread = thread;
        missed.u.thread_missed.order = message->u.thread_target.order;
        send_to(sync, from, &missed);
    }
    return TM_OK;
}

void sync_thread_arrived(struct sync *sync, uint64_t thread, uint32_t moves)
{
    struct message message = {.type = MESSAGE_thread_at};

    message.u.thread_at.thread = thread;
    message.u.thread_at.moves = moves;
    send_to(sync, ROOT, &message);
}
