// SPDX-License-Identifier: BSD-3-Clause
//
// A small block in its cell: the block, a pattern behind it, and in the last eight bytes
// a mark, which says how large the block is, or who has freed it. So any node that the
// program has given the block to can tell whether tm_free() is right, and asks only if
// it is not. All that is here is read and written as the program would do it, through
// its own view of the memory.
//
// A block that leaves no room for the mark (of those with a grain some do) has none, so who
// frees it asks the node that knows.
//
//   bits  0 to 7    as the pattern: who writes one byte too many, say a zero, is seen
//         8 to 19   size of the block
//        20 to 32   0: it is live; else the node that has freed it, + 1
//        33 to 63   of all that and the address, so that nothing else is a mark, nor a
//                   copy of it elsewhere
#include "runtime/cell.h"

#include <string.h>

#include "base/random.h"
#include "mem/slabs.h"

#define FILL 0xa5u

_Static_assert(HEAP_REDZONE == sizeof(uint64_t), "the mark");
_Static_assert(HEAP_SMALL_MAX < 1u << 12 && TM_MAX_NODES < 1u << 13, "fields");

static char *place_of_mark(const char *cell, uint64_t capacity)
{
    return (char *)(uintptr_t)cell + capacity - HEAP_REDZONE;
}

static uint64_t make_mark(const char *cell, uint64_t size, unsigned freed_by)
{
    const uint64_t low = (uint64_t)freed_by << 20 | size << 8 | FILL;

    return random_mix((uintptr_t)cell ^ low << 31) >> 33 << 33 | low;
}

static void write_mark(char *cell, uint64_t capacity, uint64_t mark)
{
    memcpy(place_of_mark(cell, capacity), &mark, sizeof mark);
}

static uint64_t read_mark(const char *cell, uint64_t capacity)
{
    uint64_t mark;

    memcpy(&mark, place_of_mark(cell, capacity), sizeof mark);
    return mark;
}

static uint64_t size_in(uint64_t mark)
{
    return mark >> 8 & 0xfff;
}

void cell_prepare(char *cell, uint64_t size, uint64_t capacity)
{
    memset(cell, 0, size);
    if (size > capacity - HEAP_REDZONE) {
        return;
    }
    memset(cell + size, FILL, capacity - HEAP_REDZONE - size);
    write_mark(cell, capacity, make_mark(cell, size, 0));
}

void cell_free(char *cell, uint64_t capacity, node_id by)
{
    write_mark(cell, capacity,
               make_mark(cell, size_in(read_mark(cell, capacity)), by + 1u));
}

uint64_t cell_overrun(const char *cell, uint64_t size, uint64_t capacity)
{
    const uint64_t mark = make_mark(cell, size, 0);

    if (size > capacity - HEAP_REDZONE) {
        return 0; // nothing is known
    }
    for (uint64_t i = size; i < capacity - HEAP_REDZONE; i++) {
        if ((uint8_t)cell[i] != FILL) {
            return i;
        }
    }
    for (unsigned i = 0; i < sizeof mark; i++) {
        const uint64_t at = capacity - HEAP_REDZONE + i;

        if ((uint8_t)cell[at] != (uint8_t)(mark >> 8 * i)) {
            return at;
        }
    }
    return 0;
}

enum cell_state cell_read(const char *cell, uint64_t capacity,
                          node_id *freed_by)
{
    const uint64_t mark = read_mark(cell, capacity);
    const unsigned by = mark >> 20 & 0x1fff;
    const uint64_t size = size_in(mark);

    if (size == 0 || size > capacity - HEAP_REDZONE || by > TM_MAX_NODES ||
        mark != make_mark(cell, size, by)) {
        return CELL_DAMAGED;
    }
    if (by > 0) {
        *freed_by = (node_id)(by - 1);
        return CELL_FREED;
    }
    return cell_overrun(cell, size, capacity) == 0 ? CELL_LIVE : CELL_DAMAGED;
}
