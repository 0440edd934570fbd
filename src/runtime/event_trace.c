// SPDX-License-Identifier: BSD-3-Clause
//
// --trace: while the program runs each node keeps what happens there in a ring of its own,
// of which the latest stays; nothing is sent. At the end the root asks one node after the
// other, and writes (observe/trace_write.h).
//
// A flow is a fault, the node that serves it (and those that pass it on), and the answer.
// It is told by whose fault it is and by the page: a node fetches a page once at a time.
// So are moves, by the thread's number.
#include "runtime/event_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"
#include "base/random.h"
#include "observe/trace_write.h"
#include "os/new_file.h"
#include "runtime/cluster_capacity.h"
#include "runtime/event_gather.h"

/** Of all nodes together. */
#define TRACE_BYTES (256ull << 20)

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
    case MESSAGE_copy:
        event->subject = message->u.copy.page;
        event->flow = flow_of_fault(node->self, event->subject);
        event->flows = FLOW_ENDS;
        break;
    case MESSAGE_diffs_ask:
        event->subject = message->u.diffs_ask.page;
        break;
    case MESSAGE_diffs:
        event->subject = message->u.diffs.page;
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

// ---- at the end

static void write_node(struct node *node, FILE *file, unsigned id,
                       struct map *names)
{
    struct node_events taken = {.which = EVENTS_OF_TRACE, .names = names};
    struct trace_node part = {.id = id};
    char name[96];
    const tm_status status = events_gather(node, id, &taken);

    if (status != TM_OK) {
        log_error("what node %u has done is not in the trace: %s", id,
                  status == TM_EINVAL ? "it has left" : tm_strerror(status));
        free(taken.events);
        return;
    }
    if (taken.n_lost > 0) {
        log_error("the first %llu of %llu events of node %u are not in the "
                  "trace: it keeps the latest %llu MiB of all nodes",
                  (unsigned long long)taken.n_lost,
                  (unsigned long long)taken.wanted, id, TRACE_BYTES >> 20);
    }
    node_enter(node);
    snprintf(name, sizeof name, "node %u, %s", id, capacity_of(node, id)->host);
    node_leave(node);
    part.name = name;
    part.ahead_ns = taken.ahead_ns;
    part.events = taken.events;
    part.n = taken.n;
    trace_write_node(file, &part);
    free(taken.events);
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
    events_release_names(&names);
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
    .save = parts_save_nothing,
    .finish = finish,
    .close = close_trace,
};
