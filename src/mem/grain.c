// SPDX-License-Identifier: BSD-3-Clause
#include "mem/grain.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/vector.h"

// Index of the first area that begins above the page.
static size_t upper_bound(const struct grain *grain, page_no page)
{
    size_t low = 0;
    size_t high = grain->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (grain->areas[middle].page <= page) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct grain_area *grain_find(const struct grain *grain, page_no page)
{
    const size_t above = upper_bound(grain, page);
    const struct grain_area *area =
        above == 0 ? NULL : &grain->areas[above - 1];

    return area != NULL && page - area->page < area->n_frames * area->n_views
               ? area
               : NULL;
}

void grain_add(struct grain *grain, const struct grain_area *area)
{
    const size_t at = upper_bound(grain, area->page);

    vector_reserve(grain->areas, grain->room, grain->n + 1);
    memmove(grain->areas + at + 1, grain->areas + at,
            (grain->n - at) * sizeof *grain->areas);
    grain->areas[at] = *area;
    grain->n++;
}

struct grain_area grain_remove(struct grain *grain, page_no page)
{
    const size_t at = upper_bound(grain, page) - 1;
    const struct grain_area area = grain->areas[at];

    ensure(area.page == page);
    grain->n--;
    memmove(grain->areas + at, grain->areas + at + 1,
            (grain->n - at) * sizeof *grain->areas);
    return area;
}

void grain_release(struct grain *grain)
{
    free(grain->areas);
    *grain = (struct grain){0};
}
