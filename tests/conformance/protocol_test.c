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
// tokens move to another node only after a release. A counter is updated by
// atomic operations.
//
// sequential: any thread reads and writes any byte at any time; each read must
// give the last value written, in the order of virtual time.
//
// A failure prints the seed; `protocol_test PROTOCOL SEED` repeats it, and
// TRACE_PAGE=n tells the story of page n of the block.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/sim.h"
#include "page_trace.h"
#include "proto/engine.h"
#include "proto/protocol.h"

#define MAX_NODES 5
#define MAX_THREADS 12
#define N_PAGES 24
#define CELL 16u
#define N_CELLS (N_PAGES * TM_PAGE_SIZE / CELL)
#define N_LOCKS 4
#define LOCKED_CELLS 40 // per lock, spread over the pages
#define LIMIT_NS (1000ull * 1000 * 1000 * 1000) // of virtual time

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fail(#what, __LINE__);                                             \
        }                                                                      \
    } while (0)

enum step { CHOOSE, ACCESS, WAITING, ENDED };

struct world;

struct thread {
    struct waiter waiter; // first: found from it
    struct world *world;
    unsigned number;
    node_id node;
    enum step step;
    struct fault_history history;
    page_no page; // that it waits for
    int is_waiting_page;
    // the access under way
    uint64_t offset;
    unsigned length;
    int is_write;
    uint8_t value;
    // where it is in its program
    unsigned phase;
    unsigned ops_left;
    int lock_held; // -1: none
    unsigned lock_ops;
    uint64_t added;
    void (*then)(struct thread *thread);
    uint64_t sweep;
};

struct lock {
    int holder;   // thread, -1
    node_id node; // where the token is
    unsigned queue[MAX_THREADS];
    unsigned n_queue;
};

// What a node's receiver gets.
struct end {
    struct world *world;
    node_id node;
};

struct node {
    struct engine *engine;
    struct space space;
    struct end end;
};

struct world {
    struct sim *sim;
    unsigned n_nodes;
    unsigned n_threads;
    unsigned n_phases;
    tm_protocol protocol;
    struct node nodes[MAX_NODES];
    struct thread threads[MAX_THREADS];
    struct lock locks[N_LOCKS];
    page_no first; // page of the block under test
    uint8_t oracle[N_PAGES * TM_PAGE_SIZE];
    int8_t owner[N_CELLS]; // in this phase: thread, -1 nobody, -2 locked
    uint8_t lock_of[N_CELLS];
    uint64_t counter_address;
    uint64_t counter_sum;
    unsigned n_arrived;
    unsigned n_ended;
};

#define MAX_HOPS 40u // of a request; paths are longer than that only in circles

static long traced_page = -1; // TRACE_PAGE=n: the story of the block's page n
static uint64_t seed;
static const char *protocol_name;

static void fail(const char *what, int line)
{
    fprintf(stderr, "%s seed %llu: %s does not hold, line %d\n", protocol_name,
            (unsigned long long)seed, what, line);
    abort();
}

static void step(void *owner, uint64_t argument);

static void resume(struct thread *thread)
{
    sim_after(thread->world->sim, 100 + sim_random(thread->world->sim, 20000),
              step, thread, 0);
}

static void wake(struct waiter *waiter)
{
    resume((struct thread *)waiter);
}

static struct engine *engine_of(struct thread *thread)
{
    return thread->world->nodes[thread->node].engine;
}

static uint64_t pick(struct thread *thread, uint64_t bound)
{
    return sim_random(thread->world->sim, bound);
}

// ---- invariants over all nodes

static void check_page(struct world *world, page_no page)
{
    unsigned n_owners = 0;
    unsigned n_exclusive = 0;
    unsigned n_copies = 0;

    for (unsigned i = 0; i < world->n_nodes; i++) {
        const struct page *record = &world->nodes[i].space.pages[page];

        CHECK(engine_page_is_valid(world->nodes[i].engine, page));
        n_owners += record->is_owner;
        n_exclusive += record->state == PAGE_EXCLUSIVE;
        n_copies += record->state != PAGE_ABSENT;
    }
    CHECK(n_owners <= 1);                     // E1
    CHECK(n_exclusive == 0 || n_copies == 1); // E3, S1
}

static void check_world(struct world *world)
{
    for (unsigned i = 0; i < N_PAGES; i++) {
        check_page(world, world->first + i);
    }
    for (unsigned i = 0; i < world->n_nodes; i++) {
        CHECK(engine_is_valid(world->nodes[i].engine));
    }
}

// ---- accesses

static void perform(struct thread *thread)
{
    struct world *world = thread->world;
    uint8_t *bytes = (uint8_t *)space_bytes(&world->nodes[thread->node].space,
                                            world->first) +
                     thread->offset;

    for (unsigned i = 0; i < thread->length; i++) {
        if (thread->is_write) {
            bytes[i] = (uint8_t)(thread->value + i);
            world->oracle[thread->offset + i] = (uint8_t)(thread->value + i);
        } else {
            CHECK(bytes[i] == world->oracle[thread->offset + i]);
        }
    }
}

static void try_access(struct thread *thread)
{
    page_no page = thread->world->first + thread->offset / TM_PAGE_SIZE;
    const struct page *record =
        &thread->world->nodes[thread->node].space.pages[page];
    uint8_t need = thread->is_write ? ACCESS_WRITE : ACCESS_READ;

    for (int i = 0; i < 3 && record->access < need; i++) {
        enum fault_result result =
            engine_fault(engine_of(thread), page, thread->is_write,
                         &thread->history, &thread->waiter);

        CHECK(result != FAULT_OUTSIDE);
        if (result == FAULT_WAIT) {
            thread->page = page;
            thread->is_waiting_page = 1;
            thread->step = ACCESS;
            return;
        }
    }
    CHECK(record->access >= need);
    perform(thread);
    thread->step = CHOOSE;
    resume(thread);
}

static void begin_access(struct thread *thread, uint64_t offset,
                         unsigned length, int is_write)
{
    thread->offset = offset;
    thread->length = length;
    thread->is_write = is_write;
    thread->value = (uint8_t)pick(thread, 256);
    try_access(thread);
}

static void access_cell(struct thread *thread, unsigned cell, int may_write)
{
    unsigned start = (unsigned)pick(thread, CELL);
    unsigned length = 1 + (unsigned)pick(thread, CELL - start);

    begin_access(thread, (uint64_t)cell * CELL + start, length,
                 may_write && pick(thread, 2));
}

// ---- synchronisation of the programs

static void release_then(struct thread *thread, void (*then)(struct thread *))
{
    thread->then = then;
    thread->step = WAITING;
    engine_release(engine_of(thread), &thread->waiter);
}

static void deal_cells(struct world *world)
{
    for (unsigned i = 0; i < N_CELLS; i++) {
        if (world->owner[i] != -2) {
            // Runs of cells, so that pages are shared and not shared.
            world->owner[i] =
                i > 0 && world->owner[i - 1] != -2 &&
                        sim_random(world->sim, 200) != 0
                    ? world->owner[i - 1]
                    : (int8_t)((int)sim_random(world->sim,
                                               world->n_threads + 1) -
                               1);
        }
    }
}

static void pass_barrier(struct thread *thread)
{
    struct world *world = thread->world;

    thread->step = WAITING;
    thread->then = NULL;
    if (++world->n_arrived < world->n_threads) {
        return;
    }
    world->n_arrived = 0;
    deal_cells(world);
    for (unsigned i = 0; i < world->n_threads; i++) {
        struct thread *other = &world->threads[i];

        other->phase++;
        other->ops_left = 10 + (unsigned)sim_random(world->sim, 40);
        other->sweep = sim_random(world->sim, N_CELLS);
        other->step = other->phase < world->n_phases ? CHOOSE : ENDED;
        if (other->step == ENDED) {
            world->n_ended++;
        } else {
            resume(other);
        }
    }
}

static void grant(struct lock *lock, struct thread *thread)
{
    lock->holder = (int)thread->number;
    lock->node = thread->node;
    thread->lock_held = (int)(lock - thread->world->locks);
    thread->lock_ops = 1 + (unsigned)pick(thread, 4);
    thread->step = CHOOSE;
    resume(thread);
}

// Brings a lock's token from a node where nobody holds it.
struct courier {
    struct waiter waiter; // first
    struct world *world;
    struct lock *lock;
};

static void courier_wake(struct waiter *waiter);

static void take_lock(struct thread *thread, unsigned number)
{
    struct lock *lock = &thread->world->locks[number];

    if (lock->holder < 0 && lock->node == thread->node) {
        grant(lock, thread);
        return;
    }
    lock->queue[lock->n_queue++] = thread->number;
    thread->step = WAITING;
    thread->then = NULL;
    if (lock->holder < 0) {
        // The token is free at another node: a thread there must release before
        // it goes. Any of its threads may do so.
        lock->holder = MAX_THREADS; // on its way
        struct courier *courier = calloc(1, sizeof *courier);

        CHECK(courier != NULL);
        courier->waiter.wake = courier_wake;
        courier->lock = lock;
        courier->world = thread->world;
        engine_release(thread->world->nodes[lock->node].engine,
                       &courier->waiter);
    }
}

static void next_holder(struct world *world, struct lock *lock)
{
    unsigned number = lock->queue[0];

    lock->n_queue--;
    memmove(lock->queue, lock->queue + 1,
            lock->n_queue * sizeof lock->queue[0]);
    grant(lock, &world->threads[number]);
}

static void courier_wake(struct waiter *waiter)
{
    struct courier *courier = (struct courier *)waiter;

    next_holder(courier->world, courier->lock);
    free(courier);
}

static void pass_on(struct thread *thread)
{
    struct lock *lock = &thread->world->locks[thread->lock_held];

    thread->lock_held = -1;
    lock->holder = -1;
    if (lock->n_queue > 0) {
        next_holder(thread->world, lock);
    }
    thread->step = CHOOSE;
    resume(thread);
}

static void give_lock(struct thread *thread)
{
    struct lock *lock = &thread->world->locks[thread->lock_held];

    if (lock->n_queue > 0 &&
        thread->world->threads[lock->queue[0]].node != thread->node) {
        release_then(thread, pass_on);
    } else {
        pass_on(thread);
    }
}

static void count_added(struct thread *thread)
{
    thread->world->counter_sum += thread->added;
    thread->step = CHOOSE;
    resume(thread);
}

static void do_atomic(struct thread *thread)
{
    uint64_t offset =
        thread->world->counter_address - (uint64_t)(uintptr_t)SPACE_HEAP_BASE;

    thread->added = pick(thread, 1000);
    thread->then = count_added;
    thread->step = WAITING;
    engine_atomic(
        engine_of(thread),
        thread->world->nodes[0].space.heap_page + offset / TM_PAGE_SIZE,
        offset % TM_PAGE_SIZE, ATOMIC_ADD, thread->added, 0, &thread->waiter);
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

static void choose_racefree(struct thread *thread)
{
    if (thread->lock_held >= 0) {
        if (thread->lock_ops > 0) {
            access_locked(thread);
        } else {
            give_lock(thread);
        }
        return;
    }
    if (thread->ops_left == 0) {
        release_then(thread, pass_barrier);
        return;
    }
    thread->ops_left--;
    switch (pick(thread, 12)) {
    case 0:
        take_lock(thread, (unsigned)pick(thread, N_LOCKS));
        break;
    case 1:
        release_then(thread, NULL);
        break;
    case 2:
        do_atomic(thread);
        break;
    default:
        access_dealt(thread);
        break;
    }
}

static void choose_racy(struct thread *thread)
{
    // A few cells are hot.
    unsigned cell = pick(thread, 3) == 0 ? (unsigned)pick(thread, 4) * 512
                                         : (unsigned)pick(thread, N_CELLS);

    if (thread->ops_left == 0) {
        pass_barrier(thread);
        return;
    }
    thread->ops_left--;
    access_cell(thread, cell, 1);
}

static void step(void *owner, uint64_t argument)
{
    struct thread *thread = owner;
    void (*then)(struct thread *) = thread->then;

    (void)argument;
    if (thread->is_waiting_page) {
        thread->is_waiting_page = 0;
        engine_resumed(engine_of(thread), thread->page);
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
        if (thread->world->protocol == TM_SEQUENTIAL) {
            choose_racy(thread);
        } else {
            choose_racefree(thread);
        }
        break;
    default:
        fail("a thread that has ended runs", __LINE__);
    }
}

// ---- set-up

static void receive(void *owner, node_id from, const struct message *message)
{
    struct end *end = owner;
    struct world *world = end->world;

    if (traced_page >= 0) {
        page_trace(world->sim, world->first + (page_no)traced_page, from,
                   end->node, message);
    }
    CHECK(message->type != MESSAGE_fetch || message->u.fetch.hops < MAX_HOPS);
    CHECK(engine_receive(world->nodes[end->node].engine, from, message) ==
          TM_OK);
}

static void tick(void *owner, uint64_t argument)
{
    struct world *world = owner;

    engine_tick(world->nodes[argument].engine);
    if (world->n_ended < world->n_threads) {
        sim_after(world->sim, 1000000, tick, world, argument);
    }
}

static int n_woken;

static void note_wake(struct waiter *waiter)
{
    (void)waiter;
    n_woken++;
}

static void run_until_woken(struct world *world)
{
    while (n_woken == 0) {
        CHECK(sim_step(world->sim));
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

    engine_release_block(world->nodes[node].engine, address, "test.c", 2,
                         &waiter);
    run_until_woken(world);
    CHECK(waiter.status == TM_OK);
}

static void open_nodes(struct world *world)
{
    for (unsigned i = 0; i < world->n_nodes; i++) {
        struct node *node = &world->nodes[i];

        CHECK(space_open(&node->space, NULL, NULL, 0, 4 << 20) == TM_OK);
        node->engine = engine_new(sim_port(world->sim, (node_id)i),
                                  &node->space, world->protocol);
        CHECK(node->engine != NULL);
        node->end = (struct end){world, (node_id)i};
        sim_attach(world->sim, (node_id)i, receive, &node->end);
        sim_after(world->sim, 1000 * i, tick, world, i);
    }
}

static void allocate_block(struct world *world)
{
    tm_alloc_attr attr = {
        .name = "grid",
        .placement = (tm_placement)sim_random(world->sim, 4),
        .node = (unsigned)sim_random(world->sim, world->n_nodes),
    };
    uint64_t address;

    // Something before it, freed again, so that addresses are used twice.
    if (sim_random(world->sim, 2)) {
        uint64_t other = allocate(world, 0, 100000, NULL);

        release_block(world, world->n_nodes - 1, other);
    }
    address = allocate(world, (unsigned)sim_random(world->sim, world->n_nodes),
                       N_PAGES * TM_PAGE_SIZE, &attr);
    world->first =
        world->nodes[0].space.heap_page +
        (address - (uint64_t)(uintptr_t)SPACE_HEAP_BASE) / TM_PAGE_SIZE;
    world->counter_address = allocate(world, 0, 8, NULL);
}

static void deal_locks(struct world *world)
{
    memset(world->owner, -1, sizeof world->owner);
    for (unsigned i = 0; i < N_LOCKS * LOCKED_CELLS; i++) {
        unsigned cell = (unsigned)sim_random(world->sim, N_CELLS);

        world->owner[cell] = -2;
        world->lock_of[cell] = (uint8_t)(i % N_LOCKS);
    }
    for (unsigned i = 0; i < N_LOCKS; i++) {
        world->locks[i].holder = -1;
        world->locks[i].node = (node_id)sim_random(world->sim, world->n_nodes);
    }
    deal_cells(world);
}

static void start_threads(struct world *world)
{
    for (unsigned i = 0; i < world->n_threads; i++) {
        struct thread *thread = &world->threads[i];

        thread->waiter.wake = wake;
        thread->world = world;
        thread->number = i;
        thread->node = (node_id)sim_random(world->sim, world->n_nodes);
        thread->lock_held = -1;
        thread->ops_left = 30;
        resume(thread);
    }
}

// Main initialises everything at the root, as newcomers' programs do.
static void initialise(struct world *world)
{
    struct thread *thread = &world->threads[0];

    thread->waiter.wake = note_wake;
    for (uint64_t at = 0; at < sizeof world->oracle; at += 512) {
        page_no page = world->first + at / TM_PAGE_SIZE;
        enum fault_result result;

        do {
            result = engine_fault(world->nodes[0].engine, page, 1,
                                  &thread->history, &thread->waiter);
            if (result == FAULT_WAIT) {
                run_until_woken(world);
                engine_resumed(world->nodes[0].engine, page);
            }
        } while (world->nodes[0].space.pages[page].access != ACCESS_WRITE);
        memset(space_bytes(&world->nodes[0].space, world->first) + at,
               (int)(at / 512), 512);
        memset(world->oracle + at, (int)(at / 512), 512);
    }
}

static void check_end(struct world *world)
{
    uint64_t counter;
    uint64_t offset =
        world->counter_address - (uint64_t)(uintptr_t)SPACE_HEAP_BASE;
    int n_found = 0;

    for (unsigned i = 0; i < world->n_nodes; i++) {
        const struct space *space = &world->nodes[i].space;
        page_no page = space->heap_page + offset / TM_PAGE_SIZE;

        CHECK(engine_is_quiet(world->nodes[i].engine));
        if (world->protocol == TM_EAGER_RELEASE &&
            space->pages[page].state != PAGE_ABSENT) {
            memcpy(&counter, space_bytes(space, page) + offset % TM_PAGE_SIZE,
                   8);
            CHECK(counter == world->counter_sum);
            n_found++;
        }
        for (unsigned at = 0; at < N_PAGES; at++) {
            if (space->pages[world->first + at].state != PAGE_ABSENT) {
                CHECK(memcmp(space_bytes(space, world->first + at),
                             world->oracle + at * TM_PAGE_SIZE,
                             TM_PAGE_SIZE) == 0);
            }
        }
    }
    CHECK(world->counter_sum == 0 || n_found > 0);
}

static void close_world(struct world *world)
{
    for (unsigned i = 0; i < world->n_nodes; i++) {
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
                (long long)(thread->page - world->first),
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

static uint64_t run(tm_protocol protocol)
{
    struct world *world = calloc(1, sizeof *world);
    struct sim_config config = {
        .n_nodes = 1 + seed % MAX_NODES,
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
    world->protocol = protocol;
    world->n_threads = 1 + (unsigned)sim_random(world->sim, MAX_THREADS);
    world->n_phases = 2 + (unsigned)sim_random(world->sim, 6);
    open_nodes(world);
    allocate_block(world);
    if (sim_random(world->sim, 2)) {
        initialise(world);
    }
    deal_locks(world);
    start_threads(world);
    while (sim_step(world->sim)) {
        check_world(world);
        if (sim_now_ns(world->sim) > LIMIT_NS) {
            say_who_waits(world);
        }
    }
    CHECK(world->n_ended == world->n_threads);
    check_end(world);
    hash = sim_event_hash(world->sim);
    close_world(world);
    return hash;
}

int main(int argc, char **argv)
{
    const struct protocol *protocol = NULL;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 0) : argc > 2 ? 1 : 300;

    if (getenv("TRACE_PAGE") != NULL) {
        traced_page = atol(getenv("TRACE_PAGE"));
    }
    protocol_name = argc > 1 ? argv[1] : "eager-release";
    for (int id = 1; protocol == NULL && protocol_by_id(id) != NULL; id++) {
        if (strcmp(protocol_by_id(id)->name, protocol_name) == 0) {
            protocol = protocol_by_id(id);
        }
    }
    if (protocol == NULL) {
        fprintf(stderr, "protocol_test PROTOCOL [SEED [N]]: no protocol %s\n",
                protocol_name);
        return 1;
    }
    for (seed = first; seed < first + n; seed++) {
        uint64_t hash = run(protocol->id);

        if (seed % 10 == 0) {
            CHECK(run(protocol->id) == hash); // the same seed, the same events
        }
    }
    printf("%s: %llu seeds from %llu passed\n", protocol_name,
           (unsigned long long)n, (unsigned long long)first);
    return 0;
}
