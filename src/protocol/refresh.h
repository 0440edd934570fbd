// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_REFRESH_H
#define PROTOCOL_REFRESH_H

#include "protocol/updates.h"

/*
 * Stale copies: out of date, absent to the program, but their bytes are kept. Who needs such
 * a page asks its owner for what has changed since. Under the node lock.
 */

/** A copy here has been unmapped, and is to be absent. Are its bytes kept? */
int refresh_keeps(const struct engine *engine, page_no page);

/** Slot refetch of protocols. */
void refresh_ask(struct engine *engine, page_no page, int is_write);

/** This owner serves a page that the requester may have a stale copy of: send that what
 * has changed, or else the page, as fetch_send_copy(). */
void refresh_send_copy(struct engine *engine, page_no page,
                       const struct fetch_request *request, int is_subscribed);

/** The same with the page's ownership. It is clean, and a copy stays: hand_on.c. */
void refresh_send_away(struct engine *engine, page_no page,
                       const struct fetch_request *request);

/** The page is about to be another node's, or its bytes are on the way there already. It is
 * clean, and a copy stays. */
void refresh_leave(struct engine *engine, page_no page, node_id to);

/** The bytes of a page that migrates are here, of that version, and it is this node's now.
 * @param copy  but for its diff */
void refresh_own(struct engine *engine, node_id from,
                 const struct wire_refreshed_copy *copy);

/** The bytes of a stale copy are needed no more. */
void refresh_discard(struct engine *engine, page_no page);

/** `refresh` or `refreshed` has come. */
tm_status refresh_receive(struct engine *engine, node_id from,
                          const struct message *message);

#endif
