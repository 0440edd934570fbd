// SPDX-License-Identifier: BSD-3-Clause
//
// What arrives, and whose it is: the engine's, sync's, a thread that moves, or one of
// the parts' (parts.h).
#include "base/log.h"
#include "runtime/lifesigns.h"
#include "runtime/parts.h"
#include "runtime/report.h"
#include "runtime/runtime.h"

static void refuse(node_id from, const struct message *message,
                   tm_status status)
{
    if (runtime.n_refused++ < LOG_REFUSED_MAX) {
        log_error("message %s from node %u is refused: %s",
                  message_name(message->type), from, tm_strerror(status));
    }
}

// Does a message show that something happens? (D1 of deadlock.c)
static int is_activity(enum message_type type)
{
    return (type < MESSAGE_idle || sync_takes(type)) &&
           type != MESSAGE_barrier_check;
}

// The others' part in it is over; what the run has come to is the root's to say.
static tm_status finish(const struct message *message)
{
    node_finish_soon(runtime.self == 0 ? (int)message->u.finish.exit_code : 0);
    return TM_OK;
}

static tm_status deliver(node_id from, const struct message *message)
{
    if (message->type < 40) {
        return engine_receive(runtime.engine, from, message);
    }
    if (message->type == MESSAGE_thread_move ||
        message->type == MESSAGE_thread_stack) {
        return migration_receive(runtime.migration, from, message);
    }
    if (sync_takes(message->type)) {
        return sync_receive(runtime.sync, from, message);
    }
    return message->type == MESSAGE_finish ? finish(message)
                                           : parts_receive(from, message);
}

void node_receive(void *owner, node_id from, const struct message *message)
{
    tm_status status;

    (void)owner;
    if (from == runtime.self) {
        runtime.n_to_self--;
    }
    if (planned_takes(&runtime.planned, message)) {
        return;
    }
    runtime.activity += is_activity(message->type);
    runtime.n_received += !membership_is_aside(message->type);
    lifesigns_hear(from);
    status = deliver(from, message);
    if (status != TM_OK) {
        refuse(from, message, status);
    } else if (message->type == MESSAGE_extent_close) {
        freed_note(message);
    }
}
