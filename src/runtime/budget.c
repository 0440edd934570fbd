// SPDX-License-Identifier: BSD-3-Clause
//
// How much memory a node may use for shared data: the pager's budget.
//
// What --memory or memory= of the hostfile declares stays as it is. If neither does and
// a control group limits the node, its budget is seven eighths of its part of what
// is left there, since the kernel ends who takes more. Others in the group take
// memory too while the program runs: other jobs in a container, the program itself
// with malloc(). So the node looks at each sample of the observer what is left now,
// and has pages go before the kernel ends somebody; when there is more again it takes
// that back. A node that has neither has no pager: then the machine's memory is the
// limit, and the kernel's paging what happens beyond.
//
// Nodes in one group divide it. What the others of them have is shared memory, too, and
// counts as if it were left: they keep to their parts.
//
// B1  The budget is at least what the pager cannot do without, and at most what it
//     was at the start, which all nodes have been told.
#include <math.h>

#include "base/log.h"
#include "runtime/node.h"
#include "runtime/observer.h"
#include "runtime/paging.h"

// Of a change that is worth one.
#define PART_CHANGED 16u

// For a node that is alone.
static uint64_t own_budget(struct node *node)
{
    struct memory_state state;

    if (!observer_has_watch(node)) {
        return 0;
    }
    memory_read(&node->observer.watch, &state);
    if (state.available.group == NULL) {
        return 0;
    }
    node->paging.part = 1;
    return capacity_without_reserve(state.available.bytes);
}

uint64_t budget_of_group(struct node *node)
{
    const struct node_capacity *nodes = node->capacity.nodes;
    const struct node_capacity *own = &nodes[node->self];
    uint64_t bytes;

    if (node->n_nodes == 1) {
        return own_budget(node);
    }
    if (own->free_by == MEMORY_BY_MACHINE || own->memory_free == 0) {
        return 0;
    }
    bytes = capacity_memory(nodes, node->n_nodes, node->self);
    node->paging.part =
        (double)bytes / (double)capacity_without_reserve(own->memory_free);
    return bytes;
}

uint64_t budget_if_changed(struct node *node)
{
    struct pager_stats counted;

    if (node->paging.part <= 0) {
        return 0;
    }
    pager_stats(node->paging.pager, &counted);
    return counted.budget == node->paging.first_pages
               ? 0
               : counted.budget * TM_PAGE_SIZE;
}

static void change(struct node *node, uint64_t budget, uint64_t pages)
{
    struct paging *paging = &node->paging;
    uint64_t difference;

    pages = pages < paging->least_pages ? paging->least_pages : pages;
    pages = pages > paging->first_pages ? paging->first_pages : pages; // B1
    difference = pages > budget ? pages - budget : budget - pages;
    if (difference <= budget / PART_CHANGED) {
        return;
    }
    log_debug(
        "the control group leaves %llu MiB for shared data now, %llu before",
        (unsigned long long)(pages * TM_PAGE_SIZE >> 20),
        (unsigned long long)(budget * TM_PAGE_SIZE >> 20));
    pager_set_budget(paging->pager, pages);
}

// @return bytes of shared memory that other nodes in the group have, at most their parts
static double others_have(struct node *node, uint64_t used)
{
    const double n_others = 1 / node->paging.part - 1;
    const double shared =
        (double)sample_get(&node->observer.sample.shared) - (double)used;

    return fmin(fmax(shared, 0),
                n_others * (double)(node->paging.first_pages * TM_PAGE_SIZE));
}

// @return bytes that others will have taken until the next sample if they go on so
static double next_loss(struct node *node, double bytes)
{
    const double before = node->paging.left_before;

    node->paging.left_before = bytes;
    return before > bytes ? before - bytes : 0;
}

void budget_follow(struct node *node)
{
    struct paging *paging = &node->paging;
    const struct node_sample *sample = observer_sample(node);
    const uint64_t n_samples = sample_get(&sample->n_samples);
    struct pager_stats counted;
    uint64_t used;
    double bytes;

    if (paging->part <= 0 || n_samples == paging->n_samples) {
        return;
    }
    paging->n_samples = n_samples;
    pager_stats(paging->pager, &counted);
    used = counted.used * TM_PAGE_SIZE;
    bytes = ((double)sample_get(&sample->available) + (double)used +
             others_have(node, used)) *
            paging->part;
    bytes -= fmin(next_loss(node, bytes), bytes);
    change(node, counted.budget,
           capacity_without_reserve((uint64_t)bytes) / TM_PAGE_SIZE);
}
