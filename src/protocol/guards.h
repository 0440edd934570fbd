// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_GUARDS_H
#define PROTOCOL_GUARDS_H

#include "protocol/updates.h"

/*
 * Which pages that migrate (migration.c) a mutex guards, as this node has found out. Under the node
 * lock.
 */

/** Pages of a mutex: more are missed. */
#define GUARDED_MAX 4u

/** So often a page has been missed under its mutex, to be sure. */
#define GUARDED_SURE 2u

struct guarded {
    page_no page;
    uint32_t version; ///< with which it came
    uint8_t n_seen;   ///< of late
};

struct guard {
    struct guard *next;
    uint64_t mutex;
    struct guarded pages[GUARDED_MAX]; ///< [n]
    uint8_t n;
    uint8_t was_locked; ///< here, since the token came
};

/** @return NULL: it guards nothing, as far as is known */
struct guard *guards_find(const struct engine *engine, uint64_t mutex);

/** A page that migrates has come, because threads here missed it. */
void guards_missed(struct engine *engine, page_no page);

/** A page has come along with a mutex, which guards it: that says who has sent it. */
void guards_came_along(struct engine *engine, page_no page, uint64_t mutex);

/** It does not guard that one. */
void guards_take_out(struct engine *engine, struct guard *guard,
                     struct guarded *item);

/** A thread here has locked a mutex. */
void guards_locked(struct engine *engine, uint64_t mutex);

/** Checks that each is found under its page; for tests and debug builds. */
int guards_are_valid(const struct engine *engine);

/* Slots of updates_base. */
void guards_forget(struct engine *engine, const struct extent *extent);
void guards_free(struct updates *updates);

#endif
