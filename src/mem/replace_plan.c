// SPDX-License-Identifier: BSD-3-Clause
/*
 * When a page is used next. A *use* is a position in a thread's order; all uses
 * have numbers, a thread's follow each other. The uses of a page by the threads
 * of one worker form a ring in the order of the turns. Seen from where the worker
 * stands, times rise along a ring but at one place, where the next use follows
 * the farthest; the ring remembers that place and moves it on as turns pass, so
 * that a question takes constant time on average however many threads share a
 * page.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "mem/replace_priv.h"

/* ---- threads and workers ---- */

struct replace_thread *replace_thread_find(struct replace *replace,
                                           uint32_t number, int make)
{
    uint32_t low = 0;
    uint32_t high = replace->n_threads;
    struct replace_thread *thread;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (replace->threads[middle]->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < replace->n_threads && replace->threads[low]->number == number) {
        return replace->threads[low];
    }
    if (!make) {
        return NULL;
    }
    thread = replace_resize(NULL, 1, sizeof *thread);
    memset(thread, 0, sizeof *thread);
    thread->number = number;
    replace->threads = replace_resize(replace->threads, replace->n_threads + 1,
                                      sizeof *replace->threads);
    memmove(replace->threads + low + 1, replace->threads + low,
            (replace->n_threads - low) * sizeof *replace->threads);
    replace->threads[low] = thread;
    replace->n_threads++;
    replace->is_stale = 1; // uses know their threads by index
    return thread;
}

struct replace_worker *replace_worker_get(struct replace *replace,
                                          unsigned worker)
{
    while (replace->n_workers <= worker) {
        struct replace_worker *made = replace_resize(NULL, 1, sizeof *made);

        memset(made, 0, sizeof *made);
        replace->workers = replace_resize(
            replace->workers, replace->n_workers + 1, sizeof *replace->workers);
        replace->workers[replace->n_workers++] = made;
    }
    return replace->workers[worker];
}

struct replace_thread *replace_open_turn(const struct replace_worker *worker)
{
    return worker->turn != NULL && worker->turn->is_open ? worker->turn : NULL;
}

/* ---- times ---- */

static uint32_t lookback_of(const struct replace *replace,
                            const struct replace_thread *thread)
{
    size_t lookback = replace->lookback;
    size_t share = replace->n_resident / 8 / replace->n_workers;

    lookback = thread->n_uses / 4 < lookback ? thread->n_uses / 4 : lookback;
    return (uint32_t)(share < lookback ? share : lookback);
}

/** Where an open turn stands (I3). */
static void place_thread(const struct replace *replace,
                         struct replace_thread *thread)
{
    uint32_t behind = lookback_of(replace, thread) + 1;
    uint32_t at = thread->progress;
    uint32_t least = 0;

    thread->top = thread->n_uses;
    thread->tail = thread->n_uses;
    if (thread->is_returning) {
        thread->top = thread->high;
        thread->tail =
            thread->progress > thread->high ? thread->progress : thread->high;
        at = thread->last < thread->high ? thread->last : thread->high;
        least = thread->low;
    }
    thread->from = at > least + behind ? at - behind : least;
    thread->first = thread->is_returning ? thread->low : thread->from;
}

void replace_worker_place(const struct replace *replace,
                          struct replace_worker *worker)
{
    struct replace_thread *turn = worker->turn;

    worker->here = 0;
    worker->extra = 0;
    if (turn == NULL) {
        return;
    }
    worker->here = turn->start + turn->n_uses;
    if (turn->is_open) { // also where there are no uses: it begins nowhere else
        place_thread(replace, turn);
        if (turn->is_returning) {
            worker->extra = turn->n_uses - turn->low;
        } else {
            worker->here = turn->start + turn->from;
        }
    }
    worker->here = worker->total == 0 ? 0 : worker->here % worker->total;
}

int replace_is_needed_now(const struct replace_thread *thread,
                          uint32_t position)
{
    return thread->is_open &&
           (position >= thread->tail ||
            (position >= thread->first && position < thread->top));
}

/** The time of a position that is needed now. */
static uint64_t uses_in_turn(const struct replace_thread *thread,
                             uint32_t position)
{
    if (position >= thread->tail) {
        return (uint64_t)(thread->top - thread->first) + position -
               thread->tail;
    }
    if (position >= thread->from) {
        return position - thread->from;
    }
    return (uint64_t)(thread->top - thread->from) + position - thread->first;
}

static uint64_t uses_until(const struct replace_thread *thread,
                           uint32_t position)
{
    const struct replace_worker *worker = thread->worker;
    uint64_t at = thread->start + position;

    if (replace_is_needed_now(thread, position)) {
        return uses_in_turn(thread, position);
    }
    if (at < worker->here) {
        at += worker->total;
    }
    return at - worker->here + worker->extra;
}

uint64_t replace_use_time(const struct replace_thread *thread,
                          uint32_t position)
{
    return (uses_until(thread, position) << 32) / thread->worker->total;
}

struct replace_thread *replace_use_thread(const struct replace *replace,
                                          uint32_t use)
{
    return replace->threads[replace->use_owner[use]];
}

static uint64_t time_of(const struct replace *replace, uint32_t use)
{
    const struct replace_thread *thread = replace_use_thread(replace, use);

    return replace_use_time(thread, use - thread->first_use);
}

static uint32_t next_of_ring(const struct replace *replace,
                             struct page_ring *ring)
{
    uint32_t last = ring->last;
    uint32_t next = replace->use_next[last];
    uint64_t time;

    if (next == last) {
        return next;
    }
    time = time_of(replace, last);
    for (;;) {
        uint64_t next_time = time_of(replace, next);

        if (next_time <= time) {
            ring->last = last;
            return next;
        }
        last = next;
        time = next_time;
        next = replace->use_next[last];
    }
}

uint32_t replace_use_after(struct replace *replace,
                           const struct page_note *note, uint64_t *time)
{
    uint32_t best = 0;
    uint64_t least = REPLACE_NEVER;

    for (uint32_t i = note->ring; i != 0; i = replace->rings[i].next) {
        uint32_t use = next_of_ring(replace, &replace->rings[i]);
        uint64_t at = time_of(replace, use);

        if (best == 0 || at < least) {
            best = use;
            least = at;
        }
    }
    if (time != NULL) {
        *time = least;
    }
    return best;
}

uint32_t replace_position_of(const struct replace *replace,
                             const struct replace_thread *thread, page_no page)
{
    const struct page_note *note = replace_note_find(replace, page);

    for (uint32_t i = note != NULL ? note->ring : 0; i != 0;
         i = replace->rings[i].next) {
        uint32_t last = replace->rings[i].last;
        uint32_t use = last;

        if (replace_use_thread(replace, last)->worker != thread->worker) {
            continue;
        }
        do {
            if (replace_use_thread(replace, use) == thread) {
                return use - thread->first_use;
            }
            use = replace->use_next[use];
        } while (use != last);
    }
    return NOWHERE;
}

/* ---- the plan ---- */

static void forget_rings(struct replace *replace)
{
    for (size_t i = 0; i < replace->n_chunks; i++) {
        for (size_t j = 0; replace->chunks[i] != NULL && j < NOTES_PER_CHUNK;
             j++) {
            replace->chunks[i][j].ring = 0;
        }
    }
    replace->n_rings = 0;
    replace->needs = (struct replace_needs){0};
}

/** Give uses their numbers, and the workers' sweeps their lengths. */
static void number_uses(struct replace *replace)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < replace->n_threads; i++) {
        struct replace_thread *thread = replace->threads[i];

        thread->n_uses =
            thread->worker != NULL && !thread->is_irregular ? thread->n : 0;
        if (n + thread->n_uses >= UINT32_MAX) {
            thread->n_uses = 0; // more than can be numbered: not known
        }
        if (thread->n_uses == 0) {
            thread->progress = thread->last = 0;
            thread->is_returning = 0;
        }
        thread->slot = i;
        thread->first_use = (uint32_t)n + 1;
        n += thread->n_uses;
        thread->n_members = 0;
        thread->members =
            replace_resize(thread->members, thread->n_uses / 64 + 1, 8);
        memset(thread->members, 0, (thread->n_uses / 64 + 1) * (size_t)8);
        if (thread->n_uses > replace->needs.largest) {
            replace->needs.largest = thread->n_uses;
        }
    }
    replace->n_uses = (uint32_t)n;
    replace->use_owner = replace_resize(replace->use_owner, n + 1, 4);
    replace->use_next = replace_resize(replace->use_next, n + 1, 4);
}

/** The ring of a page that a worker's uses belong to: its first, which is made
 * while the worker's uses are put together. */
static struct page_ring *ring_for(struct replace *replace,
                                  struct page_note *note,
                                  const struct replace_worker *worker)
{
    struct page_ring *ring = &replace->rings[note->ring];

    if (note->ring != 0 &&
        replace_use_thread(replace, ring->last)->worker == worker) {
        return ring;
    }
    if (replace->n_rings + 1 >= replace->rings_room) {
        replace->rings_room = replace->rings_room * 3 / 2 + 1024;
        replace->rings = replace_resize(replace->rings, replace->rings_room,
                                        sizeof *replace->rings);
    }
    replace->needs.n_pages += note->ring == 0;
    ring = &replace->rings[++replace->n_rings];
    *ring = (struct page_ring){.next = note->ring};
    note->ring = replace->n_rings;
    return ring;
}

static void add_uses(struct replace *replace,
                     const struct replace_worker *worker,
                     const struct replace_thread *thread)
{
    for (uint32_t q = 0; q < thread->n_uses; q++) {
        uint32_t use = thread->first_use + q;
        struct page_note *note = replace_note_get(replace, thread->pages[q]);
        struct page_ring *ring;

        replace->use_owner[use] = thread->slot;
        ring = ring_for(replace, note, worker);
        if (ring->last == 0) {
            replace->use_next[use] = use;
        } else {
            replace->use_next[use] = replace->use_next[ring->last];
            replace->use_next[ring->last] = use;
        }
        ring->last = use;
    }
}

static void plan_worker(struct replace *replace, struct replace_worker *worker)
{
    worker->total = 0;
    for (uint32_t i = 0; i < worker->n; i++) {
        struct replace_thread *thread = worker->order[i];

        thread->index = i;
        thread->start = worker->total;
        worker->total += thread->n_uses;
        add_uses(replace, worker, thread);
    }
    if (replace_open_turn(worker) != NULL) {
        place_thread(replace, worker->turn);
    }
    replace_worker_place(replace, worker);
}

static void sort_residents(struct replace *replace)
{
    replace->n_strays = 0;
    replace->n_known = 0;
    for (size_t i = 0; i < replace->n_chunks; i++) {
        for (size_t j = 0; replace->chunks[i] != NULL && j < NOTES_PER_CHUNK;
             j++) {
            struct page_note *note = &replace->chunks[i][j];

            if (note->is_resident && note->ring != 0) {
                replace_member_set(replace, note,
                                   replace_use_after(replace, note, NULL));
            } else if (note->is_resident) {
                replace_stray_add(replace, i * NOTES_PER_CHUNK + j, note);
            }
        }
    }
}

void replace_plan_renew(struct replace *replace)
{
    if (!replace->is_stale) {
        return;
    }
    replace->is_stale = 0;
    forget_rings(replace);
    number_uses(replace);
    for (uint32_t i = 0; i < replace->n_workers; i++) {
        plan_worker(replace, replace->workers[i]);
    }
    sort_residents(replace);
}

/* ---- where resident pages are listed ---- */

void replace_member_set(struct replace *replace, struct page_note *note,
                        uint32_t use)
{
    struct replace_thread *thread = replace_use_thread(replace, use);
    uint32_t q = use - thread->first_use;

    ensure((thread->members[q / 64] >> q % 64 & 1) == 0);
    thread->members[q / 64] |= UINT64_C(1) << q % 64;
    thread->n_members++;
    note->place = use;
    replace->n_known++;
}

void replace_member_clear(struct replace *replace, const struct page_note *note)
{
    struct replace_thread *thread = replace_use_thread(replace, note->place);
    uint32_t q = note->place - thread->first_use;

    thread->members[q / 64] &= ~(UINT64_C(1) << q % 64);
    thread->n_members--;
    replace->n_known--;
}

void replace_stray_add(struct replace *replace, page_no page,
                       struct page_note *note)
{
    if (replace->n_strays == replace->strays_room) {
        replace->strays_room = replace->strays_room * 3 / 2 + 1024;
        replace->strays =
            replace_resize(replace->strays, replace->strays_room, 4);
    }
    note->place = (uint32_t)replace->n_strays;
    replace->strays[replace->n_strays++] = (uint32_t)page;
}

void replace_stray_remove(struct replace *replace, const struct page_note *note)
{
    uint32_t moved = replace->strays[--replace->n_strays];

    replace->strays[note->place] = moved;
    replace_note_find(replace, moved)->place = note->place;
}
