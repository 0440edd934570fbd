// SPDX-License-Identifier: BSD-3-Clause
//
// Threads are copied with their uses. Group g of copy c gets the number c G + g
// at first, those that all copies share keep g; then the numbers that are in use
// are made dense, in the order in which they are first used.
#include "planner/replicate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/** So that a slip of the finger does not take all memory. */
#define THREADS_MAX 100000000u

struct replica {
    const struct cluster_view *old;
    struct cluster_view view;
    uint32_t *source;    ///< [n_threads]: the thread that it is like
    uint32_t *copy;      ///< [n_threads]: in which copy
    uint32_t *origin;    ///< [n_threads]
    uint8_t *is_common;  ///< [old groups]
    uint32_t *new_group; ///< [copies * old groups]: number plus 1; 0: unused
};

static void replica_release(struct replica *replica)
{
    cluster_view_release(&replica->view);
    free(replica->source);
    free(replica->copy);
    free(replica->origin);
    free(replica->is_common);
    free(replica->new_group);
}

// ---- which thread is like which ----

static void choose_sources(struct replica *replica)
{
    const uint32_t n_old = replica->old->n_threads;
    const uint32_t n = replica->view.n_threads;
    const uint32_t n_whole = n / n_old * n_old;
    const uint64_t n_rest = n - n_whole;

    for (uint32_t j = 0; j < n; j++) {
        replica->copy[j] = j / n_old;
        replica->source[j] =
            j < n_whole ? j % n_old
                        : (uint32_t)((j - n_whole) * (uint64_t)n_old / n_rest);
    }
}

// ---- pages ----

static void find_common(struct replica *replica)
{
    const struct cluster_view *old = replica->old;
    uint32_t *n_readers = memory_new(old->n_groups, sizeof *n_readers);

    for (uint32_t i = 0; i < old->n_threads; i++) {
        for (uint32_t u = 0; u < old->threads[i].n_uses; u++) {
            const struct use *use = &old->uses[old->threads[i].first_use + u];

            n_readers[use->group] += use->flags == USE_READ;
        }
    }
    for (uint32_t g = 0; g < old->n_groups; g++) {
        replica->is_common[g] = n_readers[g] == old->n_threads;
    }
    free(n_readers);
}

static uint32_t number_group(struct replica *replica, uint32_t copy,
                             uint32_t group)
{
    struct cluster_view *view = &replica->view;
    const size_t at = replica->is_common[group]
                          ? group
                          : (size_t)copy * replica->old->n_groups + group;

    if (replica->new_group[at] == 0) {
        view->group_pages[view->n_groups++] = replica->old->group_pages[group];
        replica->new_group[at] = view->n_groups;
    }
    return replica->new_group[at] - 1;
}

static void copy_threads(struct replica *replica)
{
    const struct cluster_view *old = replica->old;
    struct cluster_view *view = &replica->view;

    for (uint32_t j = 0; j < view->n_threads; j++) {
        const struct thread_view *like = &old->threads[replica->source[j]];

        view->threads[j] = *like;
        view->threads[j].first_use = view->n_uses;
        for (uint32_t u = 0; u < like->n_uses; u++) {
            struct use *use = &view->uses[view->n_uses++];

            *use = old->uses[like->first_use + u];
            use->group = number_group(replica, replica->copy[j], use->group);
        }
    }
}

// ---- all of it ----

static void allocate_pages(struct replica *replica, uint64_t n_copies,
                           uint64_t n_uses)
{
    const uint64_t n_groups = n_copies * replica->old->n_groups;

    replica->view.group_pages = memory_new(n_groups, sizeof(uint32_t));
    replica->view.uses = memory_new(n_uses, sizeof(struct use));
    replica->new_group = memory_new(n_groups, sizeof(uint32_t));
    replica->is_common = memory_new(replica->old->n_groups, 1);
}

static uint64_t count_uses(const struct replica *replica)
{
    uint64_t n = 0;

    for (uint32_t j = 0; j < replica->view.n_threads; j++) {
        n += replica->old->threads[replica->source[j]].n_uses;
    }
    return n;
}

/** Make the view of n_threads threads, its nodes not yet filled in. */
static tm_status build(struct replica *replica, uint32_t n_nodes,
                       uint32_t n_threads)
{
    const uint64_t n_copies = (n_threads - 1ull) / replica->old->n_threads + 1;
    uint64_t n_uses;

    ensure(cluster_view_init(&replica->view, n_nodes, n_threads) == TM_OK);
    replica->source = memory_new(n_threads, sizeof *replica->source);
    replica->copy = memory_new(n_threads, sizeof *replica->copy);
    replica->origin = memory_new(n_threads, sizeof *replica->origin);
    choose_sources(replica);
    n_uses = count_uses(replica);
    if (n_uses >= UINT32_MAX ||
        n_copies * replica->old->n_groups >= UINT32_MAX) {
        return TM_ELIMIT;
    }
    allocate_pages(replica, n_copies, n_uses);
    find_common(replica);
    copy_threads(replica);
    return TM_OK;
}

/** Put what was built into the scenario. */
static void install(struct scenario *scenario, struct replica *replica)
{
    const struct cluster_view old = scenario->view;

    free(scenario->node_of);
    free(scenario->origin);
    // scenario_settle() fills it in
    scenario->node_of = memory_new(replica->view.n_threads, sizeof(uint32_t));
    scenario->origin = replica->origin;
    scenario->view = replica->view;
    scenario->is_changed = 1;
    replica->view = old;
    replica->origin = NULL;
}

static tm_status refuse_limit(char *error, size_t size)
{
    snprintf(error, size,
             "more than %u threads, or 2^32 groups of pages or uses",
             THREADS_MAX);
    return TM_ELIMIT;
}

tm_status replicate_threads(struct scenario *scenario, uint64_t n_threads,
                            char *error, size_t size)
{
    const struct cluster_view *old = &scenario->view;
    const uint32_t n_before = old->n_threads;
    struct replica replica = {.old = old};
    tm_status status;

    if (n_threads > THREADS_MAX) {
        return refuse_limit(error, size);
    }
    status = build(&replica, old->n_nodes, (uint32_t)n_threads);
    if (status == TM_OK) {
        memcpy(replica.view.nodes, old->nodes,
               old->n_nodes * sizeof *old->nodes);
        for (uint32_t j = 0; j < replica.view.n_threads; j++) {
            replica.origin[j] = scenario->origin[replica.source[j]];
        }
        install(scenario, &replica);
        scenario_note(scenario,
                      "threads: %u -> %u, each like one of those there were",
                      n_before, scenario->view.n_threads);
    }
    replica_release(&replica);
    return status == TM_OK ? TM_OK : refuse_limit(error, size);
}

/** "n1" of copy 1 is "n1-2". */
static void name_copy(struct node_view *node, uint32_t copy)
{
    char number[16];
    const int length = snprintf(number, sizeof number, "-%u", copy + 1);
    size_t kept = strlen(node->name);

    if (copy > 0) {
        if (kept + (size_t)length >= sizeof node->name) {
            kept = sizeof node->name - 1 - (size_t)length;
        }
        memcpy(node->name + kept, number, (size_t)length + 1);
    }
}

static void copy_corrections(struct scenario *scenario, uint32_t factor)
{
    const size_t n = scenario->view.n_nodes;
    struct correction *corrections;

    if (scenario->corrections == NULL) {
        return;
    }
    corrections = memory_new(n * factor, sizeof *corrections);
    for (size_t c = 0; c < factor; c++) {
        memcpy(corrections + c * n, scenario->corrections,
               n * sizeof *corrections);
    }
    free(scenario->corrections);
    scenario->corrections = corrections;
    scenario->model.corrections = corrections;
}

static void copy_nodes(const struct scenario *scenario, struct replica *replica)
{
    const uint32_t n_old = replica->old->n_nodes;

    for (uint32_t x = 0; x < replica->view.n_nodes; x++) {
        replica->view.nodes[x] = replica->old->nodes[x % n_old];
        name_copy(&replica->view.nodes[x], x / n_old);
    }
    for (uint32_t j = 0; j < replica->view.n_threads; j++) {
        const uint32_t origin = scenario->origin[replica->source[j]];

        replica->origin[j] =
            origin == NO_NODE ? NO_NODE : replica->copy[j] * n_old + origin;
    }
}

tm_status replicate_all(struct scenario *scenario, uint32_t factor, char *error,
                        size_t size)
{
    const uint64_t n_nodes = (uint64_t)scenario->view.n_nodes * factor;
    const uint64_t n_threads = (uint64_t)scenario->view.n_threads * factor;
    struct replica replica = {.old = &scenario->view};
    tm_status status;

    if (n_nodes > THREADS_MAX || n_threads > THREADS_MAX) {
        return refuse_limit(error, size);
    }
    status = build(&replica, (uint32_t)n_nodes, (uint32_t)n_threads);
    if (status == TM_OK) {
        copy_corrections(scenario, factor);
        copy_nodes(scenario, &replica);
        install(scenario, &replica);
        scenario_note(scenario, "%u times as large: %u nodes, %u threads",
                      factor, scenario->view.n_nodes, scenario->view.n_threads);
    }
    replica_release(&replica);
    return status == TM_OK ? TM_OK : refuse_limit(error, size);
}
