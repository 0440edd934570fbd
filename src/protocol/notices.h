// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_NOTICES_H
#define PROTOCOL_NOTICES_H

#include "protocol/updates.h"

/*
 * Write notices ([Keleher92]): "the page has this version, with which you may have
 * heard of what was written". A node keeps the latest one of each page that it has heard
 * of, and tells each other node those that it has not told it, in front of the messages
 * that order what the program does. Under the node lock.
 */

/** A page was written to: its owner has this version. @param from  who says so; it is not
 * told again. This node if it has made it so. */
void notices_note(struct engine *engine, page_no page, uint32_t version,
                  node_id from);

/* Where writers keep their diffs (kept.h): notices of a page's writer each. A stamp is above
 * all that its node has made or heard of. */
uint64_t notices_next_stamp(struct engine *engine);
/** This node has written to a page, and keeps the diff. */
void notices_note_writer(struct engine *engine, page_no page, uint64_t stamp);
/** @return the latest stamp of a writer's diff of the page that is heard of; 0: none */
uint64_t notices_stamp(const struct engine *engine, page_no page,
                       node_id writer);

/** Are a page's contents of that version older than what this node has heard of? */
int notices_are_newer(const struct engine *engine, page_no page,
                      uint32_t version);

/* Slots of updates_base. */
void notices_send(struct engine *engine, node_id to, uint64_t mutex);
void notices_hear(struct engine *engine, struct engine *before, uint64_t mutex);
tm_status notices_receive(struct engine *engine, node_id from,
                          const struct message *message);
void notices_forget(struct engine *engine, const struct extent *extent);
void notices_free(struct updates *updates);

#endif
