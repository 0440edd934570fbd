// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_GATHER_H
#define PROTOCOL_GATHER_H

#include "protocol/kept.h"

/* Diffs of a page are gathered from the writers that keep them. Under the node lock. */

/** Does a page lack diffs that this node has heard of? */
int gather_lacks(const struct engine *engine, const struct kept_page *record);
int gather_is_old(const struct engine *engine, page_no page);

/** Ask for what a page lacks, unless that is under way. It is old, and its bytes are here. */
void gather_begin(struct engine *engine, page_no page);

/** Slot refetch of protocols. */
void gather_ask(struct engine *engine, page_no page, int is_write);

/** `copy`, `diffs_ask`, `diffs` or `home` has come. @return TM_OK, TM_EWIRE */
tm_status gather_receive(struct engine *engine, node_id from,
                         const struct message *message);

#endif
