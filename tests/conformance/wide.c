// SPDX-License-Identifier: BSD-3-Clause
//
// PROTOCOL/wide: more nodes than meet at a barrier without some that lead others. The
// barrier is the real one (sync/), with all that its messages order: so what a protocol
// tells goes through nodes that only pass arrivals on. With /members, /race, /budget and
// /death too.
#include "audit.h"
#include "promise.h"

#define BARRIER 0x7e8000001040u

static unsigned n_threads_on(const struct node *node, int only_active)
{
    const struct world *world = node->end.world;
    unsigned n = 0;

    for (unsigned i = 0; i < world->n_threads; i++) {
        n += world->threads[i].node == node->end.node &&
             world->threads[i].step != ENDED &&
             !(only_active && world->threads[i].is_at_barrier);
    }
    return n;
}

static unsigned op_n_threads(void *owner)
{
    return n_threads_on(owner, 0);
}

static unsigned op_n_active(void *owner)
{
    return n_threads_on(owner, 1);
}

static void op_release(void *owner, node_id next, struct waiter *done)
{
    struct node *node = owner;

    engine_release(node->engine, node->end.world->tells ? next : NODE_NONE,
                   done);
}

static void op_order(void *owner, uint64_t object, node_id to,
                     enum sync_order order)
{
    static const enum order_way ways[] = {
        [SYNC_GIVES] = ORDER_GIVES,  [SYNC_TAKES] = ORDER_TAKES,
        [SYNC_PASSES] = ORDER_MOVES, [SYNC_RELAYS] = ORDER_PASSES,
        [SYNC_COMES] = ORDER_COMES,
    };
    struct node *node = owner;

    engine_order(node->engine, object, to, ways[order]);
}

static void op_at_barrier(void *owner, uint64_t key, enum sync_stage stage)
{
    (void)owner;
    (void)key;
    (void)stage;
}

static void op_program_error(void *owner, const char *text)
{
    (void)owner;
    fail(text, __LINE__);
}

struct sync_ops wide_ops(struct node *node)
{
    return (struct sync_ops){
        .owner = node,
        .release = op_release,
        .n_active = op_n_active,
        .n_threads = op_n_threads,
        .at_barrier = op_at_barrier,
        .order = op_order,
        .program_error = op_program_error,
    };
}

void wide_open(struct world *world)
{
    for (unsigned i = 0; i < world->n_nodes; i++) {
        struct node *node = &world->nodes[i];
        const struct sync_ops ops = wide_ops(node);

        if (node->sync == NULL) { // not of changes.c
            node->sync = sync_new(sim_port(world->sim, (node_id)i), &ops, 1);
            CHECK(node->sync != NULL);
        }
    }
}

void wide_begin(struct world *world, struct waiter *waiter)
{
    sync_barrier_init(world->nodes[0].sync, BARRIER, world->n_threads, waiter);
}

void wide_tick(struct world *world, node_id node)
{
    if (world->is_wide && !world->nodes[node].is_frozen) {
        sync_poll(world->nodes[node].sync, 0);
    }
}

// All have arrived: who is woken first begins the phase.
static void wakes(struct waiter *waiter)
{
    struct thread *thread = (struct thread *)waiter;
    struct world *world = thread->world;

    if (world->n_arrived == world->n_threads) {
        world->counter_floor = world->counter_sum;
        promise_begin(world);
        deal_cells(world);
    }
    world->n_arrived--;
    waiter->wake = thread->wake;
    pass_one(thread);
}

void wide_arrive(struct thread *thread)
{
    struct world *world = thread->world;

    thread->wake = thread->waiter.wake;
    thread->waiter.wake = wakes;
    thread->waiter.thread = thread->number + 1;
    thread->step = WAITING;
    thread->then = NULL;
    world->n_arrived++;
    sync_barrier_arrive(world->nodes[thread->node].sync, BARRIER, ARRIVE_WAIT,
                        TM_SUM, 0, &thread->waiter);
}

int wide_receive(struct world *world, node_id from, node_id at,
                 const struct message *message)
{
    struct node *node = &world->nodes[at];

    if (!world->is_wide || (message->type != MESSAGE_call_done &&
                            (message->type < MESSAGE_barrier_init ||
                             message->type > MESSAGE_barrier_starved) &&
                            message->type != MESSAGE_barrier_part &&
                            message->type != MESSAGE_barrier_relay &&
                            message->type != MESSAGE_barrier_pass)) {
        return 0;
    }
    world->n_relays += message->type == MESSAGE_barrier_relay;
    if (message->type == MESSAGE_barrier_leave) {
        engine_acquired(node->engine);
    }
    if (message->type != MESSAGE_barrier_check) { // no list of threads here
        CHECK(sync_receive(node->sync, from, message) == TM_OK);
    }
    CHECK(sync_is_valid(node->sync));
    return 1;
}
