// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_HAND_ON_H
#define PROTOCOL_HAND_ON_H

#include "protocol/updates.h"

/*
 * Pages that migrate go to who asks for them. Parts of slots; under the node lock.
 */

/** Of serve: a node asks for a page. If that migrates, give it to the node with its ownership.
 * @return 1 it has gone */
int hand_on(struct engine *engine, page_no page,
            const struct fetch_request *request);

/** May no node but this one, and that one, have a copy that is written, and is no diff of it on
 * the way: may ownership go to it with the page? @param node  or NODE_NONE */
int hand_on_is_free(const struct engine *engine, page_no page, node_id node);

/** A page is to go: what its owner has not released makes a version, and is written no more. */
void hand_on_seal(struct engine *engine, page_no page);

/** Of local_fault: this node is about to write a copy. If it has stayed here when the page went,
 * it is stale now. @return 1 it is */
int hand_on_gives_up(struct engine *engine, page_no page);

/** Of called: copies of pages that are to go on are written no more. */
void hand_on_called(struct engine *engine, struct page_list *pages);

/** Of arrived: a page has come with its ownership. */
void hand_on_arrived(struct engine *engine, page_no page);

#endif
