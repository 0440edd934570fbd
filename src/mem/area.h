// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_AREA_H
#define MEM_AREA_H

#include <stdint.h>

#include "base/status.h"

/*
 * A range of pages cut into areas, each free, used or closed; the heap's map.
 * Taking, giving back and finding take time logarithmic in the number of areas.
 * Not thread-safe.
 */

enum area_state {
    AREA_FREE,
    AREA_USED,
    AREA_CLOSED, ///< not used, but not to be used again yet
};

struct area {
    page_no page;
    uint64_t n_pages;
    enum area_state state;
    void *content; ///< of whoever took it

    struct area *left;     ///< in the tree: lower pages
    struct area *right;    ///< higher ones
    uint64_t largest_free; ///< pages of the largest free area from here down
    uint32_t priority;     ///< not above the parent's
};

struct area_map {
    struct area *root;
    uint64_t random; ///< of priorities
};

/** Make a map of one free area. @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status area_map_init(struct area_map *map, page_no page,
                                   uint64_t n_pages);

void area_map_release(struct area_map *map);

/** Take the lowest free pages that are enough.
 * @return the area, used, content NULL; NULL if there are no such pages, or no
 *         memory for the record of those that are left over */
struct area *area_take(struct area_map *map, uint64_t n_pages);

/** Take pages that are free. @return the area, used, content NULL; NULL if they are not all
 * free, or no memory for the records of those around them */
struct area *area_take_at(struct area_map *map, page_no page, uint64_t n_pages);

/** Make an area free, one with the free areas beside it; the record may go. */
void area_give(struct area_map *map, struct area *area);

/** @return the area that a page lies in; NULL outside the map */
struct area *area_find(const struct area_map *map, page_no page);

/** The area behind one. @return NULL at the end */
struct area *area_next(const struct area_map *map, const struct area *area);

/** @return pages of the largest free area */
uint64_t area_largest_free(const struct area_map *map);

int area_map_is_valid(const struct area_map *map);

#endif
