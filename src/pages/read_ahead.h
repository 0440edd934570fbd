// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGES_READ_AHEAD_H
#define PAGES_READ_AHEAD_H

#include "pages/engine.h"

/* Which pages a thread will need next, by those that it has had to fetch. Pure. */

/** Farther apart pages are not taken for a pattern. */
#define STRIDE_MAX (1 << 20)

/** Pages to ask for: `n` of them, each `stride` behind the one before it. */
struct ahead {
    unsigned n;
    int32_t stride;  ///< not 0; 1: neighbours
    unsigned record; ///< of the history: for read_ahead_asked()
    int is_stream;   ///< of its streams
};

/** A thread needs a page. @return it and what is worth asking for with it, FETCH_GROUP_MAX
 * pages at most */
struct ahead read_ahead(struct fault_history *history, page_no page);

/** So many of these have been asked for. */
void read_ahead_asked(struct fault_history *history, page_no page,
                      const struct ahead *ahead, unsigned n);

/** The i-th page from a first one on. */
static inline page_no stride_page(page_no first, int32_t stride, unsigned i)
{
    return first + (page_no)((int64_t)stride * (int64_t)i);
}

#endif
