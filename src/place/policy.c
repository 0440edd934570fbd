// SPDX-License-Identifier: BSD-3-Clause
#include "place/policy.h"

#include <string.h>

#include "model/condense.h"
#include "place/affinity.h"
#include "place/answer.h"

const struct policy *policy_find(const char *name)
{
    if (name == NULL) {
        name = "cpu-mem";
    }
    for (unsigned k = 0; k < n_policies; k++) {
        if (strcmp(policies[k]->name, name) == 0) {
            return policies[k];
        }
    }
    return NULL;
}

/** Make the request's view smaller if none of what is asked about it can tell. */
static void condense_view(struct place_request *request,
                          struct condensed *condensed)
{
    if (!cost_model_needs_order(request->model) &&
        request->view->n_threads > AFFINITY_CLIQUE_MAX) {
        condense(condensed, request->view);
        request->view = &condensed->view;
    }
}

tm_status policy_place(const struct policy *policy,
                       const struct place_request *request,
                       struct mapping *mapping)
{
    struct place_request smaller = *request;
    struct condensed condensed = {0};

    if (!mapping_is_valid(request->view, request->current)) {
        return TM_EINVAL;
    }
    *mapping = (struct mapping){.node_of = mapping->node_of};
    condense_view(&smaller, &condensed);
    mapping->before_s = answer_time(&smaller, request->current);
    policy->place(&smaller, mapping);
    answer_pins(smaller.view, request->current, mapping->node_of);
    mapping->n_moves =
        answer_moves(smaller.view, request->current, mapping->node_of);
    mapping->after_s = answer_time(&smaller, mapping->node_of);
    condensed_release(&condensed);
    return TM_OK;
}
