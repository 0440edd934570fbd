// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_REPORT_H
#define PLANNER_REPORT_H

#include <stdio.h>

#include "planner/plan.h"

/** All that `teamster plan` has found out. */
struct report {
    const char *name; ///< of the profile's file
    const struct profile *profile;
    const struct plan *now;  ///< the profile as it is
    const struct plan *then; ///< after the changes; NULL: nothing was changed
    const struct answer *repeated; ///< of `now`: by the policy that decided in
                                   ///< the run; NULL: not asked, or none did
    const char *differences; ///< from the run's decision, a line each; "": none
    int is_verbose;
};

/** For people. */
void report_print(const struct report *report, FILE *file);

/** For programs: JSON, as docs/plan.md has it. @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status report_print_json(const struct report *report, FILE *file);

#endif
