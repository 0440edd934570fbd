// SPDX-License-Identifier: BSD-3-Clause
//
// Barriers where many nodes meet: a tree of two levels above them, so that no node
// receives more than about 2 sqrt(n) messages an episode instead of n. If more than
// BARRIER_ALONE_MAX have met, the manager deals them into groups of neighbours by number,
// as many as each has nodes, and tells each with barrier_leave who leads it from now on.
// A node's arrivals go to its leader, which passes them on in one message (barrier_relay);
// what lets them pass comes back as one (barrier_pass), and the leader tells its group.
// Who has not been there goes to the manager, as all did at first.
//
// A leader holds arrivals back until its group is complete: as many threads as met last.
//
//                     EMPTY                HOLDS
//   some have come    keep -> HOLDS        keep
//   the last come     keep, send           keep, send -> EMPTY
//   others come                            send, then as EMPTY
//   time is over                           send -> EMPTY
//   a change begins                        send -> EMPTY
//
// Others are of another kind or operation, or do not fit into a message. That a group is
// complete is only a guess: threads move, end, or do not come. So it waits for some ms, and
// longer if it was right: then its threads come far apart.
//
// T1  What a leader passes on goes to the manager, never to another leader, so it stays in
//     order also where the leader has one itself by now; with I5 of barrier.c all arrivals
//     of a node are counted in the order in which its threads have arrived.
// T2  Who comes later is told by the message that its arrival has brought about: the way
//     that the arrival took, back. So what was sent ahead of the arrival is acknowledged
//     before (protocols.md, section 3).
// T3  Before a leader passes something on the next node is told all that it was told itself.
// T4  Values go to the manager as they are, which combines them in the order of threads:
//     a tree of sums would depend on who is where.
// T5  What is held is of one kind and operation; the threads of its nodes are as many as it
//     says, and so are the values, if they reduce.
// T6  A barrier at which something is held is watched. While members change nothing is.
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "sync/barrier_priv.h"

#define HOLD_MIN_NS 4000000u
#define HOLD_MAX_NS 32000000u

enum {
    NODES_MAX = TM_MAX_NODES, // in one message; a node may be in it twice
};

struct barrier_relay {
    uint32_t n_expected;                ///< threads; 0: this node leads nobody
    struct message_barrier_arrive held; ///< n_threads 0: EMPTY
    struct wire_arrived nodes[NODES_MAX];
    unsigned n_nodes;
    struct wire_contribution *values; ///< [n_values], room for n_room
    uint32_t n_values;
    uint32_t n_room;
    uint64_t since_ns; ///< when the first of what is held came
    uint64_t hold_ns;  ///< for so long
    bool is_late;      ///< that was not enough since the group met last
};

static struct barrier_relay *relay_of(struct barrier *barrier)
{
    if (barrier->relay == NULL) {
        barrier->relay = calloc(1, sizeof *barrier->relay);
        ensure_memory(barrier->relay != NULL);
        barrier->relay->hold_ns = HOLD_MIN_NS;
    }
    return barrier->relay;
}

// ---- up

static void write_body(const struct barrier_relay *relay,
                       struct wire_writer *writer)
{
    for (unsigned i = 0; i < relay->n_nodes; i++) {
        wire_put_arrived(writer, &relay->nodes[i]);
    }
    for (uint32_t i = 0; i < relay->n_values; i++) {
        wire_put_contribution(writer, &relay->values[i]);
    }
}

static void send_held(struct barrier *barrier)
{
    struct barrier_relay *relay = barrier->relay;
    const struct message_barrier_arrive *held = &relay->held;
    const node_id manager = manager_of(barrier->sync, barrier->key); // T1
    const size_t size = relay->n_nodes * WIRE_SIZE_arrived +
                        relay->n_values * WIRE_SIZE_contribution;
    uint8_t *body = scratch_get(barrier->sync, size);
    struct wire_writer writer = {.at = body, .end = body + size};
    struct message message = {.type = MESSAGE_barrier_relay,
                              .body = body,
                              .body_size = (uint32_t)size};

    write_body(relay, &writer);
    message.u.barrier_relay = (struct message_barrier_relay){
        .key = barrier->key,
        .n_threads = held->n_threads,
        .kind = held->kind,
        .op = held->op,
        .thread = held->thread,
        .place = held->place,
        .count = held->count,
        .n_nodes = (uint16_t)relay->n_nodes,
    };
    relay->held.n_threads = 0;
    relay->n_nodes = 0;
    relay->n_values = 0;
    order_relays(barrier->sync, barrier->key, manager); // T3
    send_to(barrier->sync, manager, &message);
}

static void keep(struct barrier *barrier, node_id from,
                 const struct message *message)
{
    const struct message_barrier_arrive *arrive = &message->u.barrier_arrive;
    struct wire_reader body = wire_read_body(message);
    struct barrier_relay *relay = barrier->relay;
    struct message_barrier_arrive *held = &relay->held;

    if (held->n_threads == 0) {
        *held = *arrive;
        relay->since_ns = time_now(barrier->sync);
        barrier_watch(barrier); // T6
    } else {
        held->n_threads += arrive->n_threads;
        held->count = arrive->count > held->count ? arrive->count : held->count;
    }
    relay->nodes[relay->n_nodes++] =
        (struct wire_arrived){from, arrive->n_threads};
    vector_reserve(relay->values, relay->n_room,
                   relay->n_values +
                       message->body_size / WIRE_SIZE_contribution);
    while (wire_has_more(&body)) { // T4
        relay->values[relay->n_values++] = wire_get_contribution(&body);
    }
}

static bool fits(const struct barrier_relay *relay,
                 const struct message_barrier_arrive *arrive)
{
    return relay->held.n_threads == 0 ||
           (arrive->kind == relay->held.kind && arrive->op == relay->held.op &&
            relay->n_nodes < NODES_MAX &&
            relay->held.n_threads + arrive->n_threads <= BARRIER_VALUES_MAX);
}

static bool is_complete(const struct barrier *barrier)
{
    return barrier->relay->held.n_threads > 0 &&
           (barrier->relay->held.n_threads >= barrier->relay->n_expected ||
            barrier->sync->is_frozen);
}

void relay_arrivals(struct barrier *barrier, node_id from,
                    const struct message *message)
{
    struct barrier_relay *relay = relay_of(barrier);

    if (!fits(relay, &message->u.barrier_arrive)) { // T5
        send_held(barrier);
    }
    keep(barrier, from, message);
    if (is_complete(barrier)) {
        send_held(barrier);
    }
}

static void learn(struct barrier_relay *relay, uint32_t n_group)
{
    if (relay->n_expected != n_group) {
        relay->hold_ns = HOLD_MIN_NS;
    } else if (relay->is_late && relay->hold_ns < HOLD_MAX_NS) {
        relay->hold_ns *= 2;
    }
    relay->is_late = false;
    relay->n_expected = n_group;
}

void relay_lead(struct barrier *barrier, uint32_t n_group)
{
    if (n_group == 0 && barrier->relay == NULL) {
        return;
    }
    learn(relay_of(barrier), n_group);
    if (is_complete(barrier)) {
        send_held(barrier);
    }
}

bool relay_poll(struct barrier *barrier, uint64_t now_ns)
{
    struct barrier_relay *relay = barrier->relay;

    if (relay == NULL || relay->held.n_threads == 0) {
        return false;
    }
    if (now_ns - relay->since_ns >= relay->hold_ns) {
        relay->is_late = true;
        send_held(barrier);
    }
    return relay->held.n_threads > 0;
}

// ---- down

static void tell(struct barrier *barrier,
                 const struct message_barrier_pass *pass,
                 const struct wire_passing *passing)
{
    struct message message = {.type = MESSAGE_barrier_leave};

    message.u.barrier_leave = (struct message_barrier_leave){
        .key = pass->key,
        .n_threads = passing->n_threads,
        .result = pass->result,
        .count = pass->count,
        .via = passing->via,
        .n_group = passing->n_group,
    };
    order_takes(barrier->sync, barrier->key, passing->node);
    send_to(barrier->sync, passing->node, &message);
}

static bool may_pass(const struct sync *sync, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_passing passing = wire_get_passing(&reader);

        if (!roster_has(&sync->port->roster, passing.node) ||
            passing.n_threads == 0) {
            return false;
        }
    }
    return message->body_size > 0 && !reader.failed;
}

tm_status barrier_receive_pass(struct sync *sync, node_id from,
                               const struct message *message)
{
    const struct message_barrier_pass *pass = &message->u.barrier_pass;
    struct wire_reader reader = wire_read_body(message);
    struct barrier *barrier = table_find(&sync->barriers, pass->key);

    if (from != manager_of(sync, pass->key) || barrier == NULL ||
        !may_pass(sync, message)) {
        return TM_EWIRE;
    }
    while (wire_has_more(&reader)) {
        const struct wire_passing passing = wire_get_passing(&reader);

        tell(barrier, pass, &passing);
    }
    return TM_OK;
}

// ---- members change

void barriers_freeze(struct sync *sync)
{
    struct barrier *barrier;

    for (size_t at = 0; (barrier = table_next(&sync->barriers, &at)) != NULL;) {
        if (barrier->relay != NULL && barrier->relay->held.n_threads > 0) {
            send_held(barrier);
        }
    }
}

void barriers_forget_ways(struct sync *sync)
{
    struct barrier *barrier;

    for (size_t at = 0; (barrier = table_next(&sync->barriers, &at)) != NULL;) {
        barrier->via = NODE_NONE;
        relay_lead(barrier, 0);
        for (unsigned i = 0; barrier->ways != NULL && i < TM_MAX_NODES; i++) {
            barrier->ways[i] = NODE_NONE;
        }
    }
}

// ---- checks and end

bool relay_is_valid(const struct barrier *barrier)
{
    const struct barrier_relay *relay = barrier->relay;
    uint64_t n = 0;

    if (relay == NULL) {
        return true;
    }
    for (unsigned i = 0; i < relay->n_nodes; i++) {
        n += relay->nodes[i].n_threads;
    }
    if (n != relay->held.n_threads ||
        relay->n_values != (kind_reduces(relay->held.kind) ? n : 0)) { // T5
        return false;
    }
    return n == 0 || (barrier->is_watched && !barrier->sync->is_frozen); // T6
}

void relay_free(struct barrier *barrier)
{
    if (barrier->relay != NULL) {
        free(barrier->relay->values);
        free(barrier->relay);
    }
}
