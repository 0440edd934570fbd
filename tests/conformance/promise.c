// SPDX-License-Identifier: BSD-3-Clause
//
// All that has been written since the last barrier, by byte, and how far along it who reads
// must see at least:
//
//   a thread   what it has written; when it has locked a mutex, what was written under
//              that one
//   a node     what has been read or written there: no copy loses a byte (E5)
//
// A byte that nobody writes meanwhile is thus what was written last, if it was written
// under the mutex that its reader holds; and if it was not, one of the values that it
// has had.
#include "promise.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/vector.h"

enum { N_BYTES = N_PAGES * TM_PAGE_SIZE };

struct written {
    uint32_t offset;
    uint32_t before; // the number of the byte's write before this one
    uint8_t value;
};

// Numbers of writes count from 1; 0 is what was there at the barrier. So of a byte that has
// not been written all are 0.
struct promise {
    uint8_t base[N_BYTES];
    uint32_t last[N_BYTES];
    uint32_t of_thread[MAX_THREADS][N_BYTES];
    uint32_t of_node[MAX_IDS][N_BYTES];
    uint32_t of_lock[N_LOCKS][N_BYTES];
    struct written *log; // [n], by number - 1
    uint32_t n;
    uint32_t room;
};

void promise_open(struct world *world)
{
    if (world->protocol == TM_SCOPE) {
        world->promise = calloc(1, sizeof *world->promise);
        ensure_memory(world->promise != NULL);
    }
}

void promise_close(struct world *world)
{
    if (world->promise != NULL) {
        free(world->promise->log);
        free(world->promise);
    }
}

static void forget_writes(struct promise *promise, uint64_t offset)
{
    promise->last[offset] = 0;
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        promise->of_thread[i][offset] = 0;
    }
    for (unsigned i = 0; i < MAX_IDS; i++) {
        promise->of_node[i][offset] = 0;
    }
    for (unsigned i = 0; i < N_LOCKS; i++) {
        promise->of_lock[i][offset] = 0;
    }
}

void promise_begin(struct world *world)
{
    struct promise *promise = world->promise;

    if (promise == NULL) {
        return;
    }
    memcpy(promise->base, world->oracle, N_BYTES);
    for (uint32_t i = 0; i < promise->n; i++) {
        forget_writes(promise, promise->log[i].offset);
    }
    promise->n = 0;
}

static uint32_t least(const struct thread *thread, uint64_t offset)
{
    const struct promise *promise = thread->world->promise;
    const uint32_t of_thread = promise->of_thread[thread->number][offset];
    const uint32_t of_node = promise->of_node[thread->node][offset];

    return of_thread > of_node ? of_thread : of_node;
}

// The first write from `from` on that this may be the value of. @return 0 and -1: none
static int64_t find_write(const struct promise *promise, uint64_t offset,
                          uint32_t from, uint8_t value)
{
    int64_t found = -1;

    for (uint32_t at = promise->last[offset]; at > 0 && at >= from;
         at = promise->log[at - 1].before) {
        if (promise->log[at - 1].value == value) {
            found = at;
        }
    }
    return from == 0 && promise->base[offset] == value ? 0 : found;
}

int promise_holds(const struct thread *thread, uint64_t offset, uint8_t value)
{
    const struct promise *promise = thread->world->promise;

    if (promise == NULL) {
        return value == thread->world->oracle[offset];
    }
    return find_write(promise, offset, least(thread, offset), value) >= 0;
}

void promise_read(const struct thread *thread, uint64_t offset, uint8_t value)
{
    struct promise *promise = thread->world->promise;

    if (promise != NULL) {
        promise->of_node[thread->node][offset] =
            (uint32_t)find_write(promise, offset, least(thread, offset), value);
    }
}

void promise_write(const struct thread *thread, uint64_t offset, uint8_t value)
{
    struct promise *promise = thread->world->promise;

    if (promise == NULL) {
        return;
    }
    vector_reserve(promise->log, promise->room, promise->n + 1);
    promise->log[promise->n++] =
        (struct written){.offset = (uint32_t)offset,
                         .before = promise->last[offset],
                         .value = value};
    promise->last[offset] = promise->n;
    promise->of_thread[thread->number][offset] = promise->n;
    promise->of_node[thread->node][offset] = promise->n;
    if (thread->lock_held >= 0) {
        promise->of_lock[thread->lock_held][offset] = promise->n;
    }
    if (thread->lock_outside >= 0) {
        promise->of_lock[thread->lock_outside][offset] = promise->n;
    }
}

void promise_lock(const struct thread *thread, int lock)
{
    struct promise *promise = thread->world->promise;

    for (uint32_t i = 0; promise != NULL && i < promise->n; i++) {
        const uint32_t at = promise->log[i].offset;
        const uint32_t seen = promise->of_lock[lock][at];

        if (seen > promise->of_thread[thread->number][at]) {
            promise->of_thread[thread->number][at] = seen;
        }
    }
}
