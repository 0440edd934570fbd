// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_PAGE_H
#define MEM_PAGE_H

#include "base/status.h"
#include "base/waiter.h"

/** For qsort() of page numbers. */
static inline int page_no_compare(const void *left, const void *right)
{
    page_no a = *(const page_no *)left;
    page_no b = *(const page_no *)right;

    return (a > b) - (a < b);
}

/*
 * What a node knows about one page. A record of zeros is an untouched page, so
 * that the table of records needs no initialisation and no memory for pages that
 * are never used. The words are those of docs/protocols.md.
 */
enum page_state {
    PAGE_ABSENT = 0,
    PAGE_CLEAN,
    PAGE_DIRTY,
    PAGE_EXCLUSIVE,
    PAGE_BOUND, ///< it has no owner: its bytes travel with locks
};

enum page_access {
    ACCESS_NONE = 0,
    ACCESS_READ,
    ACCESS_WRITE,
};

/** Bytes of a page's record whose meaning is its protocol's. */
#define PAGE_OWN_BYTES 4

struct page {
    uint8_t state;  ///< enum page_state
    uint8_t access; ///< enum page_access: of the application's view
    uint8_t is_owner;
    uint8_t moves;      ///< how often it moved while exclusive
    uint8_t fetching;   ///< a fetch is under way
    uint8_t want_write; ///< and one that waits for it wants to write
    uint8_t listed;     ///< on the list of pages that a release looks at
    uint8_t busy : 1;   ///< sequential: waits for invalidations
    uint8_t
        was_here : 1; ///< given away with its ownership, not asked for since
    uint8_t subscribed : 1; ///< a copy that its owner pushes to, or invalidates
    uint8_t
        stale : 1; ///< absent, but its bytes are kept: those of version `base`
    uint8_t untold : 1; ///< given up without telling its owner (residence.c)
    uint8_t
        in_snapshot : 1; ///< its bytes are wanted as they are (mem/snapshot.c)
    uint8_t read_next : 1; ///< a frame that stays until they have been read
    uint8_t pinned; ///< sequential: has come for a thread that has not run
    uint8_t queues; ///< sequential: that fetch will make it the owner
    uint8_t own[PAGE_OWN_BYTES]; ///< its protocol's; zeros when contents come
    uint16_t in_flight; ///< diffs of it sent to the owner, not acknowledged
    uint8_t exists;     ///< pager: its bytes are in memory, and count
    uint8_t io;         ///< pager: enum page_io
    uint8_t stays;      ///< pager: wanted while on its way out
    uint8_t ahead;      ///< pager: has come before it was asked for
    uint16_t claims;    ///< pager: threads that it stays for (pager_claims.c)
    uint16_t pushing;   ///< updates being pushed, not acknowledged
    uint16_t hint;      ///< probable owner + 1; 0: none
    uint8_t mapped;     ///< enum page_access: while uses are tracked (space.h)
    uint8_t updates_pending; ///< updates of it are kept (pending_updates.c)
    uint32_t epoch;     ///< of the ownership that hint (or is_owner) speaks of
    uint32_t version;   ///< owner: updates ordered so far
    uint32_t base;      ///< version of the contents that are here
    uint32_t fetch;     ///< number of the fetch that is under way
    uint32_t swap_slot; ///< pager: in the swap file, + 1; 0: none
    char *twin;         ///< or NULL
    struct copyset *copyset;   ///< owner: nodes with copies; NULL: none
    struct waiter *waiters;    ///< threads that wait for it to come
    struct deferred *deferred; ///< messages that wait, in order
};

#endif
