// SPDX-License-Identifier: BSD-3-Clause
#include "place/policies.h"

#define POLICY(symbol, name) &policy_##symbol,
const struct policy *const policies[] = {
#include "base/policies.def"
};

const unsigned n_policies = sizeof policies / sizeof policies[0];
