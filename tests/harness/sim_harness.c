// SPDX-License-Identifier: BSD-3-Clause
//
// One queue holds everything that will happen: frames under way and timers, in a
// binary heap by time, and by number of order where times are equal. sim_step()
// takes the first, sets the clock to its time and makes it happen; what that
// sends or sets goes back into the queue. Time stands still meanwhile.
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
#include "base/random.h"
#include "base/vector.h"
#include "net/message_equal_test.h"

struct event {
    uint64_t time_ns;
    uint64_t number;     ///< of order
    sim_timer_fn *timer; ///< NULL: a frame
    void *owner;         ///< of the timer
    uint64_t argument;   ///< of the timer
    uint8_t *frame;      ///< [size]
    uint32_t size;
    node_id from;
    node_id to;
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
    uint64_t random;
    uint64_t now_ns;
    uint64_t n_events; ///< the number of the next
    uint64_t n_delivered;
    uint64_t hash;
    struct event *heap; ///< [n_in_heap], room for n_room
    size_t n_in_heap;
    size_t n_room;
    uint64_t *last_ns;       ///< [n_nodes * n_nodes] of the latest message
    struct sim_node nodes[]; ///< [n_nodes]
};

// ---- chance and hash ----

uint64_t sim_random(struct sim *sim, uint64_t bound)
{
    uint64_t unfair;
    uint64_t x;

    ensure(bound > 0);
    unfair = -bound % bound; // 2^64 mod bound
    do {
        x = random_next(&sim->random);
    } while (x < unfair);
    return x % bound;
}

static void hash_number(struct sim *sim, uint64_t number)
{
    uint8_t bytes[8] = {0};
    struct wire_writer writer = {.at = bytes, .end = bytes + sizeof bytes};

    wire_put_u64(&writer, number);
    sim->hash = hash_bytes(sim->hash, bytes, sizeof bytes);
}

static void hash_event(struct sim *sim, const struct event *event)
{
    hash_number(sim, event->time_ns);
    if (event->timer != NULL) {
        hash_number(sim, event->argument);
        return;
    }
    hash_number(sim, (uint64_t)event->from << 16 | event->to);
    sim->hash = hash_bytes(sim->hash, event->frame, event->size);
}

// ---- the heap ----

static int is_before(const struct event *a, const struct event *b)
{
    return a->time_ns < b->time_ns ||
           (a->time_ns == b->time_ns && a->number < b->number);
}

static void swap_events(struct event *a, struct event *b)
{
    struct event other = *a;

    *a = *b;
    *b = other;
}

static void push_event(struct sim *sim, const struct event *event)
{
    size_t at = sim->n_in_heap++;

    vector_reserve(sim->heap, sim->n_room, at + 1);
    sim->heap[at] = *event;
    while (at > 0 && is_before(&sim->heap[at], &sim->heap[(at - 1) / 2])) {
        swap_events(&sim->heap[at], &sim->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static struct event pop_event(struct sim *sim)
{
    struct event first = sim->heap[0];
    size_t n = --sim->n_in_heap;
    size_t at = 0;

    sim->heap[0] = sim->heap[n];
    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < n &&
            is_before(&sim->heap[child + 1], &sim->heap[child])) {
            child++;
        }
        if (child >= n || !is_before(&sim->heap[child], &sim->heap[at])) {
            return first;
        }
        swap_events(&sim->heap[child], &sim->heap[at]);
        at = child;
    }
}

// ---- sending ----

static uint8_t *encode_and_check(const struct message *message, uint32_t *size)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    uint32_t header_size = message_encode_header(message, header);
    struct message decoded;
    uint8_t *frame;

    ensure(message->body_size <= MESSAGE_BODY_MAX);
    *size = header_size + message->body_size;
    frame = malloc(*size);
    if (frame == NULL) {
        log_fatal(EXIT_MEMORY, "no memory for a simulated message");
    }
    memcpy(frame, header, header_size);
    if (message->body_size > 0) {
        memcpy(frame + header_size, message->body, message->body_size);
    }
    ensure(message_decode(frame, *size, &decoded) == TM_OK);
    ensure(message_is_equal(message, &decoded));
    return frame;
}

static uint64_t arrival_ns(struct sim *sim, node_id from, node_id to)
{
    const struct sim_config *config = &sim->config;
    uint64_t *last_ns = &sim->last_ns[from * config->n_nodes + to];
    uint64_t spread_ns = config->delay_max_ns - config->delay_min_ns;
    uint64_t time_ns =
        sim->now_ns + config->delay_min_ns + sim_random(sim, spread_ns + 1);

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
    struct event event = {
        .number = sim->n_events++,
        .from = node->port.self,
        .to = to,
    };

    ensure(to < sim->config.n_nodes);
    event.frame = encode_and_check(message, &event.size);
    event.time_ns = arrival_ns(sim, event.from, to);
    push_event(sim, &event);
}

static uint64_t now_of(void *owner)
{
    const struct sim_node *node = owner;

    return node->sim->now_ns;
}

void sim_after(struct sim *sim, uint64_t delay_ns, sim_timer_fn *fn,
               void *owner, uint64_t argument)
{
    const struct event event = {
        .time_ns = sim->now_ns + delay_ns,
        .number = sim->n_events++,
        .timer = fn,
        .owner = owner,
        .argument = argument,
    };

    ensure(fn != NULL);
    push_event(sim, &event);
}

// ---- happening ----

static void deliver(struct sim *sim, const struct event *event)
{
    struct sim_node *node = &sim->nodes[event->to];
    struct message message;

    ensure(node->receive != NULL);
    if (sim_random(sim, 1000000) < sim->config.pause_ppm) {
        node->paused_until_ns = sim->now_ns + sim->config.pause_ns;
    }
    ensure(message_decode(event->frame, event->size, &message) == TM_OK);
    sim->n_delivered++;
    node->receive(node->owner, event->from, &message);
    free(event->frame);
}

/** @return 1 if the event's node pauses, and the event is back in the queue */
static int is_put_off(struct sim *sim, struct event *event)
{
    const struct sim_node *node = &sim->nodes[event->to];

    if (event->timer != NULL || event->time_ns >= node->paused_until_ns) {
        return 0;
    }
    event->time_ns = node->paused_until_ns;
    push_event(sim, event);
    return 1;
}

int sim_step(struct sim *sim)
{
    struct event event;

    do {
        if (sim->n_in_heap == 0) {
            return 0;
        }
        event = pop_event(sim);
    } while (is_put_off(sim, &event));
    ensure(event.time_ns >= sim->now_ns); // I2
    sim->now_ns = event.time_ns;
    hash_event(sim, &event);
    if (event.timer != NULL) {
        event.timer(event.owner, event.argument);
    } else {
        deliver(sim, &event);
    }
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
    sim->random = config->seed;
    sim->hash = HASH_START;
    for (unsigned i = 0; i < n; i++) {
        init_node(sim, (node_id)i);
    }
    return sim;
}

void sim_free(struct sim *sim)
{
    if (sim == NULL) {
        return;
    }
    for (size_t i = 0; i < sim->n_in_heap; i++) {
        free(sim->heap[i].frame);
    }
    free(sim->heap);
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
    return sim->now_ns;
}

uint64_t sim_n_delivered(const struct sim *sim)
{
    return sim->n_delivered;
}

uint64_t sim_event_hash(const struct sim *sim)
{
    return sim->hash;
}
