// SPDX-License-Identifier: BSD-3-Clause
// The options of a command, one after the other.
#include "command_options.h"

#include <stdio.h>

#include "base/log.h"

enum { NAME_MAX_BYTES = 64 };

int command_options_take(const struct command_options *options, void *owner,
                         int argc, char **argv)
{
    char name[NAME_MAX_BYTES]; // getopt_long() begins errors so
    char *given_name = argv[0];
    int taken = 0;
    int letter;

    snprintf(name, sizeof name, "%s", options->command);
    argv[0] = name;
    optind = 1;
    while (taken == 0 && (letter = getopt_long(argc, argv, options->letters,
                                               options->names, NULL)) != -1) {
        taken = options->take(owner, letter);
    }
    argv[0] = given_name;
    if (taken == OPTION_UNKNOWN) {
        fprintf(stderr, "Try \"%s --help\".\n", options->command);
        return EXIT_USAGE;
    }
    return taken == OPTIONS_END ? 0 : taken;
}
