// SPDX-License-Identifier: BSD-3-Clause
//
// Small blocks that threads pass to each other: allocated on one node, written and read on
// others, freed on any. In a phase each parcel belongs to one thread, in the next one to
// another; so barriers order all that is done with it. What is read is what was written
// last, also where the cell has been another parcel's before.
#include "parcels.h"

#include <string.h>

#define SIZE 2000u // some slabs are full, or left by all

page_no parcels_page(const struct thread *thread)
{
    return page_at(thread->world, thread->parcel->address);
}

void parcels_perform(const struct thread *thread)
{
    struct parcel *parcel = thread->parcel;
    uint64_t *place =
        (uint64_t *)(space_place(&thread->world->nodes[thread->node].space,
                                 parcels_page(thread)) +
                     parcel->address % TM_PAGE_SIZE);

    if (thread->is_write) {
        parcel->value = thread->added;
        *place = parcel->value;
    } else {
        CHECK(*place == parcel->value);
    }
}

static void use(struct thread *thread, int is_write)
{
    thread->is_at_counter = 0;
    thread->instruction++;
    thread->is_write = is_write;
    thread->added = pick(thread, UINT64_MAX);
    thread->step = ACCESS;
    resume(thread);
}

static void fill_new(struct thread *thread)
{
    const uint64_t address = thread->waiter.result;

    CHECK(thread->waiter.status == TM_OK);
    for (unsigned i = 0; i < N_PARCELS; i++) {
        const uint64_t other = thread->world->parcels[i].address;

        CHECK(other == 0 || other + SIZE <= address || address + SIZE <= other);
    }
    thread->parcel->address = address;
    use(thread, 1);
}

static void begin_new(struct thread *thread)
{
    thread->then = fill_new;
    thread->step = WAITING;
    engine_alloc(engine_of(thread), SIZE,
                 thread->world->grain > 0 ? &(tm_alloc_attr){.grain = 2048}
                                          : NULL,
                 "test.c", 3, &thread->waiter);
}

static void check_free(struct thread *thread)
{
    CHECK(thread->waiter.status == TM_OK);
    thread->parcel = NULL;
    thread->step = CHOOSE;
    resume(thread);
}

// Sometimes the answer is waited for, and what was freed before goes with that.
static void free_parcel(struct thread *thread)
{
    static const struct heap_origin place = {.file = "test.c", .line = 4};
    const uint64_t address = thread->parcel->address;

    thread->parcel->address = 0;
    thread->then = check_free;
    thread->step = WAITING;
    if (pick(thread, 3) == 0) {
        engine_release_freed(engine_of(thread), address, thread->node, &place,
                             &thread->waiter);
    } else {
        engine_release_block(engine_of(thread), address, &place,
                             &thread->waiter);
    }
}

// One of those that belong to the thread now.
static struct parcel *pick_parcel(struct thread *thread)
{
    const unsigned n = thread->world->n_threads;
    const unsigned first = (thread->number + thread->phase) % n;

    return &thread->world
                ->parcels[first +
                          n * pick(thread, (N_PARCELS - first - 1) / n + 1)];
}

int parcels_play(struct thread *thread)
{
    if (thread->ops_left == 0 || pick(thread, 3) != 0) {
        return 0;
    }
    thread->ops_left--;
    thread->parcel = pick_parcel(thread);
    if (thread->parcel->address == 0) {
        begin_new(thread);
    } else if (pick(thread, 3) == 0) {
        free_parcel(thread);
    } else {
        use(thread, (int)pick(thread, 2));
    }
    return 1;
}

void parcels_free_all(struct world *world,
                      void (*release)(struct world *world, unsigned node,
                                      uint64_t address))
{
    for (unsigned i = 0; i < N_PARCELS; i++) {
        const node_id node = roster_pick(
            roster_of(world), sim_random(world->sim, roster_of(world)->n_live));

        if (world->parcels[i].address != 0) {
            release(world, node, world->parcels[i].address);
        }
        world->parcels[i].address = 0;
    }
}
