// SPDX-License-Identifier: BSD-3-Clause
//
// Reports come in any order within an iteration, and a node may send several (its
// threads may arrive in groups). They are added up until the iteration closes:
//
//   open --all threads have reported, or one reports a later one--> closed: who has
//   not reported is dropped --> open
//
// Several short iterations are one sample, and when that is complete, what an
// iteration of it was like goes into the rings. How many there are in it is doubled
// or halved, so that it lasts as long as HISTORY_SAMPLE_S asks for.
//
// B1 `n_reported` threads have has_reported set.
// B2 place[slot of number] is where a thread is in `threads`, plus one; 0 if it is
//    not there. A slot has one thread at a time, and `number` says which.
#include "reconfig/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/vector.h"
#include "reconfig/history_priv.h"

enum {
    RAGGED_BITS = 16,
    TOGETHER_MAX = 64, // iterations in a sample
    BURSTS_FROM = 6,   // samples that tell whether there are bursts
    CALM_SAMPLES = 64, // that tell that there are none any more
    FAR_TOO_LONG = 4,  // times as long as asked for
};

/** history_spread() where a node gets its processor in bursts, and where none does. */
#define BURSTY 0.3
#define CALM 0.05

struct history *history_new(unsigned n_nodes, const double *power)
{
    const size_t n = n_nodes;
    struct history *history = memory_new(1, sizeof *history);

    history->n_nodes = n_nodes;
    history->n_wanted = 1;
    history->sample_s = HISTORY_SAMPLE_S;
    history->prior = HISTORY_SPREAD;
    history->power = memory_new(n, sizeof *history->power);
    history->crowds = memory_new(n, sizeof *history->crowds);
    history->n_workers = memory_new(n, sizeof *history->n_workers);
    history->nodes = memory_new(n, sizeof *history->nodes);
    history->sent_bytes = memory_new(n * n, sizeof *history->sent_bytes);
    memcpy(history->power, power, n * sizeof *power);
    return history;
}

void history_free(struct history *history)
{
    free(history->crowds);
    free(history->n_workers);
    free(history->power);
    free(history->nodes);
    free(history->sent_bytes);
    free(history->threads);
    free(history->place);
    free(history);
}

// The stack slot is the lower half of a thread's number.
static uint32_t *place_of(struct history *history, uint64_t number)
{
    uint32_t slot = (uint32_t)number;

    if (slot >= history->n_places) {
        const uint32_t n = history->n_places;

        vector_reserve(history->place, history->n_places, slot + 1);
        memset(history->place + n, 0,
               (history->n_places - n) * sizeof *history->place);
    }
    return &history->place[slot];
}

static struct history_thread *find(struct history *history, uint64_t number)
{
    uint32_t place = *place_of(history, number);

    return place > 0 && history->threads[place - 1].number == number
               ? &history->threads[place - 1]
               : NULL;
}

static struct history_thread *add(struct history *history, uint64_t number)
{
    struct history_thread *thread;

    vector_reserve(history->threads, history->n_room, history->n_threads + 1);
    thread = &history->threads[history->n_threads++];
    *thread = (struct history_thread){.number = number};
    *place_of(history, number) = history->n_threads;
    return thread;
}

static void add_work(const struct history *history,
                     struct history_thread *thread)
{
    thread->open_work_s += thread->comp_s * history->power[thread->node];
    thread->n_open++;
    thread->comp_s = 0;
    thread->has_reported = 0;
}

static void drop_work(struct history_thread *thread)
{
    thread->open_work_s = 0;
    thread->n_open = 0;
}

static void keep_work(const struct history *history,
                      struct history_thread *thread)
{
    thread->work[history->n_samples % HISTORY_WINDOW] =
        thread->open_work_s / thread->n_open;
    if (thread->n_kept < HISTORY_WINDOW) {
        thread->n_kept++;
    }
    drop_work(thread);
}

static void settle_threads(struct history *history)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < history->n_threads; i++) {
        uint32_t *place = place_of(history, history->threads[i].number);

        if (history->threads[i].has_reported) {
            add_work(history, &history->threads[i]);
            history->threads[n++] = history->threads[i];
            *place = n;
        } else if (*place == i + 1) { // B2: nobody new is in its slot
            *place = 0;
        }
    }
    history->ragged = history->ragged << 1 | (n < history->n_threads);
    history->n_threads = n;
    history->n_reported = 0;
}

static double other_s(const struct history_node *node)
{
    return fmax(0, node->busy_s - node->comp_s - node->mem_s);
}

// Time by the clock in which threads did not have the processor is no computation: it
// is as much chance as other waiting.
static void count_processor_time(struct history *history, unsigned node)
{
    struct node_ring *ring = &history->nodes[node];

    ring->open.comp_s =
        fmin(ring->open.comp_s, ring->open_cpu_s / history->n_workers[node]);
}

// Nodes without threads have no times, and no part in it.
static void share_crowd(struct history *history, uint32_t crowd)
{
    double sum_s = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < history->n_nodes; i++) {
        const struct history_node *open = &history->nodes[i].open;

        if (history->crowds[i] == crowd && open->busy_s > 0) {
            count_processor_time(history, i);
            sum_s += other_s(open);
            n++;
        }
    }
    for (unsigned i = 0; i < history->n_nodes; i++) {
        struct history_node *open = &history->nodes[i].open;

        if (history->crowds[i] == crowd && open->busy_s > 0) {
            open->busy_s = open->comp_s + open->mem_s + sum_s / n;
        }
    }
}

static void share_crowds(struct history *history)
{
    for (unsigned i = 0; i < history->n_nodes; i++) {
        if (history->crowds[i] == i + 1) { // of its first node
            share_crowd(history, i + 1);
        }
    }
}

static void drop_open_node(struct node_ring *node)
{
    memset(&node->open, 0, sizeof node->open);
    node->open_cpu_s = 0;
}

static void keep_node(struct history *history, struct node_ring *node)
{
    const double n = history->n_open;
    const struct history_node *open = &node->open;

#define MEAN(value) .value = open->value / n,
    node->kept[history->n_samples % HISTORY_WINDOW] =
        (struct history_node){HISTORY_VALUES(MEAN)};
#undef MEAN
    drop_open_node(node);
}

// @param length_s  of the sample just closed; 0: not known
static void choose_length(struct history *history, double length_s)
{
    if (length_s > 0 && length_s < history->sample_s &&
        history->n_wanted < TOGETHER_MAX) {
        history->n_wanted *= 2;
    } else if (length_s > FAR_TOO_LONG * history->sample_s &&
               history->n_wanted > 1) {
        history->n_wanted /= 2;
    }
}

static void keep_sample(struct history *history)
{
    for (unsigned i = 0; i < history->n_nodes; i++) {
        keep_node(history, &history->nodes[i]);
    }
    for (uint32_t i = 0; i < history->n_threads; i++) {
        keep_work(history, &history->threads[i]);
    }
    history->times_s[history->n_samples % HISTORY_WINDOW] = history->latest_s;
    history->n_samples++;
    history->n_since++;
}

static void drop_sample(struct history *history)
{
    for (unsigned i = 0; i < history->n_nodes; i++) {
        drop_open_node(&history->nodes[i]);
    }
    for (uint32_t i = 0; i < history->n_threads; i++) {
        drop_work(&history->threads[i]);
    }
}

static void close_sample(struct history *history, uint64_t now_ns)
{
    double length_s = history->ended_ns == 0
                          ? 0
                          : (double)(now_ns - history->ended_ns) * 1e-9;

    share_crowds(history);
    if (history->watcher != NULL) {
        history->watcher(history->watcher_owner, history, history->n_open,
                         length_s);
    }
    history->latest_s = length_s / history->n_open;
    if (history->n_skip > 0) {
        history->n_skip--;
        drop_sample(history);
    } else {
        keep_sample(history);
    }
    history->n_together = history->n_open;
    history->n_open = 0;
    history->ended_ns = now_ns;
    choose_length(history, length_s);
}

// @return whether that was a sample's last
static unsigned close_iteration(struct history *history, uint64_t now_ns)
{
    settle_threads(history);
    history->closed = history->current;
    history->n_closed++;
    history->n_open++;
    if (history->n_open < history->n_wanted) {
        return 0;
    }
    close_sample(history, now_ns);
    return 1;
}

// The iteration has been closed without them.
static void expect_next_time(struct history *history,
                             const struct history_report *report)
{
    for (uint32_t i = 0; i < report->n_arrivals; i++) {
        if (find(history, report->arrivals[i].thread) == NULL) {
            add(history, report->arrivals[i].thread)->node = report->node;
        }
    }
}

static void add_arrival(struct history *history, node_id node,
                        const struct history_arrival *arrival)
{
    struct history_thread *thread = find(history, arrival->thread);

    if (thread == NULL) {
        thread = add(history, arrival->thread);
    }
    history->n_reported += !thread->has_reported;
    thread->has_reported = 1;
    thread->node = node;
    thread->comp_s += arrival->comp_s;
    history->nodes[node].open_cpu_s += arrival->comp_s;
}

// What a report says of its node.
static void add_node(struct history *history,
                     const struct history_report *report)
{
    struct node_ring *ring = &history->nodes[report->node];
    double *sent =
        &history->sent_bytes[(size_t)report->node * history->n_nodes];

#define ADD(value) ring->open.value += report->done.value;
    HISTORY_VALUES(ADD)
#undef ADD
    ring->free_bytes = report->free_bytes;
    for (uint32_t i = 0; i < report->n_peers; i++) {
        sent[report->peers[i].node] += (double)report->peers[i].bytes;
    }
}

unsigned history_take(struct history *history,
                      const struct history_report *report, uint64_t now_ns)
{
    unsigned n_closed = 0;

    if ((history->n_closed > 0 && report->iteration <= history->closed) ||
        (history->n_reported > 0 && report->iteration < history->current)) {
        expect_next_time(history, report);
        return 0;
    }
    if (history->n_reported > 0 && report->iteration > history->current) {
        n_closed += close_iteration(history, now_ns);
    }
    history->current = report->iteration;
    add_node(history, report);
    for (uint32_t i = 0; i < report->n_arrivals; i++) {
        add_arrival(history, report->node, &report->arrivals[i]);
    }
    if (history->n_closed > 0 && history->n_reported == history->n_threads) {
        n_closed += close_iteration(history, now_ns);
    }
    return n_closed;
}

void history_set_crowds(struct history *history, const uint32_t *crowds,
                        const uint32_t *n_workers)
{
    memcpy(history->crowds, crowds, history->n_nodes * sizeof *crowds);
    memcpy(history->n_workers, n_workers, history->n_nodes * sizeof *n_workers);
}

void history_watch(struct history *history, history_sample_fn *watcher,
                   void *owner)
{
    history->watcher = watcher;
    history->watcher_owner = owner;
}

double history_sample_sum(const struct history *history, node_id node,
                          struct history_node *sum)
{
    *sum = history->nodes[node].open;
    return history->nodes[node].open_cpu_s;
}

void history_restart(struct history *history)
{
    history_learn_spread(history);
    history->n_since = 0;
    history->n_closed_before = history->n_closed;
    memset(history->sent_bytes, 0,
           (size_t)history->n_nodes * history->n_nodes *
               sizeof *history->sent_bytes);
}

void history_restart_at(struct history *history, uint32_t n)
{
    history_restart(history);
    history->n_since = n;
}

void history_follow_bursts(struct history *history)
{
    const double length_s = history->latest_s * history->n_together;
    double spread;

    if (history->n_since < BURSTS_FROM) {
        return;
    }
    spread = history_spread(history);
    if (spread > BURSTY && length_s < HISTORY_SAMPLE_MOST_S) {
        history->sample_s = 2 * length_s;
        history_restart(history); // these are shorter
        history->prior /= 2;
        history->n_calm = 0;
    } else if (spread < CALM) {
        history->n_calm++;
    }
    if (history->n_calm >= CALM_SAMPLES &&
        history->sample_s > HISTORY_SAMPLE_S) {
        history->sample_s = fmax(history->sample_s / 2, HISTORY_SAMPLE_S);
        history->n_calm = 0;
    }
}

void history_skip(struct history *history, uint32_t n)
{
    history->n_skip = n;
}

void history_drop_open(struct history *history)
{
    for (unsigned i = 0; i < history->n_nodes; i++) {
        drop_open_node(&history->nodes[i]);
    }
    for (uint32_t i = 0; i < history->n_threads; i++) {
        struct history_thread *thread = &history->threads[i];

        thread->has_reported = 0;
        thread->comp_s = 0;
        drop_work(thread);
    }
    history->n_reported = 0;
    history->n_open = 0;
    history->ended_ns = 0;
}

const struct history_thread *history_threads(const struct history *history,
                                             uint32_t *n)
{
    *n = history->n_threads;
    return history->threads;
}

uint64_t history_n_closed(const struct history *history)
{
    return history->n_closed;
}

uint64_t history_n_samples(const struct history *history)
{
    return history->n_samples;
}

uint32_t history_n_together(const struct history *history)
{
    return history->n_together;
}

uint32_t history_n_since_restart(const struct history *history)
{
    return history->n_since;
}

unsigned history_n_ragged(const struct history *history)
{
    return (unsigned)__builtin_popcount(history->ragged &
                                        ((1u << RAGGED_BITS) - 1));
}
