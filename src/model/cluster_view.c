// SPDX-License-Identifier: BSD-3-Clause
#include "model/cluster_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

// ---- making, copying, freeing ----

tm_status cluster_view_init(struct cluster_view *view, uint32_t n_nodes,
                            uint32_t n_threads)
{
    *view = (struct cluster_view){0};
    if (n_nodes == 0 || n_threads == 0) {
        return TM_EINVAL;
    }
    view->n_nodes = n_nodes;
    view->n_threads = n_threads;
    view->nodes = memory_new(n_nodes, sizeof *view->nodes);
    view->threads = memory_new(n_threads, sizeof *view->threads);
    return TM_OK;
}

void cluster_view_release(struct cluster_view *view)
{
    free(view->nodes);
    free(view->threads);
    free(view->group_pages);
    free(view->uses);
    *view = (struct cluster_view){0};
}

static void copy_nodes(struct cluster_view *copy,
                       const struct cluster_view *view)
{
    memcpy(copy->nodes, view->nodes, view->n_nodes * sizeof *view->nodes);
    for (uint32_t x = view->n_nodes; x < copy->n_nodes; x++) {
        copy->nodes[x] = view->nodes[0];
    }
}

static void *copy_of(const void *array, size_t n, size_t size)
{
    void *copy = memory_new(n, size);

    if (n > 0) {
        memcpy(copy, array, n * size);
    }
    return copy;
}

void cluster_view_copy(struct cluster_view *copy,
                       const struct cluster_view *view, uint32_t n_more_nodes)
{
    *copy = *view;
    copy->n_nodes += n_more_nodes;
    copy->nodes = memory_new(copy->n_nodes, sizeof *copy->nodes);
    copy_nodes(copy, view);
    copy->threads =
        copy_of(view->threads, view->n_threads, sizeof *view->threads);
    copy->group_pages =
        copy_of(view->group_pages, view->n_groups, sizeof *view->group_pages);
    copy->uses = copy_of(view->uses, view->n_uses, sizeof *view->uses);
}

// ---- checking ----

/** Say what is wrong. @return 0 */
#define complain(reason, ...) (text_add((reason), __VA_ARGS__), 0)

static int is_time(double seconds)
{
    return isfinite(seconds) && seconds >= 0;
}

static int check_node(const struct cluster_view *view, uint32_t x,
                      struct text *reason)
{
    const struct node_view *node = &view->nodes[x];

    if (memchr(node->name, 0, sizeof node->name) == NULL || !node->name[0]) {
        return complain(reason, "node %u has no name", x);
    }
    if (!isfinite(node->power) || node->power <= 0) {
        return complain(reason, "the power of %s is not above 0", node->name);
    }
    if (node->n_processors == 0) {
        return complain(reason, "%s has no processors", node->name);
    }
    if (!is_time(node->swap_in_s) || !is_time(node->swap_out_s) ||
        !is_time(node->fetch_s) || !is_time(node->packet_s) ||
        !is_time(node->update_s)) {
        return complain(reason, "a cost of %s is not a time", node->name);
    }
    if (node->packet_bytes == 0) {
        return complain(reason, "the packets of %s are empty", node->name);
    }
    return 1;
}

static int check_use(const struct cluster_view *view, uint32_t thread,
                     const struct use *use, struct text *reason)
{
    if (use->group >= view->n_groups) {
        return complain(reason, "thread %u uses group %u of %u", thread,
                        use->group, view->n_groups);
    }
    if (use->flags == 0 || (use->flags & ~(USE_READ | USE_WRITE)) != 0) {
        return complain(reason, "thread %u uses group %u in no known way",
                        thread, use->group);
    }
    if (use->diff_bytes > TM_PAGE_SIZE ||
        (use->diff_bytes > 0 && !(use->flags & USE_WRITE))) {
        return complain(reason, "thread %u has an impossible diff of group %u",
                        thread, use->group);
    }
    return 1;
}

/** @param seen  [n_groups]: the last thread that used the group, plus 1 */
static int check_thread(const struct cluster_view *view, uint32_t thread,
                        uint32_t *seen, struct text *reason)
{
    const struct thread_view *it = &view->threads[thread];

    if (!is_time(it->computation_s)) {
        return complain(reason, "the computation of thread %u is not a time",
                        thread);
    }
    if ((uint64_t)it->first_use + it->n_uses > view->n_uses) {
        return complain(reason, "the uses of thread %u are out of range",
                        thread);
    }
    for (uint32_t i = 0; i < it->n_uses; i++) {
        const struct use *use = &view->uses[it->first_use + i];

        if (!check_use(view, thread, use, reason)) {
            return 0;
        }
        if (seen[use->group] == thread + 1) {
            return complain(reason, "thread %u uses group %u twice", thread,
                            use->group);
        }
        seen[use->group] = thread + 1;
    }
    return 1;
}

static int check_threads(const struct cluster_view *view, struct text *reason)
{
    uint32_t *seen = memory_new(view->n_groups, sizeof *seen);
    uint64_t n_uses = 0;
    int is_valid = 1;

    for (uint32_t i = 0; is_valid && i < view->n_threads; i++) {
        is_valid = check_thread(view, i, seen, reason);
        n_uses += view->threads[i].n_uses;
    }
    if (is_valid && n_uses > view->n_uses) {
        is_valid = complain(reason, "two threads have the same uses");
    }
    free(seen);
    return is_valid;
}

int cluster_view_check(const struct cluster_view *view, char *reason,
                       size_t size)
{
    struct text out = {reason, size, 0};

    if (view->n_nodes == 0 || view->n_threads == 0) {
        return complain(&out, "there are no nodes or no threads");
    }
    if (view->n_threads == UINT32_MAX || view->nodes == NULL ||
        view->threads == NULL || (view->n_groups > 0 && !view->group_pages) ||
        (view->n_uses > 0 && view->uses == NULL)) {
        return complain(&out, "an array is missing");
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        if (!check_node(view, x, &out)) {
            return 0;
        }
    }
    for (uint32_t g = 0; g < view->n_groups; g++) {
        if (view->group_pages[g] == 0) {
            return complain(&out, "group %u has no pages", g);
        }
    }
    return check_threads(view, &out);
}

int cluster_view_is_valid(const struct cluster_view *view)
{
    return cluster_view_check(view, NULL, 0);
}

// ---- questions ----

double cluster_view_sum_pages(const struct cluster_view *view)
{
    double sum = 0;

    for (uint32_t u = 0; u < view->n_uses; u++) {
        sum += view->group_pages[view->uses[u].group];
    }
    return sum;
}

struct group_users *cluster_view_users(const struct cluster_view *view)
{
    struct group_users *users = memory_new(view->n_groups, sizeof *users);

    for (uint32_t u = 0; u < view->n_uses; u++) {
        const struct use *use = &view->uses[u];
        struct group_users *it = &users[use->group];

        it->n_users++;
        it->n_writers += (use->flags & USE_WRITE) != 0;
        it->n_senders += use->diff_bytes > 0;
        it->diff_bytes += use->diff_bytes;
    }
    return users;
}

int mapping_is_valid(const struct cluster_view *view, const uint32_t *node_of)
{
    for (uint32_t i = 0; i < view->n_threads; i++) {
        if (node_of[i] >= view->n_nodes) {
            return 0;
        }
    }
    return 1;
}

void cluster_view_list_threads(const struct cluster_view *view,
                               const uint32_t *node_of, uint32_t *first,
                               uint32_t *threads)
{
    for (uint32_t i = 0; i < view->n_threads; i++) {
        first[node_of[i] + 1]++;
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        first[x + 1] += first[x];
    }
    for (uint32_t i = 0; i < view->n_threads; i++) {
        threads[first[node_of[i]]++] = i;
    }
    // Each has become the next one's.
    memmove(first + 1, first, view->n_nodes * sizeof *first);
    first[0] = 0;
}
