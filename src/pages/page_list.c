// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of pages.
#include <stdlib.h>

#include "base/ensure.h"
#include "base/vector.h"
#include "pages/pages.h"

void page_list_add(struct page_list *list, page_no page)
{
    vector_reserve(list->at, list->room, list->n + 1);
    list->at[list->n++] = page;
}

void page_list_leave_out(struct page_list *list, const struct extent *extent)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i] < extent->page ||
            list->at[i] >= extent->page + extent->n_pages) {
            list->at[kept++] = list->at[i];
        }
    }
    list->n = kept;
}
