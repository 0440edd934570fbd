// SPDX-License-Identifier: BSD-3-Clause
//
// Iterations, this node's part: what its threads did from one to the next, told to
// the root with the arrival at the barrier that ends it.
//
//   iteration_note     a thread arrives: its computation time since it last did
//   STAGE_ARRIVED      those gathered have arrived; the release begins
//   STAGE_SENT         the release is over, or out: the report leaves, then the
//                      arrival
//   STAGE_PASSING      the barrier is open; the next one begins
//
// A node is busy from STAGE_PASSING to STAGE_SENT. Where an iteration has several
// barriers the waits between are left out, so the busy times of nodes can be
// compared: they differ as the work does.
//
// Which barriers end an iteration: those of tm_iteration_end(), once the program
// has called it. With --move-at=barriers the root looks for a period in the sequence
// of all barriers before, and tells it (reconfig/period.h); again, if the program goes on
// to other barriers.
//
// Threads count for themselves, so that all nodes mean the same barrier: n_barriers
// moves with a thread. It counts ends of iterations, but where a period is looked for all
// barriers. Those that meet at a barrier go on with the most that one of them
// has counted, and new threads begin with the most that their node knows of. So the
// iterations of threads that are created after others have ended go on from theirs.
#include "runtime/iteration.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/random.h"
#include "base/vector.h"
#include "runtime/node.h"
#include "runtime/observer.h"
#include "runtime/paging.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"

#include <stdlib.h>

/** A thread that has arrived. */
struct arrival {
    uint64_t thread;
    uint64_t comp_ns;
    uint64_t n_barriers;
    uint32_t place;
    unsigned worker;
};

#define PEERS_MAX (10u * TM_MAX_NODES) // bytes: which node, how much for it
/** Workers are left as they are for a gain of less than one part in so many. */
#define LEAST_PART 16u

#define BATCH ((MESSAGE_BODY_MAX - PEERS_MAX) / WIRE_SIZE_thread_iteration)

// Calls of which one is measured: reading the clock costs as much as what is measured.
// No divisor of usual numbers of threads.
#define PROBED 17

uint64_t iteration_probe(struct node *node)
{
    return node->iteration.n_probed++ % PROBED == 0 ? clock_thread_cpu_ns() : 0;
}

void iteration_probe_end(struct node *node, uint64_t began_ns)
{
    if (began_ns > 0) {
        node->iteration.spent_ns += PROBED * meter_cpu_since(node, began_ns);
    }
}

// Who reads the clock twice sees what one reading takes.
static uint64_t clock_cost_ns(void)
{
    uint64_t least_ns = UINT64_MAX;

    for (unsigned i = 0; i < 16; i++) {
        uint64_t began_ns = clock_thread_cpu_ns();
        uint64_t ns = clock_thread_cpu_ns() - began_ns;

        least_ns = ns < least_ns ? ns : least_ns;
    }
    return least_ns;
}

void iteration_start(struct node *node)
{
    struct iteration *iteration = &node->iteration;

    iteration->clock_ns = clock_cost_ns();
    iteration->mode = node->options.move_at == MOVE_AT_BARRIERS
                          ? ITERATION_SEARCH
                          : ITERATION_MARKED;
    iteration->began_ns = clock_now_ns();
    iteration->started_ns = iteration->began_ns;
    iteration->wall_ns = calloc(node->n_workers, sizeof *iteration->wall_ns);
    ensure_memory(iteration->wall_ns != NULL);
}

// Where in the program, and at which barrier: the same on all nodes.
static uint32_t place_of(const struct thread *thread, uint64_t key)
{
    return (uint32_t)random_mix(thread->place * 31 + key);
}

static struct arrival *next_arrival(struct iteration *iteration)
{
    if (iteration->is_reported) {
        iteration->n_arrivals = 0;
        iteration->is_reported = 0;
    }
    vector_reserve(iteration->arrivals, iteration->n_room,
                   iteration->n_arrivals + 1);
    return &iteration->arrivals[iteration->n_arrivals++];
}

static int ends_iteration(struct iteration *iteration,
                          const struct thread *thread, enum sync_arrival kind)
{
    if (kind == ARRIVE_ITERATION) {
        iteration->mode = ITERATION_MARKED;
        return 1;
    }
    return iteration->mode == ITERATION_PERIOD &&
           thread->n_barriers % iteration->period == iteration->phase;
}

// Processor time since the last note, without what handling faults took.
static uint64_t computed_ns(struct thread *thread)
{
    uint64_t now_ns = ult_charge_self();
    uint64_t used_ns = now_ns - thread->noted_ns;
    uint64_t handling_ns = thread->handling_ns;

    thread->noted_ns = now_ns;
    thread->handling_ns = 0;
    return used_ns > handling_ns ? used_ns - handling_ns : 0;
}

static int counts_ends_only(const struct iteration *iteration)
{
    return iteration->mode == ITERATION_MARKED ||
           iteration->mode == ITERATION_OFF;
}

uint64_t iteration_ended_by(const struct iteration *iteration,
                            const struct thread *thread)
{
    return counts_ends_only(iteration) ? thread->n_barriers : 0;
}

int iteration_note(struct node *node, struct thread *thread, uint64_t key,
                   enum sync_arrival kind)
{
    struct iteration *iteration = &node->iteration;
    uint64_t probe = iteration_probe(node);
    int is_end;

    if (kind == ARRIVE_ITERATION || !counts_ends_only(iteration)) {
        thread->n_barriers++; // the threads of an iteration count alike
    }
    if (iteration->mode == ITERATION_OFF) {
        iteration->is_ending |= kind == ARRIVE_ITERATION;
        return kind == ARRIVE_ITERATION;
    }
    is_end = ends_iteration(iteration, thread, kind);
    iteration->is_ending |= is_end;
    if (is_end || iteration->mode == ITERATION_SEARCH) {
        *next_arrival(iteration) = (struct arrival){
            .thread = thread->number,
            .comp_ns = computed_ns(thread),
            .n_barriers = thread->n_barriers,
            .place = place_of(thread, key),
            .worker = ult_worker(thread->ult),
        };
        iteration->is_marked |= is_end;
    }
    iteration_probe_end(node, probe);
    return is_end;
}

// The time of the busiest worker.
static uint64_t longest_ns(struct node *node, const struct iteration *iteration)
{
    uint64_t longest = 0;

    for (unsigned worker = 0; worker < node->n_workers; worker++) {
        uint64_t sum_ns = 0;

        for (uint32_t i = 0; i < iteration->n_arrivals; i++) {
            if (iteration->arrivals[i].worker == worker) {
                sum_ns += iteration->arrivals[i].comp_ns;
            }
        }
        longest = sum_ns > longest ? sum_ns : longest;
    }
    return longest;
}

// What the busiest worker has spent in threads since the last report, by the wall
// clock: if another job takes the processor, the node is slower.
static uint64_t computed_wall_ns(struct node *node, struct iteration *iteration)
{
    uint64_t longest = 0;

    for (unsigned i = 0; i < node->n_workers; i++) {
        uint64_t now_ns = ult_worker_wall_ns(node->ult, i);
        uint64_t ns = now_ns - iteration->wall_ns[i];

        longest = ns > longest ? ns : longest;
        iteration->wall_ns[i] = now_ns;
    }
    return longest;
}

// To whom this node has sent, by their places among the live nodes: the root, whose
// roster is the same, knows nodes by these.
static uint16_t put_peers(struct node *node, struct iteration *iteration,
                          struct wire_writer *writer)
{
    const struct roster *roster = &node->port.roster;
    uint16_t n_peers = 0;

    for (unsigned i = 0; i < roster->n_live; i++) {
        uint64_t *bytes = &iteration->sent_bytes[roster->live[i]];

        if (*bytes > 0) {
            wire_put_peer_bytes(writer,
                                &(struct wire_peer_bytes){(uint16_t)i, *bytes});
            *bytes = 0;
            n_peers++;
        }
    }
    return n_peers;
}

static void put_arrivals(struct wire_writer *writer,
                         const struct arrival *arrivals, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        wire_put_thread_iteration(writer,
                                  &(struct wire_thread_iteration){
                                      .thread = arrivals[i].thread,
                                      .comp_ns = arrivals[i].comp_ns,
                                      .n_barriers = arrivals[i].n_barriers,
                                      .place = arrivals[i].place,
                                  });
    }
}

// A part of a report, from an arrival on. What follows the first adds threads, not
// time.
// @return arrivals in it
static uint32_t send_part(struct node *node, struct iteration *iteration,
                          struct message_iteration fields, uint32_t first)
{
    const uint32_t n_left = iteration->n_arrivals - first;
    const uint32_t n = n_left < BATCH ? n_left : BATCH;
    const size_t room = n * WIRE_SIZE_thread_iteration + PEERS_MAX;
    uint8_t *body = malloc(room);
    struct wire_writer writer = {body, body + room, 0};
    struct message message = {.type = MESSAGE_iteration, .body = body};

    ensure_memory(body != NULL);
    if (first == 0) {
        fields.n_peers = put_peers(node, iteration, &writer);
    } else {
        fields = (struct message_iteration){.memory = fields.memory,
                                            .free = fields.free,
                                            .marked = fields.marked};
    }
    put_arrivals(&writer, iteration->arrivals + first, n);
    message.u.iteration = fields;
    message.body_size = (uint32_t)(writer.at - body);
    port_send(&node->port, 0, &message);
    free(body);
    return n;
}

// Threads that wait for memory wait in place: their worker's time goes on.
static void add_memory(struct node *node, struct message_iteration *report)
{
    struct memory_use use;

    paging_take_use(node, &use);
    report->mem_ns = use.wait_ns;
    report->out_ns = use.out_ns;
    report->pages_in = use.n_pages;
    report->pages_out = use.n_gone;
    report->free = sample_get(&observer_sample(node)->available);
    report->memory = use.budget;
    report->comp_ns -=
        use.wait_ns < report->comp_ns ? use.wait_ns : report->comp_ns;
}

// @return MARKED_ of a report
static uint8_t how_marked(const struct iteration *iteration)
{
    if (!iteration->is_marked) {
        return MARKED_NOT;
    }
    return iteration->mode == ITERATION_MARKED ? MARKED_BY_PROGRAM
                                               : MARKED_BY_PERIOD;
}

static void send_report(struct node *node, struct iteration *iteration)
{
    struct message_iteration fields = {
        .busy_ns = iteration->busy_ns,
        .comp_ns = computed_wall_ns(node, iteration),
        .release_ns = iteration->release_ns,
        .marked = how_marked(iteration),
    };
    uint32_t n = 0;

    add_memory(node, &fields);
    while (n < iteration->n_arrivals) {
        n += send_part(node, iteration, fields, n);
    }
    iteration->is_reported = 1;
    iteration->busy_ns = 0;
    iteration->release_ns = 0;
    iteration->was_marked = iteration->is_marked;
    iteration->is_marked = 0;
}

static void count_sent(struct node *node, struct iteration *iteration)
{
    uint64_t now_ns = clock_now_ns();

    iteration->busy_ns += now_ns - iteration->began_ns;
    iteration->release_ns += now_ns - iteration->arrived_ns;
    iteration->began_ns = now_ns;
    if (iteration->n_arrivals > 0 && !iteration->is_reported) {
        uint64_t probe = iteration_probe(node);

        send_report(node, iteration);
        iteration_probe_end(node, probe);
    }
}

// ---- workers

static int compare_arrivals(const void *left, const void *right)
{
    const struct arrival *a = left;
    const struct arrival *b = right;

    if (a->comp_ns != b->comp_ns) {
        return a->comp_ns < b->comp_ns ? 1 : -1;
    }
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static unsigned least_loaded(struct node *node, const uint64_t *load_ns)
{
    unsigned least = 0;

    for (unsigned i = 1; i < node->n_workers; i++) {
        least = load_ns[i] < load_ns[least] ? i : least;
    }
    return least;
}

// Deal the threads out as the model takes it to be (model/workers.h): longest
// first, to whom has least. @param worker_of  [n_arrivals]
// @return the load of the busiest worker
static uint64_t deal(struct node *node, const struct iteration *iteration,
                     unsigned *worker_of)
{
    uint64_t *load_ns = calloc(node->n_workers, sizeof *load_ns);
    uint64_t most_ns = 0;

    ensure_memory(load_ns != NULL);
    for (uint32_t i = 0; i < iteration->n_arrivals; i++) {
        const struct arrival *arrival = &iteration->arrivals[i];

        // main() stays with its worker
        worker_of[i] = arrival->thread == 0 ? 0 : least_loaded(node, load_ns);
        load_ns[worker_of[i]] += arrival->comp_ns;
        if (load_ns[worker_of[i]] > most_ns) {
            most_ns = load_ns[worker_of[i]];
        }
    }
    free(load_ns);
    return most_ns;
}

// Threads have come or gone, or differ: all of them are parked now.
static void balance_workers(struct node *node, struct iteration *iteration)
{
    uint64_t longest = longest_ns(node, iteration);
    unsigned *worker_of = malloc(iteration->n_arrivals * sizeof *worker_of);

    ensure_memory(worker_of != NULL);
    qsort(iteration->arrivals, iteration->n_arrivals,
          sizeof *iteration->arrivals, compare_arrivals);
    if (deal(node, iteration, worker_of) < longest - longest / LEAST_PART) {
        for (uint32_t i = 0; i < iteration->n_arrivals; i++) {
            struct thread *thread =
                thread_find(node, iteration->arrivals[i].thread);

            if (thread != NULL) {
                ult_assign(thread->ult, worker_of[i]);
            }
        }
    }
    free(worker_of);
}

static void pass(struct node *node, struct iteration *iteration)
{
    iteration->began_ns = clock_now_ns();
    if (iteration->was_marked && iteration->is_reported &&
        node->n_workers > 1 && iteration->n_arrivals > 1) {
        balance_workers(node, iteration);
    }
    iteration->was_marked = 0;
}

static void count_passed(struct iteration *iteration)
{
    iteration->n_barriers++;
    if (iteration->is_ending) {
        iteration->n_ended++;
        iteration->n_in_last = iteration->n_barriers;
        iteration->n_barriers = 0;
    }
    iteration->is_ending = 0;
}

void iteration_at_barrier(void *owner, uint64_t key, enum sync_stage stage)
{
    struct node *node = owner;
    struct iteration *iteration = &node->iteration;

    tracking_at_barrier(node, key, stage);
    if (stage == STAGE_PASSING) {
        count_passed(iteration);
    }
    if (iteration->mode == ITERATION_OFF) {
        return;
    }
    switch (stage) {
    case STAGE_ARRIVED:
        iteration->arrived_ns = clock_now_ns();
        break;
    case STAGE_SENT:
        count_sent(node, iteration);
        break;
    case STAGE_PASSING:
        pass(node, iteration);
        break;
    }
}

void iteration_tell_mode(struct node *node, node_id id)
{
    const struct iteration *iteration = &node->iteration;
    struct message message = {.type = MESSAGE_iteration_mode};

    switch (iteration->mode) {
    case ITERATION_OFF:
    case ITERATION_SEARCH: // as it begins
        return;
    case ITERATION_PERIOD:
        message.u.iteration_mode.period = iteration->period;
        message.u.iteration_mode.phase = iteration->phase;
        break;
    case ITERATION_UNKNOWN:
        message.u.iteration_mode.phase = PERIOD_NONE;
        break;
    case ITERATION_MARKED:
        message.u.iteration_mode.phase = PERIOD_MARKED;
        break;
    }
    port_send(&node->port, id, &message);
}

static enum iteration_mode mode_of(const struct iteration *iteration)
{
    if (iteration->period > 0) {
        return ITERATION_PERIOD;
    }
    switch (iteration->phase) {
    case PERIOD_NONE:
        return ITERATION_UNKNOWN;
    case PERIOD_SEARCH:
        return ITERATION_SEARCH;
    default:
        return ITERATION_MARKED;
    }
}

void iteration_receive_mode(struct node *node, const struct message *message)
{
    struct iteration *iteration = &node->iteration;

    if (iteration->mode == ITERATION_MARKED) {
        return;
    }
    iteration->period = message->u.iteration_mode.period;
    iteration->phase = message->u.iteration_mode.phase;
    iteration->mode = mode_of(iteration);
}
