// SPDX-License-Identifier: BSD-3-Clause
#include "place/policy.h"

#include <string.h>

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

tm_status policy_place(const struct policy *policy,
                       const struct place_request *request,
                       struct mapping *mapping)
{
    if (!mapping_is_valid(request->view, request->current)) {
        return TM_EINVAL;
    }
    *mapping = (struct mapping){.node_of = mapping->node_of};
    mapping->before_s = answer_time(request, request->current);
    policy->place(request, mapping);
    answer_pins(request->view, request->current, mapping->node_of);
    mapping->n_moves =
        answer_moves(request->view, request->current, mapping->node_of);
    mapping->after_s = answer_time(request, mapping->node_of);
    return TM_OK;
}
