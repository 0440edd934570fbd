// SPDX-License-Identifier: BSD-3-Clause
//
// Active correlation tracking ([ActiveTracking], [Liu06] section 4.1).
// For the time of one iteration one thread of the node runs at a time, and only
// what it has touched is mapped. So every page faults once for each thread that
// uses it, and again when a thread that has read it writes it.
//
//   track_begin   nothing is mapped
//   track_turn    another thread: unmap what the last one had (end_turn), map
//                 what this one is known to read
//   track_touch   map one page, for reading or for writing; before the first
//                 write copy it to a *twin*
//   track_end     all pages are mapped as their access says, in runs
//
// What a thread changes of a page is the diff against the twin, taken when the
// page is not mapped for writing any more: at the end of the turn, when the
// protocol takes the access away (writes_ended), or when there are as many twins
// as may be, of which the oldest quarter goes. Turns add up. Bytes that another node
// sets meanwhile are set in the twin too (changed), so they do not count.
//
// The protocols notice nothing: a page's access and state are as ever, only less
// of it is mapped (struct space_tracker). An exclusive page stays exclusive. A copy
// that nobody uses stays mapped as far as its protocol knows, or unmapped, if
// that is how its protocol looks for use.
//
// A thread that goes on gets the pages that it has read mapped at once: its
// reading is known. That takes time for each of them, so it is done only if
// faults have been as many, and a thread that often switches pays little. Pages
// that it has only written are not mapped, so that a first read is seen. The
// opposite is not seen: who writes a page first may read it after.
//
// A barrier within the iteration ends the turn, too (track_phase), so that what is written
// behind it is seen again, and noted as such.
//
// I1 Mapped are pages on the list `mapped` only, all in the current set.
// I2 A page has a twin exactly while it is mapped for writing; those that have
//    are on the list `twins`, is_queued says so.
// I3 Between turns of different threads nothing is mapped, and no twin is left.
// I4 There are at most `twins_max` twins.
#include "observe/track.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/ensure.h"
#include "base/vector.h"
#include "mem/diff.h"

#define TWINS_LEAST 64u

struct page_list {
    page_no *at;
    size_t n;
    size_t room;
};

struct track {
    struct space_tracker tracker; // first: found from it
    struct space *space;
    int is_on;
    unsigned phase; // barriers of the iteration that have opened
    unsigned n_slots;
    struct access_set **sets; // [n_slots], NULL: none
    unsigned end_slot;        // behind the last set
    struct access_set *current;
    struct page_list mapped;
    struct page_list twins; // oldest first
    size_t twins_max;
    uint64_t n_touches;
    uint64_t
        *n_faults; // [n_slots] paid for by the thread, less what was mapped
};

static void list_add(struct page_list *list, page_no page)
{
    vector_reserve(list->at, list->room, list->n + 1);
    list->at[list->n++] = page;
}

static const struct page *record_of(const struct track *track, page_no page)
{
    return &track->space->pages[page];
}

// Map n listed pages, which are sorted here, for this access, neighbours in one
// call. Those that have less access than that are passed over.
static void map_list(struct track *track, page_no *pages, size_t n,
                     enum page_access access)
{
    size_t i = 0;

    if (n > 0) {
        qsort(pages, n, sizeof *pages, page_no_compare);
    }
    while (i < n) {
        page_no first = pages[i];
        page_no end = first;

        while (i < n && pages[i] <= end &&
               record_of(track, pages[i])->access >= access) {
            end = pages[i++] + 1; // some are listed twice
        }
        if (end == first) {
            i++;
        } else {
            space_map(track->space, first, end - first, access);
        }
    }
}

// ---- twins

static void take_twin(struct track *track, struct access_entry *entry)
{
    entry->twin = twin_pool_get(&track->space->twins);
    memcpy(entry->twin, space_bytes(track->space, entry->page), TM_PAGE_SIZE);
    if (!entry->is_queued) {
        entry->is_queued = 1;
        list_add(&track->twins, entry->page);
    }
}

// Count what has changed. The page is not mapped for writing any more.
static void count_diff(struct track *track, struct access_entry *entry)
{
    uint8_t diff[DIFF_MAX];
    size_t size;

    if (entry->twin != NULL) {
        size = diff_encode(space_bytes(track->space, entry->page), entry->twin,
                           diff);
        access_entry_add_diff(entry, size == 0 ? 0 : diff_count(diff, size));
        twin_pool_put(&track->space->twins, entry->twin);
        entry->twin = NULL;
    }
}

// The first n of the list of twins go.
static void drop_twins(struct track *track, size_t n)
{
    struct page_list *twins = &track->twins;

    for (size_t i = 0; i < n; i++) {
        struct access_entry *entry =
            access_set_find(track->current, twins->at[i]);

        count_diff(track, entry);
        entry->is_queued = 0;
    }
    twins->n -= n;
    if (twins->n > 0) {
        memmove(twins->at, twins->at + n, twins->n * sizeof *twins->at);
    }
}

static void make_room_for_twin(struct track *track)
{
    page_no oldest[TRACK_TWINS_MAX / 4];
    const size_t n_less = track->twins_max / 4; // so many go at once
    size_t n = 0;

    if (track->twins.n < track->twins_max) { // I4
        return;
    }
    for (size_t i = 0; i < n_less; i++) {
        page_no page = track->twins.at[i];

        if (access_set_find(track->current, page)->twin != NULL) {
            oldest[n++] = page;
        }
    }
    map_list(track, oldest, n, ACCESS_READ);
    drop_twins(track, n_less);
}

static struct track *track_of(struct space_tracker *tracker)
{
    return (struct track *)tracker;
}

static void writes_ended(struct space_tracker *tracker, page_no page)
{
    struct track *track = track_of(tracker);

    // I1. It stays on the list of twins, without one.
    count_diff(track, access_set_find(track->current, page));
}

static void changed(struct space_tracker *tracker, page_no page,
                    const void *diff, size_t size)
{
    const struct track *track = track_of(tracker);
    const struct access_entry *entry =
        track->current == NULL ? NULL : access_set_find(track->current, page);

    if (entry != NULL && entry->twin != NULL) {
        ensure(diff_apply(diff, size, entry->twin, NULL) == TM_OK);
    }
}

// ---- turns

static void end_turn(struct track *track)
{
    if (track->current == NULL) {
        return;
    }
    map_list(track, track->mapped.at, track->mapped.n, ACCESS_NONE);
    track->mapped.n = 0;
    drop_twins(track, track->twins.n);
    track->current = NULL;
}

static void begin_turn(struct track *track, unsigned slot)
{
    struct access_set *set = track->sets[slot];

    track->current = set;
    set->has_phases |= track->phase > 0;
    if (track->n_faults[slot] < set->n) {
        return;
    }
    for (uint32_t i = 0; i < set->n; i++) {
        if (set->entries[i].flags & USE_READ &&
            record_of(track, set->entries[i].page)->access != ACCESS_NONE) {
            list_add(&track->mapped, set->entries[i].page);
        }
    }
    track->n_faults[slot] -= track->mapped.n;
    map_list(track, track->mapped.at, track->mapped.n, ACCESS_READ);
}

void track_turn(struct track *track, unsigned slot, uint64_t thread)
{
    struct access_set *set = track->sets[slot];

    ensure(slot < track->n_slots);
    if (!track->is_on || (set != NULL && set == track->current)) {
        return;
    }
    end_turn(track);
    if (set == NULL) {
        track->sets[slot] = access_set_new(thread);
        track->n_faults[slot] = 0;
        if (slot >= track->end_slot) {
            track->end_slot = slot + 1;
        }
    }
    begin_turn(track, slot);
}

void track_touch(struct track *track, unsigned slot, uint64_t thread,
                 page_no page, int is_write)
{
    const struct page *record = record_of(track, page);
    struct access_entry *entry;

    if (!track->is_on ||
        record->access < (is_write ? ACCESS_WRITE : ACCESS_READ)) {
        return;
    }
    track_turn(track, slot, thread);
    track->n_touches++;
    track->n_faults[slot]++;
    if (is_write) {
        make_room_for_twin(track);
    }
    entry = access_set_get(track->current, page);
    entry->flags |= is_write ? USE_WRITE : USE_READ;
    entry->phases |= (uint8_t)(is_write ? 1u << track->phase : 0);
    if (is_write && entry->twin == NULL) {
        take_twin(track, entry);
    }
    if (record->mapped == ACCESS_NONE) {
        list_add(&track->mapped, page);
    }
    // I2. If it is mapped already the kernel has unmapped it.
    space_map(track->space, page, 1,
              entry->twin != NULL ? ACCESS_WRITE : ACCESS_READ);
}

void track_phase(struct track *track)
{
    if (track->is_on) {
        end_turn(track);
        track->phase += track->phase + 1 < PHASES_MAX;
    }
}

void track_forget(struct track *track, unsigned slot)
{
    struct access_set *set = track->sets[slot];

    if (set != NULL && set == track->current) {
        end_turn(track);
    }
    access_set_free(set);
    track->sets[slot] = NULL;
}

// ---- begin and end

void track_begin(struct track *track, const struct page_run *runs, size_t n,
                 size_t twins_max)
{
    ensure(!track->is_on);
    track_clear(track);
    track->n_touches = 0;
    track->phase = 0;
    track->twins_max = within(twins_max, TWINS_LEAST, TRACK_TWINS_MAX);
    track->is_on = 1;
    space_track(track->space, &track->tracker);
    for (size_t i = 0; i < n; i++) {
        space_hide(track->space, runs[i].page, runs[i].n_pages);
    }
}

void track_end(struct track *track, const struct page_run *runs, size_t n)
{
    ensure(track->is_on);
    if (track->current != NULL) {
        drop_twins(track, track->twins.n);
    }
    track->mapped.n = 0;
    track->current = NULL;
    track->is_on = 0;
    space_track_end(track->space);
    for (size_t i = 0; i < n; i++) {
        space_show(track->space, runs[i].page, runs[i].n_pages);
    }
}

int track_is_on(const struct track *track)
{
    return track->is_on;
}

uint64_t track_n_touches(const struct track *track)
{
    return track->n_touches;
}

const struct access_set *track_next(const struct track *track, unsigned *slot)
{
    while (*slot < track->end_slot) {
        const struct access_set *set = track->sets[(*slot)++];

        if (set != NULL) {
            return set;
        }
    }
    return NULL;
}

void track_clear(struct track *track)
{
    ensure(!track->is_on);
    for (unsigned slot = 0; slot < track->end_slot; slot++) {
        access_set_free(track->sets[slot]);
        track->sets[slot] = NULL;
    }
    track->end_slot = 0;
}

int track_is_valid(const struct track *track)
{
    size_t n_twins = 0;

    if (track->current == NULL) {
        return track->mapped.n == 0 && track->twins.n == 0; // I3
    }
    for (uint32_t i = 0; i < track->current->n; i++) {
        const struct access_entry *entry = &track->current->entries[i];
        const struct page *record = record_of(track, entry->page);

        if ((record->mapped == ACCESS_WRITE) != (entry->twin != NULL) ||
            (entry->twin != NULL && !entry->is_queued) ||
            record->mapped > record->access) {
            return 0;
        }
        n_twins += entry->is_queued;
    }
    return n_twins == track->twins.n && track->is_on;
}

struct track *track_new(struct space *space, unsigned n_slots)
{
    struct track *track = calloc(1, sizeof *track);

    if (track == NULL) {
        return NULL;
    }
    track->tracker.writes_ended = writes_ended;
    track->tracker.changed = changed;
    track->space = space;
    track->n_slots = n_slots;
    track->sets = calloc(n_slots, sizeof(struct access_set *));
    track->n_faults = calloc(n_slots, sizeof *track->n_faults);
    if (track->sets == NULL || track->n_faults == NULL) {
        track_free(track);
        return NULL;
    }
    return track;
}

void track_free(struct track *track)
{
    if (track == NULL) {
        return;
    }
    if (track->is_on) {
        track_end(track, NULL, 0);
    }
    track_clear(track);
    free(track->mapped.at);
    free(track->twins.at);
    free(track->n_faults);
    free(track->sets);
    free(track);
}
