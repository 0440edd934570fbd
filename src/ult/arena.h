// SPDX-License-Identifier: BSD-3-Clause
#ifndef ULT_ARENA_H
#define ULT_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A thread's own memory, behind its stack: a range that has the same addresses on all
 * nodes. All that is known of it is in the range itself, so it can be copied to another
 * node as bytes. Used by its thread alone; nothing here locks.
 */
struct arena;

/** Begin: the range is zeros. @param size  of all of it, above 4096 */
void arena_init(struct arena *arena, size_t size);

/** @return a block, aligned to 16 bytes, its bytes not set; NULL if there is no room */
void *arena_alloc(struct arena *arena, size_t size);

/** @return TM_OK, TM_ENOBLOCK (not the start of a block of this arena, or freed before) */
tm_status arena_free(struct arena *arena, void *block);

/** Bytes from its start on that are in use; 0: nothing of it is. */
size_t arena_used(const struct arena *arena);

/** One pointer that is kept with it; NULL at first. */
void *arena_root(const struct arena *arena);
void arena_set_root(struct arena *arena, void *root);

/** Checks that chunks follow each other, and that the free ones are listed. */
int arena_is_valid(const struct arena *arena);

#endif
