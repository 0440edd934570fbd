// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_SIMULATE_REPORT_H
#define CLI_SIMULATE_REPORT_H

#include <stdio.h>

#include "simulate/simulate.h"

/** What a simulation came to, and what of. */
struct simulate_report {
    const char *profile; ///< its name
    const char *program;
    const char *policy; ///< name, "none" or "by hand"
    const char *protocol;
    const char *note; ///< the script is guessed, and how; NULL: it is the run's
    const struct simulation *simulation;
    const struct simulation_result *result;
    int is_verbose;
};

/** As tables for people. */
void simulate_report_print(const struct simulate_report *report, FILE *file);
/** As one JSON object (docs/simulate.md): the same bytes for the same simulation. */
void simulate_report_json(const struct simulate_report *report, FILE *file);

#endif
