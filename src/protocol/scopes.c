// SPDX-License-Identifier: BSD-3-Clause
//
// The scopes of mutexes. With a mutex's token go the notices of what was written while it
// was held, by whomever: each node that has the token has them all in a list, beside the
// one of all that it has heard of (notices.c), and tells the next one what that has not
// been told by it. A mutex that is used on one node only sends nothing, and its record has
// the pages that were written, once each.
//
// Nothing says of a page that can be written whether it is: so a mutex has all that could
// be while it was held, which are those on the list of dirty pages. It is looked through
// when the mutex is unlocked, from where it was looked through for this mutex before; and
// for the mutexes that are held when a release begins.
//
//   held      scopes_held                the mutex is on the list `held`
//   released  scopes_begin_release       what is dirty was written, perhaps, under each
//   unlocked  scopes_held                ... or under this one
//   the token leaves  scopes_send        each page that was has a notice by now: it is
//                                        listed, and sent
//
// U1 The list of a mutex, where its token is, has a notice of each page that was written
//    under it on any node, of a version that has all these writes in it; but for what is
//    `written` there.
// U2 `written` has each page that was written here under the mutex since the token came,
//    but for those on the list of dirty pages, if it is held, or behind `n_seen`.
// U3 When the token leaves all of `written` is released, so it has its notices: the
//    engine has been asked for a release since the mutex was unlocked. (Between two nodes
//    the owner is the other one, or this one: it needs none.)
#include "protocol/scopes.h"

#include "base/vector.h"

struct scope {
    uint64_t mutex;
    struct scope *next;
    struct notice_list list; ///< U1
    struct map written;      ///< U2: to the map itself
    uint32_t release; ///< in which the list of dirty pages was looked through
    size_t n_seen;    ///< to here
};

struct scopes {
    struct map by_mutex;
    struct scope *first;
    uint32_t release; ///< of this node, counted from 1
};

static struct scope *find_scope(const struct engine *engine, uint64_t mutex)
{
    const struct scopes *scopes = engine->updates->scopes;

    return scopes == NULL ? NULL : map_find(&scopes->by_mutex, mutex);
}

void scopes_begin(struct engine *engine)
{
    struct updates *updates = engine->updates;

    if (updates->scopes == NULL) {
        updates->scopes = calloc(1, sizeof *updates->scopes);
        ensure_memory(updates->scopes != NULL);
        updates->scopes->release = 1;
    }
}

static struct scope *scope_of(struct engine *engine, uint64_t mutex)
{
    struct scope *scope = find_scope(engine, mutex);
    struct scopes *scopes = engine->updates->scopes;

    if (scope == NULL) {
        scope = calloc(1, sizeof *scope);
        ensure_memory(scope != NULL);
        scope->mutex = mutex;
        scope->next = scopes->first;
        scopes->first = scope;
        map_add(&scopes->by_mutex, mutex, scope);
    }
    return scope;
}

// ---- what is written while a mutex is held

int scopes_have(const struct engine *engine, page_no page)
{
    const struct extent *extent = extent_find(engine, page);

    return extent != NULL && extent->row->updates != NULL &&
           extent->row->updates->is_scoped;
}

static void add_written(struct engine *engine, uint64_t mutex, page_no page)
{
    struct map *written;

    if (!scopes_have(engine, page)) {
        return;
    }
    written = &scope_of(engine, mutex)->written;
    if (map_find(written, page) == NULL) {
        map_add_index(written, page, 0);
    }
}

// U2
static void look_through(struct engine *engine, uint64_t mutex)
{
    const struct page_list *dirty = &engine->updates->dirty;
    const uint32_t release = engine->updates->scopes->release;
    struct scope *scope = find_scope(engine, mutex);
    size_t i = scope != NULL && scope->release == release ? scope->n_seen : 0;

    for (; i < dirty->n; i++) {
        add_written(engine, mutex, dirty->at[i]);
    }
    scope = find_scope(engine, mutex);
    if (scope != NULL) {
        scope->release = release;
        scope->n_seen = dirty->n;
    }
}

static void remove_held(struct held_list *held, uint64_t mutex)
{
    for (size_t i = held->n; i-- > 0;) {
        if (held->at[i] == mutex) {
            held->at[i] = held->at[--held->n];
            return;
        }
    }
}

void scopes_held(struct engine *engine, uint64_t mutex, int is_held)
{
    struct held_list *held = &engine->updates->held;

    if (is_held) {
        vector_reserve(held->at, held->room, held->n + 1);
        held->at[held->n++] = mutex;
        return;
    }
    remove_held(held, mutex);
    if (engine->updates->scopes != NULL) {
        look_through(engine, mutex);
    }
}

void scopes_begin_release(struct engine *engine)
{
    const struct updates *updates = engine->updates;

    for (size_t i = 0; i < updates->held.n; i++) {
        look_through(engine, updates->held.at[i]);
    }
    updates->scopes->release++;
}

void scopes_note(struct engine *engine, page_no page)
{
    const struct held_list *held = &engine->updates->held;

    for (size_t i = 0; i < held->n; i++) {
        scopes_begin(engine);
        add_written(engine, held->at[i], page);
    }
}

// ---- telling

// Of a block that is there; NULL: there is none.
static const struct notice *find_notice(const struct engine *engine,
                                        const struct notice_list *known,
                                        page_no page)
{
    const struct extent *extent = extent_find(engine, page);
    const struct notice *notice =
        known == NULL ? NULL : notice_list_find(known, page, 0);

    return notice != NULL && extent != NULL && notice->serial == extent->serial
               ? notice // N4
               : NULL;
}

// U3
static void list_written(const struct engine *engine, struct scope *scope,
                         const struct notice_list *known)
{
    for (size_t i = 0; i < scope->written.capacity; i++) {
        const struct map_entry *entry = &scope->written.entries[i];
        const struct notice *found =
            entry->record == NULL ? NULL
                                  : find_notice(engine, known, entry->key);

        if (found != NULL) {
            struct notice notice = *found;

            notice.from = engine->port->self;
            (void)notice_list_add(&scope->list, &notice);
        }
    }
    map_release(&scope->written);
    scope->written = (struct map){0};
}

struct notice_list *scopes_list(const struct engine *engine, uint64_t mutex,
                                const struct notice_list *known)
{
    struct scope *scope = find_scope(engine, mutex);

    if (scope == NULL) {
        return NULL;
    }
    list_written(engine, scope, known);
    return &scope->list;
}

void scopes_hear(struct engine *engine, uint64_t mutex,
                 const struct notice *notice)
{
    scopes_begin(engine);
    (void)notice_list_add(&scope_of(engine, mutex)->list, notice);
}

// ---- forgetting

static void free_scope(struct scope *scope)
{
    notice_list_release(&scope->list);
    map_release(&scope->written);
    free(scope);
}

// Who knows nothing of a mutex may have heard of all that was: it is no more.
static int is_empty(const struct scope *scope)
{
    return scope->list.n == scope->list.n_past && scope->written.n == 0;
}

// Pages have left the list of dirty ones, so it is looked through anew.
void scopes_forget(struct engine *engine, const struct extent *extent)
{
    struct scopes *scopes = engine->updates->scopes;
    struct scope **link = scopes == NULL ? NULL : &scopes->first;

    while (link != NULL && *link != NULL) {
        struct scope *scope = *link;

        notice_list_forget(&scope->list, extent);
        scope->n_seen = 0;
        if (is_empty(scope)) {
            *link = scope->next;
            (void)map_take(&scopes->by_mutex, scope->mutex);
            free_scope(scope);
        } else {
            link = &scope->next;
        }
    }
}

void scopes_forget_all(struct engine *engine)
{
    if (engine->updates->scopes != NULL) {
        scopes_free(engine->updates);
        scopes_begin(engine); // pages may be dirty
    }
}

void scopes_free(struct updates *updates)
{
    struct scopes *scopes = updates->scopes;

    while (scopes != NULL && scopes->first != NULL) {
        struct scope *scope = scopes->first;

        scopes->first = scope->next;
        free_scope(scope);
    }
    if (scopes != NULL) {
        map_release(&scopes->by_mutex);
        free(scopes);
    }
    updates->scopes = NULL;
}
