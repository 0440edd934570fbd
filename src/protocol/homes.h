// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_HOMES_H
#define PROTOCOL_HOMES_H

#include "protocol/updates.h"

/*
 * Pages whose owner is their home: it gets all diffs, applies them at once, and pushes
 * nothing ([Zhou96]). Write notices tell others which copies are old. Slots of protocols
 * that have it so.
 */

/** Has anybody had a copy of a page, so that its owner stays? Said by the owner. */
int homes_stays(const struct engine *engine, page_no page);

/** Another node asks for a page that is owned here. It goes to it, or its owner stays from
 * now on, and has to fault to write to it. @return 1 if it has gone */
int homes_move(struct engine *engine, page_no page,
               const struct fetch_request *request);

int homes_local_fault(struct engine *engine, page_no page, int is_write);
int homes_is_fresh(const struct engine *engine, page_no page, uint32_t version);
void homes_arrived(struct engine *engine, page_no page, int want_write);
void homes_to_owner(struct engine *engine, struct flight *flight, node_id from,
                    const struct update_item *item);

#endif
