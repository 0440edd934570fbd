// SPDX-License-Identifier: BSD-3-Clause
//
// Sets stay as runs, which take no more memory than the messages that brought
// them; they become lists of pages when somebody asks.
#include "observe/access_sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/vector.h"

struct access_sets {
    unsigned n_holders;
    uint32_t round;
    unsigned n_nodes;
    unsigned n_done;
    page_no n_pages;
    struct node_tracking *nodes;     // [n_nodes]
    struct thread_accesses *threads; // [n_threads]
    uint32_t n_threads;
    uint32_t room;
    struct map map; // from threads to places, until it is complete
};

struct access_sets *access_sets_new(uint32_t round, unsigned n_nodes,
                                    page_no n_pages)
{
    struct access_sets *sets = calloc(1, sizeof *sets);

    if (sets == NULL) {
        return NULL;
    }
    sets->n_holders = 1;
    sets->round = round;
    sets->n_nodes = n_nodes;
    sets->n_pages = n_pages;
    sets->nodes = calloc(n_nodes, sizeof *sets->nodes);
    if (sets->nodes == NULL) {
        access_sets_free(sets);
        return NULL;
    }
    return sets;
}

void access_sets_hold(struct access_sets *sets)
{
    sets->n_holders++;
}

void access_sets_free(struct access_sets *sets)
{
    if (sets == NULL || --sets->n_holders > 0) {
        return;
    }
    for (uint32_t i = 0; i < sets->n_threads; i++) {
        free(sets->threads[i].runs);
        free(sets->threads[i].uses);
    }
    map_release(&sets->map);
    free(sets->threads);
    free(sets->nodes);
    free(sets);
}

uint32_t access_sets_round(const struct access_sets *sets)
{
    return sets->round;
}

static struct thread_accesses *get(struct access_sets *sets, uint64_t thread)
{
    uint32_t index = map_find_index(&sets->map, thread);

    if (index != MAP_NONE) {
        return &sets->threads[index];
    }
    vector_reserve(sets->threads, sets->room, sets->n_threads + 1);
    map_add_index(&sets->map, thread, sets->n_threads);
    sets->threads[sets->n_threads] = (struct thread_accesses){.thread = thread};
    return &sets->threads[sets->n_threads++];
}

static int is_good(const struct access_sets *sets, const void *body,
                   uint32_t size)
{
    struct wire_reader reader = wire_read(body, size);
    struct wire_access_run run;

    while (reader.at < reader.end) {
        if (access_run_get(&reader, sets->n_pages, &run) != TM_OK) {
            return 0;
        }
    }
    return 1;
}

tm_status access_sets_add(struct access_sets *sets, node_id node,
                          uint64_t thread, const void *body, uint32_t size)
{
    struct wire_reader reader = wire_read(body, size);
    struct thread_accesses *to;
    size_t n = size / WIRE_SIZE_access_run;

    if (node >= sets->n_nodes || sets->nodes[node].is_done ||
        !is_good(sets, body, size)) {
        return TM_EWIRE;
    }
    to = get(sets, thread);
    to->node = node;
    vector_reserve(to->runs, to->room, to->n_runs + n);
    while (reader.at < reader.end) {
        ensure(access_run_get(&reader, sets->n_pages,
                              &to->runs[to->n_runs++]) == TM_OK);
    }
    return TM_OK;
}

static int compare_threads(const void *a, const void *b)
{
    uint64_t x = ((const struct thread_accesses *)a)->thread;
    uint64_t y = ((const struct thread_accesses *)b)->thread;

    return (x > y) - (x < y);
}

tm_status access_sets_done(struct access_sets *sets, node_id node,
                           const struct node_tracking *said)
{
    if (node >= sets->n_nodes || sets->nodes[node].is_done) {
        return TM_EWIRE;
    }
    sets->nodes[node] = *said;
    sets->nodes[node].is_done = 1;
    sets->n_done++;
    if (access_sets_is_complete(sets) && sets->n_threads > 0) {
        qsort(sets->threads, sets->n_threads, sizeof *sets->threads,
              compare_threads);
        map_release(&sets->map);
    }
    return TM_OK;
}

int access_sets_is_complete(const struct access_sets *sets)
{
    return sets->n_done == sets->n_nodes;
}

int access_sets_is_whole(const struct access_sets *sets)
{
    for (unsigned i = 0; i < sets->n_nodes; i++) {
        if (!sets->nodes[i].is_done || sets->nodes[i].is_cancelled) {
            return 0;
        }
    }
    return 1;
}

const struct node_tracking *access_sets_node(const struct access_sets *sets,
                                             node_id node)
{
    return &sets->nodes[node];
}

uint32_t access_sets_n_threads(const struct access_sets *sets)
{
    return sets->n_threads;
}

const struct thread_accesses *access_sets_at(const struct access_sets *sets,
                                             uint32_t index)
{
    return &sets->threads[index];
}

static void list_pages(struct thread_accesses *thread)
{
    struct page_use *use = thread->uses;

    for (size_t i = 0; i < thread->n_runs; i++) {
        const struct wire_access_run *run = &thread->runs[i];

        for (uint32_t at = 0; at < run->n_pages; at++) {
            *use++ = (struct page_use){
                .page = run->page + at,
                .flags = run->flags % WRITTEN_BEHIND(0),
                .diff_bytes = run->diff_bytes,
            };
        }
    }
}

static tm_status expand(struct thread_accesses *thread)
{
    for (size_t i = 0; i < thread->n_runs; i++) {
        thread->n_uses += thread->runs[i].n_pages;
    }
    thread->uses = calloc(thread->n_uses + 1, sizeof *thread->uses);
    if (thread->uses == NULL) {
        thread->n_uses = 0;
        return TM_ENOMEM;
    }
    list_pages(thread);
    return TM_OK;
}

tm_status access_sets_expand(struct access_sets *sets)
{
    for (uint32_t i = 0; i < sets->n_threads; i++) {
        if (expand(&sets->threads[i]) != TM_OK) {
            return TM_ENOMEM;
        }
    }
    return TM_OK;
}

const struct thread_accesses *access_sets_thread(const struct access_sets *sets,
                                                 uint64_t thread)
{
    const struct thread_accesses key = {.thread = thread};

    return sets->n_threads == 0
               ? NULL
               : bsearch(&key, sets->threads, sets->n_threads,
                         sizeof *sets->threads, compare_threads);
}

const struct page_use *access_sets_find(const struct access_sets *sets,
                                        uint64_t thread, size_t *n_uses)
{
    const struct thread_accesses *found = access_sets_thread(sets, thread);

    *n_uses = found == NULL ? 0 : found->n_uses;
    return found == NULL ? NULL : found->uses;
}
