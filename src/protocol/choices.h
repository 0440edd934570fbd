// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_CHOICES_H
#define PROTOCOL_CHOICES_H

#include "protocol/updates.h"

/*
 * What adaptive has chosen for the pages of a block that this node owns, and why: for
 * --explain, and for those of its pages that come to be asked for later. Under the node lock.
 */
struct choice {
    uint32_t serial; ///< of the extent
    page_no n_pages;
    uint32_t line;
    char name[32];
    char file[64];
    uint64_t n_first;  ///< copies given to nodes that asked for the first time
    uint64_t n_again;  ///< requests of those whose copies were old
    uint64_t n_missed; ///< versions that these had missed, in all
    uint64_t
        n_subscribed; ///< of these requests, copies that are pushed to since
    uint64_t n_ended; ///< such as turned out not to be read
    uint64_t
        n_migrated;    ///< times that a page was handed on to who asked for it
    uint64_t n_stayed; ///< times that one was found not to migrate any more
};

/** Of the page's block. Valid until the next call. */
struct choice *choices_of(struct engine *engine, page_no page);

/** Slot of updates_base. */
void choices_free(struct updates *updates);

#endif
