// SPDX-License-Identifier: BSD-3-Clause
//
// Barriers of many nodes, over the simulated network: how many messages whom, the same
// sums, and what a node has heard of the others when its threads pass. Threads here do
// nothing but meet, and move now and then; members change as in reconfig/membership.c.
// TM_TEST_SEEDS=first,number chooses the seeds.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/seeds_test.h"
#include "harness/sim_harness.h"
#include "sync/bits_test.h"
#include "sync/sync.h"

enum {
    THREADS_MAX = 512,
    SEEDS = 24,
    SETTLED = 3, // episodes after which all know their ways
    MEET_MS = 1,
};

#define BARRIER 0x7e8000000140u

struct world;

// By node: how many of its writes.
struct heard {
    uint32_t of[TM_MAX_NODES];
};

struct thread {
    struct waiter waiter;
    struct world *world;
    node_id node;
    unsigned number;
    unsigned n_met;
    bool is_asleep;
};

struct node {
    struct world *world;
    node_id id;
    struct sync *sync;
    struct port sim_port;
    struct heard notices; // what travels in front of any message that orders
    struct heard clock;   // vector clocks: the node's, and the barrier's here
    struct heard object;
    unsigned n_unheard; // updates ahead of an arrival that are not acknowledged
    unsigned n_received;
    unsigned n_arrivals; // from other nodes
};

struct config {
    unsigned n_nodes;
    unsigned n_threads;
    unsigned n_episodes;
    unsigned count;         // of the barrier; 0: all threads
    enum sync_arrival kind; // ARRIVE_WAIT: all kinds in turn
    uint64_t delay_max_ns;
    bool moves;
    bool changes;
    bool orders; // what is heard is looked at
    uint64_t seed;
};

struct world {
    struct config config;
    struct sim *sim;
    struct node nodes[TM_MAX_NODES];
    struct thread threads[THREADS_MAX];
    unsigned n_asleep; // threads that have met often enough
    unsigned n_met;    // all together
    unsigned n_in_flight;
    unsigned n_by_type[MESSAGES_END]; // between different nodes
    enum { RUNS, FREEZES, SPREADS } step;
    unsigned n_changes;
    struct heard must[2]; // of an episode, by its parity
    uint64_t values[2][THREADS_MAX];
    unsigned
        n_busiest; // messages received by one node, since all know their ways
};

// More threads than the barrier counts meet for ever: the last would wait in vain.
static bool is_done(const struct world *world)
{
    return world->config.count > 0
               ? world->n_met >=
                     world->config.n_threads * world->config.n_episodes
               : world->n_asleep == world->config.n_threads;
}

static unsigned n_threads_on(const struct node *node)
{
    unsigned n = 0;

    for (unsigned i = 0; i < node->world->config.n_threads; i++) {
        n += node->world->threads[i].node == node->id &&
             !node->world->threads[i].is_asleep;
    }
    return n;
}

static unsigned op_n_threads(void *owner)
{
    return n_threads_on(owner);
}

// ---- who has heard of what

enum way { NOTICES, GIVES, RELAYS, TAKES };

static void hear(struct heard *heard, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_clock_entry entry = wire_get_clock_entry(&reader);

        if (heard->of[entry.node] < entry.n_releases) {
            heard->of[entry.node] = entry.n_releases;
        }
    }
}

static void send_heard(struct node *node, node_id to, enum way way,
                       const struct heard *heard)
{
    uint8_t body[TM_MAX_NODES * WIRE_SIZE_clock_entry];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_clock, .body = body};

    message.u.clock.way = (uint8_t)way;
    for (unsigned i = 0; i < node->world->config.n_nodes; i++) {
        if (heard->of[i] > 0) {
            wire_put_clock_entry(
                &writer, &(struct wire_clock_entry){(uint16_t)i, heard->of[i]});
        }
    }
    message.body_size = (uint32_t)(writer.at - body);
    if (message.body_size > 0) {
        port_send(sim_port(node->world->sim, node->id), to, &message);
    }
}

static void op_order(void *owner, uint64_t object, node_id to,
                     enum sync_order order)
{
    static const enum way ways[] = {
        [SYNC_GIVES] = GIVES, [SYNC_RELAYS] = RELAYS, [SYNC_TAKES] = TAKES};
    struct node *node = owner;

    if (!node->world->config.orders || object != BARRIER) {
        return;
    }
    if (to != node->id) {
        send_heard(node, to, NOTICES, &node->notices);
    }
    send_heard(node, to, ways[order],
               order == SYNC_GIVES ? &node->clock : &node->object);
}

static void receive_heard(struct node *node, const struct message *message)
{
    struct heard *heard[] = {[NOTICES] = &node->notices,
                             [GIVES] = &node->object,
                             [RELAYS] = &node->object,
                             [TAKES] = &node->clock};

    hear(heard[message->u.clock.way], message);
}

static void write_something(struct thread *thread)
{
    struct node *node = &thread->world->nodes[thread->node];
    struct heard *must = &thread->world->must[thread->n_met % 2];

    must->of[node->id] = ++node->notices.of[node->id];
    node->clock.of[node->id] = node->notices.of[node->id];
}

// Has somebody come here who has passed elsewhere, and may have arrived again?
static bool is_ahead(const struct node *node, unsigned n_met)
{
    for (unsigned i = 0; i < node->world->config.n_threads; i++) {
        if (node->world->threads[i].node == node->id &&
            node->world->threads[i].n_met > n_met) {
            return true;
        }
    }
    return false;
}

static void check_heard(const struct thread *thread)
{
    const struct node *node = &thread->world->nodes[thread->node];
    const struct heard *must = &thread->world->must[thread->n_met % 2];

    assert_true(node->n_unheard == 0 || is_ahead(node, thread->n_met)); // T2
    for (unsigned i = 0; i < thread->world->config.n_nodes; i++) {
        assert_true(node->notices.of[i] >= must->of[i]);
        assert_true(node->clock.of[i] >= must->of[i]);
    }
}

// ---- what sync asks for

// What is written travels ahead of the arrival, and is acknowledged.
static void op_release(void *owner, node_id next, struct waiter *done)
{
    struct node *node = owner;
    const struct message update = {.type = MESSAGE_update_ack,
                                   .u.update_ack.batch = 1};

    if (node->world->config.orders && next != NODE_NONE) {
        node->n_unheard++;
        port_send(sim_port(node->world->sim, node->id), next, &update);
    }
    waiter_wake(done, TM_OK, 0);
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
    fail_msg("%s", text);
}

// ---- messages

static void send_counted(void *owner, node_id to, const struct message *message)
{
    struct node *node = owner;

    node->world->n_in_flight++;
    node->world->n_by_type[message->type] += to != node->id;
    node->sim_port.send(node->sim_port.owner, to, message);
}

static uint64_t now_of(void *owner)
{
    struct node *node = owner;

    return node->sim_port.now_ns(node->sim_port.owner);
}

static void begin(void *owner, uint64_t argument);

static void receive(void *owner, node_id from, const struct message *message)
{
    const struct message ack = {.type = MESSAGE_update_ack};
    struct node *node = owner;

    node->world->n_in_flight--;
    node->n_arrivals +=
        message->type == MESSAGE_barrier_arrive && from != node->id;
    if (message->type == MESSAGE_clock) {
        receive_heard(node, message);
    } else if (message->type == MESSAGE_thread_move) {
        begin(&node->world->threads[message->u.thread_move.thread], 0);
    } else if (message->type == MESSAGE_update_ack) {
        if (message->u.update_ack.batch > 0) {
            port_send(sim_port(node->world->sim, node->id), from, &ack);
        } else {
            node->n_unheard--;
        }
    } else {
        node->n_received += from != node->id;
        if (sync_receive(node->sync, from, message) != TM_OK) {
            fail_msg("node %u refuses %s of node %u", node->id,
                     message_name(message->type), from);
        }
    }
}

// ---- threads

static enum sync_arrival kind_of(const struct thread *thread)
{
    return thread->world->config.kind == ARRIVE_WAIT
               ? (enum sync_arrival)(thread->n_met % 4)
               : thread->world->config.kind;
}

static uint64_t value_of(struct thread *thread)
{
    struct sim *sim = thread->world->sim;

    if (thread->world->config.count > 0) {
        return UINT64_C(1) << thread->number; // of 60 at most
    }
    return kind_of(thread) == ARRIVE_DOUBLE
               ? bits_of(((double)sim_random(sim, 2000000) - 1e6) / 7.0 *
                         (sim_random(sim, 2) ? 1e-9 : 1e9))
               : sim_random(sim, UINT64_MAX);
}

static void arrive(struct thread *thread)
{
    struct world *world = thread->world;
    const uint64_t value = value_of(thread);

    world->values[thread->n_met % 2][thread->number] = value;
    write_something(thread);
    thread->waiter.thread = thread->number + 1;
    thread->waiter.count = thread->n_met;
    sync_barrier_arrive(world->nodes[thread->node].sync, BARRIER,
                        kind_of(thread), TM_SUM, value, &thread->waiter);
}

static void begin(void *owner, uint64_t argument)
{
    struct thread *thread = owner;

    if (thread->world->step != RUNS) {
        sim_after(thread->world->sim, 1000, begin, owner, argument);
        return;
    }
    arrive(thread);
}

// The values of all, from the lowest thread on.
static void check_result(const struct thread *thread)
{
    const uint64_t *values = thread->world->values[thread->n_met % 2];
    double sum = double_of(values[0]);
    uint64_t total = values[0];

    if (thread->world->config.count > 0) {
        assert_true(thread->waiter.result & values[thread->number]);
        return;
    }
    for (unsigned i = 1; i < thread->world->config.n_threads; i++) {
        sum += double_of(values[i]);
        total += values[i];
    }
    if (kind_of(thread) == ARRIVE_DOUBLE) {
        assert_true(thread->waiter.result == bits_of(sum));
    } else if (kind_of(thread) == ARRIVE_INT64) {
        assert_true(thread->waiter.result == total);
    }
}

static void go_elsewhere(struct thread *thread)
{
    struct world *world = thread->world;
    struct node *node = &world->nodes[thread->node];
    struct port *port = sim_port(world->sim, node->id);
    struct message message = {
        .type = MESSAGE_thread_move, .body = "", .body_size = 1};

    message.u.thread_move.thread = thread->number;
    thread->node = roster_pick(&port->roster, sim_random(world->sim, 1000));
    send_heard(node, thread->node, NOTICES, &node->notices);
    send_heard(node, thread->node, TAKES, &node->clock);
    port_send(port, thread->node, &message);
}

static void passes(void *owner, uint64_t argument)
{
    struct thread *thread = owner;
    struct world *world = thread->world;

    if (world->step != RUNS) {
        sim_after(world->sim, 1000, passes, owner, argument);
    } else if (world->config.moves && sim_random(world->sim, 8) == 0) {
        go_elsewhere(thread);
    } else {
        arrive(thread);
    }
}

static void wakes(struct waiter *waiter)
{
    struct thread *thread = (struct thread *)waiter;
    struct world *world = thread->world;

    check_result(thread);
    if (world->config.orders) {
        check_heard(thread);
    }
    thread->n_met++;
    world->n_met++;
    if (thread->n_met < world->config.n_episodes || world->config.count > 0) {
        sim_after(world->sim, 1 + sim_random(world->sim, MEET_MS * 1000000),
                  passes, thread, 0);
    } else {
        thread->is_asleep = true;
        world->n_asleep++;
    }
    if (thread->n_met == SETTLED && world->threads[0].n_met == SETTLED) {
        for (unsigned i = 0; i < world->config.n_nodes; i++) {
            world->nodes[i].n_received = 0;
        }
    }
}

// ---- members change

static void freeze_all(struct world *world, int is_frozen)
{
    for (unsigned i = 0; i < world->config.n_nodes; i++) {
        sync_freeze(world->nodes[i].sync, is_frozen);
    }
}

// Nodes without threads come and go.
static struct roster some_roster(struct world *world)
{
    struct roster roster = sim_port(world->sim, 0)->roster;

    for (unsigned i = 1; i < world->config.n_nodes; i++) {
        if (!roster_has(&roster, (node_id)i)) {
            roster_add(&roster, (node_id)i);
        } else if (n_threads_on(&world->nodes[i]) == 0 || is_done(world)) {
            roster_remove(&roster, (node_id)i);
        }
    }
    return roster;
}

// Behind a change there are no copies that anybody could have to hear of.
static void all_have_heard(struct world *world)
{
    for (unsigned i = 0; i < world->config.n_nodes; i++) {
        for (unsigned k = 0; k < world->config.n_nodes; k++) {
            struct node *node = &world->nodes[i];

            node->notices.of[k] = world->nodes[k].notices.of[k];
            node->clock.of[k] = node->notices.of[k];
        }
    }
}

static void change_roster(struct world *world)
{
    const struct roster before = sim_port(world->sim, 0)->roster;
    const struct roster roster = some_roster(world);

    world->n_changes++;
    all_have_heard(world);
    for (unsigned i = 0; i < world->config.n_nodes; i++) {
        sim_port(world->sim, (node_id)i)->roster = roster;
        sync_roster_changed(world->nodes[i].sync, &before);
    }
    for (unsigned i = 0; i < world->config.n_nodes; i++) {
        sync_spread(world->nodes[i].sync);
    }
}

static void change_members(struct world *world)
{
    if (world->step == RUNS) {
        if (world->config.changes && !is_done(world) &&
            sim_random(world->sim, 400) == 0) {
            world->step = FREEZES;
            freeze_all(world, 1);
        }
    } else if (world->n_in_flight == 0 && world->step == FREEZES) {
        world->step = SPREADS;
        change_roster(world);
    } else if (world->n_in_flight == 0) {
        world->step = RUNS;
        freeze_all(world, 0);
    }
}

// ---- the world

static void poll(void *owner, uint64_t argument)
{
    struct node *node = owner;

    if (node->world->step == RUNS) {
        sync_poll(node->sync, 0);
    }
    if (!is_done(node->world)) {
        sim_after(node->world->sim, 1000000, poll, owner, argument);
    }
}

static void open_node(struct world *world, unsigned i)
{
    struct node *node = &world->nodes[i];
    struct port *port = sim_port(world->sim, (node_id)i);
    const struct sync_ops ops = {.owner = node,
                                 .release = op_release,
                                 .n_active = op_n_threads, // may arrive yet
                                 .n_threads = op_n_threads,
                                 .at_barrier = op_at_barrier,
                                 .order = op_order,
                                 .program_error = op_program_error};

    node->world = world;
    node->id = (node_id)i;
    node->sim_port = *port;
    port->owner = node;
    port->send = send_counted;
    port->now_ns = now_of;
    node->sync = sync_new(port, &ops, THREADS_MAX);
    assert_non_null(node->sync);
    sim_attach(world->sim, node->id, receive, node);
    sim_after(world->sim, 1000 * i, poll, node, 0);
}

static void ignore_wake(struct waiter *waiter)
{
    (void)waiter;
}

static void open_threads(struct world *world)
{
    for (unsigned i = 0; i < world->config.n_threads; i++) {
        struct thread *thread = &world->threads[i];

        *thread = (struct thread){.world = world,
                                  .number = i,
                                  .node = (node_id)(i % world->config.n_nodes),
                                  .waiter.wake = wakes};
        sim_after(world->sim, 1 + sim_random(world->sim, 1000000), begin,
                  thread, 0);
    }
}

static struct world *world_new(const struct config *config)
{
    struct world *world = calloc(1, sizeof *world);
    const struct sim_config sim = {.n_nodes = config->n_nodes,
                                   .seed = config->seed,
                                   .delay_min_ns = 1000,
                                   .delay_max_ns = config->delay_max_ns};
    static struct waiter waiter = {.wake = ignore_wake};

    assert_non_null(world);
    world->config = *config;
    world->sim = sim_new(&sim);
    for (unsigned i = 0; i < config->n_nodes; i++) {
        open_node(world, i);
    }
    sync_barrier_init(world->nodes[0].sync, BARRIER,
                      config->count > 0 ? config->count : config->n_threads,
                      &waiter);
    while (world->n_in_flight > 0) {
        assert_true(sim_step(world->sim));
    }
    open_threads(world);
    return world;
}

static void world_run(struct world *world)
{
    const bool stops = world->config.count > 0;

    for (unsigned n = 0; !(stops && is_done(world)) && sim_step(world->sim);
         n++) {
        change_members(world);
        for (unsigned i = n % 32; i < world->config.n_nodes; i += 32) {
            assert_true(sync_is_valid(world->nodes[i].sync));
        }
    }
    assert_true(is_done(world));
    for (unsigned i = 0; i < world->config.n_nodes; i++) {
        assert_int_equal(sync_n_refused(world->nodes[i].sync), 0);
        if (world->n_busiest < world->nodes[i].n_received) {
            world->n_busiest = world->nodes[i].n_received;
        }
    }
}

static void world_free(struct world *world)
{
    for (unsigned i = 0; i < world->config.n_nodes; i++) {
        sync_free(world->nodes[i].sync);
    }
    sim_free(world->sim);
    free(world);
}

// ---- tests

enum { COUNTED = 10 };

static struct config plain(unsigned n_nodes)
{
    return (struct config){.n_nodes = n_nodes,
                           .n_threads = n_nodes,
                           .n_episodes = SETTLED + COUNTED,
                           .delay_max_ns = 20000,
                           .seed = n_nodes};
}

// As it has been all along.
static void up_to_sixteen_nodes_tell_the_manager_themselves(void **state)
{
    (void)state;
    for (unsigned n_nodes = 1; n_nodes <= 16; n_nodes++) {
        const struct config config = plain(n_nodes);
        struct world *world = world_new(&config);
        const unsigned n = (n_nodes - 1) * config.n_episodes;

        world_run(world);
        assert_int_equal(world->n_by_type[MESSAGE_barrier_arrive], n);
        assert_int_equal(world->n_by_type[MESSAGE_barrier_leave], n);
        assert_int_equal(world->n_by_type[MESSAGE_barrier_relay], 0);
        assert_int_equal(world->n_by_type[MESSAGE_barrier_pass], 0);
        world_free(world);
    }
}

static void of_many_nodes_none_gets_many_messages(void **state)
{
    static const struct {
        unsigned n_nodes;
        unsigned n_most; // of messages, at one node in one episode
    } sizes[] = {{17, 5}, {20, 6}, {64, 9}, {256, 17}};

    (void)state;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct config config = plain(sizes[i].n_nodes);
        struct world *world = world_new(&config);
        unsigned n_sent;

        world_run(world);
        n_sent = world->n_by_type[MESSAGE_barrier_arrive] +
                 world->n_by_type[MESSAGE_barrier_leave] +
                 world->n_by_type[MESSAGE_barrier_relay] +
                 world->n_by_type[MESSAGE_barrier_pass];
        printf("%u nodes: the busiest gets %.1f messages an episode\n",
               sizes[i].n_nodes, (double)world->n_busiest / COUNTED);
        assert_true(world->n_busiest <= sizes[i].n_most * COUNTED);
        assert_true(n_sent <= 2 * sizes[i].n_nodes * config.n_episodes);
        world_free(world);
    }
}

static void sums_are_those_of_one_node(void **state)
{
    (void)state;
    for (unsigned n_nodes = 1; n_nodes <= 128; n_nodes += 21) {
        struct config config = plain(n_nodes);
        struct world *world;

        config.kind = ARRIVE_DOUBLE;
        config.n_threads = 300;
        config.moves = true;
        world = world_new(&config);
        world_run(world);
        world_free(world);
    }
}

// Who arrives first at a node passes first: its value is in what it is told.
static void of_more_threads_than_count_each_gets_its_own_sum(void **state)
{
    unsigned n_relays = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const struct config config = {.n_nodes = 20 + (unsigned)seed,
                                      .n_threads = 60,
                                      .n_episodes = 20,
                                      .count = 20,
                                      .kind = ARRIVE_INT64,
                                      .delay_max_ns = seed % 2 ? 5000 : 3000000,
                                      .seed = seed};
        struct world *world = world_new(&config);

        world_run(world);
        n_relays += world->n_by_type[MESSAGE_barrier_relay];
        world_free(world);
    }
    assert_true(n_relays > 0);
}

static void run_seed(uint64_t seed)
{
    static const uint64_t delays_ns[] = {2000, 50000, 3000000};
    const struct config config = {
        .n_nodes = 15 + (unsigned)(seed * 7 % 40),
        .n_threads = 17 + (unsigned)(seed * 13 % 60),
        .n_episodes = 20,
        .delay_max_ns = delays_ns[seed % 3],
        .moves = seed % 4 > 0,
        .changes = seed % 2 > 0,
        .orders = true,
        .seed = seed,
    };
    struct world *world = world_new(&config);

    world_run(world);
    world_free(world);
}

static void who_passes_has_heard_of_all_who_have_arrived(void **state)
{
    const struct seeds seeds = seeds_of_test(SEEDS);

    (void)state;
    for (unsigned long long seed = seeds.first; seed < seeds.end; seed++) {
        run_seed(seed);
    }
}

static struct node *some_leader(struct world *world)
{
    for (unsigned i = 0; i < world->config.n_nodes; i++) {
        struct node *node = &world->nodes[i];

        if (node->n_arrivals > 0 && !sync_manages(node->sync, BARRIER)) {
            return node;
        }
    }
    return NULL;
}

// @return how many messages the leader has passed on because of this
static unsigned let_arrive(struct node *leader, enum sync_arrival kind)
{
    const unsigned *n_relays = &leader->world->n_by_type[MESSAGE_barrier_relay];
    const unsigned before = *n_relays;
    uint8_t body[WIRE_SIZE_contribution] = {1};
    const struct message message = {
        .type = MESSAGE_barrier_arrive,
        .body = body,
        .body_size = kind == ARRIVE_INT64 ? sizeof body : 0,
        .u.barrier_arrive = {
            .key = BARRIER, .n_threads = 1, .kind = (uint8_t)kind}};

    assert_int_equal(sync_receive(leader->sync, 0, &message), TM_OK);
    assert_true(sync_is_valid(leader->sync));
    return *n_relays - before;
}

static void a_leader_passes_on_what_does_not_go_with_the_next(void **state)
{
    const struct config config = plain(64); // in groups of eight
    struct world *world = world_new(&config);
    struct node *leader;

    (void)state;
    world_run(world);
    leader = some_leader(world);
    assert_non_null(leader);
    assert_int_equal(let_arrive(leader, ARRIVE_WAIT), 0);
    assert_int_equal(let_arrive(leader, ARRIVE_WAIT), 0);
    assert_int_equal(let_arrive(leader, ARRIVE_INT64), 1);
    assert_int_equal(let_arrive(leader, ARRIVE_INT64), 0);
    sync_freeze(leader->sync, 1);
    assert_int_equal(let_arrive(leader, ARRIVE_INT64), 1);
    sync_free(leader->sync);
    leader->sync = NULL;
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_to_sixteen_nodes_tell_the_manager_themselves),
        cmocka_unit_test(of_many_nodes_none_gets_many_messages),
        cmocka_unit_test(sums_are_those_of_one_node),
        cmocka_unit_test(of_more_threads_than_count_each_gets_its_own_sum),
        cmocka_unit_test(a_leader_passes_on_what_does_not_go_with_the_next),
        cmocka_unit_test(who_passes_has_heard_of_all_who_have_arrived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
