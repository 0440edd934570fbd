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
static tm_status condense_view(struct place_request *request,
                               struct condensed *condensed)
{
    tm_status status;

    if (cost_model_needs_order(request->model) ||
        request->view->n_threads <= AFFINITY_CLIQUE_MAX) {
        return TM_OK;
    }
    status = condense(condensed, request->view);
    request->view = &condensed->view;
    return status;
}

/** @param request  valid */
static tm_status place(const struct policy *policy,
                       const struct place_request *request,
                       struct mapping *mapping)
{
    tm_status status =
        answer_time(request, request->current, &mapping->before_s);

    if (status == TM_OK) {
        status = policy->place(request, mapping);
    }
    if (status != TM_OK) {
        return status;
    }
    answer_pins(request->view, request->current, mapping->node_of);
    mapping->n_moves =
        answer_moves(request->view, request->current, mapping->node_of);
    return answer_time(request, mapping->node_of, &mapping->after_s);
}

tm_status policy_place(const struct policy *policy,
                       const struct place_request *request,
                       struct mapping *mapping)
{
    struct place_request smaller = *request;
    struct condensed condensed = {0};
    tm_status status;

    if (!mapping_is_valid(request->view, request->current)) {
        return TM_EINVAL;
    }
    *mapping = (struct mapping){.node_of = mapping->node_of};
    status = condense_view(&smaller, &condensed);
    if (status == TM_OK) {
        status = place(policy, &smaller, mapping);
    }
    condensed_release(&condensed);
    return status;
}
