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
                       struct placement *placement)
{
    tm_status status =
        answer_time(request, request->current, &placement->before_s);

    if (status == TM_OK) {
        status = policy->place(request, placement);
    }
    if (status != TM_OK) {
        return status;
    }
    answer_pins(request->view, request->current, placement->node_of);
    placement->n_moves =
        answer_moves(request->view, request->current, placement->node_of);
    return answer_time(request, placement->node_of, &placement->after_s);
}

tm_status policy_place(const struct policy *policy,
                       const struct place_request *request,
                       struct placement *placement)
{
    struct place_request smaller = *request;
    struct condensed condensed = {0};
    tm_status status;

    if (!mapping_is_valid(request->view, request->current)) {
        return TM_EINVAL;
    }
    *placement = (struct placement){.node_of = placement->node_of};
    status = condense_view(&smaller, &condensed);
    if (status == TM_OK) {
        status = place(policy, &smaller, placement);
    }
    condensed_release(&condensed);
    return status;
}
