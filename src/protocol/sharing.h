// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_SHARING_H
#define PROTOCOL_SHARING_H

#include "pages/pages.h"

/*
 * What the program says of how a block is shared (tm_alloc_attr.sharing, after the
 * annotations of [Munin]), and what `adaptive` does then, instead of finding out. Under the
 * node lock.
 */

enum subscription {
    SUBSCRIBES_READERS, ///< as readers.c finds
    SUBSCRIBES_ALL,
    SUBSCRIBES_NOBODY,
};

/** As many moves as there are. */
#define MOVES_ALWAYS 256u

struct sharing_rule {
    unsigned read_moves;  ///< so often an exclusive page goes to who reads it
    unsigned write_moves; ///< the same, to who writes it
    enum subscription subscribes; ///< copies, when they are asked for
    int stays; ///< a page that has come for a thread stays until that has used it
    int is_read_only; ///< once there are copies
};

/** Of the page's block. Protocols that choose nothing have the one that says nothing. */
const struct sharing_rule *sharing_rule_of(const struct engine *engine,
                                           page_no page);

/** Is the page given only to a thread that needs it? */
int sharing_is_for_need(const struct engine *engine, page_no page);

/** Slot forbids_write: it is read-only, and others may have copies. */
int sharing_forbids_write(const struct engine *engine, page_no page);

#endif
