// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of pages.
#include <stdlib.h>

#include "base/ensure.h"
#include "pages/pages.h"

void page_list_add(struct page_list *list, page_no page)
{
    if (list->n == list->room) {
        list->room = list->room == 0 ? 256 : list->room * 2;
        list->at = realloc(list->at, list->room * sizeof *list->at);
        ensure_memory(list->at != NULL);
    }
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
