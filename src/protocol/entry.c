// SPDX-License-Identifier: BSD-3-Clause
//
// entry (protocols.md; entry consistency, as in Midway, [Bershad93]): the program says
// which bytes a lock guards (tm_bind()), and they travel with the lock, in the message
// that grants it. There are no owners, no fetches, no releases: whoever has the lock has
// the last bytes, and who has not may not use them.
//
// A lock has an *incarnation*: it grows by one where something was written under the lock
// and its bytes are looked at, which is before they leave. Each line of bound bytes
// has a *stamp*, the incarnation in which it was written last. With the lock travels which
// incarnation each node has had. So whoever has it sends the next node the lines whose stamps
// are above that: what was written since, once, however often it was.
//
// A mutex's bytes move with its token. Those of a reader-writer lock are at its manager, the
// *home*, which lends them to nodes whose threads hold the lock, and gets back what was
// written.
//
//   lock   away -> here    engine_lock_comes, engine_bind, the first time
//          here -> away    engine_lock_leaves; at home: when the manager is another
//   page   absent -> bound          bytes of a lock come, or a thread uses them
//          bound, unwritten -> written   admit: a twin, against which lines are stamped
//          written -> unwritten     the last lock of the page leaves; relieve
//
// A page may have bytes of many locks. It is mapped while one of them is here, so what is
// found is an access without any of them: what a thread does to another lock's bytes
// meanwhile is not. Unbound bytes of a block are nobody's.
//
// B1 One node passes a lock's bytes on (is_home): a mutex's where its token is. They are the
//    last ones there (is_here), or at the node of a writer that has borrowed them.
// B2 A node whose incarnation is known to be i has the bytes of each line whose stamp is i
//    or less, and that stamp. So such a page never goes without a word: the pager keeps it
//    (FATE_SWAP).
// B3 What is written under a lock is stamped before that leaves. Nobody writes meanwhile:
//    pages that no other lock keeps mapped are unmapped before.
// B4 A page is mapped only while one of its locks is here: `n_here` of its record counts
//    the ranges of those.
// B5 A lock's `list` is the incarnation in which its ranges were changed last; all of them
//    go to a node that had an earlier one, and what is not among them is not bound any more.
// B6 Ranges do not overlap: where one comes, those of locks that are not here are forgotten.
#include "mem/diff.h"
#include "protocol/bound.h"
#include "protocol/protocol_rows.h"

#include <stdio.h>
#include <string.h>

// ---- accesses

static enum fault_result admit(struct engine *engine, page_no page_number,
                               int is_write, uint64_t thread)
{
    const struct bindings *all = engine->bindings;
    const uint64_t end = (page_number + 1) * TM_PAGE_SIZE;

    for (size_t i = bound_from(all, page_number * TM_PAGE_SIZE);
         i < all->n && all->ranges[i]->start < end; i++) {
        const struct bound *lock = all->ranges[i]->lock;

        if (lock->is_here && bound_is_held(all, lock->key, thread, is_write)) {
            bound_make(engine, page_number);
            if (is_write) {
                bound_begin_writing(engine, page_number);
            }
            space_set_access(engine->space, page_number, 1,
                             is_write ? ACCESS_WRITE : ACCESS_READ);
            steps_made(engine, page_number,
                       (struct step_cause){.event = STEP_FAULT,
                                           .facts = is_write ? STEP_WRITE : 0});
            return FAULT_ALLOWED;
        }
    }
    return FAULT_OUTSIDE;
}

static void explain(const struct engine *engine, page_no page, unsigned offset,
                    uint64_t thread, char *text, size_t size)
{
    const struct bindings *all = engine->bindings;
    const struct range *range = bound_around(all, page * TM_PAGE_SIZE + offset);

    if (range == NULL) {
        snprintf(text, size, "which is bound to no lock");
    } else {
        snprintf(text, size,
                 "which is bound to the lock at 0x%llx: the thread %s",
                 (unsigned long long)range->lock->key,
                 bound_is_held(all, range->lock->key, thread, 0)
                     ? "holds it to read"
                     : "does not hold it");
    }
}

// ---- the token leaves

/* To this node itself nothing goes, but who has borrowed it counts. */
static void count_borrower(struct bound *lock, enum lock_way way)
{
    if (way == LOCK_LENT || way == LOCK_LENT_TO_WRITE) {
        lock->n_lent++;
    } else if (way == LOCK_BACK) {
        lock->n_lent--;
        lock->is_home = 1; // perhaps since it was bound
    }
}

/* What is here ends, or goes on. @return 1 there may be something to send */
static int give_away(struct engine *engine, struct bound *lock, node_id to,
                     enum lock_way way)
{
    lock->n_lent -= way == LOCK_BACK;
    if (lock->n_lent > 0 || way == LOCK_LENT) {
        bound_stamp(engine, lock);
    } else if (lock->is_here) {
        bound_end_here(engine, lock);
    }
    lock->is_home &= way != LOCK_MOVES;
    bound_knows(lock, engine->port->self, lock->incarnation);
    return way != LOCK_BACK ||
           (lock->n_lent == 0 && lock->incarnation > bound_known(lock, to));
}

const void *engine_lock_leaves(struct engine *engine, uint64_t key, node_id to,
                               enum lock_way way, uint32_t *size)
{
    struct bound *lock = table_find(&engine->bindings->locks, key);
    const void *parcel = NULL;

    *size = 0;
    if (lock == NULL || (!lock->is_here && !lock->is_home)) {
        return NULL;
    }
    if (!lock->is_here && way != LOCK_MOVES) {
        bound_begin_here(engine, lock); // the writer has written nothing
    }
    if (to == engine->port->self) {
        count_borrower(lock, way);
    } else {
        // Who holds it where it comes from may be a writer.
        const int is_lent =
            way == LOCK_MOVES && (!lock->is_here || lock->n_lent > 0);

        if (give_away(engine, lock, to, way)) {
            parcel = parcel_write(engine, lock, to, is_lent, size);
        }
        if (way != LOCK_MOVES) {
            bound_knows(lock, to, lock->incarnation);
        }
    }
    return parcel;
}

// ---- it comes

static void write_bytes(struct engine *engine, struct range *range,
                        const struct wire_bound_bytes *written)
{
    const page_no page_number = written->at / TM_PAGE_SIZE;
    const unsigned offset = written->at % TM_PAGE_SIZE;
    const uint16_t n = written->bytes.size;
    uint64_t before = 0; // the newest of its stamps
    uint8_t diff[DIFF_MAX];
    size_t size = 0;

    bound_make(engine, page_number);
    memcpy(space_bytes_to_change(engine->space, page_number) + offset,
           written->bytes.at, n);
    if (page_of(engine, page_number)->twin != NULL) {
        memcpy(page_of(engine, page_number)->twin + offset, written->bytes.at,
               n);
    }
    if (engine->space->tracker != NULL) {
        size = diff_of_range(written->bytes.at, offset, n, diff);
        space_changed(engine->space, page_number, diff, size);
    }
    for (uint64_t at = written->at; at < written->at + n;
         at = (at / BOUND_LINE + 1) * BOUND_LINE) {
        uint64_t *stamp = &range->stamps[line_of(range, at)];

        before = *stamp > before ? *stamp : before;
        *stamp = written->stamp;
    }
    bound_tell_taken(engine, page_number, written->stamp, before);
}

/* Bytes of a range that is not known here are of a block that has been freed meanwhile. */
static void take_bytes(struct engine *engine, const struct bound *lock,
                       const struct wire_bound_bytes *written)
{
    struct range *range = bound_around(engine->bindings, written->at);
    const uint64_t end = written->at + written->bytes.size;

    if (written->bytes.size > 0 && range != NULL && range->lock == lock &&
        end <= range->start + range->size &&
        (end - 1) / TM_PAGE_SIZE == written->at / TM_PAGE_SIZE) {
        write_bytes(engine, range, written);
    }
}

/* It is well formed. @param is_last  not only a part, or an announcement
 * @param is_token  what the lock knows of nodes comes along
 * @return its head */
static struct wire_bound_head take_parcel(struct engine *engine,
                                          struct bound *lock,
                                          struct wire_reader reader,
                                          int is_last, int is_token)
{
    const struct wire_bound_head head =
        parcel_take_head(lock, &reader, is_token);

    for (uint32_t i = 0; i < head.n_ranges; i++) {
        const struct wire_bound_range range = wire_get_bound_range(&reader);

        bound_note(engine, lock, &range, head.list, head.has_list);
    }
    while (wire_has_more(&reader)) {
        const struct wire_bound_bytes bytes = wire_get_bound_bytes(&reader);

        take_bytes(engine, lock, &bytes);
    }
    if (is_last && head.incarnation > lock->incarnation) {
        lock->incarnation = head.incarnation;
    }
    if (is_last && head.list > lock->list) {
        lock->list = head.list;
    }
    if (is_last && head.has_list) {
        bound_drop_older(engine, lock); // B5
    }
    return head;
}

/* @return 0 it is here already */
static int may_come(const struct bound *lock, enum lock_way way)
{
    switch (way) {
    case LOCK_MOVES:
        return !lock->is_home; // B1
    case LOCK_BACK:
        return !lock->is_here || lock->is_home;
    default:
        return !lock->is_here;
    }
}

/* Have the lock take a parcel, here or not. */
static void take_anywhere(struct engine *engine, struct bound *lock,
                          struct wire_reader reader, int is_last, int is_token)
{
    const int was_here = lock->is_here;
    struct wire_bound_head head;

    if (was_here) {
        bound_end_here(engine, lock);
    }
    head = take_parcel(engine, lock, reader, is_last, is_token);
    if (was_here || (is_last && !head.is_lent)) {
        bound_begin_here(engine, lock);
    }
}

tm_status engine_lock_comes(struct engine *engine, uint64_t key, node_id from,
                            enum lock_way way, const void *bytes, uint32_t size)
{
    const struct wire_reader reader = wire_read(bytes, size);
    const int is_lent = way == LOCK_LENT || way == LOCK_LENT_TO_WRITE;
    struct bound *lock;

    if (size == 0) {
        return TM_OK; // nothing is bound to it, or it comes from here
    }
    if (from == engine->port->self || !parcel_is_good(reader)) {
        return TM_EWIRE;
    }
    lock = bound_get(engine->bindings, key);
    if (way == LOCK_LENT && lock->n_lent > 0) {
        lock->n_lent++; // nobody has written since the first time
        return TM_OK;
    }
    if (!may_come(lock, way)) {
        return TM_EWIRE;
    }
    take_anywhere(engine, lock, reader, 1, way != LOCK_BACK);
    lock->n_lent += is_lent;
    lock->is_home |= !is_lent;
    if (way == LOCK_BACK) {
        bound_knows(lock, from, lock->incarnation);
    }
    return TM_OK;
}

static tm_status receive(struct engine *engine, node_id from,
                         const struct message *message)
{
    const struct wire_reader reader = wire_read_body(message);
    struct bound *lock;

    if (from == engine->port->self || !parcel_is_good(reader)) {
        return TM_EWIRE;
    }
    lock = bound_get(engine->bindings, message->u.bound.key);
    if (message->u.bound.is_part || !lock->is_here) { // else it knows better
        take_anywhere(engine, lock, reader, 0, 0);
    }
    return TM_OK;
}

int engine_lock_has_data(const struct engine *engine, uint64_t key)
{
    const struct bound *lock = table_find(&engine->bindings->locks, key);

    return lock != NULL && lock->is_home;
}

// ---- the base

static void forget(struct engine *engine, const struct extent *extent)
{
    struct bindings *all = engine->bindings;
    const uint64_t end = (extent->page + extent->n_pages) * TM_PAGE_SIZE;
    const size_t i = bound_from(all, extent->page * TM_PAGE_SIZE);

    while (i < all->n && all->ranges[i]->start < end) {
        if (all->ranges[i]->lock->is_here) {
            bound_count(engine, all->ranges[i], -1);
        }
        bound_remove(engine, all->ranges[i]);
    }
}

static const struct protocol_base entry_base = {
    .open = bindings_open,
    .close = bindings_close,
    .messages = UINT64_C(1) << MESSAGE_bound,
    .receive = receive,
    .release_early = bound_relieve,
    .forget = forget,
    .is_valid = bindings_are_valid,
};

const struct protocol protocol_entry = {
    .name = "entry",
    .id = TM_ENTRY,
    .base = &entry_base,
    .is_coherent = 1, // under the lock
    .admit = admit,
    .explain = explain,
    .describe = bound_describe,
    .why_unsaved = "a block's bytes are bound to locks (tm_bind)",
};
