// SPDX-License-Identifier: BSD-3-Clause
// As threads are spread when a program starts: the same number everywhere.
#include "place/answer.h"
#include "place/policies.h"

static void place(const struct place_request *request, struct mapping *mapping)
{
    answer_initial(request->view, mapping->node_of);
}

const struct policy policy_initial = {
    .name = "initial",
    .summary = "as many threads on each node, in the order of their numbers",
    .place = place,
};
