// SPDX-License-Identifier: BSD-3-Clause
//
// Updates that come while their page is on its way from the disk, and are pending
// (protocol/pending_updates.c): two nodes, one page, one word. Both add to the
// word, by atomic operations, several of which are under way, and read it; the
// owner pushes it to the copy that the other has. The page goes out, is asked for, and comes back at random times between the messages that
// change it. There may be messages between the moment when it has come and the one when
// what waits for it is looked at, as when a node waits for another page (pager_need())
// while it handles one of several messages. The word only grows; no node must see it
// shrink.
#include "pending_play.h"

#include "mem/transfers_test.h"

enum { N_ADDERS = 8, N_ACTIONS = 2000, AMPLE = 1000 };

struct adder {
    struct waiter waiter; // first: found from it
    struct world *world;
    uint64_t number;
    int is_out;
};

// Of a node.
struct reader {
    struct waiter waiter; // first
    int waits;
    struct pager_claims claims;
};

static struct adder adders[N_ADDERS];
static struct reader readers[2];

static void added(struct waiter *waiter)
{
    struct adder *adder = (struct adder *)waiter;

    adder->is_out = 0;
    adder->world->counter_sum += adder->number;
}

static void come(struct waiter *waiter)
{
    ((struct reader *)waiter)->waits = 0;
}

static void add(struct world *world, struct node *node)
{
    struct adder *adder = &adders[sim_random(world->sim, N_ADDERS)];

    if (adder->is_out) {
        return;
    }
    *adder = (struct adder){.waiter = {.wake = added}, .world = world};
    adder->number = 1 + sim_random(world->sim, 1000);
    adder->is_out = 1;
    engine_atomic(node->engine, counter_page(world),
                  world->counter_address % TM_PAGE_SIZE,
                  &(struct atomic){ATOMIC_ADD, 8, adder->number, 0},
                  &adder->waiter);
}

static void read_word(struct world *world, struct node *node)
{
    struct reader *reader = &readers[node->end.node];
    const page_no page = counter_page(world);
    struct pager_toucher toucher = {.claims = &reader->claims, .is_let_in = 1};
    struct fault_history history = {0};
    enum fault_result result;

    if (reader->waits) {
        return;
    }
    pager_release_claims(node->pager, &reader->claims);
    *reader = (struct reader){.waiter = {.wake = come}};
    if (pager_fault(node->pager, page, 0, &toucher, &reader->waiter) ==
        PAGER_WAIT) {
        reader->waits = 1;
        return;
    }
    result = engine_fault(node->engine, page, 0, &history, &reader->waiter);
    reader->waits = result == FAULT_WAIT;
    if (result == FAULT_ALLOWED) {
        look_at_counter(world, node);
    }
}

// Whatever may go goes, and the word is asked for again.
static void go_out_and_in(struct world *world, struct node *node)
{
    pager_release_claims(node->pager, &readers[node->end.node].claims);
    pager_set_budget(node->pager, 0);
    pager_poll(node->pager);
    pager_set_budget(node->pager, AMPLE);
    finish_transfers(node->pager);
    read_word(world, node);
}

static void act(struct world *world)
{
    struct node *node = &world->nodes[sim_random(world->sim, 2)];

    switch (sim_random(world->sim, 16)) {
    case 0:
    case 1:
        add(world, node);
        break;
    case 2:
        read_word(world, node);
        break;
    case 3:
        go_out_and_in(world, node);
        break;
    case 4:
        finish_transfers(node->pager);
        break;
    case 5:
        pager_settle(node->pager);
        break;
    default:
        (void)sim_step(world->sim);
        break;
    }
    check_world(world);
}

void pending_play(struct world *world)
{
    for (unsigned i = 0; i < 2; i++) {
        engine_keep_copies(world->nodes[i].engine, 1);
        pager_set_budget(world->nodes[i].pager, AMPLE);
        readers[i] = (struct reader){.waits = 0};
    }
    for (unsigned i = 0; i < N_ACTIONS; i++) {
        act(world);
    }
    world->n_ended = world->n_threads; // no more timers
    do {
        pager_poll(world->nodes[0].pager);
        pager_poll(world->nodes[1].pager);
    } while (sim_step(world->sim) ||
             swap_file_in_flight(world->nodes[0].swap) > 0 ||
             swap_file_in_flight(world->nodes[1].swap) > 0);
    CHECK(!readers[0].waits && !readers[1].waits);
    for (unsigned i = 0; i < N_ADDERS; i++) {
        CHECK(!adders[i].is_out);
    }
}
