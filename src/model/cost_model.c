// SPDX-License-Identifier: BSD-3-Clause
#include "model/cost_model.h"

#include <string.h>

static const struct {
    const char *name;
    struct cost_model model;
} by_name[] = {
#define MODEL(name, equations, how)                                            \
    {name, {.kind = (equations), .replacement = (how)}},
#include "base/models.def"
};

int cost_model_find(const char *name, struct cost_model *model)
{
    for (unsigned i = 0; i < sizeof by_name / sizeof by_name[0]; i++) {
        if (strcmp(by_name[i].name, name) == 0) {
            *model = by_name[i].model;
            return 1;
        }
    }
    return 0;
}

static uint32_t most_swapping(const struct cluster_view *view,
                              const struct measurement *measured,
                              double *swap_s)
{
    uint32_t best = 0;

    *swap_s = 0;
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const struct node_measurement *it = &measured->nodes[x];

        if (it->lack_pages > 0 && it->swap_in_s + it->swap_out_s > *swap_s) {
            *swap_s = it->swap_in_s + it->swap_out_s;
            best = x;
        }
    }
    return best;
}

static uint32_t least_free(const struct cluster_view *view)
{
    uint32_t best = 0;

    for (uint32_t x = 1; x < view->n_nodes; x++) {
        if (view->nodes[x].free_pages < view->nodes[best].free_pages) {
            best = x;
        }
    }
    return best;
}

uint32_t reference_choose(const struct cluster_view *view,
                          const struct measurement *measured,
                          struct reference *reference)
{
    double swap_s = 0;
    uint32_t x = measured != NULL ? most_swapping(view, measured, &swap_s) : 0;

    if (swap_s <= 0) {
        x = least_free(view);
    }
    *reference = (struct reference){
        .power = view->nodes[x].power,
        .free_pages = view->nodes[x].free_pages,
        .total_pages = view->nodes[x].total_pages,
        .swap_in_s = view->nodes[x].swap_in_s,
        .swap_out_s = view->nodes[x].swap_out_s,
    };
    if (measured != NULL && swap_s > 0) {
        reference->lack_pages = measured->nodes[x].lack_pages;
        reference->swap_in_s = measured->nodes[x].swap_in_s;
        reference->swap_out_s = measured->nodes[x].swap_out_s;
    }
    return x;
}

void reference_set_lack(struct reference *reference,
                        const struct node_view *node, uint64_t demand_pages)
{
    if (reference->lack_pages > 0 && demand_pages > node->memory_pages) {
        reference->lack_pages = demand_pages - node->memory_pages;
    }
}
