// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_TRACK_H
#define OBSERVE_TRACK_H

#include "mem/space.h"
#include "observe/access_set.h"

/*
 * Active correlation tracking, a node's part: which pages each of its threads
 * uses, and how many bytes of them it changes. How is told in track.c. Called
 * under the node lock, but for track_is_on().
 */
struct track;

/** Pages next to each other. */
struct page_run {
    page_no page;
    page_no n_pages;
};

/** @param n_slots  of threads
 *  @return NULL if memory is short. The space must outlive it. */
struct track *track_new(struct space *space, unsigned n_slots);
void track_free(struct track *track);

/** Twins at a time, where memory is plenty. */
#define TRACK_TWINS_MAX 2048u

/** Unmap everything, forget what was found before, and begin.
 * @param runs       [n] all pages that may have access
 * @param twins_max  so many twins may exist at a time, at least some dozens and at
 *                   most TRACK_TWINS_MAX; with fewer, a page that is written over
 *                   a long time faults again */
void track_begin(struct track *track, const struct page_run *runs, size_t n,
                 size_t twins_max);

/** @return 1 between track_begin() and track_end() */
int track_is_on(const struct track *track);

/** A thread is about to run; all others of the node stand still until another is
 * named here. */
void track_turn(struct track *track, unsigned slot, uint64_t thread);

/**
 * The thread whose turn it is (else it is from now on) accesses a page, and its
 * node may: map it for that, and note it. If the page's access does not suffice
 * nothing happens.
 */
void track_touch(struct track *track, unsigned slot, uint64_t thread,
                 page_no page, int is_write);

/** A barrier within the iteration opens: what is written from now on is so behind it. */
void track_phase(struct track *track);

/** The thread in a slot has ended, or has left the node: forget its set. */
void track_forget(struct track *track, unsigned slot);

/** Map everything as its access says, and end. Threads may be running; what they
 * have changed up to now is counted. @param runs  [n] as in track_begin() */
void track_end(struct track *track, const struct page_run *runs, size_t n);

/** Accesses that tracking caught since track_begin(). */
uint64_t track_n_touches(const struct track *track);

/** The sets of threads that have run, used pages or not. @param[in,out] slot  first 0
 * @return the next one, NULL at the end; lives until track_begin() or
 *         track_clear() */
const struct access_set *track_next(const struct track *track, unsigned *slot);

/** Give the memory of the sets back. */
void track_clear(struct track *track);

/** Checks the invariants of track.c; for tests and debug builds. */
int track_is_valid(const struct track *track);

#endif
