// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_SNAPSHOT_H
#define MEM_SNAPSHOT_H

#include <stddef.h>

#include "mem/space.h"
#include "os/spare_memory.h"

/*
 * The bytes that pages have at one moment, read while they change: snapshot.c. Under the node
 * lock, but for what says otherwise.
 */

/** One of its pages. */
struct snapshot_page {
    page_no page;
    struct page_part part; ///< the bytes of it that are its own
    uint8_t is_variable;   ///< the reader's affair
    uint8_t is_kept;       ///< its bytes are aside: 1 in memory, 2 in the file
#ifdef TM_DEBUG
    uint32_t sum; ///< of its bytes when the snapshot was taken
#endif
};

/** Zeros: there is none. */
struct snapshot {
    struct snapshot_page *pages; ///< [n] in rising order
    size_t n;
    struct spare_memory aside; ///< a page's bytes at its place in `pages`
    size_t n_kept;             ///< there
    size_t n_room;   ///< so many may be there; those behind them go to the file
    size_t n_filed;  ///< in the file
    int fd;          ///< of a file of the same shape; -1: there is none
    const char *why; ///< it has not all bytes; NULL: it has
};

/**
 * Take one: from now on, until snapshot_end(), these pages have their bytes of now for who
 * reads it. Nobody changes them meanwhile.
 *
 * @param pages   [n] in rising order, each once; from malloc(), the snapshot's from now on
 * @param n_room  pages that may be kept in memory
 * @param fd      for those behind them, the snapshot's from now on; -1 only if n_room >= n, or
 *                is 0: then nobody changes a page until it has ended
 * @return TM_OK
 * @return TM_ENOMEM  there is none; pages and fd are the caller's still. Not if n_room is 0
 */
TM_CHECKED tm_status snapshot_begin(struct space *space,
                                    struct snapshot *snapshot,
                                    struct snapshot_page *pages, size_t n,
                                    size_t n_room, int fd);

/** Where a run of its pages ends that are read together: those of SNAPSHOT_RUN neighbours.
 * @param first  < snapshot->n  @return > first. Context: any thread, without the lock */
size_t snapshot_run_end(const struct snapshot *snapshot, size_t first);
#define SNAPSHOT_RUN 16u

/**
 * Read such a run: pages that are as they were, which may be written again then.
 *
 * @param to  [TM_PAGE_SIZE] for each; of those that are kept, or have been read by a call
 *            before, it stays as it is
 * @return 1; 0: some were in the swap file, and come now: call again soon
 */
int snapshot_read(struct space *space, size_t first, size_t end,
                  char (*to)[TM_PAGE_SIZE]);

/** The other pages of a run that snapshot_read() has read. Without the node lock.
 * @return NULL, or why not */
const char *snapshot_read_kept(const struct snapshot *snapshot, size_t first,
                               size_t end, char (*to)[TM_PAGE_SIZE]);

/** There is none any more; `aside` stays for the next one. Pages may be written again. */
void snapshot_end(struct space *space);

// ---- for the space only, and for who lets a program write

/** A page that is in the snapshot is about to change, or to go: keep its bytes. */
void snapshot_keep(struct space *space, page_no page);

/** The pager gives the memory of a frame back, whose bytes are not in the swap file: keep
 * those of all pages that show it. */
void snapshot_keep_frame(struct space *space, page_no frame);

/** The program is about to write to a page that is in the snapshot, and its bytes are here:
 * keep those of its run that may be written as well, for the next fault would be there. */
void snapshot_keep_run(struct space *space, page_no page);

/** So many pages are going, one after the other. Where that would take too long, for most of them
 * are in the swap file, the snapshot is given up. */
void snapshot_note_discard(struct space *space, page_no page, page_no n);

/** A page that is in the snapshot is about to change, or to go: each of n pages. */
static inline void snapshot_keep_all(struct space *space, page_no page,
                                     page_no n)
{
    if (__builtin_expect(space->snapshot != NULL, 0)) {
        for (page_no at = page; at < page + n; at++) {
            if (space->pages[at].in_snapshot) {
                snapshot_keep(space, at);
            }
        }
    }
}

#endif
