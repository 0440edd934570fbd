// SPDX-License-Identifier: BSD-3-Clause
//
// sequential, on the real engine over the simulated network: threads of all
// nodes want one page all the time. Each must get it again and again (S3 of
// protocols.md), so for each access are counted, from its first fault on,
//   faults   of the thread until it has access: how often the page was taken
//            away before the thread had used it
//   hops     of a request: how long it followed the page
//   turns    of other threads: accesses that had to wait and are done by now
// and each has a limit that does not depend on how long the threads go on. (The
// limits have room: a thread that has nobody before it still loses the page now
// and then, to a request that comes in the moment between its going on and its
// access.)
//
// In a crowded run the threads of a node have one processor: who has the page goes
// on until it is taken away, and only then another thread of the node runs.
//
// A pursued run is as bad as messages in order allow: requests of one node, the
// last, are delivered only where they can do nothing but follow the page (the
// receiver has just asked for it again), as long as the network can delay them
// (PATIENCE_NS).
//
// As in the runtime, a thread that goes on tells the engine, and makes its
// access a moment later; messages may come between.
//
// A failure prints the seed; `fairness_test SEED` repeats it. With SAY=1 the
// largest numbers of each run are printed.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/sim_harness.h"
#include "pages/engine.h"
#include "runtime/registry.h"

#define MAX_NODES 5u
#define MAX_THREADS 15u
#define TURNS 60u // of each thread, on average
#define PATIENCE_NS (300 * 1000u)
#define LIMIT_NS (20ull * 1000 * 1000 * 1000) // of virtual time

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fail(#what, __LINE__);                                             \
        }                                                                      \
    } while (0)

enum kind { PLAIN, CROWDED, PURSUED };

struct world;

struct thread {
    struct waiter waiter; // first: found from it
    struct world *world;
    node_id node;
    struct fault_history history;
    int reads;           // sometimes
    int is_write;        // the access under way
    int has_waited;      // for the page
    unsigned n_faults;   // of the access under way
    unsigned turns;      // of all, when it faulted first
    sim_timer_fn *step;  // what it does when it has the processor
    struct thread *next; // that waits for the processor
};

struct node {
    struct world *world;
    struct engine *engine;
    struct space space;
    node_id number;
    int is_busy; // its processor, in a crowded run
    struct thread *ready;
};

// A message that the pursuit delays, and those behind it.
struct delayed {
    struct delayed *next;
    struct message message;
    uint64_t until_ns;
    char body[];
};

struct channel {
    struct world *world;
    node_id from;
    node_id to;
    struct delayed *first;
};

struct world {
    struct sim *sim;
    unsigned n_nodes;
    unsigned n_threads;
    unsigned think_ns; // at most
    unsigned n_stopped;
    int is_freed;
    enum kind kind;
    page_no page;
    uint64_t block; // that the page is in
    struct node nodes[MAX_NODES];
    struct channel channels[MAX_NODES][MAX_NODES];
    struct thread threads[MAX_THREADS];
    unsigned turns;
    unsigned most_turns;
    unsigned most_faults;
    unsigned most_hops;
};

static uint64_t seed;

_Noreturn static void fail(const char *what, int line)
{
    fprintf(stderr, "seed %" PRIu64 ": %s does not hold, line %d\n", seed, what,
            line);
    abort();
}

static uint64_t pick(const struct world *world, uint64_t bound)
{
    return sim_random(world->sim, bound);
}

static void note_most(unsigned *most, unsigned n)
{
    *most = n > *most ? n : *most;
}

// ---- the network

static const struct page *page_at(const struct world *world, node_id node)
{
    return &world->nodes[node].space.pages[world->page];
}

// Is it a request that is to find the page gone wherever it comes?
static int is_delayed(const struct channel *channel,
                      const struct delayed *delayed)
{
    const struct world *world = channel->world;
    const struct page *page = page_at(world, channel->to);
    const struct message *message = &delayed->message;

    return world->kind == PURSUED && message->type == MESSAGE_fetch &&
           message->u.fetch.page == world->page &&
           message->u.fetch.requester == world->n_nodes - 1 &&
           channel->to != world->n_nodes - 1 &&
           (page->is_owner || !page->fetching) &&
           sim_now_ns(world->sim) < delayed->until_ns;
}

static void deliver(void *owner, uint64_t argument)
{
    struct channel *channel = owner;
    struct world *world = channel->world;
    struct delayed *delayed;

    (void)argument;
    while ((delayed = channel->first) != NULL) {
        if (is_delayed(channel, delayed)) {
            sim_after(world->sim, 200, deliver, channel, 0);
            return;
        }
        channel->first = delayed->next;
        if (delayed->message.type == MESSAGE_fetch) {
            note_most(&world->most_hops, delayed->message.u.fetch.hops);
        }
        CHECK(engine_receive(world->nodes[channel->to].engine, channel->from,
                             &delayed->message) == TM_OK);
        engine_finish_batch(world->nodes[channel->to].engine);
        free(delayed);
    }
}

static void receive(void *owner, node_id from, const struct message *message)
{
    const struct node *node = owner;
    struct channel *channel = &node->world->channels[from][node->number];
    struct delayed *delayed = malloc(sizeof *delayed + message->body_size);
    struct delayed **end = &channel->first;
    int is_first = channel->first == NULL;

    CHECK(delayed != NULL);
    delayed->next = NULL;
    delayed->message = *message;
    delayed->until_ns = sim_now_ns(node->world->sim) + PATIENCE_NS;
    if (message->body_size > 0) {
        memcpy(delayed->body, message->body, message->body_size);
    }
    delayed->message.body = delayed->body;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = delayed;
    if (is_first) {
        deliver(channel, 0);
    }
}

// ---- the threads

static void begin(void *owner, uint64_t argument);
static void park(struct thread *thread);

// Time passes until the thread goes on.
static void after(struct thread *thread, uint64_t most_ns, sim_timer_fn *go_on)
{
    sim_after(thread->world->sim, 1 + pick(thread->world, most_ns), go_on,
              thread, 0);
}

// It is done, or still waited for at the end.
static void note_access(const struct thread *thread)
{
    struct world *world = thread->world;

    note_most(&world->most_turns, world->turns - thread->turns);
    note_most(&world->most_faults, thread->n_faults);
}

static void end_access(struct thread *thread)
{
    struct world *world = thread->world;

    if (thread->has_waited) {
        note_access(thread);
        world->turns++;
    }
    thread->has_waited = 0;
    thread->n_faults = 0;
    after(thread, world->think_ns, begin);
}

static void access_page(void *owner, uint64_t argument)
{
    struct thread *thread = owner;
    struct world *world = thread->world;
    enum fault_result result;

    (void)argument;
    do {
        if (page_at(world, thread->node)->access >=
            (thread->is_write ? ACCESS_WRITE : ACCESS_READ)) {
            end_access(thread);
            return;
        }
        result =
            engine_fault(world->nodes[thread->node].engine, world->page,
                         thread->is_write, &thread->history, &thread->waiter);
        CHECK(result != FAULT_OUTSIDE || world->is_freed);
        if (result == FAULT_OUTSIDE) {
            world->n_stopped++;
            thread->has_waited = 0;
            park(thread);
            return;
        }
    } while (result == FAULT_ALLOWED);
    thread->n_faults++;
    if (!thread->has_waited) {
        thread->has_waited = 1;
        thread->turns = world->turns;
    }
    park(thread);
}

static void begin(void *owner, uint64_t argument)
{
    struct thread *thread = owner;

    thread->is_write = !thread->reads || pick(thread->world, 2);
    access_page(thread, argument);
}

static void let_go(void *owner, uint64_t argument);

// The service thread sleeps until a page's time is over, and a little longer.
static void let_go_when_due(struct node *node)
{
    uint64_t due_ns = engine_due_ns(node->engine);
    uint64_t now_ns = sim_now_ns(node->world->sim);

    if (due_ns != UINT64_MAX) {
        sim_after(node->world->sim,
                  (due_ns > now_ns ? due_ns - now_ns : 0) +
                      pick(node->world, 50000),
                  let_go, node, 0);
    }
}

static void let_go(void *owner, uint64_t argument)
{
    struct node *node = owner;

    (void)argument;
    engine_let_go(node->engine);
    let_go_when_due(node);
}

static void go_on(void *owner, uint64_t argument)
{
    struct thread *thread = owner;
    struct world *world = thread->world;
    struct node *node = &world->nodes[thread->node];

    (void)argument;
    engine_note_missed(node->engine, world->page, thread->is_write,
                       &thread->history);
    if (engine_resumed(node->engine, world->page, &thread->history)) {
        let_go_when_due(node);
    }
    engine_let_go(node->engine); // as when the node lock is given back
    after(thread, 2000, access_page);
}

// ---- processors

static void run_next(struct node *node)
{
    struct thread *thread = node->ready;

    if (node->is_busy || thread == NULL) {
        return;
    }
    node->ready = thread->next;
    node->is_busy = node->world->kind == CROWDED;
    after(thread, 5000, thread->step);
}

// In the order in which they are woken.
static void make_ready(struct thread *thread, sim_timer_fn *step)
{
    struct node *node = &thread->world->nodes[thread->node];
    struct thread **end = &node->ready;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = thread;
    thread->next = NULL;
    thread->step = step;
    run_next(node);
}

static void park(struct thread *thread)
{
    struct node *node = &thread->world->nodes[thread->node];

    node->is_busy = 0;
    run_next(node);
}

static void wake(struct waiter *waiter)
{
    make_ready((struct thread *)waiter, go_on);
}

// ---- set-up

static int n_woken;

static void note_wake(struct waiter *waiter)
{
    (void)waiter;
    n_woken++;
}

static void tick(void *owner, uint64_t argument)
{
    struct world *world = owner;

    engine_tick(world->nodes[argument].engine);
    sim_after(world->sim, 1000000, tick, world, argument);
}

static void open_nodes(struct world *world)
{
    for (unsigned i = 0; i < world->n_nodes; i++) {
        struct node *node = &world->nodes[i];

        node->world = world;
        node->number = (node_id)i;
        CHECK(space_open(&node->space, NULL, NULL, 0, 16 << 20) == TM_OK);
        node->engine = engine_new(sim_port(world->sim, (node_id)i),
                                  &node->space, &all_protocols, TM_SEQUENTIAL);
        CHECK(node->engine != NULL);
        sim_attach(world->sim, (node_id)i, receive, node);
        for (unsigned j = 0; j < world->n_nodes; j++) {
            world->channels[j][i] =
                (struct channel){world, (node_id)j, (node_id)i, NULL};
        }
    }
}

// A block with pages of all directory nodes; one of them is fought for.
static void allocate(struct world *world)
{
    tm_alloc_attr attr = {
        .name = "page",
        .placement = (tm_placement)pick(world, 4),
        .node = (unsigned)pick(world, world->n_nodes),
    };
    struct waiter waiter = {.wake = note_wake};
    uint64_t n_pages = (uint64_t)MAX_NODES * SPACE_BLOCK;

    n_woken = 0;
    engine_alloc(world->nodes[0].engine, n_pages * TM_PAGE_SIZE, &attr,
                 "test.c", 1, &waiter);
    while (n_woken == 0) {
        CHECK(sim_step(world->sim));
    }
    CHECK(waiter.status == TM_OK);
    world->block = waiter.result;
    world->page =
        world->nodes[0].space.heap_page + pick(world, n_pages) +
        (waiter.result - (uint64_t)(uintptr_t)SPACE_HEAP_BASE) / TM_PAGE_SIZE;
}

static void start_threads(struct world *world, int reads)
{
    for (unsigned i = 0; i < world->n_threads; i++) {
        struct thread *thread = &world->threads[i];

        *thread = (struct thread){
            .waiter.wake = wake,
            .world = world,
            .node = (node_id)(i % world->n_nodes),
            .reads = reads,
        };
        make_ready(thread, begin);
    }
    for (unsigned i = 0; i < world->n_nodes; i++) {
        sim_after(world->sim, 1000 * i, tick, world, i);
    }
}

// The block goes while all want the page, and wait for each other: an error of
// the program, which the nodes must live to report.
static void free_block(struct world *world)
{
    static const struct page untouched;
    struct waiter waiter = {.wake = note_wake};
    uint64_t limit_ns = sim_now_ns(world->sim) + LIMIT_NS;

    n_woken = 0;
    world->is_freed = 1;
    engine_release_block(
        world->nodes[pick(world, world->n_nodes)].engine, world->block,
        &(struct heap_origin){.file = "test.c", .line = 2}, &waiter);
    while (n_woken == 0 || world->n_stopped < world->n_threads) {
        CHECK(sim_step(world->sim));
        CHECK(sim_now_ns(world->sim) < limit_ns);
    }
    CHECK(waiter.status == TM_OK);
    for (unsigned i = 0; i < world->n_nodes; i++) {
        CHECK(engine_is_quiet(world->nodes[i].engine));
        CHECK(memcmp(page_at(world, (node_id)i), &untouched,
                     sizeof untouched) == 0);
    }
}

static void close_world(struct world *world)
{
    for (unsigned i = 0; i < world->n_nodes * world->n_nodes; i++) {
        struct channel *channel =
            &world->channels[i / world->n_nodes][i % world->n_nodes];

        while (channel->first != NULL) {
            struct delayed *next = channel->first->next;

            free(channel->first);
            channel->first = next;
        }
    }
    for (unsigned i = 0; i < world->n_nodes; i++) {
        engine_free(world->nodes[i].engine);
        space_close(&world->nodes[i].space);
    }
    sim_free(world->sim);
    free(world);
}

static struct world *new_world(enum kind kind)
{
    static const unsigned delays_ns[] = {0, 3000, 20000, 400000};
    struct world *world = calloc(1, sizeof *world);
    struct sim_config config = {
        .n_nodes = 2 + (unsigned)(seed % (MAX_NODES - 1)),
        .seed = seed,
        .delay_min_ns = 5000,
        .delay_max_ns = 5000 + delays_ns[seed / 4 % 4],
    };

    CHECK(world != NULL);
    world->sim = sim_new(&config);
    CHECK(world->sim != NULL);
    world->kind = kind;
    world->n_nodes = config.n_nodes;
    world->n_threads = config.n_nodes * (kind == PURSUED   ? 1
                                         : kind == CROWDED ? 3
                                                           : 1 + seed / 16 % 2);
    world->think_ns = seed / 32 % 2 ? 100 : 10000;
    open_nodes(world);
    allocate(world);
    start_threads(world, seed / 64 % 2);
    return world;
}

static void run(enum kind kind)
{
    static const char *const names[] = {"plain", "crowded", "pursued"};
    struct world *world = new_world(kind);

    while (world->turns < TURNS * world->n_threads) {
        CHECK(sim_step(world->sim));
        CHECK(sim_now_ns(world->sim) < LIMIT_NS);
    }
    for (unsigned i = 0; i < world->n_threads; i++) {
        if (world->threads[i].has_waited) {
            note_access(&world->threads[i]);
        }
    }
    if (getenv("SAY") != NULL) {
        printf("seed %" PRIu64 " %s nodes %u threads %u: turns %u, faults %u, "
               "hops %u\n",
               seed, names[kind], world->n_nodes, world->n_threads,
               world->most_turns, world->most_faults, world->most_hops);
    }
    CHECK(world->most_turns <= 12 * world->n_threads);
    CHECK(world->most_faults <= 30);
    CHECK(world->most_hops <= 2 * world->n_nodes);
    free_block(world);
    close_world(world);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : argc > 1 ? 1 : 128;

    for (seed = first; seed < first + n; seed++) {
        run(PLAIN);
        run(CROWDED);
        run(PURSUED);
    }
    printf("%" PRIu64 " seeds from %" PRIu64 " passed\n", n, first);
    return 0;
}
