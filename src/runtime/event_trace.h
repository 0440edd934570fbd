// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_EVENT_TRACE_H
#define RUNTIME_EVENT_TRACE_H

#include "base/clock.h"
#include "net/message.h"
#include "observe/event_ring.h"
#include "runtime/node.h"
#include "runtime/threads.h"

/* --trace: what happens at this node, put where it happens. Without --trace each of these
 * looks at one pointer. Any thread; only those of messages and moves are under the node lock. */

static inline int trace_is_on(const struct node *node)
{
    return node->trace != NULL;
}

/** @return now, for what follows; 0 if nobody wants to know */
static inline uint64_t trace_begin(const struct node *node)
{
    return trace_is_on(node) ? clock_now_ns() : 0;
}

/** An event of a thread, or of the node (NULL), has ended now. */
void trace_put(struct node *node, const struct thread *thread,
               enum event_sort sort, const char *name, uint64_t subject,
               uint64_t began_ns);

/** A thread has waited since then in a call of the API. */
static inline void trace_call(struct node *node, const char *name,
                              uint64_t began_ns)
{
    if (trace_is_on(node)) {
        trace_put(node, thread_self(), EVENT_CALL, name, 0, began_ns);
    }
}

/** A thread has waited since then for memory or for the disk. */
static inline void trace_paging(struct node *node, const struct thread *thread,
                                int is_coming, page_no page, uint64_t began_ns)
{
    if (trace_is_on(node)) {
        trace_put(node, thread, EVENT_PAGING,
                  is_coming ? "page-in" : "waits for room", page, began_ns);
    }
}

/** A thread has waited since then for a page of another node. */
void trace_fault(struct node *node, const struct thread *thread, page_no page,
                 int is_write, uint64_t began_ns);

/** The calling thread ends an iteration; the next begins with trace_iteration_begins(). */
void trace_iteration_ends(struct node *node);
void trace_iteration_begins(struct node *node);

/** It leaves for that node, or has come. */
void trace_move(struct node *node, const struct thread *thread, node_id to);
void trace_arrival(struct node *node, const struct thread *thread);

/** A message has been handled since then. Only if a trace is wanted. */
void trace_message(struct node *node, node_id from,
                   const struct message *message, uint64_t began_ns);

/** On the root, before anybody runs: if the file could not be written the program ends. */
void trace_check(struct node *node);

#endif
