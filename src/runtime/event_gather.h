// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_EVENT_GATHER_H
#define RUNTIME_EVENT_GATHER_H

#include "base/map.h"
#include "base/status.h"
#include "observe/event_ring.h"

/* The root has the events that nodes have kept. */

struct node;

enum events_of { EVENTS_OF_TRACE, EVENTS_OF_STORY };

/** What the root gets of a node. Zeros, but for the first two. */
struct node_events {
    enum events_of which;
    struct map *names;    ///< of all nodes: events point into it
    struct event *events; ///< [n] for free()
    size_t n;
    size_t room;
    uint64_t wanted;  ///< those that there were when it was asked first
    uint64_t n_lost;  ///< of them, those that it did not have any more
    int64_t ahead_ns; ///< its clock is so much ahead of the root's
};

/** Ask a node for all that it has. Waits; a thread's, on the root, outside the lock.
 * @return TM_OK, TM_EINVAL (it has left), others: it is lost */
tm_status events_gather(struct node *node, unsigned id, struct node_events *of);

void events_release_names(struct map *names);

#endif
