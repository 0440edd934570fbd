// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_READERS_H
#define PROTOCOL_READERS_H

#include "protocol/recall.h"
#include "protocol/updates.h"

/*
 * What the owner of a page knows of nodes whose copies it does not push to, or did not
 * always: beside the copyset, and only of pages that have such. Under the node lock, at
 * the owner.
 */

/** May any node have a copy that is not pushed to? Never, of protocols that push to all. */
int readers_have_copies(const struct engine *engine, page_no page);

/** Is this node the only one that may have a copy that is not pushed to, is that of the
 * page's version, and has it made more than one? (Others that write the page, too, have asked
 * for it by then.) */
int readers_have_only(const struct engine *engine, page_no page, node_id node);

/** May another node than this one have such a copy? */
int readers_have_others(const struct engine *engine, page_no page,
                        node_id node);

/** Have nodes, but for one, give up such copies: recall.c. */
void readers_call_back(struct engine *engine, page_no page, node_id but,
                       enum recall_kind kind);

/** Slot of update_rules: a node has none, if it was not sent one since it was called. */
void readers_called_back(struct engine *engine, page_no page, node_id node);

/** The node has no such copy any more: the page is its own. */
void readers_end(struct engine *engine, page_no page, node_id node);

/** A node that has no copy asks for one. Is that to be pushed to? Else it is noted as one
 * that is not.
 * @return 1 if so */
int readers_subscribe(struct engine *engine, page_no page, node_id node);

/** The same of a node that is never pushed to. */
void readers_note_copy(struct engine *engine, page_no page, node_id node);

/** A node does not want to be pushed to any more; it has no copy. */
void readers_end_subscription(struct engine *engine, page_no page,
                              node_id node);

/** A node does not want to be pushed to any more, but keeps its copy, which has all versions
 * so far, or will have before it hears of anything else. */
void readers_leave(struct engine *engine, page_no page, node_id node);

/** The page's latest version was made by this node, perhaps the owner. */
void readers_note_version(struct engine *engine, page_no page, node_id node);

/** Has this node made all versions of late? */
int readers_write_alone(const struct engine *engine, page_no page,
                        node_id node);

/** Checks that owners only have notes; for tests and debug builds. */
int readers_are_valid(const struct engine *engine);

/* Slots of updates_base. */
void readers_forget(struct engine *engine, const struct extent *extent);
void readers_free(struct updates *updates);

#endif
