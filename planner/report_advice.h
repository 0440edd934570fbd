// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_REPORT_ADVICE_H
#define PLANNER_REPORT_ADVICE_H

#include <stdio.h>

#include "planner/cheapest.h"

/** All that `teamster plan --advise` has found out. */
struct report_advice {
    const char *name; ///< of the profile's file
    const struct profile *profile;
    const struct plan *now;  ///< of the profile as it is
    const struct plan *base; ///< what advice is about: `now`, or after changes
    const struct wish *wish;
    const struct cheapest *advice;
};

/** For people. */
void report_advice_print(const struct report_advice *report, FILE *file);

/** For programs: JSON, as docs/plan.md has it. @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status
report_advice_print_json(const struct report_advice *report, FILE *file);

/** Of many nodes: a line for each class (node_classes.h), under the mapping in force and under
 * an answer. */
void report_classes_print(const struct profile *profile,
                          const struct plan *plan, const struct answer *answer,
                          FILE *file);

#endif
