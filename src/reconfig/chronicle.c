// SPDX-License-Identifier: BSD-3-Clause
//
// Each sample of the history becomes a point, or is added to the last one. When there are
// CHRONICLE_POINTS, two neighbours become one each time, and so do as many samples from then
// on: a run of any length has enough points to be drawn, and takes no more memory than a
// short one.
//
// K1 All points but the last have n_in_point samples, and the last has n_open.
// K2 Threads are in the order of their numbers.
#include "reconfig/chronicle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct chronicle *chronicle_new(void)
{
    struct chronicle *chronicle = memory_new(1, sizeof *chronicle);

    chronicle->n_in_point = 1;
    return chronicle;
}

void chronicle_free(struct chronicle *chronicle)
{
    if (chronicle == NULL) {
        return;
    }
    for (unsigned i = 0; i < CHRONICLE_EVENTS; i++) {
        free(chronicle->events[i].text);
    }
    free(chronicle->threads);
    free(chronicle);
}

void chronicle_begin(struct chronicle *chronicle)
{
    chronicle->n_now = 0;
}

void chronicle_add_node(struct chronicle *chronicle, node_id id, double power,
                        uint32_t n_workers)
{
    chronicle->id_of[chronicle->n_now++] = id;
    chronicle->nodes[id].power = power;
    chronicle->nodes[id].n_workers = n_workers;
}

// ---- points

static void join_points(struct chronicle_point *to,
                        const struct chronicle_point *from)
{
    to->n_iterations += from->n_iterations;
    to->n_moved += from->n_moved;
    to->n_tracked += from->n_tracked;
    if (from->time_s > 0) {
        to->shortest_s = to->time_s > 0 ? fmin(to->shortest_s, from->shortest_s)
                                        : from->shortest_s;
        to->longest_s = fmax(to->longest_s, from->longest_s);
    }
    to->time_s += from->time_s;
}

// There is no more room: K1.
static void halve_points(struct chronicle *chronicle)
{
    for (unsigned i = 0; i < CHRONICLE_POINTS / 2; i++) {
        struct chronicle_point *points = &chronicle->points[2 * (size_t)i];

        join_points(&points[0], &points[1]);
        chronicle->points[i] = points[0];
    }
    chronicle->n_points = CHRONICLE_POINTS / 2;
    chronicle->n_in_point *= 2;
}

static void add_point(struct chronicle *chronicle,
                      const struct chronicle_point *point)
{
    if (chronicle->n_points > 0 && chronicle->n_open < chronicle->n_in_point) {
        join_points(&chronicle->points[chronicle->n_points - 1], point);
        chronicle->n_open++;
        return;
    }
    if (chronicle->n_points == CHRONICLE_POINTS) {
        halve_points(chronicle);
    }
    chronicle->points[chronicle->n_points++] = *point;
    chronicle->n_open = 1;
}

// ---- samples

// @param[out] done  [n_now]
static void add_nodes(struct chronicle *chronicle,
                      const struct history *history, double length_s,
                      struct efficiency_node *done)
{
    for (unsigned i = 0; i < chronicle->n_now; i++) {
        struct chronicle_node *node = &chronicle->nodes[chronicle->id_of[i]];
        struct history_node sum;
        const double computing_s =
            history_sample_sum(history, (node_id)i, &sum);

        done[i] = (struct efficiency_node){node->power, node->n_workers,
                                           computing_s, sum.mem_s};
        node->time_s += length_s;
        node->computing_s += computing_s;
        node->paging_s += sum.mem_s;
        node->busy_s += sum.busy_s;
        node->release_s += sum.release_s;
        node->pages_in += sum.pages_in;
        node->pages_out += sum.pages_out;
    }
}

static int compare_threads(const void *left, const void *right)
{
    const struct chronicle_thread *a = left;
    const struct chronicle_thread *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

static const struct chronicle_thread *find_thread(
    const struct chronicle *chronicle, uint64_t number)
{
    const struct chronicle_thread wanted = {.number = number};

    return chronicle->n_threads == 0
               ? NULL
               : bsearch(&wanted, chronicle->threads, chronicle->n_threads,
                         sizeof wanted, compare_threads); // K2
}

void chronicle_note_threads(struct chronicle *chronicle,
                            const struct history *history)
{
    uint32_t n;
    const struct history_thread *threads = history_threads(history, &n);
    struct chronicle_thread *all =
        memory_new(n + (size_t)chronicle->n_threads, sizeof *all);
    uint32_t n_all = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct chronicle_thread *known =
            find_thread(chronicle, threads[i].number);
        const node_id id = chronicle->id_of[threads[i].node];

        all[n_all++] = (struct chronicle_thread){
            .number = threads[i].number,
            .before = known != NULL          ? known->before
                      : chronicle->has_begun ? TM_MAX_NODES
                                             : id,
            .after = id,
        };
    }
    qsort(all, n_all, sizeof *all, compare_threads);
    for (uint32_t i = 0; i < chronicle->n_threads; i++) {
        struct chronicle_thread it = chronicle->threads[i];

        if (bsearch(&it, all, n, sizeof *all, compare_threads) == NULL) {
            it.after = TM_MAX_NODES;
            all[n_all++] = it;
        }
    }
    qsort(all, n_all, sizeof *all, compare_threads); // K2
    free(chronicle->threads);
    chronicle->threads = all;
    chronicle->n_threads = n_all;
    chronicle->has_begun = 1;
}

void chronicle_take(void *owner, const struct history *history,
                    uint32_t n_iterations, double length_s)
{
    struct chronicle *chronicle = owner;
    struct efficiency_node done[TM_MAX_NODES];
    const struct chronicle_point point = {
        .first = chronicle->n_iterations + 1,
        .n_iterations = n_iterations,
        .time_s = length_s,
        .shortest_s = length_s / n_iterations,
        .longest_s = length_s / n_iterations,
        .n_moved = chronicle->n_moved_open,
        .n_tracked = chronicle->n_tracked_open,
    };

    if (!chronicle->has_begun) {
        chronicle_note_threads(chronicle, history);
    }
    if (length_s > 0) {
        add_nodes(chronicle, history, length_s, done);
        efficiency_add(&chronicle->sums, done, chronicle->n_now, length_s);
        chronicle->n_timed += n_iterations;
    }
    add_point(chronicle, &point);
    chronicle->n_iterations += n_iterations;
    chronicle->n_moved_open = 0;
    chronicle->n_tracked_open = 0;
}

// ---- events

void chronicle_note_move(struct chronicle *chronicle)
{
    chronicle->n_moved++;
    chronicle->n_moved_open++;
}

void chronicle_note_tracking(struct chronicle *chronicle)
{
    chronicle->n_tracked_open++;
}

void chronicle_say(struct chronicle *chronicle, const char *text, size_t n)
{
    struct chronicle_event *event;

    if (chronicle->n_events++ >= CHRONICLE_EVENTS) {
        return;
    }
    event = &chronicle->events[chronicle->n_events - 1];
    event->iteration = chronicle->n_iterations;
    event->text = strndup(text, n);
    ensure_memory(event->text != NULL);
}
