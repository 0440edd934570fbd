// SPDX-License-Identifier: BSD-3-Clause
#include "audit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../audit/judge.h"

enum { BARRIER = 1, FIRST_LOCK = 1, BLOCK = 1 << 20 };

// The judge's number of a simulated thread: those of other lives are others.
static uint64_t number_of(const struct thread *thread)
{
    return 1 + (uint64_t)thread->world->n_audited_lives * MAX_THREADS +
           thread->number;
}

void audit_open(struct world *world)
{
    world->judge = judge_new();
}

void audit_fill(struct world *world, uint64_t offset, size_t size,
                const uint8_t *bytes)
{
    if (world->judge != NULL) {
        judge_fill(world->judge, 0, BLOCK + offset, size, bytes, 0);
    }
}

void audit_begin(struct world *world)
{
    if (world->judge == NULL) {
        return;
    }
    judge_barrier(world->judge, BARRIER, world->n_threads);
    for (unsigned i = 0; i < world->n_threads; i++) {
        judge_create(world->judge, 0, number_of(&world->threads[i]));
    }
}

void audit_end(struct world *world)
{
    if (world->judge == NULL) {
        return;
    }
    for (unsigned i = 0; i < world->n_threads; i++) {
        judge_join(world->judge, 0, number_of(&world->threads[i]));
    }
    world->n_audited_lives++;
}

void audit_access(const struct thread *thread, const uint8_t *bytes)
{
    for (unsigned i = 0; thread->world->judge != NULL && i < thread->length;
         i++) {
        const struct judge_access access = {
            .thread = number_of(thread),
            .address = BLOCK + thread->offset + i,
            .size = 1,
            .value = bytes[i],
        };

        if (thread->is_write) {
            judge_write(thread->world->judge, &access);
        } else {
            judge_read(thread->world->judge, &access);
        }
    }
}

void audit_lock(const struct thread *thread, int lock)
{
    if (thread->world->judge != NULL) {
        judge_lock(thread->world->judge, number_of(thread),
                   FIRST_LOCK + (uint64_t)lock);
    }
}

void audit_unlock(const struct thread *thread, int lock)
{
    if (thread->world->judge != NULL) {
        judge_unlock(thread->world->judge, number_of(thread),
                     FIRST_LOCK + (uint64_t)lock);
    }
}

void audit_arrive(const struct thread *thread)
{
    if (thread->world->judge != NULL) {
        judge_arrive(thread->world->judge, number_of(thread), BARRIER);
    }
}

void audit_depart(const struct thread *thread)
{
    if (thread->world->judge != NULL) {
        judge_depart(thread->world->judge, number_of(thread), BARRIER);
    }
}

void audit_close(struct world *world)
{
    const struct judge_wrong *wrong;
    struct judge_counts counts;

    if (world->judge == NULL) {
        return;
    }
    counts = judge_counts(world->judge);
    wrong = judge_wrong(world->judge, 0);
    if (wrong != NULL) {
        fprintf(stderr,
                "audit: byte %" PRIu64
                " of the block is read by thread %" PRIu64
                " as %02x, and was written as %02x by thread %" PRIu64 "\n",
                wrong->byte - BLOCK, wrong->read.thread, wrong->is,
                wrong->should, wrong->writer);
    }
    CHECK(wrong == NULL);
    CHECK(counts.reads > counts.raced + counts.unknown);
    CHECK(world->protocol == TM_SEQUENTIAL || counts.raced == 0);
    judge_free(world->judge);
}
