// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_KEPT_H
#define PROTOCOL_KEPT_H

#include "protocol/updates.h"

/*
 * Diffs that stay with who has made them, and what a copy has of those of others. A writer
 * numbers its diffs with stamps: of two that the program orders the later one has the higher
 * stamp (notices_next_stamp()). Under the node lock.
 */

/** A diff of this node's, or of another's that has been asked for. */
struct kept_diff {
    struct kept_diff *next;
    uint64_t stamp;
    uint64_t since; ///< of another's: it is the first behind that stamp
    node_id writer;
    uint16_t size;
    uint8_t bytes[];
};

/** All diffs of a writer up to a stamp. */
struct kept_part {
    uint64_t stamp;
    node_id writer;
};

/** Of a page that several nodes have. */
struct kept_page {
    struct kept_page *next;
    page_no page;
    struct kept_part *parts; ///< whose diffs are in the bytes here
    unsigned n_parts;
    unsigned room;
    struct kept_diff *own; ///< this node's, the oldest first
    uint32_t n_bytes;      ///< of these
    uint64_t dropped;      ///< those up to here are not kept any more; 0: none
    struct kept_diff *others; ///< that have been applied here, the oldest first
    uint32_t n_other_bytes;
    struct kept_diff
        *come;             ///< others', to be applied: in order of their stamps
    unsigned n_asked;      ///< nodes that are yet to answer
    uint8_t was_asked;     ///< one has been, for the diffs of all
    uint8_t is_lost;       ///< one of them has dropped what was asked for
    uint8_t is_going_home; ///< the owner has been asked to take all diffs
    node_id *waiting; ///< the owner's: [n_waiting] nodes that have asked so
    unsigned n_waiting;
    unsigned waiting_room;
};

/** @return NULL: no other node has had the page */
struct kept_page *kept_find(const struct engine *engine, page_no page);
/** The same; make it if there is none. */
struct kept_page *kept_of(struct engine *engine, page_no page);
/** All pages. */
struct kept_page *kept_first(const struct engine *engine);

/** @return the stamp up to which the writer's diffs are in the bytes here; 0: none are */
uint64_t kept_has(const struct kept_page *record, node_id writer);
/** The same, or have come, to be applied. */
uint64_t kept_has_or_gets(const struct kept_page *record, node_id writer);
/** They are, up to that one, or a later one. */
void kept_set(struct kept_page *record, node_id writer, uint64_t stamp);

/** The node has asked to be told when the page has come home. */
void kept_await(struct kept_page *record, node_id node);

/** @return the stamp of the latest that this node keeps; 0: it keeps none */
uint64_t kept_newest(const struct kept_page *record);

/** @return how many diffs of its own this node keeps */
unsigned kept_count(const struct kept_page *record);

/** Keep a diff of this node's. @param diff  [size] */
void kept_add(struct kept_page *record, node_id self, uint64_t stamp,
              const void *diff, size_t size);
/** Drop this node's up to a stamp. */
void kept_drop(struct kept_page *record, uint64_t until);

/** A diff has come that is to be applied with others. */
void kept_come(struct kept_page *record, node_id writer, uint64_t stamp,
               const void *diff, size_t size);
/** One that has come, and is in no list, is applied: it is kept for others, if there is
 * room. @param most  bytes of such, of a page */
void kept_pass_on(struct kept_page *record, struct kept_diff *diff,
                  uint32_t most);
/** Drop all that are kept for others. */
void kept_drop_others(struct kept_page *record);
/** @return another's first diff behind a stamp, if there is none between that is not kept
 * here; NULL */
const struct kept_diff *kept_next(const struct kept_page *record,
                                  node_id writer, uint64_t since);

/** Drop those that have come; empty ones, which say that the page's owner has all up to
 * there, stay. */
void kept_drop_come(struct kept_page *record);

/** Do records make sense? For tests and debug builds. */
int kept_is_valid(const struct engine *engine);

/* Slots of updates_base. */
void kept_forget(struct engine *engine, const struct extent *extent);
void kept_free(struct updates *updates);

#endif
