// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes come and go while the simulated threads run: the machine of
// reconfig/membership.h on each node, with requests at random times. Threads of a node
// that leaves move when they have passed a barrier; a thread that would do something
// while its node is frozen does it later, and so does main().
#include "world.h"

#include <stdlib.h>
#include <string.h>

static node_id number_of(const struct node *node)
{
    return node->end.node;
}

// ---- counting

static void send_counted(void *owner, node_id to, const struct message *message)
{
    struct node *node = owner;

    node->n_sent += !membership_is_aside(message->type);
    node->sim_port.send(node->sim_port.owner, to, message);
}

static uint64_t now_of(void *owner)
{
    struct node *node = owner;

    return node->sim_port.now_ns(node->sim_port.owner);
}

// ---- what the machine asks for

static void freeze(void *owner, int is_frozen)
{
    struct node *node = owner;

    node->is_frozen = is_frozen;
}

// A thread seems to have come to who is to leave when all have stopped: they go on without a change, for now (N3, N4).
static unsigned has_got_another(const struct node *node)
{
    return node->is_frozen && sim_random(node->end.world->sim, 3) == 0;
}

static unsigned n_threads(void *owner)
{
    const struct node *node = owner;
    const struct world *world = node->end.world;
    unsigned n = 0;

    for (unsigned i = 0; i < world->n_threads; i++) {
        n += world->threads[i].node == number_of(node) &&
             world->threads[i].step != ENDED;
    }
    return n + has_got_another(node);
}

static void count(void *owner, uint64_t *sent, uint64_t *received)
{
    const struct node *node = owner;

    *sent = node->n_sent;
    *received = node->n_received;
}

static const char *why_not_yet(void *owner)
{
    const struct node *node = owner;

    return sim_random(node->end.world->sim, 3) > 0 ? NULL : "it waits";
}

static void move(void *owner, uint64_t thread, node_id to)
{
    (void)owner;
    (void)thread;
    (void)to;
    fail("the list of threads is empty", __LINE__);
}

static double power(void *owner, node_id node)
{
    (void)owner;
    return 1 + node;
}

// The token of a lock that a node which leaves had is the root's, as that of the
// barrier.
static void switched(void *owner, const struct roster *before)
{
    struct node *node = owner;
    struct world *world = node->end.world;

    (void)before;
    if (number_of(node) != 0) {
        return;
    }
    for (unsigned i = 0; i < N_LOCKS; i++) {
        if (!roster_has(roster_of(world), world->locks[i].node)) {
            world->locks[i].node = 0;
        }
    }
    if (!roster_has(roster_of(world), world->manager)) {
        world->manager = 0;
    }
}

// E1: it owns nothing any more.
static void gone(void *owner)
{
    struct node *node = owner;

    for (unsigned at = 0; at < N_PAGES; at++) {
        CHECK(!node->space.pages[node->end.world->pages[at]].is_owner);
    }
    CHECK(n_threads(node) == 0);
}

static void tell(void *owner, node_id node, int comes,
                 enum membership_report report, const char *why)
{
    struct node *root = owner;
    struct world *world = root->end.world;

    (void)why;
    CHECK(report != MEMBERSHIP_REFUSED);
    if (report == MEMBERSHIP_DONE) {
        CHECK(roster_has(roster_of(world), node) == comes);
        world->n_changes++;
        for (unsigned i = 0; i < roster_of(world)->n_live; i++) {
            CHECK(
                sim_port(world->sim, roster_of(world)->live[i])->roster.epoch ==
                1 + world->n_changes);
        }
    }
}

// ---- sync, of which only the machine knows

static void open_node(struct world *world, unsigned i)
{
    struct node *node = &world->nodes[i];
    struct port *port = sim_port(world->sim, (node_id)i);
    const struct membership_ops ops = {
        .owner = node,
        .freeze = freeze,
        .n_threads = n_threads,
        .count = count,
        .why_not_yet = why_not_yet,
        .move = move,
        .power = power,
        .switched = switched,
        .gone = gone,
        .tell = tell,
    };
    const struct sync_ops ops_of_sync =
        world->is_wide ? wide_ops(node) : (struct sync_ops){0};

    node->sim_port = *port;
    port->owner = node;
    port->send = send_counted;
    port->now_ns = now_of;
    node->sync = sync_new(port, &ops_of_sync, 1);
    node->membership = membership_new(port, node->engine, node->sync, &ops);
    CHECK(node->sync != NULL && node->membership != NULL);
}

void changes_open(struct world *world, unsigned n_first)
{
    world->n_come = n_first;
    for (unsigned i = 0; i < world->n_nodes; i++) {
        roster_init(&sim_port(world->sim, (node_id)i)->roster, n_first);
        if (world->has_changes) {
            open_node(world, i);
        }
    }
}

void changes_close(struct world *world)
{
    for (unsigned i = 0; i < world->n_nodes; i++) {
        membership_free(world->nodes[i].membership);
        sync_free(world->nodes[i].sync);
    }
}

int changes_receive(struct world *world, node_id from, node_id at,
                    const struct message *message)
{
    struct node *node = &world->nodes[at];

    if (message_owner(message->type) == OWNER_members) {
        CHECK(membership_receive(node->membership, from, message) == TM_OK);
        return 1;
    }
    node->n_received++;
    return 0;
}

static void ask_for_change(struct world *world)
{
    const struct roster *roster = roster_of(world);
    struct membership *root = world->nodes[0].membership;
    node_id node = roster_pick(roster, sim_random(world->sim, 100));

    if (sim_random(world->sim, 2) && world->n_come < world->n_nodes) {
        membership_add(root, (node_id)world->n_come++);
    } else if (node != 0 && sim_random(world->sim, 2)) {
        membership_leave(world->nodes[node].membership);
    } else if (node != 0) {
        membership_remove(root, node);
    }
}

void changes_tick(struct world *world)
{
    if (!world->has_changes) {
        return;
    }
    if (world->n_ended < world->n_threads && sim_random(world->sim, 4) == 0) {
        ask_for_change(world);
    }
    membership_tick(world->nodes[0].membership);
}

int changes_is_frozen(const struct world *world)
{
    for (unsigned i = 0; i < world->n_nodes; i++) {
        if (world->nodes[i].is_frozen) {
            return 1;
        }
    }
    return 0;
}

void changes_settle(struct world *world)
{
    while (world->has_changes &&
           (membership_is_busy(world->nodes[0].membership) ||
            world->nodes[0].is_frozen)) {
        CHECK(sim_step(world->sim));
    }
}

// The opening of a barrier is on its way to a node: a thread would come behind them.
static int is_awaiting_opening(const struct world *world, node_id node)
{
    for (unsigned i = 0; i < world->n_threads; i++) {
        if (world->threads[i].node == node && world->threads[i].is_at_barrier) {
            return 1;
        }
    }
    return 0;
}

void changes_move(struct thread *thread)
{
    struct world *world = thread->world;
    struct node *node = &world->nodes[thread->node];
    const struct roster *own = &sim_port(world->sim, thread->node)->roster;
    node_id to;

    thread->may_move = 0; // if not now, behind the next barrier
    if (own->leaving != thread->node && pick(thread, 4) > 0) {
        return;
    }
    to = membership_refuge(node->membership);
    if (!is_awaiting_opening(world, to)) {
        engine_order_now(world->nodes[to].engine, engine_of(thread));
        leave_pager(thread);
        thread->node = to;
        memset(&thread->history, 0,
               sizeof thread->history); // as in the runtime
        engine_acquired(engine_of(thread));
    }
}
