// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_COMMAND_OPTIONS_H
#define CLI_COMMAND_OPTIONS_H

#include <getopt.h>

/** Of take(), besides 0 and exit codes. */
enum {
    OPTIONS_END = -1,    ///< nothing behind it is looked at
    OPTION_UNKNOWN = -2, ///< getopt_long() has told it
};

/** A command's options. */
struct command_options {
    const char *command;        ///< "teamster plan", with which errors begin
    const char *letters;        ///< as getopt_long() wants them
    const struct option *names; ///< the same
    /** One option; its value is in optarg. @return 0, an exit code, or as above */
    int (*take)(void *owner, int letter);
};

/**
 * Take all options of a command line; the words behind them begin at optind.
 *
 * @return 0, or an exit code; it has been told
 */
int command_options_take(const struct command_options *options, void *owner,
                         int argc, char **argv);

#endif
