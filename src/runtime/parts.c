// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of a node's parts, and who is told what. A file below may tell all parts
// something, which are above it: so no part needs to know those that must be told.
//
// P1 Each type of message is of one part at most.
// P2 Each part says what is saved of it in a checkpoint.
#include "runtime/parts.h"

#include <string.h>

#include "base/ensure.h"
#include "runtime/node.h"

void parts_use(struct node *node, const struct part *const *parts)
{
    memset(node->part_of, 0, sizeof node->part_of);
    node->parts = parts;
    for (; *parts != NULL; parts++) {
        ensure((*parts)->save != NULL); // P2
        ensure((*parts)->owns == OWNER_none ||
               (node->part_of[(*parts)->owns] == NULL && // P1
                (*parts)->receive != NULL));
        node->part_of[(*parts)->owns] = *parts;
    }
    node->part_of[OWNER_none] = NULL;
}

// Call a slot of all parts that have it.
#define TELL_PARTS(slot, parameters, ...)                                      \
    void parts_##slot parameters                                               \
    {                                                                          \
        for (const struct part *const *at = node->parts; *at != NULL; at++) {  \
            if ((*at)->slot != NULL) {                                         \
                (*at)->slot(__VA_ARGS__);                                      \
            }                                                                  \
        }                                                                      \
    }

TELL_PARTS(open, (struct node * node), node)
TELL_PARTS(start, (struct node * node), node)
TELL_PARTS(thread_arrived, (struct node * node, struct thread *thread), node,
           thread)
TELL_PARTS(thread_left, (struct node * node, struct thread *thread), node,
           thread)
TELL_PARTS(roster_changed, (struct node * node, int is_first), node, is_first)
TELL_PARTS(stats, (struct node * node, struct tm_node_stats *stats), node,
           stats)
TELL_PARTS(finish, (struct node * node), node)
TELL_PARTS(close, (struct node * node), node)

TELL_PARTS(save, (struct node * node, const struct port *to), node, to)

void parts_save_nothing(struct node *node, const struct port *to)
{
    (void)node;
    (void)to;
}

void parts_load(struct node *node, const struct message *message)
{
    const struct part *part = node->part_of[message_owner(message->type)];

    if (part != NULL && part->load != NULL) {
        part->load(node, message);
    }
}

int parts_tick(struct node *node)
{
    int is_busy = 0;

    for (const struct part *const *at = node->parts; *at != NULL; at++) {
        if ((*at)->tick != NULL) {
            is_busy |= (*at)->tick(node);
        }
    }
    return is_busy;
}

tm_status parts_receive(struct node *node, node_id from,
                        const struct message *message)
{
    const struct part *part = node->part_of[message_owner(message->type)];

    return part == NULL ? TM_EWIRE : part->receive(node, from, message);
}
