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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/robust.h"
#include "base/vector.h"

enum {
    RAGGED_BITS = 16,
    TOGETHER_MAX = 64, // iterations in a sample
    BURSTS_FROM = 6,   // samples that tell whether there are bursts
    CALM_SAMPLES = 64, // that tell that there are none any more
    FAR_TOO_LONG = 4,  // times as long as asked for
};

/** spread_of_all() where a node gets its processor in bursts, and where none does. */
#define BURSTY 0.3
#define CALM 0.05

/** Until there are so many samples, what they differ by is in part what they did before
 * the restart; at the start, so much of what is usual. */
#define PRIOR_UNTIL 8u
#define PRIOR_SAMPLES 3.0 ///< that it is worth at the start, less and less
#define PRIOR_LEAST 0.02
#define PRIOR_MOST 0.3

/** A time that is off by more than so many standard deviations, and than this part of what
 * is usual, is another one. */
#define SHIFT 4.0
#define SHIFT_LEAST 0.15
#define SHIFT_BEFORE 4u ///< samples that it was usual in, at least

/** The values of struct history_node. */
#define HISTORY_VALUES(X)                                                      \
    X(busy_s) X(comp_s) X(mem_s) X(out_s) X(pages_in) X(pages_out) X(release_s)

struct node_ring {
    struct history_node open; ///< added up so far, over the sample
    double open_cpu_s;        ///< likewise, of all its threads
    struct history_node kept[HISTORY_WINDOW];
    uint64_t free_bytes; ///< as last told
};

struct history {
    unsigned n_nodes;
    double *power;           ///< [n_nodes]
    uint32_t *crowds;        ///< [n_nodes]
    uint32_t *n_workers;     ///< [n_nodes] of those in crowds
    struct node_ring *nodes; ///< [n_nodes]
    double *sent_bytes; ///< [n_nodes * n_nodes] from, to: since the restart
    struct history_thread *threads;
    uint32_t n_threads;
    uint32_t n_room;
    uint32_t *place;
    uint32_t n_places;
    uint32_t n_reported;
    uint64_t current; ///< the iteration that is open, if n_reported > 0
    uint64_t closed;  ///< the latest that was closed, if n_closed > 0
    uint64_t n_closed;
    double sample_s;     ///< that a sample is to last at least
    uint32_t n_calm;     ///< samples in a row that hardly differed
    uint32_t n_wanted;   ///< iterations that are to be in a sample
    uint32_t n_open;     ///< closed ones in the sample that is open
    uint32_t n_together; ///< in the latest sample
    uint64_t n_samples;
    uint32_t n_since;         ///< of them, since the restart
    uint32_t n_skip;          ///< that are not kept, still to come
    uint64_t n_closed_before; ///< iterations before it
    uint32_t ragged;          ///< a bit for each of the latest iterations
    uint64_t ended_ns;        ///< the end of the latest sample, 0: none
    double prior; ///< by what part of what is usual samples are taken to differ
    double latest_s; ///< of an iteration, kept or not
    double times_s[HISTORY_WINDOW];
    history_sample_fn *watcher; ///< or NULL
    void *watcher_owner;
};

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

// ---- what is usual

static unsigned slot_back(const struct history *history, unsigned distance)
{
    return (unsigned)((history->n_samples - 1 - distance) % HISTORY_WINDOW);
}

// A thread is in each sample since its first, so those kept are the latest ones.
static unsigned copy_work(const struct history *history,
                          const struct history_thread *thread, double *work)
{
    unsigned n = thread->n_kept;

    if (history->n_since >= HISTORY_FEW && history->n_since < n) {
        n = history->n_since;
    }
    for (unsigned i = 0; i < n; i++) {
        work[i] = thread->work[slot_back(history, i)];
    }
    return n;
}

double history_work_s(const struct history *history,
                      const struct history_thread *thread)
{
    double work[HISTORY_WINDOW];

    return robust_median(work, copy_work(history, thread, work));
}

double history_noise_s(const struct history *history,
                       const struct history_thread *thread)
{
    double work[HISTORY_WINDOW];

    return robust_deviation(work, copy_work(history, thread, work));
}

// Samples that the medians are of.
static unsigned n_window(const struct history *history)
{
    return history->n_since < HISTORY_WINDOW ? history->n_since
                                             : HISTORY_WINDOW;
}

double history_latest_s(const struct history *history)
{
    return history->latest_s;
}

double history_iteration_s(const struct history *history)
{
    unsigned n = n_window(history);
    double times_s[HISTORY_WINDOW];

    if (n == history->n_samples && n > 0) {
        n--; // nobody knows when the first one began
    }
    for (unsigned i = 0; i < n; i++) {
        times_s[i] = history->times_s[slot_back(history, i)];
    }
    return robust_median(times_s, n);
}

// One of the values of a node, at `offset` in struct history_node.
// @param n            samples, the latest ones
// @param[out] values  [n] the latest first
static void copy_values(const struct history *history, node_id node, unsigned n,
                        size_t offset, double *values)
{
    for (unsigned i = 0; i < n; i++) {
        const struct history_node *kept =
            &history->nodes[node].kept[slot_back(history, i)];

        memcpy(&values[i], (const char *)kept + offset, sizeof values[i]);
    }
}

static double node_median(const struct history *history, node_id node,
                          unsigned n, size_t offset)
{
    double values[HISTORY_WINDOW];

    copy_values(history, node, n, offset, values);
    return robust_median(values, n);
}

static void copy_busy(const struct history *history, node_id node, unsigned n,
                      double *times_s)
{
    copy_values(history, node, n, offsetof(struct history_node, busy_s),
                times_s);
}

// ---- errors

// The standard deviation of what n values were drawn from, as far as they tell.
// @param values  [n] are made deviations, and sorted
static double spread(const struct history *history, double *values, unsigned n,
                     double usual)
{
    const double told = ROBUST_OF_DEVIATION * robust_deviation(values, n);
    const double prior = history->prior * usual;
    const double weight =
        n < PRIOR_UNTIL ? PRIOR_SAMPLES * (PRIOR_UNTIL - n) / PRIOR_UNTIL : 0;

    return sqrt((weight * prior * prior + (n - 1) * told * told) /
                (weight + n - 1));
}

// Of a single one nothing is known.
// @param n  of those from whose median they are off
static double error_of_median(const struct history *history, double *values,
                              unsigned n_values, unsigned n)
{
    const double usual = robust_median(values, n_values);

    return n_values <= 1
               ? usual
               : ROBUST_OF_MEDIAN * spread(history, values, n_values, usual) /
                     sqrt(n);
}

static double mean_busy_s(const struct history *history, unsigned slot)
{
    double sum_s = 0;

    for (unsigned i = 0; i < history->n_nodes; i++) {
        sum_s += history->nodes[i].kept[slot].busy_s;
    }
    return sum_s / history->n_nodes;
}

double history_node_error_s(const struct history *history, node_id node)
{
    double parts[HISTORY_WINDOW];
    double means_s[HISTORY_WINDOW];
    unsigned n = n_window(history);

    for (unsigned i = 0; i < n; i++) {
        unsigned slot = slot_back(history, i);

        means_s[i] = mean_busy_s(history, slot);
        parts[i] = means_s[i] > 0
                       ? history->nodes[node].kept[slot].busy_s / means_s[i]
                       : 0;
    }
    return error_of_median(history, parts, n, n) * robust_median(means_s, n);
}

double history_slowest_error_s(const struct history *history, unsigned latest)
{
    double times_s[HISTORY_WINDOW];
    unsigned n = n_window(history);

    for (unsigned i = 0; i < n; i++) {
        times_s[i] = 0;
        for (unsigned x = 0; x < history->n_nodes; x++) {
            times_s[i] =
                fmax(times_s[i],
                     history->nodes[x].kept[slot_back(history, i)].busy_s);
        }
    }
    return error_of_median(history, times_s, n, latest < n ? latest : n);
}

// What samples since the restart differ by, of the node where it is most: a standard
// deviation as a part of what is usual.
static double spread_of_all(const struct history *history)
{
    const unsigned n = n_window(history);
    double most = 0;

    for (unsigned x = 0; x < history->n_nodes; x++) {
        double times_s[HISTORY_WINDOW];
        double usual_s;

        copy_busy(history, (node_id)x, n, times_s);
        usual_s = robust_median(times_s, n);
        if (usual_s > 0) {
            most = fmax(most, ROBUST_OF_DEVIATION *
                                  robust_deviation(times_s, n) / usual_s);
        }
    }
    return most;
}

// What the samples since the restart differ by is what those after the next will, it is
// taken, until they tell.
static void learn_spread(struct history *history)
{
    if (n_window(history) >= PRIOR_UNTIL) {
        history->prior =
            fmin(fmax(spread_of_all(history), PRIOR_LEAST), PRIOR_MOST);
    }
}

// ---- what is usual no longer

// Is a time longer than it was, 1, or shorter, -1, and that no chance?
static int side_of(double time_s, double usual_s, double deviation_s)
{
    const double most_s = fmax(SHIFT * deviation_s, SHIFT_LEAST * usual_s);

    return (time_s > usual_s + most_s) - (time_s < usual_s - most_s);
}

// Of a node: are its latest n samples all off, to the same side?
// @param[out] is_rough  whether others have been off for once
static int node_has_shifted(const struct history *history, node_id node,
                            unsigned n, int *is_rough)
{
    const unsigned n_all = n_window(history);
    double times_s[HISTORY_WINDOW];
    double before_s[HISTORY_WINDOW];
    double usual_s;
    double deviation_s;
    int side;

    copy_busy(history, node, n_all, times_s);
    memcpy(before_s, times_s + n, (n_all - n) * sizeof *before_s);
    usual_s = robust_median(before_s, n_all - n);
    deviation_s = spread(history, before_s, n_all - n, usual_s);
    for (unsigned i = n; i < n_all; i++) {
        *is_rough |= side_of(times_s[i], usual_s, deviation_s) != 0;
    }
    side = side_of(times_s[0], usual_s, deviation_s);
    for (unsigned i = 1; i < n; i++) {
        if (side_of(times_s[i], usual_s, deviation_s) != side) {
            return 0;
        }
    }
    return side != 0;
}

int history_has_shifted(const struct history *history, unsigned n,
                        int *is_rough)
{
    int has = 0;

    *is_rough = 0;
    for (unsigned i = 0;
         n_window(history) >= n + SHIFT_BEFORE && i < history->n_nodes; i++) {
        has |= node_has_shifted(history, (node_id)i, n, is_rough);
    }
    return has;
}

static void node_medians(const struct history *history, node_id node,
                         unsigned n, struct history_node *usual)
{
#define MEDIAN(value)                                                          \
    .value =                                                                   \
        node_median(history, node, n, offsetof(struct history_node, value)),
    *usual = (struct history_node){HISTORY_VALUES(MEDIAN)};
#undef MEDIAN
}

void history_node(const struct history *history, node_id node,
                  struct history_node *usual)
{
    node_medians(history, node, n_window(history), usual);
}

void history_node_lately(const struct history *history, node_id node,
                         struct history_node *usual)
{
    unsigned n = n_window(history);

    if (n == 0) {
        n = (unsigned)(history->n_samples < HISTORY_WINDOW ? history->n_samples
                                                           : HISTORY_WINDOW);
    }
    node_medians(history, node, n, usual);
}

uint64_t history_free_bytes(const struct history *history, node_id node)
{
    return history->nodes[node].free_bytes;
}

double history_sent_bytes(const struct history *history, node_id from,
                          node_id to)
{
    const uint64_t n = history->n_closed - history->n_closed_before;

    return n > 0 ? history->sent_bytes[(size_t)from * history->n_nodes + to] /
                       (double)n
                 : 0;
}

double history_busy_s(const struct history *history, node_id node, unsigned n)
{
    return node_median(history, node,
                       n < n_window(history) ? n : n_window(history),
                       offsetof(struct history_node, busy_s));
}

// ---- what changes, and questions

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
    learn_spread(history);
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
    spread = spread_of_all(history);
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
