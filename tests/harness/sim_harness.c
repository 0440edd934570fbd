// SPDX-License-Identifier: BSD-3-Clause
//
// One queue (simulate/events.h) holds everything that will happen: frames under way and
// timers. sim_step() takes the first and makes it happen.
//
// Nothing but the seed and the calls decides what happens: no address, no clock,
// no order of hash tables. The hash over all events proves it: of the event's
// time, its two nodes, and the frame's bytes or the timer's argument.
//
// I1  Of two messages of one pair, the later sent has the later time, or the same
//     time and a later number. A pause moves all that fall into it to its end and
//     leaves their numbers, so the order of a pair stays.
// I2  Time never runs backwards.
//
// Every message goes over a real wire: it is encoded when it is sent, decoded and
// compared then (whoever sends it still has it), and decoded again, from memory
// of exactly its size, where it arrives.
#include "harness/sim_harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/hash.h"
#include "base/log.h"
#include "net/message_equal_test.h"
#include "simulate/events.h"

// A frame under way.
struct flight {
    struct sim *sim;
    uint32_t size;
    node_id from;
    node_id to;
    uint8_t bytes[]; ///< [size]
};

struct sim_node {
    struct sim *sim;
    struct port port;
    sim_receive_fn *receive;
    void *owner;
    uint64_t paused_until_ns;
};

struct sim {
    struct sim_config config;
    struct events events;
    uint64_t n_delivered;
    uint64_t hash;
    uint64_t *last_ns;       ///< [n_nodes * n_nodes] of the latest message
    struct sim_node nodes[]; ///< [n_nodes]
};

// ---- chance and hash ----

uint64_t sim_random(struct sim *sim, uint64_t bound)
{
    return events_random(&sim->events, bound);
}

static void hash_number(struct sim *sim, uint64_t number)
{
    uint8_t bytes[8] = {0};
    struct wire_writer writer = {.at = bytes, .end = bytes + sizeof bytes};

    wire_put_u64(&writer, number);
    sim->hash = hash_bytes(sim->hash, bytes, sizeof bytes);
}

static void deliver(void *owner, uint64_t argument);

static void hash_event(struct sim *sim, const struct event *event)
{
    const struct flight *flight = event->owner;

    hash_number(sim, event->time_ns);
    if (event->happen != deliver) {
        hash_number(sim, event->argument);
        return;
    }
    hash_number(sim, (uint64_t)flight->from << 16 | flight->to);
    sim->hash = hash_bytes(sim->hash, flight->bytes, flight->size);
}

// ---- sending ----

static struct flight *encode_and_check(const struct message *message)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    uint32_t header_size = message_encode_header(message, header);
    struct message decoded;
    struct flight *flight;

    ensure(message->body_size <= MESSAGE_BODY_MAX);
    flight = malloc(sizeof *flight + header_size + message->body_size);
    if (flight == NULL) {
        log_fatal(EXIT_MEMORY, "no memory for a simulated message");
    }
    flight->size = header_size + message->body_size;
    memcpy(flight->bytes, header, header_size);
    if (message->body_size > 0) {
        memcpy(flight->bytes + header_size, message->body, message->body_size);
    }
    ensure(message_decode(flight->bytes, flight->size, &decoded) == TM_OK);
    ensure(message_is_equal(message, &decoded));
    return flight;
}

static uint64_t arrival_ns(struct sim *sim, node_id from, node_id to)
{
    const struct sim_config *config = &sim->config;
    uint64_t *last_ns = &sim->last_ns[from * config->n_nodes + to];
    uint64_t spread_ns = config->delay_max_ns - config->delay_min_ns;
    uint64_t time_ns = sim->events.now_ns + config->delay_min_ns +
                       sim_random(sim, spread_ns + 1);

    if (time_ns < *last_ns) {
        time_ns = *last_ns; // I1
    }
    *last_ns = time_ns;
    return time_ns;
}

static void send_from(void *owner, node_id to, const struct message *message)
{
    struct sim_node *node = owner;
    struct sim *sim = node->sim;
    struct flight *flight = encode_and_check(message);

    ensure(to < sim->config.n_nodes);
    flight->sim = sim;
    flight->from = node->port.self;
    flight->to = to;
    events_at(&sim->events, arrival_ns(sim, flight->from, to), deliver, flight,
              0);
}

static uint64_t now_of(void *owner)
{
    const struct sim_node *node = owner;

    return node->sim->events.now_ns;
}

void sim_after(struct sim *sim, uint64_t delay_ns, sim_timer_fn *fn,
               void *owner, uint64_t argument)
{
    events_at(&sim->events, sim->events.now_ns + delay_ns, fn, owner, argument);
}

// ---- happening ----

static void deliver(void *owner, uint64_t argument)
{
    struct flight *flight = owner;
    struct sim *sim = flight->sim;
    struct sim_node *node = &sim->nodes[flight->to];
    struct message message;

    (void)argument;
    ensure(node->receive != NULL);
    if (sim_random(sim, 1000000) < sim->config.pause_ppm) {
        node->paused_until_ns = sim->events.now_ns + sim->config.pause_ns;
    }
    ensure(message_decode(flight->bytes, flight->size, &message) == TM_OK);
    sim->n_delivered++;
    node->receive(node->owner, flight->from, &message);
    free(flight);
}

/** @return 1 if the event's node pauses, and the event is back in the queue */
static int is_put_off(struct sim *sim, const struct event *event)
{
    const struct flight *flight = event->owner;
    const struct sim_node *node;

    if (event->happen != deliver) {
        return 0;
    }
    node = &sim->nodes[flight->to];
    if (event->time_ns >= node->paused_until_ns) {
        return 0;
    }
    events_put_off(&sim->events, event, node->paused_until_ns);
    return 1;
}

int sim_step(struct sim *sim)
{
    struct event event;

    do {
        if (!events_take(&sim->events, &event)) {
            return 0;
        }
    } while (is_put_off(sim, &event));
    ensure(event.time_ns >= sim->events.now_ns); // I2
    sim->events.now_ns = event.time_ns;
    hash_event(sim, &event);
    event.happen(event.owner, event.argument);
    return 1;
}

// ---- making and asking ----

static void init_node(struct sim *sim, node_id node)
{
    sim->nodes[node].sim = sim;
    sim->nodes[node].port = (struct port){
        .self = node,
        .owner = &sim->nodes[node],
        .send = send_from,
        .now_ns = now_of,
    };
    roster_init(&sim->nodes[node].port.roster, sim->config.n_nodes);
}

struct sim *sim_new(const struct sim_config *config)
{
    size_t n = config->n_nodes;
    struct sim *sim;

    ensure(n >= 1 && n <= TM_MAX_NODES);
    ensure(config->delay_min_ns <= config->delay_max_ns);
    sim = calloc(1, sizeof *sim + n * sizeof(struct sim_node));
    if (sim == NULL) {
        return NULL;
    }
    sim->last_ns = calloc(n * n, sizeof *sim->last_ns);
    if (sim->last_ns == NULL) {
        free(sim);
        return NULL;
    }
    sim->config = *config;
    events_init(&sim->events, config->seed);
    sim->hash = HASH_START;
    for (unsigned i = 0; i < n; i++) {
        init_node(sim, (node_id)i);
    }
    return sim;
}

void sim_free(struct sim *sim)
{
    struct event event;

    if (sim == NULL) {
        return;
    }
    while (events_take(&sim->events, &event)) {
        if (event.happen == deliver) {
            free(event.owner);
        }
    }
    events_release(&sim->events);
    free(sim->last_ns);
    free(sim);
}

void sim_attach(struct sim *sim, node_id node, sim_receive_fn *receive,
                void *owner)
{
    ensure(node < sim->config.n_nodes);
    sim->nodes[node].receive = receive;
    sim->nodes[node].owner = owner;
}

struct port *sim_port(struct sim *sim, node_id node)
{
    ensure(node < sim->config.n_nodes);
    return &sim->nodes[node].port;
}

uint64_t sim_now_ns(const struct sim *sim)
{
    return sim->events.now_ns;
}

uint64_t sim_n_delivered(const struct sim *sim)
{
    return sim->n_delivered;
}

uint64_t sim_event_hash(const struct sim *sim)
{
    return sim->hash;
}
