// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of this folder use: releases, queues of requests, times, answers to
// calls, texts of errors. Knows none of them.
#include <stdarg.h>
#include <stdio.h>

#include "base/random.h"
#include "base/vector.h"
#include "sync/sync_priv.h"

static node_id other_of_two(const struct roster *roster, node_id self)
{
    if (roster->n_live != 2) {
        return NODE_NONE;
    }
    return roster->live[roster->live[0] == self];
}

/* Who is told first hears of nothing before it has the writes: they are ahead on
 * the same channel. But a message to this node itself is ahead of none, and a
 * third node may hear from the second what comes of it. Only where there is no
 * third does all that the other hears come from here, behind the writes. */
void release_for(struct sync *sync, node_id to, struct waiter *done)
{
    const struct port *port = sync->port;
    node_id next = to;

    if (to == port->self) {
        next = other_of_two(&port->roster, to);
    }
    sync->ops.release(sync->ops.owner, next, done);
}

void lock_pack(struct sync *sync, uint64_t key, node_id to,
               enum sync_carry carry, struct message *message)
{
    if (sync->ops.lock_leaves != NULL) {
        message->body = sync->ops.lock_leaves(sync->ops.owner, key, to, carry,
                                              &message->body_size);
    }
}

tm_status lock_unpack(struct sync *sync, uint64_t key, node_id from,
                      enum sync_carry carry, const struct message *message)
{
    if (sync->ops.lock_comes == NULL) {
        return message->body_size == 0 ? TM_OK : TM_EWIRE;
    }
    return sync->ops.lock_comes(sync->ops.owner, key, from, carry,
                                message->body, message->body_size);
}

bool lock_has_data(const struct sync *sync, uint64_t key)
{
    return sync->ops.has_data != NULL &&
           sync->ops.has_data(sync->ops.owner, key);
}

int sync_manages(const struct sync *sync, uint64_t key)
{
    return is_manager(sync, key);
}

void request_push(struct sync *sync, struct request_queue *queue,
                  struct request request)
{
    struct request *kept = pool_take(&sync->request_pool);

    *kept = request;
    list_append(queue, kept);
}

struct request request_pop(struct sync *sync, struct request_queue *queue)
{
    struct request *first = queue->first;
    struct request request = *first;

    queue->first = first->next;
    pool_give(&sync->request_pool, first);
    return request;
}

void request_drop(struct sync *sync, struct request_queue *queue,
                  struct request *request)
{
    struct request **link = &queue->first;
    struct request *before = NULL;

    while (*link != request) {
        before = *link;
        link = &before->next;
    }
    *link = request->next;
    if (queue->last == request) {
        queue->last = before;
    }
    pool_give(&sync->request_pool, request);
}

bool request_take(struct sync *sync, struct request_queue *queue, node_id node,
                  uint64_t token)
{
    struct request *request = queue->first;

    while (request != NULL &&
           (request->node != node || request->token != token)) {
        request = request->next;
    }
    if (request != NULL) {
        request_drop(sync, queue, request);
    }
    return request != NULL;
}

void time_goes_on(struct sync *sync, uint64_t until_ns)
{
    if (until_ns > 0 && until_ns < sync->due_ns) {
        sync->due_ns = until_ns;
    }
}

void time_begins(struct sync *sync, uint64_t until_ns)
{
    sync->n_timed += until_ns > 0;
    time_goes_on(sync, until_ns);
}

uint64_t time_now(const struct sync *sync)
{
    return sync->port->now_ns(sync->port->owner);
}

bool is_over(const struct sync *sync, const struct waiter *waiter)
{
    return waiter->until_ns > 0 && waiter->until_ns <= time_now(sync);
}

void *object_get(struct table *objects, uint64_t key)
{
    uint64_t *record = table_get(objects, key);

    *record = key;
    return record;
}

node_id manager_of(const struct sync *sync, uint64_t key)
{
    return roster_pick(&sync->port->roster, random_mix(key));
}

void answer(struct sync *sync, node_id to, uint64_t token, tm_status status,
            uint64_t result)
{
    struct message message = {.type = MESSAGE_call_done};

    message.u.call_done.token = token;
    message.u.call_done.status = (uint32_t)status;
    message.u.call_done.result = result;
    send_to(sync, to, &message);
}

void report_error(struct sync *sync, const char *format, ...)
{
    char text[640];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sync->ops.program_error(sync->ops.owner, text);
}

const char *place_text(const struct sync *sync, const char *before,
                       uint64_t place, char text[PLACE_SIZE])
{
    int used;

    text[0] = '\0';
    if (place != 0) {
        used = snprintf(text, PLACE_SIZE, "%s", before);
        sync->ops.describe_place(sync->ops.owner, place, text + used,
                                 PLACE_SIZE - (size_t)used);
    }
    return text;
}

uint8_t *scratch_get(struct sync *sync, size_t size)
{
    vector_reserve(sync->scratch, sync->scratch_size, size);
    return sync->scratch;
}
