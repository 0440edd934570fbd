// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_PAGER_PRIV_H
#define MEM_PAGER_PRIV_H

#include "base/compare.h"
#include "mem/pager.h"

enum page_io {
    IO_NONE,
    IO_IN,  ///< is being read; has memory, but no contents
    IO_OUT, ///< is being written; unmapped, the bytes are still there
};

#define NO_PAGE UINT64_MAX
#define ALL_PAGES (UINT64_MAX - 1)

/** Some pages on their way in or out. */
struct transfer {
    struct swap_transfer swap; ///< first
    struct pager *pager;
    struct transfer *next;            ///< in flight, or unused
    page_no pages[SWAP_TRANSFER_MAX]; ///< NO_PAGE: freed on its way out
    struct waiter *waiters;           ///< threads that wait for one of them
};

/** Pages that were read for a worker since they follow one that it wanted. */
struct pager_stretch {
    page_no end;   ///< the page behind them
    unsigned most; ///< that come the next time
};

struct pager {
    struct space *space;
    struct swap_file *swap;
    struct replace *replace;
    struct pager_host host;
    uint64_t budget;
    uint64_t n_going;  ///< resident, but being written
    unsigned n_writes; ///< transfers that do
    uint64_t n_ahead;  ///< read ahead, not yet used
    uint64_t low_mark; ///< pages to be kept free
    uint64_t n_before; ///< pages that had come in before this sweep
    int is_blocked;    ///< nothing could go when last asked
    int is_full;       ///< the swap file took no more in this sweep
    int is_disk_bad;   ///< it has failed
    int has_ended;     ///< a transfer, since host.transfers_ended()
    uint32_t last_thread[PAGER_WORKERS];
    struct pager_stretch stretches[PAGER_WORKERS];
    struct transfer *in_flight;
    struct transfer *unused;
    uint64_t
        n_promised; ///< to threads that were let in and have not asked again
    struct {
        struct waiter *first;
        struct waiter *last;
    } outside;                   ///< threads that wait for room
    struct pager_claims *oldest; ///< of those that have claims
    struct pager_claims *youngest;
    struct pager_claims
        *first_loose;   ///< of these, the oldest whose pages may go
    uint64_t n_staying; ///< those before it
    struct pager_claims *running[PAGER_WORKERS]; ///< who was seen last
    struct pager_stats stats;
};

static inline struct page *pager_page(const struct pager *pager, page_no page)
{
    return &pager->space->pages[page];
}

/** What the pager keeps of a page it keeps of its frame: several pages may show one. */
static inline page_no pager_frame(const struct pager *pager, page_no page)
{
    return space_frame(pager->space, page);
}

/** How many of these pages, from the first on, are neighbours: one call of the
 * system does for them. @param n  1 or more */
static inline size_t pager_run(const page_no *pages, size_t n)
{
    size_t run = 1;

    while (run < n && pages[run] == pages[0] + run) {
        run++;
    }
    return run;
}

// ---- pager.c
/** Pages in memory, or soon. */
uint64_t pager_used(const struct pager *pager);
/** A page takes memory from now on: count, and let it be in the order. */
void pager_enters(struct pager *pager, page_no page, int is_ahead);
/** A page's bytes are no more: count, and forget its place in the order. */
void pager_leaves(struct pager *pager, page_no page);
/** Its bytes in the swap file are of no use any more. */
void pager_drop_slot(struct pager *pager, page_no page);

// ---- pager_claims.c
/** A thread's instruction needs a page. */
void pager_claim(struct pager *pager, const struct pager_toucher *toucher,
                 page_no page);
/** The budget has changed: so have the claims that are kept. */
void pager_review_claims(struct pager *pager);
/** Checks G7 and C1 to C3. */
int pager_claims_are_valid(const struct pager *pager);

// ---- pager_io.c
/** The transfer that a page is in. */
struct transfer *pager_transfer_of(const struct pager *pager, page_no page);
/** Read pages that are out, in few transfers: the order does not count.
 * @param asked  the one that somebody waits for, NO_PAGE or ALL_PAGES: the others
 *               are read ahead */
void pager_read(struct pager *pager, page_no *pages, unsigned n, page_no asked);
/** Write pages, which are unmapped; then their memory goes back.
 * Those that the swap file has no room for stay. */
void pager_write(struct pager *pager, const page_no *pages, unsigned n);

/** Give the memory of pages back, which do not exist any more. */
void pager_discard(struct pager *pager, const page_no *pages, unsigned n);

// ---- pager_out.c
/** How much room there should be before a thread is let in: what it needs comes in
 * one transfer with what it will need, unless too little is on its way out. */
uint64_t pager_least_room(const struct pager *pager);
/** Tell the host that transfers have ended, if some have. May send messages. */
void pager_tell(struct pager *pager);

#endif
