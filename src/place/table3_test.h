// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_TABLE3_TEST_H
#define PLACE_TABLE3_TEST_H

#include "model/sample_views_test.h"

/* The cluster of [Liang03] Table 3. */

#define MIB 256u ///< pages

/** Four nodes of equal power, 32 threads of 1 s, `own` MiB for each and
 * `common` MiB that all read; seconds to replace a MiB. */
static inline void make_table3(struct cluster_view *view, double own,
                               double common, const double *memory,
                               double per_mib)
{
    struct page_lists lists;

    view_make(view, 4, 32);
    lists_init(&lists, 32);
    for (uint32_t i = 0; i < 32; i++) {
        lists_add(&lists, i, 100000 * (i + 1), (uint64_t)(own * MIB), USE_WRITE,
                  0);
        lists_add(&lists, i, 0, (uint64_t)(common * MIB), USE_READ, 0);
    }
    lists_build(&lists, view);
    lists_release(&lists);
    for (uint32_t x = 0; x < 4; x++) {
        view->nodes[x].memory_pages = (uint64_t)(memory[x] * MIB);
        view->nodes[x].swap_in_s = per_mib / MIB / 2;
        view->nodes[x].swap_out_s = per_mib / MIB / 2;
        view->nodes[x].fetch_s = per_mib / MIB;
    }
}

#endif
