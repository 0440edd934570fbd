// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_KEPT_BOUND_H
#define PROTOCOL_KEPT_BOUND_H

#include "protocol/kept.h"

/* When a writer drops its diffs, and who has them then. Under the node lock. */

/** Is the page's block being freed, or gone? Nobody is asked about it any more: this node may
 * have acknowledged that. */
int kept_is_of_freed(const struct engine *engine, page_no page);

/** A diff has been added: are they too many, or is memory short, or are nodes about to come
 * or go? Then they go home. */
void kept_bound(struct engine *engine, struct kept_page *record);

/** Of each page drop all as soon as its owner has them, or at once if that is this node. */
void kept_let_all_go(struct engine *engine);

/** Memory is short: give up what others need not come here for, and let all the rest go. What comes
 * later is not kept for long (kept_bound()). */
void kept_relieve(struct engine *engine);

/** Ask the page's owner to get all diffs (is_there 0), or, as the owner, say that it has the
 * receiver's up to a stamp. */
void kept_send_home(struct engine *engine, page_no page, node_id to,
                    int is_there, uint64_t stamp);

/** The owner says so. @return TM_OK, TM_EWIRE */
tm_status kept_receive_home(struct engine *engine, page_no page,
                            uint64_t stamp);

#endif
