// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_MIGRATION_H
#define PROTOCOL_MIGRATION_H

#include "protocol/updates.h"

/*
 * Pages that go from node to node: each reads and then writes them. Their owner finds that out,
 * and hands such a page on when it is asked for. Under the node lock, at the owner.
 */

/** `moves` of a page that has gone so, from owner to owner; of no other (pushes.c). */
#define MOVES_MIGRATES UINT8_MAX

/** Has the page gone so of late that it will go on so? */
int migration_is_on(const struct engine *engine, page_no page);

/** A node that had asked for the page has written it, and is not the last who had.
 * @param n_others  nodes but this one that have had the page */
void migration_goes_on(struct engine *engine, page_no page, uint32_t n_others);

/** Somebody has done something else. */
void migration_breaks(struct engine *engine, page_no page);

/** Ownership has come, with `moves`. */
void migration_begins(struct engine *engine, page_no page);

/** Has the page gone so, or been about to, and may copies have stayed that nobody knows of? */
int migration_has_begun(const struct engine *engine, page_no page);

#endif
