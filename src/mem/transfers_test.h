// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_TRANSFERS_TEST_H
#define MEM_TRANSFERS_TEST_H

/*
 * For tests, here and of higher layers, which choose the moments when transfers end.
 */
#include "mem/pager_priv.h"

/** Wait for all transfers that are under way. Nobody is told but the threads that wait
 * for one of their pages: as when the runtime needs a page that is on its way in
 * (pager_need(), pager_note_gone()), and others' transfers end while it waits. */
static inline void finish_transfers(struct pager *pager)
{
    while (pager->in_flight != NULL) {
        swap_file_wait(pager->swap, &pager->in_flight->swap);
    }
    swap_file_finish_shrinking(pager->swap);
}

#endif
