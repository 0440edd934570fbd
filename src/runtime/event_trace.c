// SPDX-License-Identifier: BSD-3-Clause
//
// --trace: while the program runs each node keeps what happens there in a ring of its own,
// of which the latest stays; nothing is sent. At the end the root asks one node after the
// other, and writes (observe/trace_write.h).
//
// A flow is a fault, the node that serves it (and those that pass it on), and the answer.
// It is told by whose fault it is and by the page: a node fetches a page once at a time.
// So are moves, by the thread's number.
//
// Nodes of another host have another clock. How far it is ahead is measured when the nodes
// are asked: of several answers the quickest says most (Cristian 1989).
#include "runtime/event_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/random.h"
#include "base/vector.h"
#include "observe/trace_write.h"
#include "os/new_file.h"
#include "runtime/cluster_capacity.h"

/** Of all nodes together. */
#define TRACE_BYTES (256ull << 20)

/** Answers from which the clock of another host is known. */
#define N_CLOCK_ASKS 8u

#define NAME_MAX_BYTES 64u
#define BATCH (MESSAGE_BODY_MAX / (WIRE_SIZE_trace_event + NAME_MAX_BYTES))

static int is_wanted(const struct node *node)
{
    return strcmp(node->options.trace, "none") != 0;
}

// ---- what happens

void trace_put(struct node *node, const struct thread *thread,
               enum event_sort sort, const char *name, uint64_t subject,
               uint64_t began_ns)
{
    event_ring_put(node->trace, &(struct event){
                                    .at_ns = began_ns,
                                    .ns = clock_now_ns() - began_ns,
                                    .thread = thread == NULL ? EVENT_OF_NODE
                                                             : thread->number,
                                    .subject = subject,
                                    .name = name,
                                    .peer = NODE_NONE,
                                    .sort = (uint8_t)sort,
                                });
}

static uint64_t flow_of_fault(node_id node, page_no page)
{
    return ((uint64_t)node + 1) << 48 | (page + 1);
}

static uint64_t flow_of_refresh(node_id node, uint32_t id)
{
    return ((uint64_t)node + 1) << 48 | UINT64_C(1) << 47 | id;
}

void trace_fault(struct node *node, const struct thread *thread, page_no page,
                 int is_write, uint64_t began_ns)
{
    if (trace_is_on(node)) {
        event_ring_put(node->trace,
                       &(struct event){
                           .at_ns = began_ns,
                           .ns = clock_now_ns() - began_ns,
                           .thread = thread->number,
                           .subject = page,
                           .flow = flow_of_fault(node->self, page),
                           .name = is_write ? "write fault" : "read fault",
                           .peer = NODE_NONE,
                           .sort = EVENT_FAULT,
                           .flows = FLOW_PASSES,
                       });
    }
}

void trace_iteration_ends(struct node *node)
{
    struct thread *thread = thread_self();

    if (trace_is_on(node) && thread->iteration_began_ns > 0) {
        trace_put(node, thread, EVENT_ITERATION, "iteration",
                  thread->n_barriers, thread->iteration_began_ns);
    }
}

void trace_iteration_begins(struct node *node)
{
    thread_self()->iteration_began_ns = trace_begin(node);
}

static void put_move(struct node *node, const struct thread *thread,
                     const char *name, node_id to, enum event_flow flows)
{
    if (trace_is_on(node)) {
        event_ring_put(node->trace,
                       &(struct event){
                           .at_ns = clock_now_ns(),
                           .thread = thread->number,
                           .flow = random_mix(thread->number) | 1ull << 63,
                           .name = name,
                           .peer = to,
                           .sort = EVENT_MOVE,
                           .flows = (uint8_t)flows,
                       });
    }
}

void trace_move(struct node *node, const struct thread *thread, node_id to)
{
    put_move(node, thread, "leaves", to, FLOW_PASSES);
}

void trace_arrival(struct node *node, const struct thread *thread)
{
    put_move(node, thread, "arrives", NODE_NONE, FLOW_ENDS);
}

// What a message is about, and the flow that it belongs to.
static void describe(const struct node *node, node_id from,
                     const struct message *message, struct event *event)
{
    switch (message->type) {
    case MESSAGE_fetch:
        event->subject = message->u.fetch.page;
        event->flow = flow_of_fault(message->u.fetch.requester, event->subject);
        event->flows = FLOW_PASSES;
        break;
    case MESSAGE_page:
        event->subject = message->u.page.page;
        event->flow = flow_of_fault(node->self, event->subject);
        event->flows = FLOW_ENDS;
        break;
    case MESSAGE_grant:
        event->subject = message->u.grant.page;
        event->flow = flow_of_fault(node->self, event->subject);
        event->flows = FLOW_ENDS;
        break;
    case MESSAGE_refresh:
        event->flow = flow_of_refresh(from, message->u.refresh.id);
        event->flows = FLOW_PASSES;
        break;
    case MESSAGE_refreshed:
        event->flow = flow_of_refresh(node->self, message->u.refreshed.id);
        event->flows = FLOW_ENDS;
        break;
    case MESSAGE_invalidate:
        event->subject = message->u.invalidate.page;
        break;
    default:
        break;
    }
}

void trace_message(struct node *node, node_id from,
                   const struct message *message, uint64_t began_ns)
{
    struct event event = {
        .at_ns = began_ns,
        .thread = EVENT_OF_NODE,
        .name = message_name(message->type),
        .peer = from,
        .sort = EVENT_MESSAGE,
    };

    event.ns = clock_now_ns() - began_ns;
    describe(node, from, message, &event);
    event_ring_put(node->trace, &event);
}

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

    ensure_memory(body != NULL);
    if (trace_is_on(node)) {
        const uint64_t first = event_ring_first(node->trace);

        message.u.events_are.n_put = event_ring_n_put(node->trace);
        at = at < first ? first : at;
        end = message.u.events_are.n_put < ask->end ? message.u.events_are.n_put
                                                    : ask->end;
        end = end < at ? at : end;
        end = end - at > BATCH ? at + BATCH : end;
    }
    message.u.events_are.first = at;
    for (; at < end; at++) {
        put_event(&writer, event_ring_at(node->trace, at));
    }
    message.body = body;
    message.body_size = (uint32_t)(writer.at - body);
    port_send(&node->port, to, &message);
    free(body);
}

/** What the root has of a node. */
struct taken {
    struct wait wait;
    struct map *names; ///< of all nodes, by hash
    uint64_t now_ns;   ///< the node's clock, when it answered
    uint64_t first;    ///< of the answer
    uint64_t n_put;
    uint64_t wanted;      ///< those that there were when it was asked first
    struct event *events; ///< [n] of the whole node
    size_t n;
    size_t room;
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

static void take_event(struct taken *taken, const struct wire_trace_event *row)
{
    vector_reserve(taken->events, taken->room, taken->n + 1);
    taken->events[taken->n++] = (struct event){
        .at_ns = row->at_ns,
        .ns = row->ns,
        .thread = row->thread,
        .subject = row->subject,
        .flow = row->flow,
        .name = keep_name(taken->names, row->name),
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
            take_event(taken, &row);
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
        .u.events_ask = {.first = first, .end = end},
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

// @param[out] ahead_ns  of its clock. @return TM_OK, or that it is not there
static tm_status compare_clocks(struct node *node, unsigned id,
                                struct taken *taken, int64_t *ahead_ns)
{
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
    uint64_t at = 0;
    tm_status status = TM_OK;

    taken->wanted = taken->n_put;
    while (status == TM_OK && at < taken->wanted) {
        const size_t before = taken->n;

        status = ask(node, id, at, taken->wanted, taken);
        at = taken->first + (taken->n - before);
        if (taken->n == before) {
            break;
        }
    }
    return status;
}

static void write_node(struct node *node, FILE *file, unsigned id,
                       struct map *names)
{
    struct taken taken = {.names = names};
    struct trace_node part = {.id = id};
    char name[96];
    tm_status status = compare_clocks(node, id, &taken, &part.ahead_ns);

    if (status == TM_OK) {
        status = ask_all(node, id, &taken);
    }
    if (status != TM_OK) {
        log_error("what node %u has done is not in the trace: %s", id,
                  status == TM_EINVAL ? "it has left" : tm_strerror(status));
        free(taken.events);
        return;
    }
    if (taken.n < taken.wanted) {
        log_error("the first %llu of %llu events of node %u are not in the "
                  "trace: it keeps the latest %llu MiB of all nodes",
                  (unsigned long long)(taken.wanted - taken.n),
                  (unsigned long long)taken.wanted, id, TRACE_BYTES >> 20);
    }
    node_enter(node);
    snprintf(name, sizeof name, "node %u, %s", id, capacity_of(node, id)->host);
    node_leave(node);
    part.name = name;
    part.events = taken.events;
    part.n = taken.n;
    trace_write_node(file, &part);
    free(taken.events);
}

static void release_names(struct map *names)
{
    for (size_t i = 0; i < names->capacity; i++) {
        free(map_at(names, i));
    }
    map_release(names);
}

static void refuse(const char *path, const char *why)
{
    log_error("the trace %s is not written: %s", path, why);
}

// Nodes are asked, which a thread only can do.
static void finish(struct node *node)
{
    const struct thread *thread = thread_self();
    const char *path = node->options.trace;
    struct map names = {0};
    struct new_file new_file;
    const char *why;

    if (!trace_is_on(node) || node->self != 0 || thread == NULL ||
        thread->number != 0) {
        return;
    }
    why = new_file_begin(&new_file, path);
    if (why == NULL) {
        for (unsigned id = 0; id < node->n_nodes; id++) {
            write_node(node, new_file.file, id, &names);
        }
        why = new_file_end(&new_file);
    }
    if (why != NULL) {
        refuse(path, why);
    }
    release_names(&names);
}

// ---- the part

void trace_check(struct node *node)
{
    const char *why = is_wanted(node) && node->self == 0
                          ? new_file_check(node->options.trace)
                          : NULL;

    if (why != NULL) {
        log_fatal(EXIT_OUTPUT, "the trace %s could not be written: %s",
                  node->options.trace, why);
    }
}

static void open_trace(struct node *node)
{
    if (is_wanted(node)) {
        node->trace = event_ring_new(TRACE_BYTES / node->n_nodes);
        ensure_memory(node->trace != NULL);
    }
}

static void close_trace(struct node *node)
{
    struct event_ring *ring = node->trace;

    node->trace = NULL;
    event_ring_free(ring);
}

const struct part part_trace = {
    .open = open_trace,
    .owns = OWNER_trace,
    .receive = receive,
    .save = parts_save_nothing,
    .finish = finish,
    .close = close_trace,
};
