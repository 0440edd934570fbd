// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes are bound to a lock. Whoever binds them holds it, so it is here; they may come
// from another lock, which is here as well. Invariants are those of entry.c.
#include <string.h>

#include "protocol/bound.h"

/* May bytes be bound to a lock that the thread holds? @return TM_OK; 1: they are */
static int may_bind(const struct bindings *all, const struct bound *lock,
                    const struct wire_bound_range *what, uint64_t thread)
{
    const uint64_t end = what->start + what->size;
    size_t i = bound_from(all, what->start);

    for (; i < all->n && all->ranges[i]->start < end; i++) {
        const struct range *range = all->ranges[i];

        if (range->lock == lock) {
            return range->start <= what->start && range_end(range) >= end
                       ? 1
                       : TM_EINVAL;
        }
        if (range->start < what->start || range_end(range) > end) {
            return TM_EINVAL;
        }
        if (!range->lock->is_here ||
            !bound_is_held(all, range->lock->key, thread, 1)) {
            return TM_EBUSY;
        }
    }
    return TM_OK;
}

/* Take the bytes from the locks that they are bound to, which are here.
 * @return whether there are any */
static int unbind(struct engine *engine, const struct wire_bound_range *what)
{
    struct bindings *all = engine->bindings;
    const size_t i = bound_from(all, what->start);
    int n = 0;

    for (; i < all->n && all->ranges[i]->start < what->start + what->size;
         n++) {
        struct bound *lock = all->ranges[i]->lock;

        lock->list = ++lock->incarnation; // B5
        bound_count(engine, all->ranges[i], -1);
        bound_remove(engine, all->ranges[i]);
    }
    return n > 0;
}

/* The lines that other nodes may not have: zeros they have, if nobody has had the bytes. */
static void stamp_new(struct engine *engine, struct range *range, int is_old,
                      uint64_t stamp)
{
    static const char zeros[BOUND_LINE];
    struct piece piece = {0};

    while (next_piece(range, &piece)) {
        const int is_new = page_of(engine, piece.page)->state == PAGE_ABSENT;
        const char *bytes =
            is_new ? NULL : space_bytes(engine->space, piece.page);
        struct piece line = {.page = piece.page, .end = piece.from};

        while (next_line(&piece, &line)) {
            if (is_old || (!is_new && memcmp(bytes + line.from, zeros,
                                             line.end - line.from) != 0)) {
                range->stamps[line_of(range, piece_at(&line))] = stamp;
            }
        }
    }
}

static void begin_lock(struct bound *lock, enum lock_home home)
{
    if (!lock->is_here) {
        lock->is_here = 1;
        lock->is_home = home != HOME_ELSEWHERE;
        lock->n_lent = home != HOME_HERE;
    }
}

tm_status engine_bind(struct engine *engine, uint64_t key, enum lock_home home,
                      uint64_t start, uint64_t size, uint64_t thread)
{
    const struct extent *extent = bound_extent(engine, start, size);
    struct bound *lock;
    struct range *range;
    struct wire_bound_range what = {.start = start, .size = size};
    int status;

    if (extent == NULL) {
        return TM_EINVAL;
    }
    what.serial = extent->serial;
    lock = bound_get(engine->bindings, key);
    status = may_bind(engine->bindings, lock, &what, thread);
    if (status != TM_OK) {
        return status > 0 ? TM_OK : (tm_status)status;
    }
    begin_lock(lock, home);
    lock->list = ++lock->incarnation;
    status = unbind(engine, &what);
    range = bound_add(engine->bindings, lock, &what, lock->list);
    stamp_new(engine, range, status, lock->incarnation);
    bound_count(engine, range, 1);
    bound_tell(engine, range, STEP_BOUND);
    parcel_announce(engine, lock, range);
    return TM_OK;
}
