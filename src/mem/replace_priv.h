// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_REPLACE_PRIV_H
#define MEM_REPLACE_PRIV_H

#include "mem/replace.h"

/*
 * What replace*.c share: replace.c (events; the essay), replace_plan.c (sets,
 * orders, when a page is next used), replace_victims.c (who goes).
 */

#define NOTES_PER_CHUNK 4096u
#define NOWHERE UINT32_MAX ///< no position

/** What is noted of a page; zeros: nothing. */
struct page_note {
    uint32_t ring;  ///< its first ring; 0: no known thread uses it, a stray
    uint32_t place; ///< resident: of a stray, where in `strays`; else the use
                    ///< whose bit is set
    uint32_t stamp; ///< `touches` when it was last touched, or came
    uint32_t is_resident : 1;
    uint32_t is_touched : 1; ///< since it came
    uint32_t is_doubted : 1; ///< came ahead, and went without being touched
    uint32_t asked : 29;     ///< the question that it last was an answer to
};

/** The uses of a page by threads of one worker, in the order of their turns; the
 * last is followed by the first. */
struct page_ring {
    uint32_t last; ///< the use before the next one, when last asked
    uint32_t next; ///< the page's ring of another worker; 0: none
};

struct replace_thread {
    uint32_t number;
    uint32_t *pages; ///< [n], in order of first use
    uint32_t n;
    uint32_t n_uses; ///< n, or 0 while it is not believed

    // Of the plan.
    struct replace_worker *worker; ///< NULL: has no next turn
    uint32_t index;                ///< in its order
    uint64_t start;                ///< uses of the threads before it
    uint32_t first_use;            ///< number of the use of pages[0]
    uint32_t slot;                 ///< in `threads`
    uint64_t *members; ///< bit q: pages[q] is resident, and known here
    uint32_t n_members;

    // Of its turn.
    int is_open;       ///< it has begun and is not over
    uint32_t progress; ///< positions passed: the furthest touched, + 1
    uint32_t last;     ///< the last touched, + 1
    int is_returning;  ///< goes over some of its pages again and again
    uint32_t low;      ///< those in [low, high)
    uint32_t high;
    uint32_t n_returns;
    uint32_t n_touches;
    uint32_t n_surprises; ///< touched, but not of its set
    int is_irregular;     ///< what was learned of it does not hold

    // While its turn is open: what it still needs in it, in this order, is at
    // [from, top), [first, from), [tail, n_uses); the rest at [0, first) and
    // [top, tail).
    uint32_t first;
    uint32_t from;
    uint32_t top;
    uint32_t tail;
};

struct replace_worker {
    struct replace_thread **order; ///< [n]
    uint32_t n;
    uint64_t total;              ///< uses of all
    struct replace_thread *turn; ///< whose turn it is or was last; or NULL
    uint64_t here;  ///< how many uses of a sweep are behind it, < total
    uint64_t extra; ///< uses in passes of this turn that are to come
};

struct replace {
    page_no n_pages;
    uint32_t lookback;
    uint64_t random;
    struct page_note **chunks; ///< NULL where nothing is noted
    size_t n_chunks;
    size_t n_resident;
    size_t n_known; ///< of these; the others are strays
    uint32_t *strays;
    size_t n_strays;
    size_t strays_room;
    uint32_t touches;
    uint32_t questions;

    struct replace_thread **threads; ///< [n_threads], by number
    uint32_t n_threads;
    struct replace_worker **workers; ///< [n_workers]
    uint32_t n_workers;

    int is_stale;        ///< what follows is to be put together anew
    uint32_t n_uses;     ///< uses are numbered from 1
    uint32_t *use_owner; ///< [n_uses + 1]: index of the thread
    uint32_t *use_next;  ///< [n_uses + 1]: the next of the ring
    struct page_ring *rings;
    uint32_t n_rings; ///< numbered from 1
    uint32_t rings_room;
    struct replace_needs needs;

    struct stream *streams; ///< [streams_room]: of replace_victims()
    uint32_t streams_room;
};

/** realloc() of n items, which ends the process when there is no memory. */
void *replace_resize(void *array, size_t n, size_t size);

/** @return the page's note; NULL if none was ever made */
struct page_note *replace_note_find(const struct replace *replace,
                                    page_no page);
struct page_note *replace_note_get(struct replace *replace, page_no page);

/* ---- replace_plan.c ---- */

/** @return the thread, made with nothing known if `make`; or NULL */
struct replace_thread *replace_thread_find(struct replace *replace,
                                           uint32_t number, int make);

/** @return the worker, made with no order if need be */
struct replace_worker *replace_worker_get(struct replace *replace,
                                          unsigned worker);

/** Nobody's set, or somebody's: put everything together, if it is stale. */
void replace_plan_renew(struct replace *replace);

/** Where the worker stands, after its turn or its progress changed. */
void replace_worker_place(const struct replace *replace,
                          struct replace_worker *worker);

/** @return the thread whose turn it is, NULL if there is none */
struct replace_thread *replace_open_turn(const struct replace_worker *worker);

/** @return whether its turn is open and it needs what is there before the turn is
 * over */
int replace_is_needed_now(const struct replace_thread *thread,
                          uint32_t position);

/** @return when a use comes, in 2^-32 sweeps */
uint64_t replace_use_time(const struct replace_thread *thread,
                          uint32_t position);

struct replace_thread *replace_use_thread(const struct replace *replace,
                                          uint32_t use);

/** The next use of a page that is known. @param[out] time  or NULL */
uint32_t replace_use_after(struct replace *replace,
                           const struct page_note *note, uint64_t *time);

/** @return where a page is in a thread's order, NOWHERE if it is not */
uint32_t replace_position_of(const struct replace *replace,
                             const struct replace_thread *thread, page_no page);

/** A known resident page is, or is no longer, to go by this use of it. */
void replace_member_set(struct replace *replace, struct page_note *note,
                        uint32_t use);
void replace_member_clear(struct replace *replace,
                          const struct page_note *note);

void replace_stray_add(struct replace *replace, page_no page,
                       struct page_note *note);
void replace_stray_remove(struct replace *replace,
                          const struct page_note *note);

#endif
