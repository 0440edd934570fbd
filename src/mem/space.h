// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_SPACE_H
#define MEM_SPACE_H

#include <stddef.h>

#include "mem/grain.h"
#include "mem/page.h"
#include "mem/twin_pool.h"
#include "os/fault_source.h"
#include "os/memfd.h"

/*
 * The shared address space of a node: its bytes, the two views of them, and the
 * table of page records. Pages are numbered from 0: first the program's
 * TM_SHARED variables, then, from a multiple of SPACE_BLOCK on, the heap.
 */

/** Address of the heap's first page on every node. Plain, ASan and TSan builds
 * leave it free. */
#define SPACE_HEAP_BASE ((char *)0x7e8000000000)

/** Pages of a directory block, and the grain of the space. */
#define SPACE_BLOCK 256u

/**
 * Who finds out which pages the program uses. While a space has a tracker the
 * program's view allows less than the pages' access says: a page is mapped by
 * space_map() only, and as soon as its access falls below that it is lowered to
 * it. So the protocols neither notice nor care. Called under the node lock.
 */
struct space_tracker {
    /** A page that was mapped for writing is not any more, and nobody writes it
     * now. */
    void (*writes_ended)(struct space_tracker *tracker, page_no page);

    /** Bytes of a page have been set, but not by this node's program. */
    void (*changed)(struct space_tracker *tracker, page_no page,
                    const void *diff, size_t size);
};

struct pager;    ///< keeps the pages within a budget: mem/pager.h
struct snapshot; ///< the bytes of one moment: mem/snapshot.h

struct space {
    struct memfd memfd;
    const struct fault_source *source;
    struct fault_watch *watch; ///< NULL: a space that no program sees (tests)
    char *globals_base;        ///< NULL if there are no TM_SHARED variables
    page_no n_globals;         ///< their pages
    page_no heap_page;         ///< number of the heap's first page
    page_no n_pages;
    int heap_is_mapped; ///< its addresses are the space's
    struct page *pages; ///< [n_pages]
    struct grain grain; ///< of which pages several lie in a frame
    struct twin_pool twins;
    struct space_tracker *tracker; ///< NULL: uses are not tracked
    struct pager *pager;           ///< NULL: pages stay in memory
    struct snapshot *snapshot;     ///< NULL: there is none
};

/**
 * Make the space. The globals' present contents become the first pages'.
 *
 * @param source      how accesses are caught; NULL for a space without an
 *                    application's view (the access of a page is only recorded)
 * @param globals     first TM_SHARED byte, on a page boundary; or NULL
 * @param globals_size whole pages
 * @param heap_size   bytes, rounded up to SPACE_BLOCK pages
 * @return TM_OK
 * @return TM_ENOMEM, TM_EBUSY (addresses taken), TM_ESYSTEM  (logged)
 */
TM_CHECKED tm_status space_open(struct space *space,
                                const struct fault_source *source,
                                char *globals, size_t globals_size,
                                size_t heap_size);

/** Give everything back; the heap's addresses are free again. What TM_SHARED
 * variables lie on stays mapped, with the bytes it has. */
void space_close(struct space *space);

/** Is it an address of the application's view? @param[out] page  if so */
int space_find(const struct space *space, const void *address, page_no *page);

/** Address of a page in the application's view. */
char *space_address(const struct space *space, page_no page);

/** The area of pages that share frames that a page is in; NULL: its frame is its own. */
static inline const struct grain_area *space_grain(const struct space *space,
                                                   page_no page)
{
    return __builtin_expect(space->grain.n > 0, 0)
               ? grain_find(&space->grain, page)
               : NULL;
}

/** The page whose memory it shows: nearly always itself. */
static inline page_no space_frame(const struct space *space, page_no page)
{
    const struct grain_area *area = space_grain(space, page);

    return area == NULL ? page : grain_frame(area, page);
}

/** The bytes of a page that are its own: nearly always all. */
static inline struct page_part space_part(const struct space *space,
                                          page_no page)
{
    const struct grain_area *area = space_grain(space, page);

    return area == NULL ? (struct page_part){0, TM_PAGE_SIZE}
                        : grain_part(area, page);
}

/**
 * Have pages share frames from now on: mem/grain.h. None of them exists or has access.
 *
 * @param area  not beside pages that do already; without memory for it, or mappings,
 *              the process ends with a clear line (exit code 71)
 */
void space_share_frames(struct space *space, const struct grain_area *area);

/** The pages of the area that begins here have frames of their own again; none has access.
 * What the frames held is left to space_discard(). */
void space_part_frames(struct space *space, page_no page);

/** Where its bytes are in the runtime's view, if they are in memory. */
static inline char *space_place(const struct space *space, page_no page)
{
    return space->memfd.runtime + space_frame(space, page) * TM_PAGE_SIZE;
}

/** What space_bytes() does if there is a pager: a page that is out comes in, which
 * waits for the disk. */
char *space_bring_in(const struct space *space, page_no page, int is_to_change);

/** Its bytes in the runtime's view, to be read: never fault, whatever the access.
 * Valid until the node lock is given back. */
static inline const char *space_bytes(const struct space *space, page_no page)
{
    if (__builtin_expect(space->pager != NULL, 0)) {
        return space_bring_in(space, page, 0);
    }
    return space_place(space, page);
}

/** A page is about to change, which is in the snapshot. */
void space_keep(struct space *space, page_no page);

/** The same, to be changed. */
static inline char *space_bytes_to_change(struct space *space, page_no page)
{
    if (__builtin_expect(space->pages[page].in_snapshot, 0)) {
        space_keep(space, page);
    }
    if (__builtin_expect(space->pager != NULL, 0)) {
        return space_bring_in(space, page, 1);
    }
    return space_place(space, page);
}

/** Set the access of n pages from `page` on, in one call of the system if
 * possible. Pages must exist for ACCESS_READ and ACCESS_WRITE. */
void space_set_access(struct space *space, page_no page, page_no n,
                      enum page_access access);

/** While there is a tracker: map n pages for this access, neither more nor less;
 * none of them has less access than that. Pages that are out stay unmapped. */
void space_map(struct space *space, page_no page, page_no n,
               enum page_access access);

/** Map n pages, which have the same access, again as that says: the kernel or the
 * pager may have unmapped them. While there is a tracker that is for it to do. */
void space_restore(struct space *space, page_no page, page_no n);

/** Have the kernel write n pages to its swap device and unmap them; their access
 * stays. */
void space_page_out(struct space *space, page_no page, page_no n);

/** Have the kernel begin to read n pages from there. */
void space_page_in(struct space *space, page_no page, page_no n);

/** For the pager: unmap n pages, whose access stays, and with a frame all that show it. */
void space_unmap(struct space *space, page_no page, page_no n);

/** Pages that may come to be in memory now without more than the budget;
 * UINT64_MAX without a pager. */
uint64_t space_room(const struct space *space);

/** Begin to track: space_map() is the only way to map from now on. What is
 * mapped must be unmapped by space_hide(), what is new never is. */
void space_track(struct space *space, struct space_tracker *tracker);
/** Nothing of these pages is mapped any more, their access is as before. */
void space_hide(struct space *space, page_no page, page_no n);
/** Track no longer. Each page that has access is mapped by space_show(). */
void space_track_end(struct space *space);
/** Map these pages as their access says, but for those that are swapped out, if
 * that would bring them in: space_restore() does it when they are needed. */
void space_show(struct space *space, page_no page, page_no n);

/** Whoever sets bytes through the runtime's view, other than those of a page
 * that has just come, says so. @param diff  [size] as diff_encode() makes it */
static inline void space_changed(struct space *space, page_no page,
                                 const void *diff, size_t size)
{
    if (__builtin_expect(space->tracker != NULL, 0)) {
        space->tracker->changed(space->tracker, page, diff, size);
    }
}

/** Have a core file hold those of n pages that the application's view shows.
 * @param[in,out] n_runs  runs of pages that may still be added: each costs the
 *                        kernel two mappings
 * Context: also in a handler of a signal that ends the process. */
void space_keep_in_core(struct space *space, page_no page, page_no n,
                        unsigned *n_runs);

/** Write n whole pages, making them exist.
 * @param bytes  of all of them; of one that shares its frame, its own, and n is 1 */
void space_fill(struct space *space, page_no page, page_no n,
                const void *bytes);

/** Make n pages exist, zero where they did not. */
void space_populate(struct space *space, page_no page, page_no n);

/** Give the memory of n pages back; they read as zero. Access must be none. What shares a
 * frame keeps it, and its bytes. */
void space_discard(struct space *space, page_no page, page_no n);

#endif
