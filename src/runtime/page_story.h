// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_PAGE_STORY_H
#define RUNTIME_PAGE_STORY_H

#include "observe/event_ring.h"
#include "os/trap.h"

struct node;
struct thread;
struct message;

/** --story on this node. Guarded by the node lock. */
struct story_watch {
    struct event_ring *events; ///< NULL: no story is wanted
    page_no page;              ///< that it is about, if has_page
    int has_page;    ///< not yet, of a block that is still to be allocated
    char name[64];   ///< of the variable or block; "": an address was given
    uint64_t offset; ///< in it, bytes
};

static inline int story_is_on(const struct story_watch *story)
{
    return story->events != NULL;
}

/** A thread has had a fault at a page, and it has been looked at. Under the node lock; only if
 * a story is wanted. @param began_ns  before it was */
void story_fault(struct node *node, const struct thread *thread,
                 const struct trap *trap, page_no page, uint64_t began_ns);

/** A message has been handled since then. The same. */
void story_message(struct node *node, node_id from,
                   const struct message *message, uint64_t began_ns);

/** On the root, before anybody runs: if the file could not be written the program ends. */
void story_check(struct node *node);

#endif
