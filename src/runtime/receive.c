// SPDX-License-Identifier: BSD-3-Clause
//
// What arrives, and whose it is: the engine's, sync's, a thread that moves, or one of
// the parts' (parts.h).
#include "base/log.h"
#include "pages/causality.h"
#include "runtime/error_report.h"
#include "runtime/event_trace.h"
#include "runtime/liveness.h"
#include "runtime/node.h"
#include "runtime/parts.h"

static void refuse(struct node *node, node_id from,
                   const struct message *message, tm_status status)
{
    if (node->n_refused++ < LOG_REFUSED_MAX) {
        log_error("message %s from node %u is refused: %s",
                  message_name(message->type), from, tm_strerror(status));
    }
}

// Does a message show that something happens? (D1 of deadlock.c)
static int is_activity(enum message_type type)
{
    const enum message_owner owner = message_owner(type);

    return owner <= OWNER_stats && type != MESSAGE_barrier_check;
}

// The others' part in it is over; what the run has come to is the root's to say.
static tm_status finish(struct node *node, const struct message *message)
{
    node_finish_soon(node,
                     node->self == 0 ? (int)message->u.finish.exit_code : 0);
    return TM_OK;
}

static tm_status deliver(struct node *node, node_id from,
                         const struct message *message)
{
    if (causality_is_acquire(message->type)) {
        engine_acquired(node->engine);
    }
    switch (message_owner(message->type)) {
    case OWNER_pages:
        return engine_receive(node->engine, from, message);
    case OWNER_sync:
        return sync_receive(node->sync, from, message);
    case OWNER_migration:
        return migration_receive(node->migration, from, message);
    case OWNER_run:
        return finish(node, message);
    default:
        return parts_receive(node, from, message);
    }
}

static void receive_one(struct node *node, node_id from,
                        const struct message *message)
{
    const uint64_t began_ns =
        trace_is_on(node) || story_is_on(&node->story) ? clock_now_ns() : 0;
    tm_status status;

    if (from == node->self) {
        node->n_to_self--;
    }
    if (planned_faults_take(&node->planned_faults, message)) {
        return;
    }
    node->activity += is_activity(message->type);
    node->n_received += !membership_is_aside(message->type);
    liveness_hear(node, from);
    status = deliver(node, from, message);
    if (trace_is_on(node)) {
        trace_message(node, from, message, began_ns);
    }
    if (story_is_on(&node->story)) {
        story_message(node, from, message, began_ns);
    }
    if (status != TM_OK) {
        refuse(node, from, message, status);
    } else if (message->type == MESSAGE_extent_close) {
        freed_note(node, message);
    }
}

static void receive_bundle(struct node *node, node_id from,
                           const struct message *bundle)
{
    struct wire_reader reader = wire_read_body(bundle);
    struct message message;

    while (wire_has_more(&reader)) {
        if (bundle_next(&reader, &message) != TM_OK) {
            refuse(node, from, bundle, TM_EWIRE);
            return;
        }
        receive_one(node, from, &message);
    }
}

void node_receive(void *owner, node_id from, const struct message *message)
{
    if (message->type == MESSAGE_bundle) {
        receive_bundle(owner, from, message);
    } else {
        receive_one(owner, from, message);
    }
}
