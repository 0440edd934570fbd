// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_POLICIES_H
#define PLACE_POLICIES_H

#include "place/policy.h"

/* Each policy of base/policies.def is in policy_SYMBOL.c; docs/mapping.md says what
 * they do. */

#define POLICY(symbol, name) extern const struct policy policy_##symbol;
#include "base/policies.def"

#endif
