// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_BUDDIES_H
#define RUNTIME_BUDDIES_H

#include <stdint.h>

#include "net/roster.h"
#include "os/checkpoint_file.h"

struct node;

/* Checkpoints in the memory of hosts, --buddy: buddies.c. */

/** A node's file on its way to the next host: checkpoint_copy.c. */
struct copy_out {
    int fd; ///< -1: none is under way
    node_id to;
    uint32_t index;
    uint64_t n_sent;
    unsigned n_flying; ///< parts that are not answered yet
    struct checkpoint_sum sum;
    char why[128]; ///< it could not be taken; "": it can, until now
};

/** Guarded by the node lock. */
struct buddies {
    struct copy_out out;

    // the root's
    unsigned n_awaited; ///< leaders that have not answered yet
    int is_giving_up;   ///< they are to remove it
};

/** With --buddy: have this node's checkpoints be in the folder of the run. Ends the process if there is
 * none. Before all others. */
void buddies_use_memory(struct node *node);

/** Why a checkpoint of which this node has so many bytes would take too much memory; NULL: it would
 * not. Not under the node lock. */
const char *buddies_why_too_much(struct node *node, uint64_t n_bytes);

/** Say where checkpoints are. On the root. */
void buddies_tell_where(const struct node *node);

/** On the root: all files are in two places, or `why` of the checkpoint says why not. Have all
 * hosts know. Under the node lock. */
void buddies_confirm(struct node *node);

// ---- checkpoint_copy.c

/** This node's file is whole: bring it to the next host, if there is one, and tell the root. Not
 * under the node lock. */
void copy_begin(struct node *node, uint32_t index,
                const struct checkpoint_sum *sum);

struct message;
/** A part of another node's file has come; one of this node's has been taken there. */
tm_status copy_take_part(struct node *node, node_id from,
                         const struct message *message);
tm_status copy_take_answer(struct node *node, node_id from,
                           const struct message *message);
void copy_close(struct node *node);

#endif
