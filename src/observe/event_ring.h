// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_EVENT_RING_H
#define OBSERVE_EVENT_RING_H

#include <stddef.h>
#include <stdint.h>

/* What happens at a node while its program runs, for --trace: the latest, if there is too
 * much of it. */

enum event_sort {
    EVENT_FAULT,     ///< a thread waits for a page of another node
    EVENT_PAGING,    ///< a thread waits for memory or the disk
    EVENT_CALL,      ///< a thread waits in a call of the API
    EVENT_ITERATION, ///< what a thread does between two ends of iterations
    EVENT_MOVE,      ///< a thread leaves or comes
    EVENT_MESSAGE,   ///< the node handles a message
    EVENT_STORY, ///< something happens to the page of --story (observe/story.h)
    N_EVENT_SORTS
};

/** Events of one flow are shown with arrows from one to the next in time. */
enum event_flow { FLOW_NONE, FLOW_PASSES, FLOW_ENDS };

#define EVENT_OF_NODE UINT64_MAX // no thread's

struct event {
    uint64_t at_ns;   ///< when it began, clock_now_ns()
    uint64_t ns;      ///< how long it took
    uint64_t thread;  ///< whose it is: its number, or EVENT_OF_NODE
    uint64_t subject; ///< a page's number, a count of iterations
    uint64_t flow;    ///< of all nodes; with FLOW_NONE of no meaning
    const char *name; ///< kept: a constant
    uint16_t peer;    ///< the other node; NODE_NONE: there is none
    uint8_t sort;     ///< enum event_sort
    uint8_t flows;    ///< enum event_flow
};

struct event_ring;

/** @param bytes  that it may take; it takes them as they are used. @return NULL: no memory */
struct event_ring *event_ring_new(size_t bytes);
void event_ring_free(struct event_ring *ring);

/** Any thread, without a lock. */
void event_ring_put(struct event_ring *ring, const struct event *event);

/** @return how many have been put, among them those that have been lost since */
uint64_t event_ring_n_put(const struct event_ring *ring);

/** @return the number of the first that is there still */
uint64_t event_ring_first(const struct event_ring *ring);

/** @param number  event_ring_first() <= number < event_ring_n_put(). Nobody puts any that
 * might take its place. */
const struct event *event_ring_at(const struct event_ring *ring,
                                  uint64_t number);

#endif
