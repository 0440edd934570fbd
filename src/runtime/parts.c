// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of a node's parts, and who is told what. A file below may tell all parts
// something, which are above it: so no part needs to know those that must be told.
//
// P1 Each type of message is of one part at most.
#include "runtime/parts.h"

#include <string.h>

#include "base/ensure.h"
#include "runtime/node.h"

// ---- what a part does not do

void part_no_step(struct node *node)
{
    (void)node;
}

int part_no_tick(struct node *node)
{
    (void)node;
    return 0;
}

tm_status part_no_receive(struct node *node, node_id from,
                          const struct message *message)
{
    (void)node;
    (void)from;
    (void)message;
    return TM_EWIRE;
}

void part_no_thread(struct node *node, struct thread *thread)
{
    (void)node;
    (void)thread;
}

void part_no_roster(struct node *node, int is_first)
{
    (void)node;
    (void)is_first;
}

void part_no_stats(struct node *node, struct tm_node_stats *stats)
{
    (void)node;
    (void)stats;
}

// ---- all parts

#define EACH(part)                                                             \
    const struct part *const *part = node->parts;                              \
    *part != NULL;                                                             \
    part++

void parts_use(struct node *node, const struct part *const *parts)
{
    memset(node->part_of, 0, sizeof node->part_of);
    node->parts = parts;
    for (EACH(part)) {
        ensure((*part)->owns == OWNER_none ||
               node->part_of[(*part)->owns] == NULL); // P1
        node->part_of[(*part)->owns] = *part;
    }
    node->part_of[OWNER_none] = NULL;
}

void parts_open(struct node *node)
{
    (void)node;
    for (EACH(part)) {
        (*part)->open(node);
    }
}

void parts_start(struct node *node)
{
    (void)node;
    for (EACH(part)) {
        (*part)->start(node);
    }
}

int parts_tick(struct node *node)
{
    int is_busy = 0;

    (void)node;
    for (EACH(part)) {
        is_busy |= (*part)->tick(node);
    }
    return is_busy;
}

tm_status parts_receive(struct node *node, node_id from,
                        const struct message *message)
{
    const struct part *part = node->part_of[message_owner(message->type)];

    return part == NULL ? TM_EWIRE : part->receive(node, from, message);
}

void parts_thread_arrived(struct node *node, struct thread *thread)
{
    (void)node;
    for (EACH(part)) {
        (*part)->thread_arrived(node, thread);
    }
}

void parts_thread_left(struct node *node, struct thread *thread)
{
    (void)node;
    for (EACH(part)) {
        (*part)->thread_left(node, thread);
    }
}

void parts_roster_changed(struct node *node, int is_first)
{
    (void)node;
    for (EACH(part)) {
        (*part)->roster_changed(node, is_first);
    }
}

void parts_stats(struct node *node, struct tm_node_stats *stats)
{
    (void)node;
    for (EACH(part)) {
        (*part)->stats(node, stats);
    }
}

void parts_finish(struct node *node)
{
    (void)node;
    for (EACH(part)) {
        (*part)->finish(node);
    }
}

void parts_close(struct node *node)
{
    (void)node;
    for (EACH(part)) {
        (*part)->close(node);
    }
}
