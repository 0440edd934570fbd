// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_CELL_H
#define RUNTIME_CELL_H

#include <stddef.h>
#include <stdint.h>

#include "net/message.h"

/*
 * What the cell of a small block says of it, in shared memory. See cell.c.
 */

enum cell_state {
    CELL_LIVE,    ///< a block, and nothing behind it has changed
    CELL_FREED,   ///< a node has freed it
    CELL_DAMAGED, ///< neither: written over, or never used
};

/** Make a block of zeros in a cell.
 * @param cell  [capacity]  @param size  1 to capacity; above capacity - HEAP_REDZONE
 *              nothing tells that there is a block: CELL_DAMAGED */
void cell_prepare(char *cell, uint64_t size, uint64_t capacity);

/** Leave word that a live block is freed. */
void cell_free(char *cell, uint64_t capacity, node_id by);

/** @param[out] freed_by  of CELL_FREED: who has */
enum cell_state cell_read(const char *cell, uint64_t capacity,
                          node_id *freed_by);

/** @return the first byte behind a live block that is not as cell_prepare() left it; 0:
 *          all are */
uint64_t cell_overrun(const char *cell, uint64_t size, uint64_t capacity);

#endif
