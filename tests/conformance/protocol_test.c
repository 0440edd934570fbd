// SPDX-License-Identifier: BSD-3-Clause
//
// Every protocol of the registry, on the real engine over the simulated network.
// Threads are scripts: each step makes one access, release, lock or barrier.
// Accesses look at the page's recorded access, and call the engine as a fault
// would. What is read is compared with an oracle: an array that every write goes
// to at once.
//
// eager-release: programs without data races. In a phase each cell of 16 bytes
// (so, many a page) belongs to one thread, which reads and writes it; all may
// read cells that nobody owns in the phase. Some cells are guarded by locks, whose
// tokens move to another node only after a release (meet.c). A counter is updated by
// atomic operations. When all threads have arrived at a barrier every copy must equal
// the oracle.
//
// Besides, small blocks go from thread to thread: parcels.c.
//
// scope: the same, and threads take a second lock with the first, and read cells whose lock
// they do not hold. What they read is one of the values that scope consistency allows
// (promise.c).
//
// sequential: any thread reads and writes any byte at any time; each read must
// give the last value written, in the order of virtual time.
//
// A failure prints the seed; `protocol_test PROTOCOL SEED` repeats it, and
// TRACE_PAGE=n tells the story of page n of the block.
//
// PROTOCOL/budget: the same, and nodes may have only 2 to 25 pages in memory (disk.c). A
// thread's access asks the pager first, as a fault does.
//
// PROTOCOL/crossing, with all that follows: most accesses are of an instruction that reads a
// byte of another page, too, so both pages must be there at once.
//
// PROTOCOL/strides, with all that follows: pages are asked for that are equally far apart.
//
// PROTOCOL/guarded, with all that follows: each lock has two pages, most of which nobody uses who
// does not hold it, and locks are taken often.
//
// PROTOCOL/death: a node dies at the Nth message that comes to it, for each N from 1 to
// the last, or for each STEPth (death.c).
//
// PROTOCOL/budget/pending: updates come before the pages that they are for (pending_play.c).
//
// PROTOCOL/early: nodes fetch ahead in blocks, and get addresses, that others may not
// know yet (early.c). With /budget and /members too.
//
// eager-release/race: data races are looked for, and there are none. With /budget,
// /members and /early too.
//
// PROTOCOL/audit: the judge of tests/audit is told what threads do, and must find that
// all their reads are right (audit.c). With /budget, /members and /early too.
//
// In debug builds each step of each page is compared with the protocol's table (steps.c);
// TELL_STEPS=1 says which were made how often.
// adaptive/sharing: it is said of the block how it is shared, rightly or wrongly. With
// /budget, /members, /crossing and /early too.
//
// sequential/grain, with all that follows but globals: the block's pages are small blocks,
// each in a page of its own, of which many lie in a frame; so are the parcels.
//
// PROTOCOL/members, PROTOCOL/budget/members: nodes come and go meanwhile (changes.c).
//
// PROTOCOL/wide: many nodes, and the real barrier (wide.c). With /budget, /members, /race and
// /death too.
//
// PROTOCOL/stall: an answer that a thread waits for is lost. The run must fail, with the
// story of that page.
//
// PROTOCOL/globals, with /budget, /members, /early and /race too: pages that are the root's
// from the start, and directory nodes that are not the root (globals.c).
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "begin_notices.h"
#include "closing.h"
#include "death.h"
#include "disk.h"
#include "early.h"
#include "mem/transfers_test.h"
#include "page_trace.h"
#include "pages/protocol.h"
#include "parcels.h"
#include "pending_play.h"
#include "promise.h"
#include "steps.h"
#include "world.h"

#define HEAP_BYTES (1u << 22) // some blocks; the pagers' checks look at all
#define MAX_HOPS 40u // of a request; paths are longer than that only in circles
// Messages of a node while a thread waits for a page. (In right programs 250, seldom.)
#define PATIENCE 2000u

static long traced_page = -1; // TRACE_PAGE=n: the story of the block's page n
static uint64_t seed;
static const char *protocol_name;
static int crosses;          // instructions need two pages
static int guards;           // locks have pages of their own
static int strides;          // threads seem to go through pages in strides
static int has_budget;       // nodes have little memory, and swap files
static int has_pending_play; // updates come before their pages
static int is_early;    // pages are fetched ahead that no thread can know yet
static int has_death;   // a node dies at each of its messages
static int has_changes; // nodes come and go
static int has_races;   // they are looked for
static int has_globals; // pages have owners from the start
static int is_audited;  // each read is judged
static int has_grain;   // blocks share frames
static int has_sharing; // it is said of blocks how they are shared
static int is_wide;     // many nodes
static int is_lossy;    // an answer that a thread waits for is lost
static int n_answers;   // that a thread waited for
static uint64_t n_changes;
static uint64_t n_relays;
static const struct world *running; // NULL: none

// Does a thread before this one wait for the same page?
static int is_told(const struct world *world, const struct thread *thread)
{
    for (const struct thread *at = world->threads; at < thread; at++) {
        if (at->is_waiting_page && at->page == thread->page) {
            return 1;
        }
    }
    return 0;
}

// What each node knows of the pages that are awaited.
static void tell_stories(const struct world *world)
{
    for (unsigned i = 0; i < world->n_threads; i++) {
        const struct thread *thread = &world->threads[i];

        if (!thread->is_waiting_page || is_told(world, thread)) {
            continue;
        }
        for (unsigned node = 0; node < world->n_nodes; node++) {
            engine_tell_page(world->nodes[node].engine, thread->page);
        }
    }
    for (unsigned i = 0; i < world->n_nodes; i++) {
        engine_tell_waits(world->nodes[i].engine); // main's too
    }
}

void fail(const char *what, int line)
{
    if (running != NULL) {
        tell_stories(running);
    }
    fprintf(stderr, "%s seed %llu: %s does not hold, line %d\n", protocol_name,
            (unsigned long long)seed, what, line);
    abort();
}

static void wake(struct waiter *waiter)
{
    struct thread *thread = (struct thread *)waiter;

    thread->is_let_in = thread->step == ACCESS && waiter->result == 1;
    resume(thread);
}

// ---- set-up

// The 1st to 16th answer, as the seed says.
static int is_lost(const struct space *space, const struct message *message)
{
    page_no page;

    if (message->type == MESSAGE_page) {
        page = message->u.page.page;
    } else if (message->type == MESSAGE_grant) {
        page = message->u.grant.page;
    } else {
        return 0;
    }
    return is_lossy && space->pages[page].waiters != NULL &&
           n_answers++ == (int)(seed % 16);
}

static void receive(void *owner, node_id from, const struct message *message)
{
    struct end *end = owner;
    struct world *world = end->world;

    if (death_takes(world, end->node, from, message)) {
        return;
    }
    if (traced_page >= 0) {
        page_trace(world->sim, world->pages[traced_page], from, end->node,
                   message);
    }
    if (is_lost(&world->nodes[end->node].space, message)) {
        return;
    }
    if (!has_races) {
        closing_check(world, end->node, message);
    }
    CHECK(message->type != MESSAGE_fetch || is_lossy ||
          message->u.fetch.hops < MAX_HOPS);
    if (changes_receive(world, from, end->node, message)) {
        return;
    }
    if (wide_receive(world, from, end->node, message) ||
        meet_receive(world, end->node, message)) {
        return;
    }
    if (message->type == MESSAGE_atomic_done ||
        message->type == MESSAGE_alloc_done ||
        message->type == MESSAGE_cells_freed) {
        engine_acquired(world->nodes[end->node].engine);
    }
    if (engine_receive(world->nodes[end->node].engine, from, message) !=
        TM_OK) {
        fprintf(stderr, "node %u: %s from node %u\n", end->node,
                message_name(message->type), from);
        fail("no message is refused", __LINE__);
    }
    if (sim_random(world->sim, 3) == 0) {
        engine_finish_batch(world->nodes[end->node].engine);
    }
    if (has_budget && sim_random(world->sim, 3) == 0) {
        pager_settle(world->nodes[end->node].pager);
    }
    if (has_budget && world->n_ended < world->n_threads &&
        sim_random(world->sim, 4) == 0) {
        // As pager_need(), when it waits for a page: others have come, too, and what
        // waits for them is looked at later: when the disk answers the next time.
        finish_transfers(world->nodes[end->node].pager);
    }
}

static void tick(void *owner, uint64_t argument)
{
    struct world *world = owner;

    if (death_is_gone(world, (node_id)argument)) {
        return;
    }
    engine_tick(world->nodes[argument].engine);
    wide_tick(world, (node_id)argument);
    if (argument == 0) {
        changes_tick(world);
    }
    if (world->n_ended < world->n_threads || world->lives_left > 0) {
        sim_after(world->sim, 1000000, tick, world, argument);
    }
}

static int n_woken;

static void note_wake(struct waiter *waiter)
{
    (void)waiter;
    n_woken++;
}

// Main goes on when it is woken and no node is frozen: what it does next is a call of
// some node's runtime, or begins threads there.
static void run_until_woken(struct world *world)
{
    while (n_woken == 0 || changes_is_frozen(world)) {
        CHECK(sim_step(world->sim));
        if (is_early) {
            early_fetch(world);
        }
        closing_release(world);
        death_end_if_over(world);
    }
    n_woken = 0;
}

static uint64_t allocate(struct world *world, unsigned node, uint64_t size,
                         const tm_alloc_attr *attr)
{
    struct waiter waiter = {.wake = note_wake};

    engine_alloc(world->nodes[node].engine, size, attr, "test.c", 1, &waiter);
    run_until_woken(world);
    CHECK(waiter.status == TM_OK);
    return waiter.result;
}

static void release_block(struct world *world, unsigned node, uint64_t address)
{
    struct waiter waiter = {.wake = note_wake};

    engine_release_block(world->nodes[node].engine, address,
                         &(struct heap_origin){.file = "test.c", .line = 2},
                         &waiter);
    run_until_woken(world);
    CHECK(waiter.status == TM_OK);
}

static void refuse_race(void *owner, const struct race_found *found)
{
    const struct world *world = owner;

    fprintf(stderr,
            "page %llu, bytes %u to %u: threads %llu of node %u and %llu of "
            "node %u\n",
            (unsigned long long)(found->page - world->pages[0]), found->offset,
            found->offset + found->length - 1,
            (unsigned long long)found->threads[0], found->nodes[0],
            (unsigned long long)found->threads[1], found->nodes[1]);
    fail("there is no data race", __LINE__);
}

static void open_nodes(struct world *world)
{
    static char globals[N_GLOBALS * TM_PAGE_SIZE]; // of a program: an address

    for (unsigned i = 0; i < world->n_nodes; i++) {
        struct node *node = &world->nodes[i];

        CHECK(space_open(&node->space, NULL, has_globals ? globals : NULL,
                         has_globals ? sizeof globals : 0,
                         has_globals ? 2 * HEAP_BYTES
                         : has_grain ? 3 * HEAP_BYTES // slabs have many pages
                                     : HEAP_BYTES) == TM_OK);
        node->engine =
            engine_new(sim_port(world->sim, (node_id)i), &node->space,
                       &all_protocols, world->protocol);
        CHECK(node->engine != NULL);
        engine_set_patience(node->engine, PATIENCE);
        begin_notices(node->engine, seed);
        CHECK(!has_races ||
              engine_look_for_races(node->engine, refuse_race, world) == TM_OK);
        node->track = track_new(&node->space, MAX_THREADS);
        CHECK(node->track != NULL);
        node->end = (struct end){world, (node_id)i};
        if (!has_races) {
            steps_watch_node(world, i);
        }
        sim_attach(world->sim, (node_id)i, receive, &node->end);
        sim_after(world->sim, 1000 * i, tick, world, i);
        if (has_budget) {
            disk_open(world, i, !has_pending_play);
        }
        globals_open(world, i);
    }
    death_open(world);
}

static node_id some_node(struct world *world)
{
    return roster_pick(roster_of(world),
                       sim_random(world->sim, roster_of(world)->n_live));
}

static node_id last_node(struct world *world)
{
    return roster_of(world)->live[roster_of(world)->n_live - 1];
}

// Whatever is said, results are right; but it is written.
static tm_sharing some_sharing(struct world *world)
{
    return (tm_sharing)(TM_MIGRATORY + sim_random(world->sim, 4));
}

// Each page a block of its own, and many of them in a frame.
static void allocate_cells(struct world *world)
{
    const tm_alloc_attr attr = {.name = "cells", .grain = world->grain};
    node_id node = some_node(world);

    for (unsigned at = 0; at < N_PAGES; at++) {
        uint64_t cell;

        if (!roster_has(roster_of(world), node)) {
            node = some_node(world);
        }
        cell = allocate(world, node, 1 + sim_random(world->sim, world->grain),
                        &attr);
        CHECK(cell % world->grain == 0);
        world->cells[at] = cell;
        world->pages[at] = page_at(world, cell);
    }
}

static void allocate_in_heap(struct world *world)
{
    tm_alloc_attr attr = {
        .name = "grid",
        .placement = (tm_placement)sim_random(world->sim, 4),
        .node = some_node(world),
        .sharing = has_sharing ? some_sharing(world) : TM_SHARING_DEFAULT,
    };
    const uint64_t gap = globals_gap(world);

    // Something before it, freed again, so that addresses are used twice.
    if (sim_random(world->sim, 2)) {
        uint64_t other = allocate(world, 0, 100000, NULL);

        release_block(world, last_node(world), other);
    }
    world->gap = gap > 0 ? allocate(world, 0, gap, NULL) : 0;
    if (world->grain > 0) {
        allocate_cells(world);
    } else {
        world->block =
            allocate(world, some_node(world), N_PAGES * TM_PAGE_SIZE, &attr);
        for (unsigned at = 0; at < N_PAGES; at++) {
            world->pages[at] = page_at(world, world->block) + at;
        }
    }
    memset(world->oracle, 0, sizeof world->oracle);
}

static void allocate_block(struct world *world)
{
    if (!globals_lend(world)) {
        allocate_in_heap(world);
    }
    world->counter_sum = 0;
    world->counter_floor = 0;
    audit_fill(world, 0, sizeof world->oracle, world->oracle);
    if (is_early) {
        early_allocate_two(world);
    }
    world->counter_address = allocate(world, 0, 8, NULL);
    for (unsigned i = 0; i < world->n_nodes; i++) {
        world->nodes[i].counter_seen = 0;
    }
}

// Where main() need not wait for that.
static int writes_at_last(const struct world *world)
{
    return !has_budget && !has_changes && !has_death && !has_races &&
           !has_sharing && world->n_ended == world->n_threads;
}

static void free_block(struct world *world)
{
    if (world->block != 0) {
        const node_id node = some_node(world);

        if (writes_at_last(world)) {
            closing_begin(world, node);
        }
        release_block(world, node, world->block);
    }
    for (unsigned at = 0; at < N_PAGES && world->grain > 0; at++) {
        release_block(world, some_node(world), world->cells[at]);
    }
    world->is_used = 1;
    if (world->gap != 0) {
        release_block(world, last_node(world), world->gap);
    }
    parcels_free_all(world, release_block);
    world->block = 0;
    world->gap = 0;
    release_block(world, 0, world->counter_address);
}

// Two pages for each lock; of one in four others have a part.
static void guard_pages(struct world *world)
{
    for (unsigned page = 0; page < 2 * N_LOCKS; page++) {
        const unsigned n =
            sim_random(world->sim, 4) == 0 ? CELLS_OF_PAGE / 2 : CELLS_OF_PAGE;

        for (unsigned i = 0; i < n; i++) {
            world->owner[page * CELLS_OF_PAGE + i] = -2;
            world->lock_of[page * CELLS_OF_PAGE + i] =
                (uint8_t)(page % N_LOCKS);
        }
    }
}

static void deal_locks(struct world *world)
{
    memset(world->owner, -1, sizeof world->owner);
    for (unsigned i = 0; i < N_LOCKS * LOCKED_CELLS; i++) {
        unsigned cell = (unsigned)sim_random(world->sim, N_CELLS);

        world->owner[cell] = -2;
        world->lock_of[cell] = (uint8_t)(i % N_LOCKS);
    }
    if (world->guards) {
        guard_pages(world);
    }
    for (unsigned i = 0; i < N_LOCKS; i++) {
        world->locks[i].holder = -1;
        world->locks[i].node = some_node(world);
    }
    deal_cells(world);
}

static void set_barrier(struct world *world)
{
    struct waiter waiter = {.wake = note_wake};

    if (world->is_wide) {
        wide_begin(world, &waiter);
        run_until_woken(world);
        CHECK(waiter.status == TM_OK);
    }
}

static void start_threads(struct world *world)
{
    world->n_ended = 0;
    world->n_arrived = 0;
    order_all(world);
    promise_begin(world);
    for (unsigned i = 0; i < world->n_threads; i++) {
        struct thread *thread = &world->threads[i];

        if (thread->world != NULL) { // in the life before
            leave_pager(thread);
        }
        memset(thread, 0, sizeof *thread);
        thread->waiter.wake = wake;
        thread->world = world;
        thread->number = i;
        thread->node = world->is_wide ? roster_pick(roster_of(world), i)
                                      : some_node(world);
        engine_acquired(engine_of(thread));
        thread->lock_held = -1;
        thread->lock_outside = -1;
        thread->ops_left = 30;
        resume(thread);
    }
    audit_begin(world);
}

// The root's thread 0 is about to write a page.
static void admit(struct world *world, page_no page)
{
    struct pager_toucher toucher = {.claims = &world->threads[0].claims};
    struct waiter *waiter = &world->threads[0].waiter;

    if (!has_budget) {
        return;
    }
    while (pager_fault(world->nodes[0].pager, page, 1, &toucher, waiter) ==
           PAGER_WAIT) {
        run_until_woken(world);
        toucher.is_let_in = waiter->result == 1;
    }
}

// Main initialises everything at the root, as newcomers' programs do, and releases it
// when it creates threads. (Most of the pages it owns by then, but not all.)
static void initialise(struct world *world)
{
    struct thread *thread = &world->threads[0];

    if (thread->world != NULL) { // in the life before
        leave_pager(thread);
    }
    thread->waiter.wake = note_wake;
    for (uint64_t at = 0; at < sizeof world->oracle; at += 512) {
        const page_no page = world->pages[at / TM_PAGE_SIZE];
        const struct page_part part =
            own_part(world, (unsigned)(at / TM_PAGE_SIZE));
        const unsigned size = part.size < 512 ? part.size : 512;
        const uint64_t start = at - at % TM_PAGE_SIZE + part.offset +
                               at % TM_PAGE_SIZE % part.size;
        enum fault_result result;

        do {
            admit(world, page);
            result = engine_fault(world->nodes[0].engine, page, 1,
                                  &thread->history, &thread->waiter);
            if (result == FAULT_WAIT) {
                run_until_woken(world);
                engine_resumed(world->nodes[0].engine, page, &thread->history);
            }
        } while (result == FAULT_WAIT ||
                 world->nodes[0].space.pages[page].access != ACCESS_WRITE);
        memset(space_place(&world->nodes[0].space, page) + start % TM_PAGE_SIZE,
               (int)(at / 512), size);
        memset(world->oracle + start, (int)(at / 512), size);
        audit_fill(world, start, size, world->oracle + start);
    }
    if (has_budget) {
        pager_release_claims(world->nodes[0].pager, &thread->claims);
    }
    engine_release(world->nodes[0].engine, NODE_NONE, &thread->waiter);
    run_until_woken(world);
}

static void check_end(struct world *world)
{
    const page_no page = counter_page(world);
    uint64_t counter;
    int n_found = 0;

    for (unsigned i = 0; i < world->n_nodes; i++) {
        const struct space *space = &world->nodes[i].space;

        if (!roster_has(roster_of(world), (node_id)i)) {
            continue;
        }
        CHECK(engine_is_quiet(world->nodes[i].engine));
        if ((world->protocol == TM_EAGER_RELEASE &&
             space->pages[page].state != PAGE_ABSENT) ||
            (drops_copies(world) && space->pages[page].is_owner)) {
            memcpy(&counter,
                   space_bytes(space, page) +
                       world->counter_address % TM_PAGE_SIZE,
                   8);
            CHECK(counter == world->counter_sum);
            n_found++;
        }
        check_copies(world, i);
    }
    CHECK(world->counter_sum == 0 || n_found > 0);
}

static void close_world(struct world *world)
{
    audit_close(world);
    promise_close(world);
    changes_close(world);
    for (unsigned i = 0; i < world->n_nodes; i++) {
        track_free(world->nodes[i].track);
        swap_file_close(world->nodes[i].swap);
        pager_free(world->nodes[i].pager);
        engine_free(world->nodes[i].engine);
        space_close(&world->nodes[i].space);
    }
    sim_free(world->sim);
    free(world);
}

static void say_who_waits(struct world *world)
{
    for (unsigned i = 0; i < world->n_threads; i++) {
        const struct thread *thread = &world->threads[i];

        fprintf(stderr,
                "thread %u at node %u: step %d, page %lld%s, phase %u, "
                "lock %d\n",
                i, thread->node, (int)thread->step,
                (long long)(thread->page - world->pages[0]),
                thread->is_waiting_page ? " awaited" : "", thread->phase,
                thread->lock_held);
    }
    for (unsigned i = 0; i < N_LOCKS; i++) {
        fprintf(stderr, "lock %u: holder %d at node %u, %u wait\n", i,
                world->locks[i].holder, world->locks[i].node,
                world->locks[i].n_queue);
    }
    fail("the programs end", __LINE__);
}

// One life of the block: allocated, used by all threads, and, if another is to
// come, freed while the network still delivers what they left behind.
static void live(struct world *world)
{
    world->n_ended = 0;
    allocate_block(world);
    if (sim_random(world->sim, 2) || (world->grain > 0 && world->is_used)) {
        initialise(world);
    }
    deal_locks(world);
    set_barrier(world);
    start_threads(world);
    while ((world->lives_left == 0 || world->n_ended < world->n_threads) &&
           (sim_step(world->sim) || disk_answers_last(world))) {
        if (!world->is_put_off && !death_leaves_unchanged(world)) {
            check_world(world);
        }
        world->is_put_off = 0;
        check_pagers(world);
        death_end_if_over(world);
        if (sim_now_ns(world->sim) > LIMIT_NS) {
            say_who_waits(world);
        }
    }
    CHECK(world->n_ended == world->n_threads);
    audit_end(world);
    if (world->lives_left > 0) {
        changes_settle(world);
        free_block(world);
    }
}

// All lives, to their end or that of the nodes.
static void live_all(struct world *world)
{
    if (setjmp(death_exit) != 0) {
        return;
    }
    for (world->lives_left = (unsigned)sim_random(world->sim, 3) + 1;
         world->lives_left > 0;) {
        world->lives_left--;
        live(world);
    }
    check_end(world);
}

static uint64_t run(tm_protocol protocol)
{
    struct world *world = calloc(1, sizeof *world);
    struct sim_config config = {
        .n_nodes = has_pending_play ? 2
                   : is_wide        ? WIDE_NODES + (has_changes ? 3 : seed % 3)
                   : has_changes    ? FEW_IDS
                                    : 1 + seed % FEW_NODES,
        .seed = seed,
        .delay_min_ns = 1000,
        .delay_max_ns = seed % 3 == 0   ? 2000
                        : seed % 3 == 1 ? 50000
                                        : 3000000,
        .pause_ppm = seed % 2 ? 5000 : 0,
        .pause_ns = 5000000,
    };
    uint64_t hash;

    CHECK(world != NULL);
    world->sim = sim_new(&config);
    CHECK(world->sim != NULL);
    world->n_nodes = config.n_nodes;
    world->has_changes = has_changes;
    world->has_globals = has_globals;
    world->protocol = protocol;
    world->grain = has_grain ? UINT64_C(128) << seed % 5 : 0;
    world->is_wide = is_wide;
    world->n_threads = 1 + (unsigned)sim_random(world->sim, FEW_THREADS);
    if (is_wide) {
        world->n_threads = MAX_THREADS - world->n_threads % 4;
    }
    world->n_phases = 2 + (unsigned)sim_random(world->sim, 6);
    world->has_budget = has_budget;
    world->crosses = crosses;
    world->shares_worker = has_budget && seed / 2 % 2;
    world->strides = strides;
    world->guards = guards;
    world->tells = protocol != TM_SEQUENTIAL && sim_random(world->sim, 3) > 0;
    world->manager = (node_id)sim_random(
        world->sim, has_changes ? 1 + seed % 4 : world->n_nodes);
    n_woken = 0;
    if (is_audited) {
        audit_open(world);
    }
    promise_open(world);
    open_nodes(world);
    running = world;
    changes_open(world, !has_changes ? config.n_nodes
                        : is_wide    ? WIDE_NODES
                                     : 1 + seed % 4);
    if (is_wide) {
        wide_open(world);
    }
    if (has_pending_play) {
        allocate_block(world);
        pending_play(world);
        check_end(world);
    } else {
        live_all(world);
    }
    n_changes += world->n_changes;
    n_relays += world->n_relays;
    hash = sim_event_hash(world->sim);
    running = NULL;
    close_world(world);
    return hash;
}

int main(int argc, char **argv)
{
    const struct protocol *protocol = NULL;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    uint64_t events = 0; // a change that is to change none leaves this the same
    size_t length;
    uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 0) : argc > 2 ? 1 : 300;
    unsigned step = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 0) : 1;

    if (getenv("TRACE_PAGE") != NULL) {
        traced_page = atol(getenv("TRACE_PAGE"));
    }
    protocol_name = argc > 1 ? argv[1] : "eager-release";
    length = strcspn(protocol_name, "/");
    has_budget = strstr(protocol_name + length, "/budget") != NULL;
    crosses = strstr(protocol_name + length, "/crossing") != NULL;
    guards = strstr(protocol_name + length, "/guarded") != NULL;
    strides = strstr(protocol_name + length, "/strides") != NULL;
    is_early = strstr(protocol_name + length, "/early") != NULL;
    has_pending_play = strstr(protocol_name + length, "/pending") != NULL;
    has_death = strstr(protocol_name + length, "/death") != NULL;
    has_changes = strstr(protocol_name + length, "/members") != NULL;
    is_audited = strstr(protocol_name + length, "/audit") != NULL;
    has_races = strstr(protocol_name + length, "/race") != NULL;
    has_globals = strstr(protocol_name + length, "/globals") != NULL;
    has_sharing = strstr(protocol_name + length, "/sharing") != NULL;
    has_grain = strstr(protocol_name + length, "/grain") != NULL;
    is_wide = strstr(protocol_name + length, "/wide") != NULL;
    is_lossy = strstr(protocol_name + length, "/stall") != NULL;
    for (unsigned i = 0; i < all_protocols.n && protocol == NULL; i++) {
        const char *known = all_protocols.rows[i]->name;

        if (strlen(known) == length &&
            memcmp(known, protocol_name, length) == 0) {
            protocol = all_protocols.rows[i];
        }
    }
    if (protocol == NULL) {
        fprintf(
            stderr,
            "protocol_test PROTOCOL[/budget|/death][/race][/members][/early]"
            "[/globals][/audit][/sharing][/grain][/crossing][/strides][/"
            "guarded][/wide][/"
            "stall] "
            "[SEED [N "
            "[STEP]]]: no "
            "protocol %s\n",
            protocol_name);
        return 1;
    }
    for (seed = first; seed < first + n; seed++) {
        uint64_t hash;

        if (has_death) {
            death_at_each_message(run, protocol->id, step);
            continue;
        }
        hash = run(protocol->id);
        events = events * 31 + hash;
        if (seed % 10 == 0) {
            CHECK(run(protocol->id) == hash); // the same seed, the same events
        }
    }
    CHECK(!is_wide || n_relays > 0);
    printf(
        "%s: %llu seeds from %llu passed, %llu changes of the roster, events "
        "%016llx\n",
        protocol_name, (unsigned long long)n, (unsigned long long)first,
        (unsigned long long)n_changes, (unsigned long long)events);
    steps_tell(protocol->id);
    return 0;
}
