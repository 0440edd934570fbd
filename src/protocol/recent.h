// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_RECENT_H
#define PROTOCOL_RECENT_H

#include "protocol/updates.h"

/*
 * What has changed lately of a page, as its owner knows: who has an old copy is sent that
 * rather than the page. Of pages only that copies were given of which notices may make old.
 * Under the node lock.
 */

/** A copy of the page's version has been given. */
void recent_given(struct engine *engine, page_no page);

/** The page's latest version has just been made by a diff.
 * @param diff  [size] NULL: nobody knows what has changed */
void recent_changed(struct engine *engine, page_no page, const void *diff,
                    size_t size);

/** The same; its owner has written it. */
void recent_owner_wrote(struct engine *engine, page_no page, const void *diff,
                        size_t size);

/** Should its owner write to it against a twin, so that it is known what changes? */
int recent_is_followed(const struct engine *engine, page_no page);

/** Is anything known of the page, by this ownership? */
int recent_is_kept(const struct engine *engine, page_no page);

/** Bytes of what goes along with a page at most. */
#define RECENT_LINES_MAX (24u * WIRE_SIZE_changed_lines)

/** What is known of the page, for its next owner.
 * @param[out] lines  [RECENT_LINES_MAX]
 * @return bytes; 0: nothing is known, or too much */
size_t recent_lines(const struct engine *engine, page_no page, uint8_t *lines);

/** The same has come from the former owner, with the page and its ownership; what is
 * malformed is as nothing. */
void recent_take(struct engine *engine, page_no page,
                 const struct wire_bytes *lines);

/** What has changed since a version.
 * @param bytes       [4096] of the page's version
 * @param[out] diff   [DIFF_MAX]; all of the page, if nobody knows
 * @param[out] is_all set: it is that
 * @return bytes of the diff; 0: nothing has changed */
size_t recent_diff(const struct engine *engine, page_no page, uint32_t since,
                   const char *bytes, void *diff, int *is_all);

/** Checks that lines are of versions that there have been; for tests and debug builds. */
int recent_is_valid(const struct engine *engine);

/* Slots of updates_base. */
void recent_forget(struct engine *engine, const struct extent *extent);
void recent_free(struct updates *updates);

#endif
