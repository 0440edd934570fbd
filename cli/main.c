// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cluster/bootstrap.h"
#include "command.h"
#include "os/descriptor.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    void (*print_help)(void);
} commands[] = {
    {"run", command_run, run_print_help},
    {"plan", command_plan, plan_print_help},
    {"simulate", command_simulate, simulate_print_help},
    {"report", command_report, report_print_help},
    {"ckpt", command_ckpt, ckpt_print_help},
    {"info", command_info, info_print_help},
    {"ps", command_ps, ps_print_help},
    {"top", command_top, top_print_help},
    {"attach", command_attach, attach_print_help},
    {"add", command_add, add_print_help},
    {"remove", command_remove, remove_print_help},
    {"checkpoint", command_checkpoint, checkpoint_print_help},
    {"demo", command_demo, demo_print_help},
    {"cc", command_cc, cc_print_help},
    {"c++", command_cxx, cc_print_help},
    {"fc", command_fc, cc_print_help},
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(void)
{
    puts(
        "Usage: teamster COMMAND [OPTION]...\n"
        "\n"
        "Teamster runs one shared-memory C program over several machines as "
        "if\n"
        "they were one. Programs are linked with libteamster.\n"
        "\n"
        "Commands:\n"
        "  run     run a program on several nodes\n"
        "  ps      list your running jobs\n"
        "  top     look at a running job: what its nodes do, second by second\n"
        "  attach  the live page of --web for a running job\n"
        "  add     start one more node of a running job\n"
        "  remove  have a node leave a running job\n"
        "  checkpoint  have a running job write a checkpoint now\n"
        "  plan    repeat a decision of a run, or ask what if\n"
        "  simulate  run a profile again, in virtual time, on any cluster\n"
        "  report  a page of where a run's time went, or compare two runs\n"
        "  ckpt    show the checkpoints that a run has written\n"
        "  info    show what Teamster finds on this machine, and its limits\n"
        "  demo    see it at work, in less than a minute\n"
        "  cc      compile a program not written for Teamster; c++, fc: in "
        "C++, "
        "Fortran\n"
        "\n"
        "  teamster run -n 4 ./jacobi 2048\n"
        "  teamster plan profile.json --what-if n4.memory=+32M\n"
        "  teamster info\n"
        "\n"
        "\"teamster COMMAND --help\" says more about each.\n"
        "\n"
        "  -h, --help     print this\n"
        "  -V, --version  print the version\n"
        "\n"
        "Exit codes:\n"
        "    0   all went well; 1 to 63 are the program's own\n"
        "   64   usage: a wrong command or option\n"
        "   69   a host cannot be reached, or has no such program\n"
        "   70   internal error; please report it\n"
        "   71   out of memory, processes or descriptors\n"
        "   73   output could not be written\n"
        "   75   a node was lost\n"
        "   76   nodes differ: version, program, options or address layout\n"
        "   78   configuration: a TEAMSTER_* variable, a file or the "
        "system\n"
        "  124   all threads wait for each other\n"
        "  126   the program cannot be run\n"
        "  127   the program is not found\n"
        "  128+n the program was ended by signal n");
}

static void print_version(void)
{
    struct node_card card;

    node_card_set_version(&card);
    printf("teamster %s\n", card.version);
}

/** Descriptors 0, 1 and 2 must be there, or pipes would take their numbers. */
static int open_standard_files(void)
{
    int fd;

    do {
        fd = descriptor_open_null();
    } while (fd >= 0 && fd <= STDERR_FILENO && fcntl(fd, F_SETFD, 0) == 0);
    if (fd > STDERR_FILENO) {
        close(fd);
    }
    return fd < 0 ? -1 : 0;
}

static int find_command(const char *name)
{
    for (unsigned i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static int refuse(const char *word)
{
    if (word[0] == '-') {
        fprintf(stderr, "teamster: unknown option '%s'", word);
    } else {
        fprintf(stderr, "teamster: unknown command '%s'", word);
    }
    if (access(word, X_OK) == 0 && word[0] != '-') {
        fprintf(stderr, "; to run that program: teamster run -n 2 %s\n", word);
    } else {
        fprintf(stderr,
                "; the commands are run, ps, top, attach, add, "
                "remove, checkpoint, plan, simulate, report, ckpt, info, demo, "
                "cc, c++ and fc, see \"teamster "
                "--help\"\n");
    }
    return EXIT_USAGE;
}

static int help(const char *topic)
{
    int found = topic != NULL ? find_command(topic) : -1;

    if (topic != NULL && found < 0) {
        return refuse(topic);
    }
    if (found >= 0) {
        commands[found].print_help();
    } else {
        print_help();
    }
    return 0;
}

static int dispatch(int argc, char **argv)
{
    const char *word = argv[1];
    int found = find_command(word);

    if (found >= 0) {
        return commands[found].run(argc - 1, argv + 1);
    }
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
        return help(NULL);
    }
    if (strcmp(word, "help") == 0) {
        return help(argv[2]);
    }
    if (strcmp(word, "agent") == 0) { // no user's: not in the help
        return command_agent(argc - 1, argv + 1);
    }
    if (strcmp(word, "tables") == 0) { // neither is this
        return command_tables(argc - 1, argv + 1);
    }
    if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
        print_version();
        return 0;
    }
    return refuse(word);
}

int main(int argc, char **argv)
{
    int exit_code;

    if (open_standard_files() != 0) {
        return EXIT_INTERNAL;
    }
    if (argc < 2) {
        fprintf(stderr, "teamster: which command? Try \"teamster run -n 2 "
                        "./program\" or \"teamster --help\".\n");
        return EXIT_USAGE;
    }
    exit_code = dispatch(argc, argv);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "teamster: cannot write to standard output: %s\n",
                strerror(errno));
        return EXIT_OUTPUT;
    }
    return exit_code;
}
