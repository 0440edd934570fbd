// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_RUN_ADVICE_H
#define PLANNER_RUN_ADVICE_H

#include "planner/run_record.h"

/** The factors of an efficiency, in the order in which they are shown. */
enum factor {
    FACTOR_LOAD_BALANCE,
    FACTOR_PAGING,
    FACTOR_COMMUNICATION,
    FACTOR_SPEED,
    N_FACTORS,
};

/** What a run can be told of a factor: what there was, as measured, and what would change
 * it, as the model predicts; or why that cannot be told. */
struct advice {
    char text[1024];
    int moves_threads; ///< it is to let cpu-mem move them
};

/** A factor that is nearer to 1 than this is not worth words. */
#define ADVICE_NONE 0.95

/** A change is worth telling if it makes iterations shorter by this part. */
#define ADVICE_GAIN 0.05

/** The model is not believed if it is off by more than this for the mapping in force. */
#define ADVICE_TRUST 0.25

/** Nor is it asked if the slowest node is busy for less than this part of an iteration. */
#define ADVICE_BUSY 0.6

const char *factor_name(enum factor factor);
double factor_value(const struct efficiency *efficiency, enum factor factor);

/**
 * Look for advice.
 *
 * @param efficiency  of the record
 * @param[out] all    [N_FACTORS]
 *
 * Context: takes as long as some plans; ends the process if memory is short.
 */
void advice_make(const struct record *record,
                 const struct efficiency *efficiency, struct advice *all);

/**
 * The command that runs it again as the advice is, to be copied: with cpu-mem, and a report
 * of another name.
 *
 * @param all       [N_FACTORS]
 * @param[out] line [size]
 * @return 1
 * @return 0  no policy is advised, it was cpu-mem's run, its options are not known, or the
 *            line is too long
 */
int advice_command(const struct record *record, const struct advice *all,
                   char *line, size_t size);

#endif
