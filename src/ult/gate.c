// SPDX-License-Identifier: BSD-3-Clause
//
// While the uses of pages are tracked, what is mapped belongs to one thread, so
// one worker at a time may run one. Workers take turns at the gate: a worker
// enters before it runs a thread and leaves when that has switched away. A
// thread that waits in place keeps the gate, and must not wait for another
// thread of the node.
//
//   open --gate_close--> closed --gate_open--> open
//
// I1 Entering is in the order of asking: a thread that yields lets those of other
//    workers run, as it would without the gate.
// I2 A ticket is the generation in which it was given. One of an earlier
//    generation is void: its holder has long been outside.
// I3 Threads that run while the gate is closed are outside until their worker
//    runs the next one, or they ask for it themselves.
#include "ult/gate.h"

#include "base/clock.h"
#include "os/kthread.h"

void gate_init(struct gate *gate)
{
    *gate = (struct gate){0};
    mutex_init(&gate->mutex, RANK_SCHED);
}

void gate_release(struct gate *gate)
{
    mutex_release(&gate->mutex);
}

// REQUIRES(gate->mutex)
static void tell_all(struct gate *gate)
{
    atomic_fetch_add(&gate->changes, 1);
    kthread_wake_all(&gate->changes);
}

void gate_close(struct gate *gate)
{
    mutex_lock(&gate->mutex);
    gate->generation += gate->generation == UINT32_MAX ? 2 : 1; // never 0
    gate->n_tickets = 0;
    gate->n_done = 0;
    atomic_store_explicit(&gate->is_closed, 1, memory_order_release);
    mutex_unlock(&gate->mutex);
}

void gate_open(struct gate *gate)
{
    mutex_lock(&gate->mutex);
    atomic_store_explicit(&gate->is_closed, 0, memory_order_release);
    tell_all(gate);
    mutex_unlock(&gate->mutex);
}

// Wait for a turn of the present generation. REQUIRES(gate->mutex)
// @return 1 it has come, 0 the gate has been opened since
static int take_turn(struct gate *gate)
{
    uint32_t generation = gate->generation;
    uint64_t place = gate->n_tickets++;

    while (gate_is_closed(gate) && gate->generation == generation &&
           gate->n_done != place) {
        uint32_t changes = atomic_load(&gate->changes);

        mutex_unlock(&gate->mutex);
        kthread_wait(&gate->changes, changes, 0);
        mutex_lock(&gate->mutex);
    }
    return gate_is_closed(gate) && gate->generation == generation;
}

int gate_enter(struct gate *gate, uint32_t *ticket)
{
    int is_inside = 0;

    mutex_lock(&gate->mutex);
    while (!is_inside && gate_is_closed(gate) && *ticket != gate->generation) {
        is_inside = take_turn(gate);
    }
    if (is_inside) {
        *ticket = gate->generation;
        gate->since_ns = clock_now_ns();
    }
    mutex_unlock(&gate->mutex);
    return is_inside;
}

void gate_leave(struct gate *gate, uint32_t *ticket)
{
    if (*ticket == 0) {
        return;
    }
    mutex_lock(&gate->mutex);
    if (*ticket == gate->generation && gate_is_closed(gate)) { // I2
        gate->n_done++;
        tell_all(gate);
    }
    *ticket = 0;
    mutex_unlock(&gate->mutex);
}

int gate_is_stuck(struct gate *gate, uint64_t ns)
{
    int is_stuck;

    mutex_lock(&gate->mutex);
    is_stuck = gate_is_closed(gate) && gate->n_tickets > gate->n_done + 1 &&
               clock_now_ns() - gate->since_ns > ns;
    mutex_unlock(&gate->mutex);
    return is_stuck;
}
