// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_PUSHES_H
#define PROTOCOL_PUSHES_H

#include "protocol/sharing.h"
#include "protocol/updates.h"

/*
 * Pages whose owner pushes what is written to those in the copyset, and whose ownership
 * goes where they are written: slots of protocols, and parts of such. Under the node lock.
 */

/** Slot local_fault. */
int pushes_local_fault(struct engine *engine, page_no page, int is_write);

/** Another node asks for a page that is owned here. An exclusive one goes to it if it has
 * moved less than the rule says, else it is clean from now on. @return 1 if it has gone */
int pushes_move(struct engine *engine, page_no page,
                const struct fetch_request *request,
                const struct sharing_rule *rule);

/** Slot arrived. */
void pushes_arrived(struct engine *engine, page_no page, int want_write);

/* Slots of update_rules. */
void pushes_receive(struct engine *engine, struct flight *flight, node_id from,
                    const struct update_item *item);
void pushes_to_owner(struct engine *engine, struct flight *flight, node_id from,
                     const struct update_item *item);
/** Is nothing of this owner's doing under way for the page, and has that node a good copy? */
int pushes_is_calm(const struct engine *engine, page_no page, node_id to);
enum handing pushes_may_hand(const struct engine *engine, page_no page,
                             node_id to);
/** The same, if one node alone writes the page and its owner only reads it. */
enum handing pushes_may_hand_on(const struct engine *engine, page_no page,
                                node_id to);

/* Slots of protocols. */
enum page_state pushes_state_alone(const struct engine *engine, page_no page);
void pushes_evicted(struct engine *engine, page_no page);
void pushes_advised(struct engine *engine, page_no page,
                    enum page_advice advice);

#endif
