// SPDX-License-Identifier: BSD-3-Clause
//
// At the end of a run the root asks one node after the other for the events that it has kept,
// in pieces that fit into a message.
//
// Nodes of another host have another clock. How far it is ahead is measured when the nodes
// are asked: of several answers the quickest says most (Cristian 1989).
#include "runtime/event_gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/hash.h"
#include "base/vector.h"
#include "net/message.h"
#include "runtime/cluster_capacity.h"
#include "runtime/node.h"
#include "runtime/parts.h"

/** Answers from which the clock of another host is known. */
#define N_CLOCK_ASKS 8u

#define NAME_MAX_BYTES 64u
#define BATCH (MESSAGE_BODY_MAX / (WIRE_SIZE_trace_event + NAME_MAX_BYTES))

// ---- a node is asked

static void put_event(struct wire_writer *writer, const struct event *event)
{
    wire_put_trace_event(writer, &(struct wire_trace_event){
                                     .at_ns = event->at_ns,
                                     .ns = event->ns,
                                     .thread = event->thread,
                                     .subject = event->subject,
                                     .flow = event->flow,
                                     .peer = event->peer,
                                     .sort = event->sort,
                                     .flows = event->flows,
                                     .name = event->name,
                                 });
}

// NULL: it keeps none.
static const struct event_ring *ring_of(const struct node *node, unsigned of)
{
    return of == EVENTS_OF_STORY ? node->story.events : node->trace;
}

static void answer(struct node *node, node_id to,
                   const struct message_events_ask *ask)
{
    struct message message = {
        .type = MESSAGE_events_are,
        .u.events_are = {.token = ask->token, .now_ns = clock_now_ns()},
    };
    uint8_t *body = malloc(MESSAGE_BODY_MAX);
    struct wire_writer writer = {body, body + MESSAGE_BODY_MAX, 0};
    uint64_t at = ask->first;
    uint64_t end = ask->first;
    const struct event_ring *ring = ring_of(node, ask->of);

    ensure_memory(body != NULL);
    if (ring != NULL) {
        const uint64_t first = event_ring_first(ring);

        message.u.events_are.n_put = event_ring_n_put(ring);
        at = at < first ? first : at;
        end = message.u.events_are.n_put < ask->end ? message.u.events_are.n_put
                                                    : ask->end;
        end = end < at ? at : end;
        end = end - at > BATCH ? at + BATCH : end;
    }
    message.u.events_are.first = at;
    for (; at < end; at++) {
        put_event(&writer, event_ring_at(ring, at));
    }
    message.body = body;
    message.body_size = (uint32_t)(writer.at - body);
    port_send(&node->port, to, &message);
    free(body);
}

/** What the root has of a node. */
struct taken {
    struct wait wait;
    struct node_events *of;
    uint64_t now_ns; ///< the node's clock, when it answered
    uint64_t first;  ///< of the answer
    uint64_t n_put;
};

// The same address for all events of a name. (Two names of one hash would be shown as one.)
static const char *keep_name(struct map *names, const char *name)
{
    const uint64_t key = hash_bytes(HASH_START, name, strlen(name));
    char *kept = map_find(names, key);

    if (kept == NULL) {
        kept = strdup(name);
        ensure_memory(kept != NULL);
        map_add(names, key, kept);
    }
    return kept;
}

static void take_event(struct node_events *of,
                       const struct wire_trace_event *row)
{
    vector_reserve(of->events, of->room, of->n + 1);
    of->events[of->n++] = (struct event){
        .at_ns = row->at_ns,
        .ns = row->ns,
        .thread = row->thread,
        .subject = row->subject,
        .flow = row->flow,
        .name = keep_name(of->names, row->name),
        .peer = row->peer,
        .sort = row->sort,
        .flows = row->flows,
    };
}

static tm_status accept(struct node *node, const struct message *message)
{
    struct taken *taken =
        tokens_take(&node->calls, message->u.events_are.token);
    struct wire_reader reader = wire_read_body(message);

    if (taken == NULL) {
        return TM_OK;
    }
    taken->now_ns = message->u.events_are.now_ns;
    taken->first = message->u.events_are.first;
    taken->n_put = message->u.events_are.n_put;
    while (wire_has_more(&reader)) {
        const struct wire_trace_event row = wire_get_trace_event(&reader);

        reader.failed |= row.sort >= N_EVENT_SORTS || row.flows > FLOW_ENDS;
        if (!reader.failed) {
            take_event(taken->of, &row);
        }
    }
    waiter_wake(&taken->wait.waiter, reader.failed ? TM_EWIRE : TM_OK, 0);
    return TM_OK;
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    if (message->type == MESSAGE_events_ask) {
        answer(node, from, &message->u.events_ask);
        return TM_OK;
    }
    return accept(node, message);
}

// ---- the root asks

// Events with numbers from `first` to before `end`, or fewer.
static tm_status ask(struct node *node, unsigned id, uint64_t first,
                     uint64_t end, struct taken *taken)
{
    struct message message = {
        .type = MESSAGE_events_ask,
        .u.events_ask = {.first = first,
                         .end = end,
                         .of = (uint8_t)taken->of->which},
    };

    wait_init(&taken->wait);
    if (!node_enter_to_ask(node, id)) {
        return TM_EINVAL;
    }
    message.u.events_ask.token = tokens_give(&node->calls, taken);
    port_send(&node->port, (node_id)id, &message);
    return wait_end(node, &taken->wait);
}

static int is_of_this_host(struct node *node, unsigned id)
{
    int is_same;

    node_enter(node);
    is_same = strcmp(capacity_of(node, id)->host,
                     capacity_of(node, node->self)->host) == 0;
    node_leave(node);
    return is_same;
}

// @return TM_OK, or that it is not there
static tm_status compare_clocks(struct node *node, unsigned id,
                                struct taken *taken)
{
    int64_t *ahead_ns = &taken->of->ahead_ns;
    uint64_t least_ns = UINT64_MAX;
    tm_status status = TM_OK;

    *ahead_ns = 0;
    for (unsigned i = 0; i < N_CLOCK_ASKS && status == TM_OK; i++) {
        const uint64_t began_ns = clock_now_ns();
        uint64_t took_ns;

        status = ask(node, id, 0, 0, taken);
        took_ns = clock_now_ns() - began_ns;
        if (status == TM_OK && took_ns < least_ns) {
            least_ns = took_ns;
            *ahead_ns = (int64_t)(taken->now_ns - began_ns - took_ns / 2);
        }
    }
    if (is_of_this_host(node, id)) {
        *ahead_ns = 0;
    }
    return status;
}

// All that there was when it was asked first.
static tm_status ask_all(struct node *node, unsigned id, struct taken *taken)
{
    struct node_events *of = taken->of;
    const size_t before = of->n;
    uint64_t at = 0;
    tm_status status = TM_OK;

    of->wanted = taken->n_put;
    while (status == TM_OK && at < of->wanted) {
        const size_t n = of->n;

        status = ask(node, id, at, of->wanted, taken);
        at = taken->first + (of->n - n);
        if (of->n == n) {
            break;
        }
    }
    of->n_lost = of->wanted - (of->n - before);
    return status;
}

tm_status events_gather(struct node *node, unsigned id, struct node_events *of)
{
    struct taken taken = {.of = of};
    const tm_status status = compare_clocks(node, id, &taken);

    return status == TM_OK ? ask_all(node, id, &taken) : status;
}

void events_release_names(struct map *names)
{
    for (size_t i = 0; i < names->capacity; i++) {
        free(map_at(names, i));
    }
    map_release(names);
}

const struct part part_events = {
    .owns = OWNER_trace,
    .receive = receive,
    .save = parts_save_nothing,
};
