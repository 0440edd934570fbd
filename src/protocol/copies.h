// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_COPIES_H
#define PROTOCOL_COPIES_H

#include "pages/pages.h"

/*
 * Many copies of others' pages at once, for protocols that give copies up before threads
 * go on after an acquire. Pages on a list that are owned here, or not here at all, are
 * left out; the list may name a page more than once. Under the node lock.
 */

/** Send the diffs of those that are dirty, then drop all: each is absent. The list is
 * empty then. */
void copies_drop(struct engine *engine, struct page_list *copies);

/** The same, but bytes that can be refreshed are kept: refresh.h. */
void copies_make_stale(struct engine *engine, struct page_list *copies);

/** Send the diffs of those that are dirty: each is clean. */
void copies_clean(struct engine *engine, struct page_list *copies);

/** Slot `applied` of update_rules, with write notices. */
void copies_applied(struct engine *engine, page_no page, uint32_t version);

/* The same of all copies here that nobody keeps up to date; stale ones are dropped too. */
void copies_clean_all(struct engine *engine);
void copies_drop_all(struct engine *engine);

#endif
