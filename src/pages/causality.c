// SPDX-License-Identifier: BSD-3-Clause
//
// What comes after what: vector clocks of nodes ([Mattern89]). A node counts its
// releases. Its clock says how many releases of each node all that its threads do from
// now on comes after; every object of the program that orders threads (a mutex, a
// barrier, the end of a thread) has one too, at the node that manages it. Clocks travel
// in CLOCK, in front of the message that does the ordering, on the same way, so they
// need no place in that one:
//
//   way     from              to              with
//   gives   the node's clock  the object's    what follows a release: a token that goes
//                                             back, an arrival, a post, a signal, the end
//                                             of a thread
//   takes   the object's      the node's      what lets a thread go on: a token, the
//                                             opening of a barrier, a thread that starts
//   moves   the node's        the node's      a thread that moves to another node; a
//                                             page of `sequential`; a token that goes
//                                             to the next node, past its manager
//   passes  the object's      the object's    a request that is passed on
//   comes   the object's      the node's      within a node, at once: an unlock by a thread
//                                             of another node, where the token is
//
// A token that goes past its manager leaves the mutex's clock behind there. Nothing is lost:
// who had the token comes after all that the mutex did, and says so when it gives it back.
//
// Blocks that are given out come after all that were freed, and atomic operations of
// one owner come one after another: each of these has one object. That may order
// what the program does not, so a race may be missed; none is invented.
//
// O1 A clock is only ever raised.
// O2 A release counts before its diffs are sent, so the diffs of the Nth say N, and
//    who has not heard of N of this node has seen none of them.
// O3 Who is told of a release by CLOCK is told after its diffs are in place at the
//    owners of the pages, or behind them on the same way (`next` of engine_release()).
//    So of two diffs that are ordered an owner gets the first one first.
// O4 What was written before a node hears of more does not come after that: it is
//    released first, if no release is under way. (Else it is taken for ordered.)
#include "pages/causality.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "base/list.h"
#include "pages/pages.h"

#define BUCKETS 1024u

/** How many releases of each node something comes after. */
struct clock {
    uint32_t *of; ///< [n]; 0 of other nodes
    unsigned n;
};

/** Of the program's, or one of the numbers above them. */
struct ordering_object {
    struct ordering_object *next;
    uint64_t key;
    struct clock clock;
};

struct causality {
    struct clock own; ///< what this node comes after; of itself, releases begun
    struct ordering_object *objects[BUCKETS]; ///< by key
    uint8_t bytes[CLOCK_BYTES_MAX]; ///< `own`, as of the release under way
    uint16_t size;
};

// ---- clocks

static uint32_t clock_get(const struct clock *clock, unsigned node)
{
    return node < clock->n ? clock->of[node] : 0;
}

static void clock_raise(struct clock *clock, unsigned node, uint32_t count)
{
    if (node >= clock->n) {
        clock->of = realloc(clock->of, (node + 1) * sizeof *clock->of);
        ensure_memory(clock->of != NULL);
        while (clock->n <= node) {
            clock->of[clock->n++] = 0;
        }
    }
    if (count > clock->of[node]) {
        clock->of[node] = count;
    }
}

// @param[out] bytes  [CLOCK_BYTES_MAX]
static uint16_t clock_write(const struct clock *clock, uint8_t *bytes)
{
    struct wire_writer writer = {bytes, bytes + CLOCK_BYTES_MAX, 0};

    for (unsigned i = 0; i < clock->n; i++) {
        if (clock->of[i] > 0) {
            wire_put_clock_entry(
                &writer, &(struct wire_clock_entry){(uint16_t)i, clock->of[i]});
        }
    }
    return (uint16_t)(writer.at - bytes);
}

int clock_bytes_are_good(const void *bytes, size_t size)
{
    struct wire_reader reader = wire_read(bytes, size);
    unsigned next = 0;

    if (size % WIRE_SIZE_clock_entry != 0) {
        return 0;
    }
    while (wire_has_more(&reader)) {
        const struct wire_clock_entry entry = wire_get_clock_entry(&reader);

        if (entry.node < next || entry.node >= TM_MAX_NODES ||
            entry.n_releases == 0) {
            return 0;
        }
        next = entry.node + 1u;
    }
    return 1;
}

uint32_t clock_count(const void *bytes, size_t size, node_id node)
{
    struct wire_reader reader = wire_read(bytes, size);

    while (wire_has_more(&reader)) {
        const struct wire_clock_entry entry = wire_get_clock_entry(&reader);

        if (entry.node == node) {
            return entry.n_releases;
        }
    }
    return 0;
}

static void clock_join(struct clock *clock, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_clock_entry entry = wire_get_clock_entry(&reader);

        clock_raise(clock, entry.node, entry.n_releases);
    }
}

static int raises_clock(const struct clock *clock,
                        const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_clock_entry entry = wire_get_clock_entry(&reader);

        if (entry.n_releases > clock_get(clock, entry.node)) {
            return 1;
        }
    }
    return 0;
}

// ---- objects

static struct ordering_object **place_of(struct causality *causality,
                                         uint64_t key)
{
    // Numbers of threads differ in the low bits, addresses above them.
    struct ordering_object **link =
        &causality->objects[(key ^ key >> 6 ^ key >> 16) % BUCKETS];

    while (*link != NULL && (*link)->key != key) {
        link = &(*link)->next;
    }
    return link;
}

static struct clock *clock_of(struct causality *causality, uint64_t key)
{
    struct ordering_object **link = place_of(causality, key);

    if (*link == NULL) {
        *link = calloc(1, sizeof **link);
        ensure_memory(*link != NULL);
        (*link)->key = key;
    }
    return &(*link)->clock;
}

// ---- public

void causality_begin_release(struct engine *engine)
{
    struct causality *causality = engine->causality;
    node_id self = engine->port->self;

    clock_raise(&causality->own, self,
                clock_get(&causality->own, self) + 1); // O2
    causality->size = clock_write(&causality->own, causality->bytes);
}

static void send_clock(struct engine *engine, uint64_t object, node_id to,
                       enum order_way way)
{
    struct causality *causality = engine->causality;
    uint8_t bytes[CLOCK_BYTES_MAX];
    struct message message = {.type = MESSAGE_clock, .body = bytes};

    if (causality == NULL) {
        return;
    }
    message.goes_along = 1; // what it orders is next
    message.u.clock.object = object;
    message.u.clock.way = (uint8_t)way;
    message.body_size = clock_write(way == ORDER_TAKES || way == ORDER_PASSES
                                        ? clock_of(causality, object)
                                        : &causality->own,
                                    bytes);
    if (message.body_size > 0) {
        port_send(engine->port, to, &message);
    }
}

static void join_own(struct engine *engine, const struct clock *clock)
{
    bases_release_early(engine); // O4
    for (unsigned i = 0; i < clock->n; i++) {
        clock_raise(&engine->causality->own, i, clock->of[i]);
    }
}

void engine_order(struct engine *engine, uint64_t object, node_id to,
                  enum order_way way)
{
    if (to != engine->port->self) {
        bases_order(engine, to, NO_MUTEX);
    }
    if (way != ORDER_COMES) {
        send_clock(engine, object, to, way);
    } else if (engine->causality != NULL) {
        join_own(engine, clock_of(engine->causality, object));
    }
}

void engine_order_mutex(struct engine *engine, uint64_t mutex, node_id to,
                        enum order_way way)
{
    if (to != engine->port->self) {
        bases_order(engine, to, mutex);
    }
    send_clock(engine, mutex, to, way);
}

void engine_held(struct engine *engine, uint64_t mutex, int is_held)
{
    bases_held(engine, mutex, is_held);
}

static void join_now(struct engine *engine, struct engine *before)
{
    if (engine->causality != NULL) {
        join_own(engine, &before->causality->own);
    }
}

void engine_order_mutex_now(struct engine *engine, uint64_t mutex,
                            struct engine *before)
{
    if (engine != before) {
        bases_order_now(engine, before, mutex);
        join_now(engine, before);
    }
}

void engine_order_now(struct engine *engine, struct engine *before)
{
    engine_order_mutex_now(engine, NO_MUTEX, before);
}

tm_status causality_receive(struct engine *engine,
                            const struct message *message)
{
    struct causality *causality = engine->causality;
    uint8_t way = message->u.clock.way;

    if (causality == NULL || way > ORDER_PASSES ||
        !clock_bytes_are_good(message->body, message->body_size)) {
        return TM_EWIRE;
    }
    if (way == ORDER_GIVES || way == ORDER_PASSES) {
        clock_join(clock_of(causality, message->u.clock.object), message);
    } else if (raises_clock(&causality->own, message)) {
        bases_release_early(engine); // O4
        clock_join(&causality->own, message);
    }
    return TM_OK;
}

const void *causality_of_release(const struct engine *engine, uint16_t *size)
{
    *size = engine->causality->size;
    return engine->causality->bytes;
}

// (A mutex that its holder unlocks elsewhere is handed to one that waits here; a
// thread that moves here comes behind the first of its messages.)
int causality_is_acquire(enum message_type type)
{
    switch (type) {
    case MESSAGE_atomic_done:
    case MESSAGE_alloc_done: // what was freed elsewhere may be its bytes
    case MESSAGE_cells_freed:
    case MESSAGE_lock_grant:
    case MESSAGE_unlock_away:
    case MESSAGE_cond_wake:
    case MESSAGE_barrier_leave:
    case MESSAGE_call_done:
    case MESSAGE_thread_start:
    case MESSAGE_thread_move:
    case MESSAGE_task_give:
    case MESSAGE_task_done:
    case MESSAGE_loaded: // pages of a checkpoint
        return 1;
    default:
        return 0;
    }
}

tm_status causality_open(struct engine *engine)
{
    engine->causality = calloc(1, sizeof *engine->causality);
    return engine->causality != NULL ? TM_OK : TM_ENOMEM;
}

void causality_close(struct engine *engine)
{
    struct causality *causality = engine->causality;

    if (causality == NULL) {
        return;
    }
    for (unsigned i = 0; i < BUCKETS; i++) {
        list_take_each (object, causality->objects[i]) {
            free(object->clock.of);
            free(object);
        }
    }
    free(causality->own.of);
    free(causality);
    engine->causality = NULL;
}
