// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_HEAP_HISTORY_H
#define MEM_HEAP_HISTORY_H

#include "mem/heap.h"

/*
 * The last blocks that were freed, to explain what is done to them afterwards.
 * Not thread-safe.
 */
#define HEAP_HISTORY 4096u

struct freed_block {
    struct heap_block block;
    char file[64]; ///< of the tm_free()
    uint32_t line;
};

struct heap_history {
    struct freed_block *ring; ///< [HEAP_HISTORY]
    uint64_t n_freed;         ///< ever; the next goes to n_freed % HEAP_HISTORY
};

/** @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status heap_history_init(struct heap_history *history);

void heap_history_release(struct heap_history *history);

/** Remember a block; the oldest one is forgotten. */
void heap_history_add(struct heap_history *history,
                      const struct heap_block *block, const char *file,
                      uint32_t line);

/** @return the block that started there, freed last of all such; NULL if it is
 *          not known */
const struct freed_block *heap_history_at(const struct heap_history *history,
                                          uint64_t address);

/** Copy a text that may be too long: its end part. @param size of `to` */
void heap_copy_end(char *to, size_t size, const char *text);

#endif
