// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_GRAIN_H
#define MEM_GRAIN_H

#include <stddef.h>

#include "base/status.h"

/*
 * Areas of a space whose pages are smaller than the processor's, as in Millipede's
 * MultiView [Itzkovitz99]: several pages lie in one frame of memory, each shows all of
 * that frame, and of its bytes some are its own. Since the processor protects pages,
 * neighbours in a frame are protected apart.
 *
 * The first n_frames pages of an area are its frames: their memory is theirs. The others
 * show these again, view after view, so page v * n_frames + f of the area shows frame f,
 * and its own are the bytes from v * size on.
 *
 * V1 The own bytes of an area's pages are each of one page, and all of its frames.
 */
struct grain_area {
    page_no page;     ///< the first
    page_no n_frames; ///< > 0
    unsigned n_views; ///< pages that show a frame: 2 to 64, a power of two
};

/** By page; zeros: none. */
struct grain {
    struct grain_area *areas;
    size_t n;
    size_t room;
};

/** The bytes of a page that are its own. */
struct page_part {
    unsigned offset;
    unsigned size;
};

/** @return the area that a page is in; NULL: none */
const struct grain_area *grain_find(const struct grain *grain, page_no page);

/** The page whose memory a page of an area shows: itself, for the first ones. */
static inline page_no grain_frame(const struct grain_area *area, page_no page)
{
    return area->page + (page - area->page) % area->n_frames;
}

/** Its own bytes. */
static inline struct page_part grain_part(const struct grain_area *area,
                                          page_no page)
{
    const unsigned size = TM_PAGE_SIZE / area->n_views;

    return (struct page_part){
        (unsigned)((page - area->page) / area->n_frames) * size, size};
}

/** @param area  shares no page with another; without memory for it the process ends */
void grain_add(struct grain *grain, const struct grain_area *area);

/** Forget the area that begins at a page. @return as it was */
struct grain_area grain_remove(struct grain *grain, page_no page);

void grain_release(struct grain *grain);

#endif
