// SPDX-License-Identifier: BSD-3-Clause
//
// Memory first, then speed: what people do by hand who spread the layers of a language
// model over unequal machines, and tools for it ([Exo]; llama.cpp splits by free
// memory). Threads are poured into the nodes, both in the order of their numbers, once
// those that are pinned are in.
// A node is full when its memory is, or when it would end after the level:
//
// - Memory. If the pages of all threads fit, no node gets more than fit. If not, all
//   memories are taken to be larger by the same factor, the least with which there is
//   room: shares in proportion to memory, then.
// - Speed. Within that the level is the least at which all threads find room.
//
// Of blocks of thread numbers, the first for node 0, the next for node 1 and so on, these
// are the best: pouring each node as full as it goes finds a way if there is one
// ([Pinar04], their probe). With the nodes in another order, or where threads are pinned,
// there may be better ones. Pages that
// threads of a node share count once. What it costs to be short of memory it does not
// look at, nor what is sent.
//
// I1  No node is given more pages than its memory if such blocks that fit all exist.
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/terms.h"
#include "place/counts.h"
#include "place/policies.h"

#define CLOSE 1e-3 ///< relative: how near the least share and level are found

struct pouring {
    const struct cluster_view *view;
    struct node_rates *rates; ///< [n_nodes]
    double share;             ///< of its memory that a node may fill, 1 or more
    uint32_t *stamps;  ///< [n_groups]: stamp of the node that had it last
    uint32_t stamp;    ///< of the node that is being filled
    uint32_t *node_of; ///< [n_threads]
    uint32_t *pinned;  ///< threads, those of node 0 first
    uint32_t *ends;    ///< [n_nodes]: where in `pinned` those of the next begin
};

/** What is in the node that is being filled. */
struct vessel {
    double pages;
    double work_s;
    double longest_s;
};

// ---- one node ----

/** The pages that a thread adds to those that are there. */
static double pages_more(const struct pouring *pouring, uint32_t thread)
{
    const struct cluster_view *view = pouring->view;
    const struct thread_view *it = &view->threads[thread];
    double pages = 0;

    for (uint32_t k = 0; k < it->n_uses; k++) {
        const uint32_t group = view->uses[it->first_use + k].group;

        if (pouring->stamps[group] != pouring->stamp) {
            pages += view->group_pages[group];
        }
    }
    return pages;
}

static void stamp_groups(struct pouring *pouring, uint32_t thread)
{
    const struct cluster_view *view = pouring->view;
    const struct thread_view *it = &view->threads[thread];

    for (uint32_t k = 0; k < it->n_uses; k++) {
        pouring->stamps[view->uses[it->first_use + k].group] = pouring->stamp;
    }
}

/** What there would be with a thread more. */
static struct vessel with_thread(const struct pouring *pouring,
                                 const struct vessel *vessel, uint32_t thread)
{
    const double thread_s = pouring->view->threads[thread].computation_s;

    return (struct vessel){
        vessel->pages + pages_more(pouring, thread),
        vessel->work_s + thread_s,
        fmax(vessel->longest_s, thread_s),
    };
}

/** Pour a thread in, if it finds room. @return whether it did */
static int pour_thread(struct pouring *pouring, uint32_t node, double level_s,
                       struct vessel *vessel, uint32_t thread)
{
    const struct node_rates *rates = &pouring->rates[node];
    const struct vessel more = with_thread(pouring, vessel, thread);
    const double time_s =
        fmax(more.work_s / pouring->view->nodes[node].n_processors,
             more.longest_s) *
        rates->comp;

    if (more.pages > pouring->share * fmax(rates->memory_pages, 1) ||
        time_s > level_s) {
        return 0;
    }
    *vessel = more;
    stamp_groups(pouring, thread);
    pouring->node_of[thread] = node;
    return 1;
}

/** Those that are pinned are there, whether or not there is room. */
static void pour_pinned(struct pouring *pouring, uint32_t node,
                        struct vessel *vessel)
{
    for (uint32_t k = node > 0 ? pouring->ends[node - 1] : 0;
         k < pouring->ends[node]; k++) {
        *vessel = with_thread(pouring, vessel, pouring->pinned[k]);
        stamp_groups(pouring, pouring->pinned[k]);
    }
}

// ---- all nodes ----

/** Fill the nodes in turn. @return whether all threads found room */
static int pour(struct pouring *pouring, double level_s)
{
    const struct cluster_view *view = pouring->view;
    uint32_t thread = 0;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        struct vessel vessel = {0};

        pouring->stamp++;
        pour_pinned(pouring, x, &vessel);
        while (thread < view->n_threads &&
               (view->threads[thread].is_pinned ||
                pour_thread(pouring, x, level_s, &vessel, thread))) {
            thread++;
        }
    }
    return thread == view->n_threads;
}

static int pour_anyhow(struct pouring *pouring, double share)
{
    pouring->share = share;
    return pour(pouring, INFINITY);
}

/** Memory first: the least share with which there is room, whatever time it takes. */
static void find_share(struct pouring *pouring)
{
    double low = 1;
    double high = 1;

    while (!pour_anyhow(pouring, high)) {
        low = high;
        high *= 2;
    }
    while (high - low > CLOSE * high) {
        const double middle = low + (high - low) / 2;

        if (pour_anyhow(pouring, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    pouring->share = high;
}

/** Then speed. @return the least level with which there is room */
static double find_level(struct pouring *pouring)
{
    double low_s = 0;
    double high_s = 0;
    double slowest = 0;

    for (uint32_t x = 0; x < pouring->view->n_nodes; x++) {
        slowest = fmax(slowest, pouring->rates[x].comp);
    }
    for (uint32_t i = 0; i < pouring->view->n_threads; i++) {
        high_s += pouring->view->threads[i].computation_s * slowest;
    }
    high_s *= 1 + CLOSE; // sums of threads are rounded
    while (high_s - low_s > CLOSE * high_s) {
        const double middle_s = low_s + (high_s - low_s) / 2;

        if (pour(pouring, middle_s)) {
            high_s = middle_s;
        } else {
            low_s = middle_s;
        }
    }
    return high_s;
}

static void sort_pinned(struct pouring *pouring, const uint32_t *current)
{
    const struct cluster_view *view = pouring->view;
    uint32_t n = 0;

    counts_of_pinned(view, current, pouring->ends);
    for (uint32_t x = 0; x < view->n_nodes; x++) { // where each node's begin
        n += pouring->ends[x];
        pouring->ends[x] = n - pouring->ends[x];
    }
    for (uint32_t i = 0; i < view->n_threads; i++) {
        if (view->threads[i].is_pinned) {
            pouring->pinned[pouring->ends[current[i]]++] = i;
            pouring->node_of[i] = current[i];
        }
    }
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    const struct cluster_view *view = request->view;
    struct pouring pouring = {
        .view = view,
        .rates = memory_new(view->n_nodes, sizeof *pouring.rates),
        .stamps = memory_new(view->n_groups, sizeof *pouring.stamps),
        .node_of = mapping->node_of,
        .pinned = memory_new(view->n_threads, sizeof *pouring.pinned),
        .ends = memory_new(view->n_nodes, sizeof *pouring.ends),
    };

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        rates_compute(view, request->model, x, &pouring.rates[x]);
    }
    sort_pinned(&pouring, request->current);
    find_share(&pouring);
    ensure(pour(&pouring, find_level(&pouring)));
    free(pouring.rates);
    free(pouring.stamps);
    free(pouring.pinned);
    free(pouring.ends);
}

const struct policy policy_waterfill = {
    .name = "waterfill",
    .summary = "blocks that fit the nodes' memories, or fill them evenly; "
               "within that by power",
    .uses_memory = 1,
    .wants_uses = 1,
    .held_to = HELD_TO_PROMISE,
    .place = place,
};
