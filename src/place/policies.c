// SPDX-License-Identifier: BSD-3-Clause
// The only list of placement policies. To add one: write it, add its row here.
#include "place/policies.h"

const struct policy *const policies[] = {
    &policy_initial,  &policy_cpu,     &policy_mem,     &policy_mem_share,
    &policy_cpu_mem,  &policy_liang03, &policy_cvm,     &policy_jiajia,
    &policy_cohesion, &policy_gate,    &policy_optimal,
};

const unsigned n_policies = sizeof policies / sizeof policies[0];
