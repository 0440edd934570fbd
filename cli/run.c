// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "base/log.h"
#include "command.h"
#include "flags.h"
#include "job.h"

void run_print_help(void)
{
    puts("Usage: teamster run [OPTION]... PROGRAM [ARGUMENT]...\n"
         "\n"
         "Run a program on several nodes of this machine as if it were one.\n"
         "\n"
         "  teamster run -n 4 ./jacobi 2048     four nodes, one result\n"
         "  teamster run -n 2 -t ./hello        say which node writes what\n"
         "\n"
         "Options; what is given here goes before the variable in brackets:\n");
    flags_print_help();
    puts(
        "\n"
        "Output comes in whole lines. Standard input goes to the root, node "
        "0,\n"
        "where main() runs. Ctrl-C and SIGTERM end all nodes, Ctrl-Z stops\n"
        "them, SIGUSR1 prints where they are. A program that does not use\n"
        "Teamster is run once for each node.\n"
        "\n"
        "The exit code is the program's. Others: see \"teamster --help\"; and\n"
        "126 and 127 if the program cannot be run or is not found.");
}

int command_run(int argc, char **argv)
{
    struct flags flags;
    struct options options;
    int first = flags_parse(argc, argv, &flags);
    int exit_code;

    if (first < 0) {
        return EXIT_USAGE;
    }
    if (flags.wants_help) {
        run_print_help();
        return 0;
    }
    exit_code = flags_apply(&flags, &options);
    if (exit_code != 0) {
        return exit_code;
    }
    if (first >= argc) {
        fprintf(stderr, "teamster run: which program? Try \"teamster run -n 2 "
                        "./program\" or \"teamster run --help\".\n");
        return EXIT_USAGE;
    }
    return launch(&(struct launch_plan){
        .n_nodes = options.nodes,
        .argv = argv + first,
        .is_tagged = options.tag_output,
        .is_verbose = options.verbose,
    });
}
