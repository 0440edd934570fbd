// SPDX-License-Identifier: BSD-3-Clause
//
// Barriers, the node's part. Threads that arrive are held back and travel in
// one message, after one release:
//
//     gathering --flush: release--> sending --released: barrier_arrive-->
//     waiting --barrier_leave--> woken
//
// Flushed is when nobody else is likely to come soon:
//   a  as many are here as passed here the last time, or
//   b  all threads of the node are here, or
//   c  no thread of the node can arrive without being woken, or
//   d  they have gathered for 1 ms.
// c and d are found by sync_poll(). None is needed for the result, only for the
// number of messages.
//
// I1  The order in which threads arrive here is the order in which they pass:
//     barrier_leave says how many. (More threads than the count may use a
//     barrier; then some of a node pass and others stay.)
// I2  A message carries arrivals of one kind and operation. Others stay behind
//     and follow in the next.
// I3  The writes of a thread in `sending` were made before the release began:
//     who comes later goes to `gathering`.
// I4  A barrier where somebody gathers is watched.
// I5  They go to the manager, or to the node that leads this one (barrier_relay.c): to
//     which is changed only while none of them is on its way. So all of a node go one way,
//     which keeps I1, and what lets them pass comes back on it.
#include <stdio.h>
#include <stdlib.h>

#include "sync/barrier_priv.h"

#define GATHER_NS 1000000u

static void released(struct waiter *release);

struct barrier *barrier_of(struct sync *sync, uint64_t key)
{
    struct barrier *barrier = table_get(&sync->barriers, key);

    if (barrier->sync == NULL) { // it is new
        barrier->release.wake = released;
        barrier->sync = sync;
        barrier->key = key;
        barrier->via = NODE_NONE;
    }
    return barrier;
}

void barrier_watch(struct barrier *barrier)
{
    if (!barrier->is_watched) {
        barrier->is_watched = true;
        barrier->next_watched = barrier->sync->watched;
        barrier->sync->watched = barrier;
    }
}

/* Where arrivals go. */
static node_id route_of(const struct barrier *barrier)
{
    return barrier->via == NODE_NONE ? manager_of(barrier->sync, barrier->key)
                                     : barrier->via;
}

/* Kind and operation of an arrival, as kept in its waiter. */
static uint64_t way_of(uint8_t kind, uint8_t op)
{
    return kind | (uint64_t)op << 8;
}

static uint32_t n_here(const struct barrier *barrier)
{
    return barrier->gathering.n + barrier->sending.n + barrier->waiting.n;
}

static void tell(const struct barrier *barrier, enum sync_stage stage)
{
    const struct sync_ops *ops = &barrier->sync->ops;

    ops->at_barrier(ops->owner, barrier->key, stage);
}

static void flush(struct barrier *barrier)
{
    uint64_t way;

    if (barrier->gathering.n == 0) {
        return;
    }
    if (barrier->sending.n > 0) {
        barrier->is_flush_due = true;
        return;
    }
    way = barrier->gathering.first->result2;
    while (barrier->gathering.n > 0 &&
           barrier->sending.n < BARRIER_VALUES_MAX &&
           barrier->gathering.first->result2 == way) { // I2
        queue_push(&barrier->sending, queue_pop(&barrier->gathering));
    }
    barrier->is_flush_due = barrier->gathering.n > 0;
    tell(barrier, STAGE_ARRIVED);
    release_for(barrier->sync, route_of(barrier), &barrier->release);
}

static void write_values(struct barrier *barrier, struct message *message)
{
    uint32_t size = barrier->sending.n * WIRE_SIZE_contribution;
    uint8_t *body = scratch_get(barrier->sync, size);
    struct wire_writer writer = {.at = body, .end = body + size};

    for (const struct waiter *at = barrier->sending.first; at != NULL;
         at = at->next) {
        wire_put_contribution(
            &writer, &(struct wire_contribution){at->thread, at->result});
    }
    message->body = body;
    message->body_size = size;
}

static uint64_t most_counted(const struct waiter_queue *queue)
{
    uint64_t most = 0;

    for (const struct waiter *at = queue->first; at != NULL; at = at->next) {
        most = at->count > most ? at->count : most;
    }
    return most;
}

static void released(struct waiter *release)
{
    struct barrier *barrier = (struct barrier *)release;
    uint8_t kind = (uint8_t)barrier->sending.first->result2;
    struct message message = {.type = MESSAGE_barrier_arrive};

    message.u.barrier_arrive.key = barrier->key;
    message.u.barrier_arrive.n_threads = barrier->sending.n;
    message.u.barrier_arrive.kind = kind;
    message.u.barrier_arrive.op =
        (uint8_t)(barrier->sending.first->result2 >> 8);
    message.u.barrier_arrive.thread = barrier->sending.first->thread;
    message.u.barrier_arrive.place = barrier->sending.first->place;
    message.u.barrier_arrive.count = most_counted(&barrier->sending);
    if (kind_reduces(kind)) {
        write_values(barrier, &message);
    }
    tell(barrier, STAGE_SENT);
    order_gives(barrier->sync, barrier->key, route_of(barrier));
    send_to(barrier->sync, route_of(barrier), &message);
    while (barrier->sending.n > 0) {
        queue_push(&barrier->waiting, queue_pop(&barrier->sending));
    }
    if (barrier->is_flush_due) {
        flush(barrier);
    }
}

void sync_barrier_arrive(struct sync *sync, uint64_t key,
                         enum sync_arrival kind, tm_op op, uint64_t value,
                         struct waiter *waiter)
{
    struct barrier *barrier = barrier_of(sync, key);
    uint32_t n;

    waiter->result = value;
    waiter->result2 =
        way_of((uint8_t)kind, kind_reduces((uint8_t)kind) ? (uint8_t)op : 0);
    if (barrier->gathering.n == 0) {
        barrier->since_ns = sync->port->now_ns(sync->port->owner);
        barrier_watch(barrier);
    }
    queue_push(&barrier->gathering, waiter);
    n = n_here(barrier);
    if ((barrier->n_last > 0 && n >= barrier->n_last) ||
        n >= sync->ops.n_threads(sync->ops.owner)) {
        flush(barrier);
    }
}

/* Where the next arrivals are to go. I5 */
static void take_way(struct barrier *barrier,
                     const struct message_barrier_leave *leave)
{
    if (barrier->waiting.n == leave->n_threads && barrier->sending.n == 0) {
        barrier->via = leave->via;
    }
    relay_lead(barrier,
               leave->via == barrier->sync->port->self ? leave->n_group : 0);
}

tm_status barrier_receive_leave(struct sync *sync, node_id from,
                                const struct message *message)
{
    uint64_t key = message->u.barrier_leave.key;
    uint32_t n = message->u.barrier_leave.n_threads;
    struct barrier *barrier = table_find(&sync->barriers, key);

    if (barrier == NULL || from != route_of(barrier) || n == 0 ||
        n > barrier->waiting.n ||
        !roster_has(&sync->port->roster, message->u.barrier_leave.via)) {
        return TM_EWIRE;
    }
    take_way(barrier, &message->u.barrier_leave);
    barrier->n_last = n;
    sync->n_barriers++;
    if (sync->most < message->u.barrier_leave.count) {
        sync->most = message->u.barrier_leave.count;
    }
    tell(barrier, STAGE_PASSING);
    for (; n > 0; n--) {
        struct waiter *waiter = queue_pop(&barrier->waiting);

        if (waiter->count < message->u.barrier_leave.count) {
            waiter->count = message->u.barrier_leave.count;
        }
        waiter_wake(waiter, TM_OK, message->u.barrier_leave.result);
    }
    return TM_OK;
}

void barrier_poll(struct sync *sync, int workers_are_idle)
{
    struct barrier **link = &sync->watched;
    uint64_t now_ns;

    if (sync->watched == NULL) {
        return;
    }
    now_ns = sync->port->now_ns(sync->port->owner);
    workers_are_idle |= sync->ops.n_active(sync->ops.owner) == 0;
    while (*link != NULL) {
        struct barrier *barrier = *link;

        if (workers_are_idle || now_ns - barrier->since_ns >= GATHER_NS) {
            flush(barrier);
        }
        meeting_poll(barrier, now_ns);
        if (!relay_poll(barrier, now_ns) && barrier->gathering.n == 0 &&
            barrier->n_arrived == 0) {
            *link = barrier->next_watched;
            barrier->is_watched = false;
        } else {
            link = &barrier->next_watched;
        }
    }
}

static const struct waiter *thread_at(const struct barrier *barrier,
                                      uint32_t position)
{
    if (position < barrier->waiting.n) {
        return queue_at(&barrier->waiting, position);
    }
    position -= barrier->waiting.n;
    if (position < barrier->sending.n) {
        return queue_at(&barrier->sending, position);
    }
    return queue_at(&barrier->gathering, position - barrier->sending.n);
}

enum wait_line barrier_wait_line(const struct sync *sync, uint32_t place,
                                 uint32_t position, char *text, size_t size)
{
    const struct barrier *barrier;
    unsigned long long key;

    if (place >= sync->barriers.map.capacity) {
        return LINE_NO_PLACE;
    }
    barrier = map_at(&sync->barriers.map, place);
    if (barrier == NULL || position > n_here(barrier)) {
        return LINE_NEXT_PLACE;
    }
    key = barrier->key;
    if (position < n_here(barrier)) {
        snprintf(text, size, "thread %llu waits at barrier 0x%llx",
                 (unsigned long long)thread_at(barrier, position)->thread, key);
    } else if (barrier->n_arrived > 0) {
        snprintf(text, size, "barrier 0x%llx: %u of %u threads have arrived",
                 key, barrier->n_arrived, barrier->count);
    } else {
        return LINE_NEXT_PLACE;
    }
    return LINE_WRITTEN;
}

static bool node_part_is_valid(const struct barrier *barrier)
{
    const struct waiter *first = barrier->sending.first;

    if (!queue_is_valid(&barrier->gathering) ||
        !queue_is_valid(&barrier->sending) ||
        !queue_is_valid(&barrier->waiting)) {
        return false;
    }
    for (const struct waiter *at = first; at != NULL; at = at->next) {
        if (at->result2 != first->result2) { // I2
            return false;
        }
    }
    if (barrier->is_flush_due && barrier->sending.n == 0) {
        return false;
    }
    return barrier->is_watched || barrier->gathering.n == 0; // I4
}

bool barrier_is_valid(const struct sync *sync, const void *record)
{
    (void)sync;
    return node_part_is_valid(record) && meeting_is_valid(record) &&
           relay_is_valid(record);
}

bool barriers_are_watched(const struct sync *sync)
{
    const struct barrier *barrier;
    uint32_t n_watched = 0;

    for (barrier = sync->watched; barrier != NULL;
         barrier = barrier->next_watched) {
        n_watched++;
    }
    for (size_t at = 0; (barrier = table_next(&sync->barriers, &at)) != NULL;) {
        n_watched -= barrier->is_watched;
    }
    return n_watched == 0;
}

void barrier_release_all(struct sync *sync)
{
    struct barrier *barrier;

    for (size_t at = 0; (barrier = table_next(&sync->barriers, &at)) != NULL;) {
        free(barrier->n_of_node);
        free(barrier->ways);
        free(barrier->values);
        relay_free(barrier);
    }
}
