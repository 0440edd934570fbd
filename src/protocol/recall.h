// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_RECALL_H
#define PROTOCOL_RECALL_H

#include "protocol/updates.h"

/*
 * Copies that an owner calls back: such as notices make stale, which nobody seems to use.
 * Under the node lock.
 */

enum recall_kind {
    RECALL_ALL,    ///< the copy is stale then
    RECALL_WRITES, ///< it may be read until a notice makes it stale
    RECALL_KINDS,
};

/** Have a node give up its copy. */
void recall_add(struct engine *engine, page_no page, node_id node,
                enum recall_kind kind);

/** A node is sent another copy. @return 1 it has not been told that it is to give up the one
 * before, and will not be: V3 */
int recall_withdraw(struct engine *engine, page_no page, node_id node);

/** Send what has been added, pages of one node in one message. */
void recall_send(struct engine *engine);

/** `recall`, or `recalled`, has come. */
tm_status recall_receive(struct engine *engine, node_id from,
                         const struct message *message);

/** The extent's block is being freed: nobody is told any more to give up copies of it. */
void recall_forget(struct engine *engine, const struct extent *extent);

/** Slot of updates_base. */
void recall_free(struct updates *updates);

#endif
