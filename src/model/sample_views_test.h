// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_SAMPLE_VIEWS_TEST_H
#define MODEL_SAMPLE_VIEWS_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/groups.h"

/*
 * Views for the tests of model/ and place/, made by hand or at random. The seed
 * is printed; TM_TEST_SEED repeats a run. All of it stops the test by abort()
 * if there is no memory.
 */

// ---- random numbers ----

static uint64_t random_state = 1;

/** xorshift64*. */
static inline uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 2685821657736338717u;
}

/** @return 0 to limit - 1 */
static inline uint32_t random_below(uint32_t limit)
{
    return (uint32_t)(((next_random() >> 32) * limit) >> 32);
}

/** @return in [low, high) */
static inline double random_between(double low, double high)
{
    return low +
           (high - low) * (double)(next_random() >> 11) / 9007199254740992.0;
}

/** From TM_TEST_SEED, else from the time; prints it. */
static inline void seed_random(void)
{
    const char *text = getenv("TM_TEST_SEED");

    random_state = text != NULL ? strtoull(text, NULL, 10)
                                : (uint64_t)time(NULL) * 2654435761u;
    random_state |= 1;
    printf("TM_TEST_SEED=%llu\n", (unsigned long long)random_state);
}

// ---- pages that threads use ----

/** The pages of all threads, before they are groups. */
struct page_lists {
    uint32_t n_threads;
    struct page_use **pages; ///< [n_threads]
    size_t *n_pages;         ///< [n_threads]
};

/** @return memory; stops the test if there is none */
static inline void *must(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/** Empty lists of all threads; lists_release() frees them. */
static inline void lists_init(struct page_lists *lists, uint32_t n_threads)
{
    lists->n_threads = n_threads;
    lists->pages = must(calloc(n_threads, sizeof *lists->pages));
    lists->n_pages = must(calloc(n_threads, sizeof *lists->n_pages));
}

static inline void lists_release(struct page_lists *lists)
{
    for (uint32_t i = 0; i < lists->n_threads; i++) {
        free(lists->pages[i]);
    }
    free(lists->pages);
    free(lists->n_pages);
}

/** A thread uses n pages from `page` on. */
static inline void lists_add(struct page_lists *lists, uint32_t thread,
                             uint64_t page, uint64_t n, unsigned flags,
                             unsigned diff_bytes)
{
    const size_t old = lists->n_pages[thread];
    struct page_use *pages =
        must(realloc(lists->pages[thread], (old + n + 1) * sizeof *pages));

    for (uint64_t k = 0; k < n; k++) {
        pages[old + k] =
            (struct page_use){page + k, (uint16_t)flags, (uint16_t)diff_bytes};
    }
    lists->pages[thread] = pages;
    lists->n_pages[thread] = old + n;
}

/** Make a view's groups out of the lists. */
static inline void lists_build(const struct page_lists *lists,
                               struct cluster_view *view)
{
    if (groups_build(view, (const struct page_use *const *)lists->pages,
                     lists->n_pages) != TM_OK) {
        abort();
    }
}

// ---- views ----

/** Nodes and threads all alike: power 1, one processor, memory without end,
 * each thread computes for 1 s and uses nothing. */
static inline void view_make(struct cluster_view *view, uint32_t n_nodes,
                             uint32_t n_threads)
{
    if (cluster_view_init(view, n_nodes, n_threads) != TM_OK) {
        abort();
    }
    for (uint32_t x = 0; x < n_nodes; x++) {
        struct node_view *node = &view->nodes[x];

        snprintf(node->name, sizeof node->name, "n%u", x);
        node->power = 1;
        node->n_processors = 1;
        node->memory_pages = node->free_pages = 1u << 30;
        node->total_pages = 1u << 30;
        node->packet_bytes = 1500;
    }
    for (uint32_t i = 0; i < n_threads; i++) {
        view->threads[i].computation_s = 1;
    }
}

/** How threads of a random view share. */
enum sharing {
    SHARING_NONE,   ///< each its own pages
    SHARING_CHAIN,  ///< and a page or more with each neighbour, written by one
    SHARING_COMMON, ///< and pages that all read
    SHARING_ALL,    ///< all read what each writes
    SHARING_PAIRS,  ///< pages shared by threads drawn at random
    N_SHARINGS,
    SHARING_MIXED =
        N_SHARINGS, ///< pages that all use, or all but one, and some
                    ///< write; not among those that take turns
};

struct view_plan {
    uint32_t n_nodes;
    uint32_t n_threads;
    int are_alike; ///< threads
    uint32_t max_processors;
    enum sharing sharing;
    double short_of_memory; ///< 0: nobody; else memory of all over demand of
                            ///< all is drawn around 1 / this
};

/** Pages that all threads use, or all but one; nobody writes them, or some, or all. */
static inline void draw_mixed_pages(struct page_lists *lists, uint64_t next)
{
    const uint32_t n = lists->n_threads;

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t n_pages = 1 + random_below(3);
        const uint32_t who_does_not = random_below(4) ? n : random_below(n);
        const double part = random_between(-0.5, 1.5); // of threads that write

        for (uint32_t i = 0; i < n; i++) {
            const int writes = random_between(0, 1) < part;
            const unsigned flags = USE_WRITE | random_below(2);

            if (i != who_does_not) {
                lists_add(lists, i, next, n_pages, writes ? flags : USE_READ,
                          writes ? random_below(300) : 0);
            }
        }
        next += n_pages;
    }
}

/** About `mean` pages for each thread, and what they share. */
static inline void draw_pages(struct page_lists *lists,
                              const struct view_plan *plan, uint32_t mean)
{
    const uint32_t n = plan->n_threads;
    uint64_t next = 0;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t own =
            plan->are_alike ? mean : 1 + random_below(2 * mean);

        lists_add(lists, i, next, own, USE_READ | USE_WRITE, 0);
        next += own;
    }
    const uint32_t shared = 1 + mean / 8;

    for (uint32_t i = 0; plan->sharing == SHARING_CHAIN && i < n; i++) {
        lists_add(lists, i, next, shared, USE_READ | USE_WRITE, 4000);
        if (i > 0) {
            lists_add(lists, i - 1, next, shared, USE_READ, 0);
        }
        if (i + 1 < n) {
            lists_add(lists, i + 1, next, shared, USE_READ, 0);
        }
        next += shared;
    }
    for (uint32_t i = 0; plan->sharing == SHARING_COMMON && i < n; i++) {
        lists_add(lists, i, next, mean * 2, USE_READ, 0);
    }
    for (uint32_t i = 0; plan->sharing == SHARING_ALL && i < n; i++) {
        for (uint32_t k = 0; k < n; k++) {
            lists_add(lists, k, next, 1, k == i ? 3 : USE_READ,
                      k == i ? 2000 : 0);
        }
        next++;
    }
    for (uint32_t k = 0; plan->sharing == SHARING_PAIRS && k < 2 * n; k++) {
        const uint32_t a = random_below(n);
        const uint32_t b = random_below(n);

        lists_add(lists, a, next, shared, USE_READ | USE_WRITE,
                  1 + random_below(4096));
        if (b != a) {
            lists_add(lists, b, next, shared, USE_READ, 0);
        }
        next += shared;
    }
    if (plan->sharing == SHARING_MIXED) {
        draw_mixed_pages(lists, next);
    }
}

/** Draw a view. Times are around a second, so costs can be read as ratios. */
static inline void view_draw(struct cluster_view *view,
                             const struct view_plan *plan)
{
    const uint32_t mean = 8 + random_below(56);
    struct page_lists lists;
    uint64_t demand = 0;
    double gamma = random_between(0.1, 10); // seconds to page a thread's data

    view_make(view, plan->n_nodes, plan->n_threads);
    lists_init(&lists, plan->n_threads);
    draw_pages(&lists, plan, mean);
    lists_build(&lists, view);
    lists_release(&lists);
    for (uint32_t g = 0; g < view->n_groups; g++) {
        demand += view->group_pages[g];
    }
    for (uint32_t i = 0; i < plan->n_threads; i++) {
        if (!plan->are_alike) {
            const double r = random_between(0, 1);

            view->threads[i].computation_s = 0.1 + 3 * r * r;
        }
    }
    for (uint32_t x = 0; x < plan->n_nodes; x++) {
        struct node_view *node = &view->nodes[x];

        node->power = random_between(0.3, 2);
        node->n_processors = 1 + random_below(plan->max_processors);
        if (plan->short_of_memory > 0) {
            node->memory_pages =
                (uint64_t)((double)demand / plan->n_nodes *
                           random_between(0.2, 1.8) / plan->short_of_memory);
        }
        node->free_pages = node->memory_pages;
        node->total_pages = node->memory_pages + mean * 4;
        node->swap_in_s = gamma / mean * random_between(0.3, 0.7);
        node->swap_out_s = gamma / mean * random_between(0.3, 0.7);
        node->fetch_s = gamma / mean * random_between(0.1, 0.5);
        node->packet_s = random_between(0.001, 0.02);
        node->update_s = random_between(0, 0.01);
    }
}

/** Thread i of K on node i N / K: blocks, as at the start of a program. */
static inline void mapping_in_blocks(const struct cluster_view *view,
                                     uint32_t *node_of)
{
    for (uint32_t i = 0; i < view->n_threads; i++) {
        node_of[i] = (uint32_t)((uint64_t)i * view->n_nodes / view->n_threads);
    }
}

/** Each thread on some node. */
static inline void mapping_draw(const struct cluster_view *view,
                                uint32_t *node_of)
{
    for (uint32_t i = 0; i < view->n_threads; i++) {
        node_of[i] = random_below(view->n_nodes);
    }
}

#endif
