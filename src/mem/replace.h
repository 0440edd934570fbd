// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_REPLACE_H
#define MEM_REPLACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Which resident pages of a node should go next, and which absent ones will be
 * needed next; docs/paging.md, "Which page goes". Chapters: life; what is known
 * of the program; what happens; answers.
 *
 * A page is *resident* here while a frame is its own: from the moment that the
 * pager gives it one (before it is read), to the moment that it takes it back.
 * A *turn* is what a thread does from one barrier to the next.
 *
 * Everything here runs under the node lock, blocks nowhere, reads no clock, and
 * is deterministic: the same calls give the same answers. Memory that cannot be
 * had ends the process with a clear line (exit code 71).
 */
struct replace;

/* ---- life ---- */

/** What may be chosen; {0} takes the defaults. */
struct replace_options {
    /** Pages of its order that a thread may come back to, because the order is
     * that of first uses (a stencil reads rows i-1, i, i+1); never more than a
     * quarter of what the thread uses, nor, for all workers together, than an
     * eighth of what is resident. 0: 128. */
    uint32_t lookback;
    uint64_t seed; ///< of the random choice among pages of which nobody knows
};

/**
 * Begin to watch a node on which nothing is resident and nothing is known.
 * Memory follows what is used: 8 bytes for 4096 pages of the space, 16 for each
 * page near one that was ever named, 12 for each learned use.
 *
 * @param n_pages  of the space; page numbers below; at most 2^32 - 1
 * @param options  copied; NULL: the defaults
 * @return the caller's, to be given to replace_free()
 */
struct replace *replace_new(page_no n_pages,
                            const struct replace_options *options);
void replace_free(struct replace *replace);

/* ---- what is known of the program ---- */

/**
 * In what order a thread uses pages for the first time in a turn; takes the place
 * of what was known of it. Counts once a worker's order names the thread.
 *
 * The next call that needs the sets puts them together anew, in time O(all
 * learned uses + pages ever named): learn of all threads one after the other,
 * not of each at another time.
 *
 * @param thread  any number
 * @param pages   [n], each page once; copied
 */
void replace_learn(struct replace *replace, uint32_t thread,
                   const page_no *pages, size_t n);

/** A thread has left the node: what was learned of it is forgotten, and it has no
 * next turn. Costs as much as learning. Unknown threads are accepted. */
void replace_forget(struct replace *replace, uint32_t thread);

/**
 * A worker gives its threads their turns in this order, again and again. Takes
 * the place of its former order; a thread of another worker's order leaves that.
 * A thread that no order names has no next turn. Costs as much as learning,
 * unless nothing changes.
 *
 * @param worker   a small number
 * @param threads  [n], each thread once; learned of or not; copied
 */
void replace_order(struct replace *replace, unsigned worker,
                   const uint32_t *threads, size_t n);

/* ---- what happens ---- */

/**
 * A thread's turn begins. The turn of the thread before it on this worker is
 * over. A thread that is not of this worker's order is accepted, and nothing is
 * known of what it does.
 */
void replace_turn(struct replace *replace, unsigned worker, uint32_t thread);

/**
 * The thread whose turn it is touched a page: it faulted on it, or ran into the
 * tripwire of a page read ahead. It is at least there in its order. To be called
 * before room is made for the page.
 */
void replace_touch(struct replace *replace, unsigned worker, page_no page);

/** A page read ahead lost its tripwire without being touched, because a neighbour
 * was: it is taken to be used, and may be read ahead the next time too. Says nothing
 * of where the thread is. */
void replace_trust(struct replace *replace, page_no page);

/** A page is resident from now on, for it is needed; nothing if it was. What is mapped for the program may be used
 * without a touch. */
void replace_add(struct replace *replace, page_no page);

/** The same of one that nobody has asked for yet: if it goes before it is touched or trusted it was read in vain, and
 * replace_ahead() does not name it until it is touched. */
void replace_add_ahead(struct replace *replace, page_no page);

/** It is not any more: evicted, or discarded by others; nothing if it was not. */
void replace_remove(struct replace *replace, page_no page);

/* ---- answers ---- */

/**
 * Resident pages in the order in which they should go: first those of which no
 * thread's future is known, at random, then those known, the farthest next use
 * first. Pages touched last come last of all. They stay resident until
 * replace_remove() says otherwise; asked again, the answer may be the same.
 *
 * @param[out] victims  [max], no page twice
 * @param may_go        asked for each candidate; may not call back; 0: skip it
 * @return how many; less than max only if no others may go
 */
unsigned replace_victims(struct replace *replace, page_no *victims,
                         unsigned max,
                         int (*may_go)(void *context, page_no page),
                         void *context);

/**
 * Pages that are not resident and that a worker will use next, in that order:
 * from the present progress of the thread whose turn it is on, into the turns
 * that follow.
 *
 * @param horizon     how far to look: uses, of resident pages too. A few times
 *                    what is read at once: who reads ahead much farther pages
 *                    everything in in each sweep, because each page read early
 *                    takes the room of one that could have stayed
 * @param[out] pages  [max], no page twice
 * @return how many
 */
unsigned replace_ahead(struct replace *replace, unsigned worker,
                       uint32_t horizon, page_no *pages, unsigned max);

/** How much the threads that have a next turn use. */
struct replace_needs {
    size_t n_pages; ///< pages that at least one of them uses
    size_t largest; ///< the most that one of them uses
};

/** Time O(1), unless something was learned since. */
struct replace_needs replace_needs(struct replace *replace);

/** No known thread will use it. */
#define REPLACE_NEVER UINT64_MAX

/**
 * @return when a page will be used next, resident or not, in 2^-32 of a sweep of
 * its worker over all its threads; 0: now; REPLACE_NEVER: nothing is known
 */
uint64_t replace_next_use(struct replace *replace, page_no page);

#endif
