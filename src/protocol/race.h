// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_RACE_H
#define PROTOCOL_RACE_H

#include "mem/page.h"
#include "net/message.h"
#include "protocol/protocol_calls.h"

/*
 * Looking for data races: what the files of this folder share. All of it is there
 * only if somebody has asked for it (race_of() is not NULL).
 */

/** What a diff on its way says of its making: the thread of the origin that wrote
 * the page first since the last release, and what the origin had heard of. */
struct race_writer {
    uint64_t thread;
    const void *clock; ///< [size] bytes; NULL: nobody looks for races
    uint16_t size;
};

struct update_item;
struct race_page;

struct race {
    struct race_page **pages; ///< [n_pages] of the space; NULL: nothing noted
    race_found_fn *found;
    void *owner;
};

/** A thread of this node is about to write a page, the first since its release. */
void race_begin_writing(struct engine *engine, page_no page, uint64_t thread);

/** What goes with this node's diffs of a page. */
struct race_writer race_writer(const struct engine *engine, page_no page);

/** The page's owner has a diff: does it race with those before it? */
void race_note(struct engine *engine, node_id origin,
               const struct update_item *item);

/** A diff is about to be applied: does it race with what this node has written and not
 * released? That will be gone. */
void race_meet(struct engine *engine, node_id origin,
               const struct update_item *item);

/** Forget who wrote pages; where races were told is kept. */
void race_forget_writers(struct engine *engine);
/** Forget all of a block's pages. */
void race_forget(struct engine *engine, const struct extent *extent);

/** RACE has come. */
tm_status race_receive(struct engine *engine, const struct message *message);

void race_close(struct engine *engine);

#endif
