// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_COMPARE_RUNS_H
#define PLANNER_COMPARE_RUNS_H

#include "planner/run_record.h"

/** How long a run's iterations took: one in two is within the quarters. */
struct spread {
    double n; ///< iterations whose time is known; 0: nothing else is set
    double quarter_s; ///< one in four is shorter
    double median_s;
    double three_quarters_s;
};

/** An iteration of a run, by part: what the slowest node did in it. Seconds. */
struct parts {
    double computing_s;
    double paging_s;
    double waiting_s; ///< for other nodes, and for what is sent
};

/** Which is faster? */
enum verdict {
    VERDICT_TOO_FEW, ///< cannot be told: there are too few iterations
    VERDICT_OVERLAP, ///< cannot be told: their times overlap
    VERDICT_FIRST,
    VERDICT_SECOND,
};

/** A run of two. */
struct side {
    const char *name; ///< of its file
    const struct record *record;
    struct spread all;
    struct spread settled; ///< of the iterations after the last moves
    struct parts parts;    ///< if all.n > 0
    struct efficiency efficiency;
    int has_efficiency;
};

struct comparison {
    struct side sides[2];
    enum verdict verdict; ///< by `settled`
    double
        factor; ///< the slower one's median over the faster one's; 0: not told
};

/** Compare. The records and names must outlive it. Ends the process if memory is short. */
void compare_runs(struct comparison *comparison, const char *name_a,
                  const struct record *a, const char *name_b,
                  const struct record *b);

/** The verdict, in one sentence. @param[out] text  [size] */
void compare_say(const struct comparison *comparison, char *text, size_t size);

/** Its numbers as a table, for people. */
void compare_print(FILE *file, const struct comparison *comparison);

#endif
