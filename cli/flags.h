// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include "base/options.h"

#define FLAGS_MAX 64

/** What the command line of a run says about base/options.def. */
struct flags {
    const char *value[FLAGS_MAX]; ///< of each row; NULL: not given
    int wants_help;
};

/**
 * Take the options in front of the first word that is none.
 * @return the index of that word, argc if there is none
 * @return -1  an unknown option or a missing value; told
 */
int flags_parse(int argc, char **argv, struct flags *flags);

/**
 * Put what was given into the environment, for the nodes, and read all options
 * from there.
 * @return 0, EXIT_USAGE (a flag is wrong) or EXIT_CONFIG (a variable is); told
 */
int flags_apply(const struct flags *flags, struct options *options);

/** A line or two for each option, on stdout. */
void flags_print_help(void);

#endif
