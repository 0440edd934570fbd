// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_POLICIES_H
#define PLACE_POLICIES_H

#include "place/policy.h"

/* Each in policy_NAME.c; docs/placement.md says what they do. */

extern const struct policy policy_initial;
extern const struct policy policy_cpu;
extern const struct policy policy_mem;
extern const struct policy policy_mem_share;
extern const struct policy policy_cpu_mem;
extern const struct policy policy_liang03;
extern const struct policy policy_cvm;
extern const struct policy policy_jiajia;
extern const struct policy policy_cohesion;
extern const struct policy policy_gate;
extern const struct policy policy_optimal;

#endif
