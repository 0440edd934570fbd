// SPDX-License-Identifier: BSD-3-Clause
#include "place/affinity.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/memory.h"
#include "base/vector.h"

/** Where pages are neither sent nor short, threads that share are still better
 * off together: seconds for a page. */
#define LEAST_S 1e-9

/** Which threads use each group that joins some: thread numbers, ascending. */
struct users {
    uint32_t *first;   ///< [n_groups + 1]
    uint32_t *threads; ///< [n_uses]
    uint32_t *uses;    ///< [n_uses]: indices into view->uses
};

struct builder {
    const struct cluster_view *view;
    struct users users;
    enum affinity_kind kind;
    double *group_weights; ///< [n_groups]: of an edge; for cohesion, pages
    double *row;           ///< [n_threads]: the row in the making
    uint32_t *in_row;      ///< [n_threads]: threads with an entry in it
    uint32_t n_in_row;
    uint32_t *cursor; ///< [n_groups]: the row's thread in users.threads
    struct affinity *it;
    uint64_t n_edges;
    uint64_t room;
};

// ---- users of groups ----

static void users_release(struct users *users)
{
    free(users->first);
    free(users->threads);
    free(users->uses);
    *users = (struct users){0};
}

/** Where a group's users will begin, from how many it has. Groups that almost all
 * threads use join none. */
static void count_users(const struct cluster_view *view, uint32_t *first)
{
    const uint32_t half = view->n_threads / 2;
    const uint32_t most =
        half > AFFINITY_CLIQUE_MAX ? half : AFFINITY_CLIQUE_MAX;

    for (uint32_t u = 0; u < view->n_uses; u++) {
        first[view->uses[u].group + 1]++;
    }
    for (uint32_t g = 0; g < view->n_groups; g++) {
        const int joins = first[g + 1] <= most;

        first[g + 1] = first[g] + (joins ? first[g + 1] : 0);
    }
}

/** @param[out] users   users_release() frees it
 * @param      cursor  [n_groups], for its own use */
static void users_init(struct users *users, const struct cluster_view *view,
                       uint32_t *cursor)
{
    uint32_t *first = memory_new(view->n_groups + 1ull, sizeof *first);

    users->first = first;
    users->threads = memory_new(view->n_uses + 1ull, sizeof *users->threads);
    users->uses = memory_new(view->n_uses + 1ull, sizeof *users->uses);
    count_users(view, first);
    memcpy(cursor, first, view->n_groups * sizeof *cursor);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        const struct thread_view *it = &view->threads[i];

        for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
            const uint32_t g = view->uses[u].group;

            if (cursor[g] < first[g + 1]) {
                users->threads[cursor[g]] = i;
                users->uses[cursor[g]++] = u;
            }
        }
    }
}

// ---- weights ----

static uint32_t n_users(const struct builder *builder, uint32_t group)
{
    return builder->users.first[group + 1] - builder->users.first[group];
}

/** What one holder less of each group would save, on each of its edges. */
static void weigh_costs(struct builder *builder, double page_s)
{
    const struct cluster_view *view = builder->view;
    double byte_s = 0;   // for a byte sent, in the mean over nodes
    double update_s = 0; // for a page updated, beyond its bytes

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const struct node_view *node = &view->nodes[x];

        byte_s += node->packet_s / node->packet_bytes / view->n_nodes;
        update_s += node->update_s / view->n_nodes;
    }
    for (uint32_t g = 0; g < view->n_groups; g++) {
        const uint32_t q = n_users(builder, g);
        double bytes = 0;
        uint32_t flags = 0;
        double weight;

        for (uint32_t k = builder->users.first[g];
             k < builder->users.first[g + 1]; k++) {
            bytes += view->uses[builder->users.uses[k]].diff_bytes;
            flags |= view->uses[builder->users.uses[k]].flags;
        }
        bytes = bytes < TM_PAGE_SIZE ? bytes : TM_PAGE_SIZE;
        weight = view->group_pages[g] * (bytes * byte_s + page_s + LEAST_S +
                                         (flags & USE_WRITE ? update_s : 0));
        builder->group_weights[g] = q <= AFFINITY_CLIQUE_MAX
                                        ? weight / (q > 1 ? q - 1 : 1)
                                        : weight / 2;
    }
}

static void weigh_groups(struct builder *builder, double page_s)
{
    if (builder->kind == AFFINITY_COST) {
        weigh_costs(builder, page_s);
        return;
    }
    for (uint32_t g = 0; g < builder->view->n_groups; g++) {
        builder->group_weights[g] = builder->view->group_pages[g];
    }
}

/** How many of two uses write. */
static unsigned n_writes(const struct builder *builder, uint32_t a, uint32_t b)
{
    const struct use *uses = builder->view->uses;

    return ((uses[builder->users.uses[a]].flags & USE_WRITE) != 0) +
           ((uses[builder->users.uses[b]].flags & USE_WRITE) != 0);
}

// ---- rows ----

static void add_peer(struct builder *builder, uint32_t group, uint32_t own,
                     uint32_t other)
{
    const uint32_t peer = builder->users.threads[other];
    double weight = builder->group_weights[group];

    if (builder->kind == AFFINITY_COHESION) {
        weight *= n_writes(builder, own, other);
    }
    if (weight <= 0) {
        return;
    }
    if (builder->row[peer] == 0) {
        builder->in_row[builder->n_in_row++] = peer;
    }
    builder->row[peer] += weight;
}

/** Add what a thread's use of a group joins it with. */
static void add_group(struct builder *builder, uint32_t group)
{
    const uint32_t first = builder->users.first[group];
    const uint32_t end = builder->users.first[group + 1];
    const uint32_t own = builder->cursor[group]++;
    const uint32_t q = end - first;

    if (q <= AFFINITY_CLIQUE_MAX) {
        for (uint32_t k = first; k < end; k++) {
            if (k != own) {
                add_peer(builder, group, own, k);
            }
        }
    } else {
        add_peer(builder, group, own, own > first ? own - 1 : end - 1);
        add_peer(builder, group, own, own + 1 < end ? own + 1 : first);
    }
}

static void make_room(struct builder *builder)
{
    const uint64_t needed = builder->n_edges + builder->n_in_row;
    uint64_t room = builder->room;

    ensure_memory(needed < UINT32_MAX);
    vector_reserve(builder->it->peers, room, needed);
    vector_reserve(builder->it->weights, builder->room, needed);
}

static void add_row(struct builder *builder, uint32_t thread)
{
    const struct thread_view *it = &builder->view->threads[thread];

    builder->n_in_row = 0;
    for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
        add_group(builder, builder->view->uses[u].group);
    }
    make_room(builder);
    for (uint32_t k = 0; k < builder->n_in_row; k++) {
        const uint32_t peer = builder->in_row[k];

        builder->it->peers[builder->n_edges] = peer;
        builder->it->weights[builder->n_edges++] = builder->row[peer];
        builder->it->total += builder->row[peer] / 2;
        builder->row[peer] = 0;
    }
    builder->it->first[thread + 1] = (uint32_t)builder->n_edges;
}

// ---- all of it ----

static void builder_release(struct builder *builder)
{
    users_release(&builder->users);
    free(builder->group_weights);
    free(builder->row);
    free(builder->in_row);
    free(builder->cursor);
}

static void builder_init(struct builder *builder)
{
    const size_t n_threads = builder->view->n_threads;
    const size_t n_groups = builder->view->n_groups;

    builder->room = 4 * n_threads;
    builder->group_weights = memory_new(n_groups + 1, sizeof(double));
    builder->row = memory_new(n_threads, sizeof(double));
    builder->in_row = memory_new(n_threads, sizeof(uint32_t));
    builder->cursor = memory_new(n_groups + 1, sizeof(uint32_t));
    builder->it->first = memory_new(n_threads + 1, sizeof(uint32_t));
    builder->it->peers = memory_new(builder->room, sizeof(uint32_t));
    builder->it->weights = memory_new(builder->room, sizeof(double));
    users_init(&builder->users, builder->view, builder->cursor);
}

void affinity_init(struct affinity *affinity, const struct cluster_view *view,
                   enum affinity_kind kind, double page_s)
{
    struct builder builder = {.view = view, .kind = kind, .it = affinity};

    *affinity = (struct affinity){.n_threads = view->n_threads};
    builder_init(&builder);
    weigh_groups(&builder, page_s);
    memcpy(builder.cursor, builder.users.first,
           view->n_groups * sizeof *builder.cursor);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        add_row(&builder, i);
    }
    builder_release(&builder);
}

void affinity_release(struct affinity *affinity)
{
    free(affinity->first);
    free(affinity->peers);
    free(affinity->weights);
    *affinity = (struct affinity){0};
}

double affinity_cut(const struct affinity *affinity, const uint32_t *node_of)
{
    double cut = 0;

    for (uint32_t i = 0; i < affinity->n_threads; i++) {
        for (uint32_t e = affinity->first[i]; e < affinity->first[i + 1]; e++) {
            const int is_cut = node_of[affinity->peers[e]] != node_of[i];

            cut += is_cut * affinity->weights[e]; // a branch would take longer
        }
    }
    return cut / 2;
}
