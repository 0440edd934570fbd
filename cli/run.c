// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocation.h"
#include "base/log.h"
#include "command.h"
#include "emulate.h"
#include "flags.h"
#include "hostfile.h"
#include "job.h"
#include "os/processor.h"

void run_print_help(void)
{
    puts(
        "Usage: teamster run [OPTION]... PROGRAM [ARGUMENT]...\n"
        "\n"
        "Run a program on several nodes, of this machine or of several, as "
        "if they\n"
        "were one.\n"
        "\n"
        "  teamster run -n 4 ./jacobi 2048     four nodes, one result\n"
        "  teamster run -n 2 -t ./hello        say which node writes what\n"
        "  teamster run -H a,b:2 ./jacobi      a node on host a, two on host "
        "b\n"
        "  teamster run --hostfile F --emulate ./jacobi\n"
        "                                      unequal nodes, on this machine\n"
        "  salloc -N 4 teamster run ./jacobi   the hosts of Slurm's "
        "allocation\n"
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

/** How many of the hosts' nodes there are to be: -n, else all of them. */
static int count_nodes(const struct options *options, const char *list,
                       struct hosts *hosts)
{
    const char *given = getenv("TEAMSTER_NODES");

    if (given == NULL || given[0] == '\0') {
        return 0;
    }
    if (options->nodes > hosts->n) {
        fprintf(stderr, "teamster run: %s names %u node%s; --nodes is %u\n",
                list, hosts->n, hosts->n == 1 ? "" : "s", options->nodes);
        return EXIT_USAGE;
    }
    hosts->n = options->nodes;
    return 0;
}

static int emulate(const struct options *options, struct hosts *hosts)
{
    unsigned n_processors = processor_count();
    const struct host *first = &hosts->all[0];
    char error[512];

    if (emulate_speeds(hosts, n_processors, error, sizeof error) != TM_OK) {
        fprintf(stderr, "teamster run: %s: %s\n", options->hostfile, error);
        return EXIT_CONFIG;
    }
    fprintf(stderr,
            "teamster run: emulating %u node%s on %u processor%s: speed %g is "
            "%.4f of a processor for each worker\n",
            hosts->n, hosts->n == 1 ? "" : "s", n_processors,
            n_processors == 1 ? "" : "s", first->speed != 0 ? first->speed : 1,
            first->share);
    return 0;
}

static int is_spread(const struct options *options, const struct hosts *hosts)
{
    for (unsigned i = 0; i < hosts->n && !options->emulate; i++) {
        if (!host_is_local(hosts->all[i].name)) {
            return 1;
        }
    }
    return 0;
}

/** Read the list of hosts. @return 0, or an exit code (told) */
static int read_hosts(const struct options *options, int is_file,
                      struct hosts *hosts)
{
    char error[512];
    tm_status status =
        is_file ? hosts_read(options->hostfile, TM_MAX_NODES, hosts, error,
                             sizeof error)
                : hosts_parse_list(options->hosts, hosts, error, sizeof error);

    if (status != TM_OK) {
        fprintf(stderr, "teamster run: %s\n", error);
        return is_file ? EXIT_CONFIG : EXIT_USAGE;
    }
    return count_nodes(options, is_file ? options->hostfile : "--hosts", hosts);
}

/** @return 0, or an exit code (told) */
static int use_hosts(const struct options *options, int is_file,
                     struct hosts *hosts)
{
    int exit_code = read_hosts(options, is_file, hosts);

    return exit_code == 0 && options->emulate ? emulate(options, hosts)
                                              : exit_code;
}

/** Slurm's hosts, if nobody says how many nodes there are to be, or where. */
static int use_allocation(struct hosts *hosts)
{
    char error[512];

    if (allocation_read(hosts, error, sizeof error) != TM_OK) {
        fprintf(stderr, "teamster run: %s\n", error);
        return EXIT_CONFIG;
    }
    return 0;
}

/** What reaches other hosts. In an allocation srun does, and needs no keys. */
static const char *way_of(const struct options *options, int is_allocated)
{
    return is_allocated && getenv("TEAMSTER_SSH") == NULL ? "srun"
                                                          : options->ssh;
}

static int run(const struct options *options, char **argv)
{
    struct hosts hosts = {0};
    int has_file = strcmp(options->hostfile, "none") != 0;
    int has_hosts = has_file || strcmp(options->hosts, "none") != 0;
    int is_allocated =
        !has_hosts && getenv("TEAMSTER_NODES") == NULL && allocation_is_there();
    int exit_code = 0;

    if (has_hosts) {
        exit_code = use_hosts(options, has_file, &hosts);
    } else if (is_allocated) {
        exit_code = use_allocation(&hosts);
        has_hosts = 1;
    }

    hosts_label(&hosts);
    if (exit_code == 0) {
        exit_code = launch(&(struct launch_plan){
            .n_nodes = has_hosts ? hosts.n : options->nodes,
            .argv = argv,
            .hosts = hosts.all,
            .is_spread = is_spread(options, &hosts),
            .ssh = way_of(options, is_allocated),
            .is_slow_by_kernel = options->emulate_by == EMULATE_BY_CGROUP,
            .status_file = options->status_file,
            .is_tagged = options->tag_output,
            .is_verbose = options->verbose,
        });
    }
    hosts_release(&hosts);
    return exit_code;
}

int command_run(int argc, char **argv)
{
    struct flags flags;
    struct options options;
    int first = flags_parse(argc, argv, &flags);
    char error[256];
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
    if (strcmp(options.hosts, "none") != 0 &&
        strcmp(options.hostfile, "none") != 0) {
        fprintf(stderr, "teamster run: --hosts and --hostfile both say where "
                        "nodes are to be; give one of them\n");
        return EXIT_USAGE;
    }
    if (options.emulate_by == EMULATE_BY_CGROUP && !options.emulate) {
        fprintf(stderr, "teamster run: --emulate-by needs --emulate\n");
        return EXIT_USAGE;
    }
    if (options.emulate && strcmp(options.hostfile, "none") == 0) {
        fprintf(stderr, "teamster run: --emulate needs --hostfile, which says "
                        "what to emulate\n");
        return EXIT_USAGE;
    }
    if (options_contradict(&options, error, sizeof error)) {
        fprintf(stderr, "teamster run: %s\n", error);
        return EXIT_USAGE;
    }
    return run(&options, argv + first);
}
