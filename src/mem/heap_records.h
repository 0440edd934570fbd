// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_HEAP_RECORDS_H
#define MEM_HEAP_RECORDS_H

#include "mem/heap.h"

/*
 * What is noted of blocks, live and freed; of heap.c and slabs.c.
 */

/** Of a block. */
struct heap_record {
    uint64_t size; ///< as asked for; 0: there is no block
    char *label;   ///< file, NUL, name, NUL
    uint32_t line;
};

/** Note a block where there is none. @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status heap_record_set(struct heap_record *record, uint64_t size,
                                     const struct heap_origin *origin);
void heap_record_clear(struct heap_record *record);
/** @param[out] block  all but its address and capacity, which become 0 */
void heap_record_describe(const struct heap_record *record,
                          struct heap_block *block);

/** The last blocks that were freed, to explain what is done to them afterwards. */
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

/** Remember a block; the oldest one is forgotten. @param file, line  of tm_free() */
void heap_history_note(struct heap_history *history,
                       const struct heap_block *block, const char *file,
                       uint32_t line);

/** Why is no block at an address? @param[out] block, freed_at  as heap_release()
 * @return TM_EFREED, TM_ENOBLOCK */
tm_status heap_history_explain(const struct heap_history *history,
                               uint64_t address, struct heap_block *block,
                               char *freed_at);

#endif
