// SPDX-License-Identifier: BSD-3-Clause
// What the simulated threads do: a step at a time, each an access, a release, a
// lock, an atomic operation or a barrier.
#include "audit.h"
#include "death.h"
#include "parcels.h"
#include "promise.h"

#include <stdlib.h>
#include <string.h>

// A thread that faults so often at one instruction would for ever. Where memory is short,
// pages go for want of room too.
#define MOST_TRIES 25u
#define MOST_TRIES_WHEN_SHORT 1000u

void resume(struct thread *thread)
{
    sim_after(thread->world->sim, 100 + sim_random(thread->world->sim, 20000),
              step, thread, 0);
}

// ---- accesses

static page_no page_of_access(const struct thread *thread)
{
    if (thread->parcel != NULL) {
        return parcels_page(thread);
    }
    return thread->is_at_counter
               ? counter_page(thread->world)
               : thread->world->pages[thread->offset / TM_PAGE_SIZE];
}

void look_at_counter(const struct world *world, struct node *node)
{
    const char *bytes = space_place(&node->space, counter_page(world));
    uint64_t counter;

    memcpy(&counter, bytes + world->counter_address % TM_PAGE_SIZE,
           sizeof counter);
    CHECK(counter >= node->counter_seen);
    CHECK(counter >= world->counter_floor);
    node->counter_seen = counter;
}

static void perform(struct thread *thread)
{
    struct world *world = thread->world;
    const struct space *space = &world->nodes[thread->node].space;
    const page_no page = page_of_access(thread);
    uint8_t *bytes =
        (uint8_t *)space_place(space, page) + thread->offset % TM_PAGE_SIZE;

    // As the program would: what the pager or the protocol has not made possible
    // is not done by the runtime's calls here.
    CHECK(!thread->is_write ||
          space->pages[space_frame(space, page)].swap_slot == 0);
    for (unsigned i = 0; i < thread->length; i++) {
        if (thread->is_write) {
            bytes[i] = (uint8_t)(thread->value + i);
            world->oracle[thread->offset + i] = (uint8_t)(thread->value + i);
            promise_write(thread, thread->offset + i, bytes[i]);
        } else {
            CHECK(promise_holds(thread, thread->offset + i, bytes[i]));
            promise_read(thread, thread->offset + i, bytes[i]);
        }
    }
    audit_access(thread, bytes);
}

static void look_at_other(const struct thread *thread)
{
    const struct world *world = thread->world;
    const page_no page = world->pages[thread->also / TM_PAGE_SIZE];
    const uint8_t *bytes =
        (uint8_t *)space_place(&world->nodes[thread->node].space, page);

    CHECK(promise_holds(thread, thread->also,
                        bytes[thread->also % TM_PAGE_SIZE]));
}

// Tracking must change nothing at all.
static void touch(struct thread *thread, page_no page)
{
    const struct node *node = &thread->world->nodes[thread->node];

    if (track_is_on(node->track)) {
        track_turn(node->track, thread->number, thread->number);
        if (node->space.pages[page].mapped <
            (thread->is_write ? ACCESS_WRITE : ACCESS_READ)) {
            track_touch(node->track, thread->number, thread->number, page,
                        thread->is_write);
        }
        CHECK(track_is_valid(node->track));
    }
}

// Begin or end it now and then.
static void track_or_not(struct thread *thread)
{
    const struct node *node = &thread->world->nodes[thread->node];
    const struct page_run all = {0, node->space.n_pages};

    if (pick(thread, 48) != 0) {
        return;
    }
    if (track_is_on(node->track)) {
        track_end(node->track, &all, 1);
    } else {
        track_begin(node->track, &all, 1, 0);
    }
}

// @return 1 the page is in memory, or may come; 0 the thread waits
static int is_admitted(struct thread *thread, page_no page, int is_write)
{
    struct node *node = &thread->world->nodes[thread->node];
    struct pager_toucher toucher = {.thread = thread->number,
                                    .instruction = thread->instruction,
                                    .claims = &thread->claims,
                                    .is_let_in = thread->is_let_in};

    thread->is_let_in = 0;
    if (node->pager == NULL ||
        pager_fault(node->pager, page, is_write, &toucher, &thread->waiter) ==
            PAGER_GO_ON) {
        return 1;
    }
    if (thread->world->shares_worker) {
        node->in_place = thread;
    } else {
        pager_note_away(node->pager, &thread->claims);
    }
    thread->page = page;
    thread->step = ACCESS;
    return 0;
}

// Can the thread use a page without a fault? A page that has just come is not mapped yet,
// nor one with pending updates (G6 of mem/pager.c).
static int is_mapped(const struct thread *thread, page_no page, int is_write)
{
    const struct node *node = &thread->world->nodes[thread->node];
    const struct page *record = &node->space.pages[page];
    const struct page *frame =
        &node->space.pages[space_frame(&node->space, page)];
    const enum page_access need = is_write ? ACCESS_WRITE : ACCESS_READ;

    return record->access >= need && !record->updates_pending &&
           !(frame->ahead && frame->io == 0) &&
           (node->pager == NULL ||
            pager_allows(node->pager, page, ACCESS_WRITE) >= need);
}

// As if the thread's last fetches had been pages equally far apart, up to this one.
static void seem_to_stride(struct thread *thread, page_no page)
{
    const int32_t stride = (int32_t)pick(thread, 11) - 5;

    if (stride != 0 && pick(thread, 2)) {
        thread->history.strides[0] = (struct fault_stride){
            .instruction = thread->instruction,
            .next = page,
            .stride = stride,
            .group = (uint16_t)(1u << pick(thread, 6)),
            .n_alike = 1,
        };
    }
}

// A fault. @return 1 the page can be used; 0 the thread waits
static int is_reached(struct thread *thread, page_no page, int is_write)
{
    const struct page *record =
        &thread->world->nodes[thread->node].space.pages[page];
    const uint8_t need = is_write ? ACCESS_WRITE : ACCESS_READ;

    if (!is_admitted(thread, page, is_write)) {
        return 0;
    }
    thread->history.instruction = thread->instruction;
    if (thread->world->strides) {
        seem_to_stride(thread, page);
    }
    for (int i = 0; i < 3 && record->access < need; i++) {
        enum fault_result result =
            engine_fault(engine_of(thread), page, is_write, &thread->history,
                         &thread->waiter);

        CHECK(result != FAULT_OUTSIDE);
        if (result == FAULT_WAIT) {
            pager_note_away(thread->world->nodes[thread->node].pager,
                            &thread->claims);
            thread->page = page;
            thread->is_waiting_page = 1;
            thread->step = ACCESS;
            return 0;
        }
    }
    CHECK(record->access >= need);
    touch(thread, page);
    return 1;
}

// The same, and others may have the node lock before the instruction is tried again.
static int is_brought(struct thread *thread, page_no page, int is_write)
{
    const struct node *node = &thread->world->nodes[thread->node];

    // Who has waited for room asks again.
    if (is_mapped(thread, page, is_write) &&
        !(thread->is_let_in && page == thread->page)) {
        return 1;
    }
    if (!is_reached(thread, page, is_write)) {
        return 0;
    }
    if (node->pager != NULL && pick(thread, 2)) {
        pager_settle(node->pager);
    }
    return 1;
}

// Both pages that the instruction needs, at once.
static int are_reached(struct thread *thread, page_no page)
{
    const page_no also = thread->world->pages[thread->also / TM_PAGE_SIZE];

    do {
        CHECK(thread->n_tries++ <
              (thread->world->has_budget ? MOST_TRIES_WHEN_SHORT : MOST_TRIES));
        if (!is_brought(thread, also, 0) ||
            !is_brought(thread, page, thread->is_write)) {
            return 0;
        }
    } while (!is_mapped(thread, also, 0) ||
             !is_mapped(thread, page, thread->is_write));
    return 1;
}

void leave_pager(struct thread *thread)
{
    const struct node *node = &thread->world->nodes[thread->node];

    if (node->pager != NULL) {
        pager_release_claims(node->pager, &thread->claims);
    }
}

// The thread goes on with its program, which the pager sees at once or later.
static void go_on_from_there(struct thread *thread)
{
    const struct node *node = &thread->world->nodes[thread->node];

    if (node->pager == NULL) {
        return;
    }
    if (thread->world->crosses && pick(thread, 2)) {
        pager_note_back(node->pager, &thread->claims);
    } else {
        pager_release_claims(node->pager, &thread->claims);
    }
}

static void try_access(struct thread *thread)
{
    struct node *node = &thread->world->nodes[thread->node];
    const page_no page = page_of_access(thread);

    if (thread->world->crosses && !thread->is_at_counter &&
        thread->parcel == NULL) {
        if (are_reached(thread, page)) {
            look_at_other(thread);
        } else {
            return;
        }
    } else if (!is_reached(thread, page, thread->is_write)) {
        return;
    }
    if (thread->parcel != NULL) {
        parcels_perform(thread);
        thread->parcel = NULL;
    } else if (thread->is_at_counter) {
        look_at_counter(thread->world, node);
    } else {
        perform(thread);
    }
    go_on_from_there(thread);
    thread->step = CHOOSE;
    resume(thread);
}

// What the instruction reads beside this.
static uint64_t other_byte(struct thread *thread, uint64_t offset)
{
    const struct world *world = thread->world;
    const unsigned cell = own_cell(world, (unsigned)pick(thread, N_CELLS));

    if (world->protocol != TM_SEQUENTIAL && world->owner[cell] != -1 &&
        world->owner[cell] != (int)thread->number) {
        return offset; // somebody may be writing it
    }
    return (uint64_t)cell * CELL + pick(thread, CELL);
}

static void begin_access(struct thread *thread, uint64_t offset,
                         unsigned length, int is_write)
{
    thread->offset = offset;
    thread->also = thread->world->crosses ? other_byte(thread, offset) : offset;
    thread->instruction++;
    thread->n_tries = 0;
    thread->length = length;
    thread->is_write = is_write;
    thread->is_at_counter = 0;
    thread->value = (uint8_t)pick(thread, 256);
    try_access(thread);
}

static void access_cell(struct thread *thread, unsigned cell, int may_write)
{
    unsigned start = (unsigned)pick(thread, CELL);
    unsigned length = 1 + (unsigned)pick(thread, CELL - start);

    begin_access(thread, (uint64_t)own_cell(thread->world, cell) * CELL + start,
                 length, may_write && pick(thread, 2));
}

// ---- atomic operations

static void count_added(struct thread *thread)
{
    thread->world->counter_sum += thread->added;
    thread->step = CHOOSE;
    resume(thread);
}

static void do_atomic(struct thread *thread)
{
    const struct world *world = thread->world;

    thread->added = pick(thread, 1000);
    thread->then = count_added;
    thread->step = WAITING;
    engine_atomic(engine_of(thread), counter_page(world),
                  world->counter_address % TM_PAGE_SIZE,
                  &(struct atomic){ATOMIC_ADD, pick(thread, 2) == 0 ? 4 : 8,
                                   thread->added, 0},
                  &thread->waiter);
}

// As a program that waits for it would: then copies of its page are pushed to.
static void read_counter(struct thread *thread)
{
    thread->is_write = 0;
    thread->is_at_counter = 1;
    thread->instruction++;
    try_access(thread);
}

// ---- programs

static void access_locked(struct thread *thread)
{
    unsigned cell;

    do {
        cell = (unsigned)pick(thread, N_CELLS);
    } while (thread->world->owner[cell] != -2 ||
             thread->world->lock_of[cell] != thread->lock_held);
    thread->lock_ops--;
    access_cell(thread, cell, 1);
}

static void access_dealt(struct thread *thread)
{
    struct world *world = thread->world;
    unsigned cell;
    int tries = 0;

    // Half of the accesses run through memory in order, to be read ahead.
    do {
        if (++tries > 1000) {
            release_then(thread, NULL); // nothing was dealt to this thread
            return;
        }
        cell =
            pick(thread, 2)
                ? (unsigned)(thread->sweep += 1 + pick(thread, 128)) % N_CELLS
                : (unsigned)pick(thread, N_CELLS);
    } while (world->owner[cell] != -1 &&
             world->owner[cell] != (int)thread->number);
    access_cell(thread, cell, world->owner[cell] == (int)thread->number);
}

// Another cell than its own or a lock's that it holds: as it is or has been.
static void peek(struct thread *thread)
{
    const unsigned cell = (unsigned)pick(thread, N_CELLS);

    if (thread->world->owner[cell] == -2) {
        access_cell(thread, cell, 0);
    } else {
        access_dealt(thread);
    }
}

// What only programs for scope consistency do. @return 1 if something is done
static int play_scopes(struct thread *thread)
{
    const struct world *world = thread->world;

    if (world->promise == NULL || world->judge != NULL ||
        thread->ops_left == 0 || pick(thread, 5) != 0) {
        return 0;
    }
    if (thread->lock_held >= 0 && thread->lock_held + 1 < N_LOCKS &&
        thread->lock_outside < 0 && pick(thread, 2)) {
        thread->ops_left--;
        take_lock(thread, // in order: nobody waits for ever
                  (unsigned)thread->lock_held + 1 +
                      (unsigned)pick(thread, N_LOCKS - 1u -
                                                 (unsigned)thread->lock_held));
        return 1;
    }
    peek(thread);
    return 1;
}

static uint64_t pick_operation(struct thread *thread)
{
    const uint64_t picked = pick(thread, 12);

    return thread->world->guards && picked >= 6 ? 0 : picked;
}

static void choose_racefree(struct thread *thread)
{
    if (play_scopes(thread)) {
        return;
    }
    if (thread->lock_held >= 0) {
        if (thread->lock_ops > 0) {
            access_locked(thread);
        } else {
            give_lock(thread);
        }
        return;
    }
    if (thread->ops_left == 0) {
        arrive(thread);
        return;
    }
    thread->ops_left--;
    switch (pick_operation(thread)) {
    case 0:
        take_lock(thread, (unsigned)pick(thread, N_LOCKS));
        break;
    case 1:
        release_then(thread, NULL);
        break;
    case 2:
        if (pick(thread, 2)) {
            do_atomic(thread);
        } else {
            read_counter(thread);
        }
        break;
    default:
        access_dealt(thread);
        break;
    }
}

static void choose_racy(struct thread *thread)
{
    unsigned cell;

    if (thread->ops_left == 0) {
        pass_barrier(thread);
        return;
    }
    thread->ops_left--;
    switch (pick(thread, 4)) {
    case 0: // a few are hot
        cell = (unsigned)pick(thread, 4) * 512;
        break;
    case 1:
        cell = (unsigned)pick(thread, N_CELLS);
        break;
    default: // page after page, to be read ahead
        thread->sweep += TM_PAGE_SIZE / CELL;
        cell = (unsigned)(thread->sweep % N_CELLS);
        break;
    }
    access_cell(thread, cell, 1);
}

static void choose_next(struct thread *thread)
{
    if (parcels_play(thread)) {
        return;
    }
    if (thread->world->protocol == TM_SEQUENTIAL) {
        choose_racy(thread);
    } else {
        choose_racefree(thread);
    }
}

// Advice must change nothing but the time things take, even when it is wrong.
static void advise(struct thread *thread)
{
    struct engine *engine = engine_of(thread);
    page_no page = thread->world->pages[pick(thread, N_PAGES)];
    page_no n = 1 + pick(thread, 4); // may leave the block

    switch (pick(thread, 32)) {
    case 0:
        engine_fetch_ahead(engine, page, n, (int)pick(thread, 2));
        break;
    case 1:
        engine_unused(engine, page, n);
        break;
    default:
        break;
    }
}

static void let_go(void *owner, uint64_t argument);

// The service thread sleeps until a page's time is over, and a little longer.
static void let_go_when_due(struct world *world, node_id node)
{
    uint64_t due_ns = engine_due_ns(world->nodes[node].engine);
    uint64_t now_ns = sim_now_ns(world->sim);

    if (due_ns != UINT64_MAX) {
        sim_after(world->sim,
                  (due_ns > now_ns ? due_ns - now_ns : 0) +
                      sim_random(world->sim, 50000),
                  let_go, world, node);
    }
}

static void let_go(void *owner, uint64_t argument)
{
    struct world *world = owner;

    engine_let_go(world->nodes[argument].engine);
    let_go_when_due(world, (node_id)argument);
}

// As in the runtime, a thread that goes on says so, and tries again a moment
// later; messages may come between.
static void go_on(struct thread *thread)
{
    thread->is_waiting_page = 0;
    engine_note_missed(engine_of(thread), thread->page, thread->is_write,
                       &thread->history);
    if (engine_resumed(engine_of(thread), thread->page, &thread->history)) {
        let_go_when_due(thread->world, thread->node);
    }
    sim_after(thread->world->sim, pick(thread, 2000), step, thread, 0);
}

// What a thread would do while its node is frozen it does later.
static int is_put_off(struct thread *thread)
{
    struct world *world = thread->world;

    if (!world->nodes[thread->node].is_frozen) {
        return 0;
    }
    world->is_put_off = 1; // most of the events, while nodes change
    sim_after(world->sim, 10000, step, thread, 0);
    return 1;
}

// Another thread waits in place, and so does this one.
static int is_kept_waiting(struct thread *thread)
{
    struct world *world = thread->world;
    struct node *node = &world->nodes[thread->node];

    if (node->in_place == NULL || node->in_place == thread) {
        node->in_place = NULL;
        return 0;
    }
    sim_after(world->sim, 50000 + pick(thread, 50000), step, thread, 0);
    return 1;
}

void step(void *owner, uint64_t argument)
{
    struct thread *thread = owner;
    void (*then)(struct thread *) = thread->then;

    (void)argument;
    if (death_is_gone(thread->world, thread->node)) {
        return;
    }
    if (is_put_off(thread)) {
        return;
    }
    if (thread->may_move) {
        changes_move(thread);
        if (is_put_off(thread)) {
            return; // where it is now
        }
    }
    if (is_kept_waiting(thread)) {
        return;
    }
    if (thread->is_waiting_page) {
        go_on(thread);
        return;
    }
    thread->then = NULL;
    switch (thread->step) {
    case ACCESS:
        try_access(thread);
        break;
    case WAITING:
        thread->step = CHOOSE;
        if (then != NULL) {
            then(thread);
            break;
        }
        __attribute__((fallthrough));
    case CHOOSE:
        advise(thread);
        track_or_not(thread);
        choose_next(thread);
        break;
    default:
        fail("a thread that has ended runs", __LINE__);
    }
}
