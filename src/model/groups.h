// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_GROUPS_H
#define MODEL_GROUPS_H

#include "model/cluster_view.h"

/** A thread's use of one page, as tracking finds it. */
struct page_use {
    uint64_t page;       ///< any number
    uint16_t flags;      ///< of enum use_flags
    uint16_t diff_bytes; ///< as in struct use
};

/**
 * Make the page groups and uses of a view from the pages of each thread. Pages
 * come into one group if the same threads read them, the same write them and
 * the same send diffs of them. diff_bytes of a group is the mean over its
 * pages, rounded up. A page that a thread's list has twice counts where it
 * comes first, with the flags of both and the larger diff.
 *
 * @param view    made by cluster_view_init(); groups and uses it has are
 *                replaced
 * @param pages   [n_threads] lists of the threads' pages, in order of first
 *                use; not kept
 * @param n_pages [n_threads] lengths of the lists
 * @return TM_OK
 * @return TM_EINVAL  flags are none or unknown, or a diff is longer than a
 *                    page; the view is as before
 * @return TM_ELIMIT  more than 2^32 - 1 pages or uses; the view is as before
 *
 * Takes time and memory proportional to the sum of the lists.
 * Context: any thread; allocates.
 */
TM_CHECKED tm_status groups_build(struct cluster_view *view,
                                  const struct page_use *const *pages,
                                  const size_t *n_pages);

#endif
