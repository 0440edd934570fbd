// SPDX-License-Identifier: BSD-3-Clause
//
// What a mutex guards, found out by what threads miss while it is held. A page is guarded by one
// mutex, or by none:
//
//   none    -> guarded   a thread misses it while its node holds the mutex
//   guarded -> sure      the same again: GUARDED_SURE times
//   sure    -> guarded   a thread misses it while its node does not hold the mutex
//   sure    -> none      it has come along, the mutex was locked, and nobody has written the page
//
// Each node finds out by itself, and who is sent a page along with a token takes the sender's word.
#include "protocol/guards.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "base/map.h"

#define SEEN_MAX 4u // more often does not make it surer

struct guards {
    struct map by_mutex; ///< struct guard
    struct map by_page;  ///< the same: of the page's mutex
    struct guard *first;
};

static struct guard *guard_of_page(const struct engine *engine, page_no page)
{
    const struct guards *all = engine->updates->guards;

    return all == NULL ? NULL : map_find(&all->by_page, page);
}

struct guard *guards_find(const struct engine *engine, uint64_t mutex)
{
    const struct guards *all = engine->updates->guards;

    return all == NULL ? NULL : map_find(&all->by_mutex, mutex);
}

static struct guard *guard_of(struct engine *engine, uint64_t mutex)
{
    struct guard *guard = guards_find(engine, mutex);
    struct guards *all = engine->updates->guards;

    if (guard != NULL) {
        return guard;
    }
    if (all == NULL) {
        all = calloc(1, sizeof *all);
        ensure_memory(all != NULL);
        engine->updates->guards = all;
    }
    guard = calloc(1, sizeof *guard);
    ensure_memory(guard != NULL);
    guard->mutex = mutex;
    guard->next = all->first;
    all->first = guard;
    map_add(&all->by_mutex, mutex, guard);
    return guard;
}

static struct guarded *find_guarded(struct guard *guard, page_no page)
{
    unsigned i = 0;

    while (guard->pages[i].page != page) {
        i++;
    }
    return &guard->pages[i];
}

void guards_take_out(struct engine *engine, struct guard *guard,
                     struct guarded *item)
{
    (void)map_take(&engine->updates->guards->by_page, item->page);
    *item = guard->pages[--guard->n];
}

// @return NULL it has as many as it may
static struct guarded *put_in(struct engine *engine, uint64_t mutex,
                              page_no page)
{
    struct guard *guard = guard_of(engine, mutex);
    struct guarded *item = &guard->pages[guard->n];

    if (guard->n == GUARDED_MAX) {
        return NULL;
    }
    guard->n++;
    *item = (struct guarded){.page = page};
    map_add(&engine->updates->guards->by_page, page, guard);
    return item;
}

static int is_held(const struct engine *engine, uint64_t mutex)
{
    const struct held_list *held = &engine->updates->held;
    size_t i = 0;

    while (i < held->n && held->at[i] != mutex) {
        i++;
    }
    return i < held->n;
}

static void note_version(const struct engine *engine, struct guarded *item)
{
    if (item != NULL) {
        item->version = page_of(engine, item->page)->version;
    }
}

static void note_missed_again(struct engine *engine, struct guard *guard,
                              struct guarded *item)
{
    note_version(engine, item);
    if (is_held(engine, guard->mutex)) {
        item->n_seen += item->n_seen < SEEN_MAX;
    } else if (--item->n_seen == 0) {
        guards_take_out(engine, guard, item);
    }
}

// Of several that are held it may be any: if it was not the last, that is seen in time.
void guards_missed(struct engine *engine, page_no page)
{
    const struct held_list *held = &engine->updates->held;
    struct guard *guard = guard_of_page(engine, page);
    struct guarded *item;

    if (guard != NULL) {
        note_missed_again(engine, guard, find_guarded(guard, page));
        return;
    }
    item = held->n == 0 ? NULL : put_in(engine, held->at[held->n - 1], page);
    if (item != NULL) {
        item->n_seen = 1;
        note_version(engine, item);
    }
}

void guards_locked(struct engine *engine, uint64_t mutex)
{
    struct guard *guard = guards_find(engine, mutex);

    if (guard != NULL) {
        guard->was_locked = 1;
    }
}

void guards_came_along(struct engine *engine, page_no page, uint64_t mutex)
{
    struct guard *guard = guard_of_page(engine, page);
    struct guarded *item = guard == NULL ? NULL : find_guarded(guard, page);

    if (guard != NULL && guard->mutex != mutex) {
        guards_take_out(engine, guard, item);
        item = NULL;
    }
    item = item == NULL ? put_in(engine, mutex, page) : item;
    if (item != NULL) {
        item->n_seen = SEEN_MAX;
        note_version(engine, item);
        guard_of(engine, mutex)->was_locked = 0;
    }
}

// ---- forgetting

static void forget_pages(struct engine *engine, struct guard *guard,
                         const struct extent *extent)
{
    for (unsigned i = guard->n; i-- > 0;) {
        if (guard->pages[i].page - extent->page < extent->n_pages) {
            guards_take_out(engine, guard, &guard->pages[i]);
        }
    }
}

// A mutex that guards nothing any more was in the block, perhaps.
void guards_forget(struct engine *engine, const struct extent *extent)
{
    struct guards *all = engine->updates->guards;
    struct guard **link = all == NULL ? NULL : &all->first;

    while (link != NULL && *link != NULL) {
        struct guard *guard = *link;

        forget_pages(engine, guard, extent);
        if (guard->n == 0) {
            *link = guard->next;
            (void)map_take(&all->by_mutex, guard->mutex);
            free(guard);
        } else {
            link = &guard->next;
        }
    }
}

void guards_free(struct updates *updates)
{
    struct guards *all = updates->guards;

    if (all == NULL) {
        return;
    }
    while (all->first != NULL) {
        struct guard *guard = all->first;

        all->first = guard->next;
        free(guard);
    }
    map_release(&all->by_mutex);
    map_release(&all->by_page);
    free(all);
    updates->guards = NULL;
}

int guards_are_valid(const struct engine *engine)
{
    const struct guards *all = engine->updates->guards;
    size_t n = 0;

    for (const struct guard *at = all == NULL ? NULL : all->first; at != NULL;
         at = at->next) {
        for (unsigned i = 0; i < at->n; i++) {
            if (map_find(&all->by_page, at->pages[i].page) != at) {
                return 0;
            }
        }
        n += at->n;
    }
    return all == NULL || n == all->by_page.n;
}
