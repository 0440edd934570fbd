// SPDX-License-Identifier: BSD-3-Clause
//
// How the simulated threads meet: barriers and locks. In a world that `tells`, who
// releases goes on as soon as the engine lets it tell one node (`next` of
// engine_release()), by a message of this file; what follows from that message
// follows when it arrives. In the others a release counts when it has ended, for
// all nodes at once.
//
// With three nodes and more, whoever is told may tell everybody at once: all
// threads go on in the moment in which the last arrival is counted. Between two
// nodes the manager of a barrier goes on with its own updates still on their
// way, and the other node when it is told.
#include "audit.h"
#include "death.h"
#include "promise.h"

#include <string.h>

// As in sync: a third node hears of this node's writes from others as well.
static node_id next_of(const struct world *world, node_id from, node_id to)
{
    if (!world->tells) {
        return NODE_NONE;
    }
    if (to != from) {
        return to;
    }
    return roster_of(world)->n_live == 2
               ? roster_of(world)->live[roster_of(world)->live[0] == to]
               : NODE_NONE;
}

static void tell(struct world *world, node_id from, node_id to,
                 enum message_type type, uint64_t what)
{
    struct message message = {.type = type};

    if (type == MESSAGE_lock_grant) {
        message.u.lock_grant.key = what;
    } else {
        message.u.barrier_leave.key = what;
    }
    port_send(sim_port(world->sim, from), to, &message);
}

static void release_for(struct thread *thread, node_id next,
                        void (*then)(struct thread *))
{
    thread->then = then;
    thread->step = WAITING;
    engine_release(engine_of(thread), next, &thread->waiter);
}

void release_then(struct thread *thread, void (*then)(struct thread *))
{
    release_for(thread, NODE_NONE, then);
}

void deal_cells(struct world *world)
{
    for (unsigned i = 0; i < N_CELLS; i++) {
        if (world->owner[i] != -2) {
            // Runs of cells, so that pages are shared and not shared.
            world->owner[i] =
                i > 0 && world->owner[i - 1] != -2 &&
                        sim_random(world->sim, 200) != 0
                    ? world->owner[i - 1]
                    : (int8_t)((int)sim_random(world->sim,
                                               world->n_threads + 1) -
                               1);
        }
    }
}

static void order_behind_all(struct world *world, unsigned node)
{
    const struct roster *roster = roster_of(world);

    for (unsigned i = 0; i < roster->n_live; i++) {
        engine_order_now(world->nodes[node].engine,
                         world->nodes[roster->live[i]].engine);
    }
}

// Who has left knows of nothing.
void order_all(struct world *world)
{
    const struct roster *roster = roster_of(world);

    for (unsigned i = 0; i < roster->n_live; i++) {
        order_behind_all(world, roster->live[i]);
    }
}

// ---- barriers

void pass_one(struct thread *thread)
{
    thread->phase++;
    CHECK(thread->is_at_barrier);
    thread->is_at_barrier = 0;
    audit_depart(thread);
    thread->may_move = thread->world->has_changes;
    thread->ops_left = 10 + (unsigned)pick(thread, 40);
    thread->sweep = pick(thread, N_CELLS);
    thread->step = thread->phase < thread->world->n_phases ? CHOOSE : ENDED;
    if (thread->step == ENDED) {
        thread->world->n_ended++;
    } else {
        resume(thread);
    }
}

static void pass_at(struct world *world, node_id node)
{
    engine_acquired(world->nodes[node].engine);
    for (unsigned i = 0; i < world->n_threads; i++) {
        if (world->threads[i].node == node) {
            pass_one(&world->threads[i]);
        }
    }
}

// All threads have arrived, and none has gone on: nobody writes. (To look at a page
// that is on the disk would bring it in.)
static void check_released(struct world *world, node_id node)
{
    if (world->protocol == TM_EAGER_RELEASE && !world->has_budget) {
        check_copies(world, node);
    }
}

// Who has none hears of no barrier; one may come there meanwhile.
static int has_threads(const struct world *world, node_id node)
{
    for (unsigned i = 0; i < world->n_threads; i++) {
        if (world->threads[i].node == node) {
            return 1;
        }
    }
    return 0;
}

static void count_arrival(struct world *world)
{
    if (++world->n_arrived < world->n_threads) {
        return;
    }
    world->n_arrived = 0;
    world->counter_floor = world->counter_sum;
    order_all(world); // nobody goes on before its node is told
    promise_begin(world);
    deal_cells(world);
    for (node_id node = 0; node < world->n_nodes; node++) {
        if (!has_threads(world, node)) {
            continue;
        }
        if (world->tells && roster_of(world)->n_live == 2 &&
            node != world->manager) {
            tell(world, world->manager, node, MESSAGE_barrier_leave, 0);
        } else {
            check_released(world, node);
            pass_at(world, node);
        }
    }
}

void pass_barrier(struct thread *thread)
{
    audit_arrive(thread);
    thread->is_at_barrier = 1;
    if (thread->world->is_wide) {
        wide_arrive(thread);
        return;
    }
    thread->step = WAITING;
    thread->then = NULL;
    count_arrival(thread->world);
}

static void say_arrival(struct waiter *waiter)
{
    struct thread *thread = (struct thread *)waiter;
    struct world *world = thread->world;

    waiter->wake = thread->wake;
    if (world->tells && thread->node != world->manager) {
        tell(world, thread->node, world->manager, MESSAGE_barrier_arrive, 0);
    } else {
        count_arrival(world);
    }
}

void arrive(struct thread *thread)
{
    audit_arrive(thread);
    thread->is_at_barrier = 1;
    if (thread->world->is_wide) {
        wide_arrive(thread);
        return;
    }
    // At once, as the runtime does: nothing else may come between.
    thread->wake = thread->waiter.wake;
    thread->waiter.wake = say_arrival;
    release_for(thread,
                next_of(thread->world, thread->node, thread->world->manager),
                NULL);
}

// ---- locks

// Its address, so to speak.
static uint64_t key_of(const struct world *world, const struct lock *lock)
{
    return 1 + (uint64_t)(lock - world->locks);
}

static void grant(struct lock *lock, struct thread *thread)
{
    lock->holder = (int)thread->number;
    lock->node = thread->node;
    thread->lock_outside = thread->lock_held;
    thread->lock_held = (int)(lock - thread->world->locks);
    thread->lock_ops = 1 + (unsigned)pick(thread, 4);
    engine_acquired(engine_of(thread));
    engine_held(engine_of(thread), key_of(thread->world, lock), 1);
    audit_lock(thread, thread->lock_held);
    promise_lock(thread, thread->lock_held);
    thread->step = CHOOSE;
    resume(thread);
}

static void send_token(struct waiter *waiter)
{
    struct lock *lock = (struct lock *)waiter;
    struct thread *to = lock->to;
    struct world *world = to->world;

    if (world->tells) {
        engine_order_mutex(world->nodes[lock->node].engine, key_of(world, lock),
                           to->node, ORDER_MOVES);
        tell(world, lock->node, to->node, MESSAGE_lock_grant,
             (uint64_t)(lock - world->locks) * MAX_THREADS + to->number);
    } else {
        engine_order_mutex_now(engine_of(to), key_of(world, lock),
                               world->nodes[lock->node].engine);
        grant(lock, to);
    }
}

// The next one gets the lock: at its node, or when this node has released.
static void pass_on(struct world *world, struct lock *lock)
{
    struct thread *thread = &world->threads[lock->queue[0]];

    if (death_is_gone(world, lock->node)) {
        return; // and the token with it
    }
    lock->n_queue--;
    memmove(lock->queue, lock->queue + 1,
            lock->n_queue * sizeof lock->queue[0]);
    if (lock->node == thread->node) {
        grant(lock, thread);
        return;
    }
    lock->holder = MAX_THREADS; // on its way
    lock->waiter = (struct waiter){.wake = send_token};
    lock->to = thread;
    engine_release(world->nodes[lock->node].engine,
                   next_of(world, lock->node, thread->node), &lock->waiter);
}

void take_lock(struct thread *thread, unsigned number)
{
    struct lock *lock = &thread->world->locks[number];

    lock->queue[lock->n_queue++] = thread->number;
    thread->step = WAITING;
    thread->then = NULL;
    if (lock->holder < 0) {
        pass_on(thread->world, lock);
    }
}

void give_lock(struct thread *thread)
{
    struct lock *lock = &thread->world->locks[thread->lock_held];

    audit_unlock(thread, thread->lock_held);
    engine_held(engine_of(thread), key_of(thread->world, lock), 0);
    thread->lock_held = thread->lock_outside;
    thread->lock_outside = -1;
    lock->holder = -1;
    if (lock->n_queue > 0) {
        pass_on(thread->world, lock);
    }
    thread->step = CHOOSE;
    resume(thread);
}

// ---- what the messages bring

int meet_receive(struct world *world, node_id at, const struct message *message)
{
    uint64_t what = message->u.lock_grant.key;

    switch (message->type) {
    case MESSAGE_lock_grant:
        grant(&world->locks[what / MAX_THREADS],
              &world->threads[what % MAX_THREADS]);
        return 1;
    case MESSAGE_barrier_arrive:
        count_arrival(world);
        return 1;
    case MESSAGE_barrier_leave:
        pass_at(world, at);
        return 1;
    default:
        return 0;
    }
}
