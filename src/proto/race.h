// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTO_RACE_H
#define PROTO_RACE_H

#include "mem/page.h"
#include "net/message.h"
#include "proto/engine.h"

/*
 * Looking for data races: what the files of this folder share. All of it is there
 * only if somebody has asked for it (engine->race is not NULL).
 */

/** A clock in bytes: items of node u16, its releases u32, by node. */
#define CLOCK_ITEM 6u
#define CLOCK_BYTES_MAX (TM_MAX_NODES * CLOCK_ITEM)

/** How many releases of each node something comes after. */
struct clock {
    uint32_t *of; ///< [n]; 0 of other nodes
    unsigned n;
};

/** What a diff on its way says of its making: the thread of the origin that wrote
 * the page first since the last release, and what the origin had heard of. */
struct race_writer {
    uint64_t thread;
    const void *clock; ///< [size] bytes; NULL: nobody looks for races
    uint16_t size;
};

struct update_item;
struct race_object;
struct race_page;

#define RACE_BUCKETS 1024u

struct race {
    struct clock own; ///< what this node comes after; of itself, releases begun
    struct race_object *objects[RACE_BUCKETS]; ///< by key
    uint8_t bytes[CLOCK_BYTES_MAX]; ///< `own`, as of the release under way
    uint16_t size;
    struct race_page **pages; ///< [n_pages] of the space; NULL: nothing noted
    race_found_fn *found;
    void *owner;
};

// ---- order.c: what comes after what

/** The engine's own clock goes on: a release begins. */
void order_begin_release(struct engine *engine);

/** Are these the bytes of a clock? */
int clock_bytes_are_good(const void *bytes, size_t size);

/** The releases of a node in a clock. */
uint32_t clock_count(const void *bytes, size_t size, node_id node);

/** CLOCK has come. */
tm_status order_receive(struct engine *engine, const struct message *message);
void order_close(struct race *race);

// ---- race.c: who wrote which byte last

/** Are races looked for in the page? */
int race_watches(const struct engine *engine, page_no page);

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
