// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_ACCESS_SET_H
#define OBSERVE_ACCESS_SET_H

#include "base/map.h"
#include "mem/page.h"
#include "model/groups.h"
#include "net/message.h"

/*
 * The pages that a thread uses, in order of first use: as they are found out, and
 * as runs, which travel.
 */

/** In the flags of a run, if it is known: written behind so many barriers of the iteration
 * (or more, of the last one). */
#define WRITTEN_BEHIND(n_barriers) (256u << (n_barriers))
#define PHASES_MAX 8u

/** A page that a thread uses. */
struct access_entry {
    page_no page;
    uint16_t flags;      ///< of enum use_flags
    uint16_t diff_bytes; ///< changed so far, at most TM_PAGE_SIZE
    uint8_t phases;      ///< a bit for each in which it was written
    uint8_t is_queued;   ///< track.c: on its list of twins
    char *twin;          ///< track.c: while the thread may write it; or NULL
};

struct access_set {
    uint64_t thread;
    struct access_entry *entries; ///< [n], in order of first use
    uint32_t n;
    uint32_t room;
    int has_phases; ///< the thread has been seen behind a barrier of the iteration
    struct map map; ///< from pages to entries
};

/** An empty set; the process ends if memory is short. */
struct access_set *access_set_new(uint64_t thread);
/** Twins are not its own. NULL is accepted. */
void access_set_free(struct access_set *set);

/** @return the page's entry, valid until one is added; NULL if it has none */
struct access_entry *access_set_find(const struct access_set *set,
                                     page_no page);
/** The same, added if it has none. */
struct access_entry *access_set_get(struct access_set *set, page_no page);

/** Add to what a thread has changed in a page. */
void access_entry_add_diff(struct access_entry *entry, size_t n_bytes);

/** The next run of a set: pages next to each other that were first used one after the
 * other, in the same way. @param[in,out] at  the entry to begin with, first 0
 * @return 1, or 0 at the end */
int access_set_next_run(const struct access_set *set, uint32_t *at,
                        struct wire_access_run *run);

/** Read a run. @param n_pages  of the space
 * @return TM_OK
 * @return TM_EWIRE  the body ends, or it makes no sense; *run is untouched */
TM_CHECKED tm_status access_run_get(struct wire_reader *reader, page_no n_pages,
                                    struct wire_access_run *run);

#endif
