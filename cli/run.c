// SPDX-License-Identifier: BSD-3-Clause
// The command line of `teamster run`, out of the table in base/options.def. What
// is given there becomes a variable, and variables are all that nodes read.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "allocation.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/options.h"
#include "command.h"
#include "emulate.h"
#include "hostfile.h"
#include "job.h"
#include "os/processor.h"
#include "restart.h"

#define FLAGS_MAX 64
#define BUDDY "TEAMSTER_BUDDY"

/** What the command line of a run says about base/options.def. */
struct flags {
    const char *value[FLAGS_MAX]; ///< of each row; NULL: not given
    int wants_help;
};

/** getopt_long() returns this plus the row. */
#define FIRST_ROW 256
#define HELP 'h'

/** What getopt_long() wants. */
struct getopt_tables {
    char letters[2 + 2 * FLAGS_MAX + 2];
    struct option names[FLAGS_MAX + 2];
};

static void fill_tables(struct getopt_tables *tables)
{
    char *letter = tables->letters;
    unsigned i;

    ensure(n_option_rows <= FLAGS_MAX);
    *letter++ = '+'; // stop at the program: its options are its own
    *letter++ = HELP;
    for (i = 0; i < n_option_rows; i++) {
        const struct option_row *row = &option_rows[i];
        int has_value = row->argument != NULL;

        tables->names[i] = (struct option){row->name,
                                           row->bare != NULL ? optional_argument
                                           : has_value       ? required_argument
                                                             : no_argument,
                                           NULL, FIRST_ROW + (int)i};
        if (row->letter != 0) {
            *letter++ = row->letter;
            if (has_value) {
                *letter++ = ':';
            }
        }
    }
    *letter = '\0';
    tables->names[i++] = (struct option){"help", no_argument, NULL, HELP};
    tables->names[i] = (struct option){0};
}

/** The row that a result of getopt_long() means, -1 if none. */
static int row_of(int found)
{
    if (found >= FIRST_ROW) {
        return found - FIRST_ROW;
    }
    for (unsigned i = 0; i < n_option_rows; i++) {
        if (option_rows[i].letter == found && found != 0) {
            return (int)i;
        }
    }
    return -1;
}

/**
 * Take the options in front of the first word that is none.
 * @return the index of that word, argc if there is none
 * @return -1  an unknown option or a missing value; told
 */
static int parse_flags(int argc, char **argv, struct flags *flags)
{
    static char name[] = "teamster run"; // getopt_long() puts it before errors
    struct getopt_tables tables;
    char *given_name = argv[0];
    int found;

    *flags = (struct flags){0};
    fill_tables(&tables);
    argv[0] = name;
    optind = 1;
    while ((found = getopt_long(argc, argv, tables.letters, tables.names,
                                NULL)) != -1) {
        int row = row_of(found);

        if (found == HELP) {
            flags->wants_help = 1;
        } else if (row < 0) {
            fprintf(stderr, "Try \"teamster run --help\".\n");
            return -1;
        } else {
            flags->value[row] = optarg != NULL ? optarg
                                : option_rows[row].bare != NULL
                                    ? option_rows[row].bare
                                    : "1";
        }
    }
    argv[0] = given_name;
    return optind;
}

/** Tell of a wrong flag: options_read() begins with the variable's name. */
static int tell_flag(const char *error)
{
    const char *dashes = strstr(error, "(--");
    const char *bracket = dashes != NULL ? strchr(dashes, ')') : NULL;

    if (bracket != NULL) {
        fprintf(stderr, "teamster run: %.*s%s\n", (int)(bracket - dashes - 1),
                dashes + 1, bracket + 1);
    } else {
        fprintf(stderr, "teamster run: %s\n", error);
    }
    return EXIT_USAGE;
}

static int read_flags(const struct flags *flags, struct options *options)
{
    char error[256];

    for (unsigned i = 0; i < n_option_rows; i++) {
        const char *value = flags->value[i];

        unsetenv(option_rows[i].variable);
        if (value != NULL && value[0] == '\0') {
            fprintf(stderr,
                    "teamster run: --%s needs a value; see \"teamster "
                    "run --help\"\n",
                    option_rows[i].name);
            return EXIT_USAGE;
        }
        if (value != NULL) {
            setenv(option_rows[i].variable, value, 1);
        }
    }
    if (options_read(options, error, sizeof error) != TM_OK) {
        return tell_flag(error);
    }
    return 0;
}

/**
 * Put what was given into the environment, for the nodes, and read all options
 * from there.
 * @return 0, EXIT_USAGE (a flag is wrong) or EXIT_CONFIG (a variable is); told
 */
static int apply_flags(const struct flags *flags, struct options *options)
{
    char *variables[FLAGS_MAX];
    char error[256];
    int exit_code;

    for (unsigned i = 0; i < n_option_rows; i++) {
        const char *value = getenv(option_rows[i].variable);

        variables[i] = value != NULL ? strdup(value) : NULL;
    }
    exit_code = read_flags(flags, options);
    for (unsigned i = 0; i < n_option_rows; i++) {
        if (variables[i] != NULL && flags->value[i] == NULL) {
            setenv(option_rows[i].variable, variables[i], 1);
        }
        free(variables[i]);
    }
    if (exit_code == 0 && options_read(options, error, sizeof error) != TM_OK) {
        fprintf(stderr, "teamster run: %s\n", error);
        exit_code = EXIT_CONFIG;
    }
    return exit_code;
}

/** Write a text in lines of at most 79 columns, indented. */
static void print_wrapped(const char *text, int indent)
{
    int column = 0;

    while (*text != '\0') {
        int length = (int)strcspn(text, " ");

        if (column == 0 || column + 1 + length > 79) {
            printf("%s%*s", column == 0 ? "" : "\n", indent, "");
            column = indent;
        } else {
            putchar(' ');
            column++;
        }
        printf("%.*s", length, text);
        column += length;
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

static void print_row(const struct option_row *row)
{
    char variable[128];

    if (row->letter != 0) {
        printf("  -%c, ", row->letter);
    } else {
        printf("      ");
    }
    printf("--%s%s%s%s%s\n", row->name, row->bare != NULL ? "[" : "",
           row->argument != NULL ? "=" : "",
           row->argument != NULL ? row->argument : "",
           row->bare != NULL ? "]" : "");
    print_wrapped(row->help, 10);
    snprintf(variable, sizeof variable, "[%s%s, default %s]", row->variable,
             row->argument == NULL ? "=1" : "",
             row->default_value[0] != '\0' ? row->default_value : "none");
    print_wrapped(variable, 10);
}

/** A line or two for each option. */
static void print_options(void)
{
    for (unsigned i = 0; i < n_option_rows; i++) {
        print_row(&option_rows[i]);
    }
    printf("  -h, --help\n          print this\n");
}

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
    print_options();
    puts(
        "\n"
        "Output comes in whole lines. Standard input goes to the root, node "
        "0,\n"
        "where main() runs. Ctrl-C and SIGTERM end all nodes, Ctrl-Z stops\n"
        "them, SIGUSR1 prints where they are, SIGUSR2 asks for a checkpoint. "
        "A\n"
        "program that does not use Teamster is run once for each node.\n"
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
    tm_status status = is_file ? hosts_read(options->hostfile, TM_MAX_NODES,
                                            hosts, error, sizeof error)
                               : hosts_parse_list(options->hosts, "--hosts",
                                                  hosts, error, sizeof error);

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

/** Hosts that may take the place of others. @return 0, or an exit code (told) */
static int read_spares(const struct options *options, int has_hosts,
                       struct hosts *spares)
{
    char error[512];

    if (strcmp(options->spare, "none") == 0) {
        return 0;
    }
    if (!has_hosts || options->emulate) {
        fprintf(stderr, "teamster run: --spare is for runs on other hosts "
                        "(--hosts): all nodes are on this machine\n");
        return EXIT_USAGE;
    }
    if (hosts_parse_list(options->spare, "--spare", spares, error,
                         sizeof error) != TM_OK) {
        fprintf(stderr, "teamster run: %s\n", error);
        return EXIT_USAGE;
    }
    return 0;
}

static int are_several(const struct hosts *hosts)
{
    for (unsigned i = 1; i < hosts->n; i++) {
        if (strcmp(hosts->all[i].name, hosts->all[0].name) != 0) {
            return 1;
        }
    }
    return 0;
}

/** Is there something to read? It cannot be given to main() again from a pipe, but by who reads it ahead of
 * the program, and others may want it (`while read`); and nobody knows how far a thread has read in a file. */
static int has_input(void)
{
    struct stat state;

    return fstat(STDIN_FILENO, &state) == 0 && !S_ISCHR(state.st_mode);
}

/** Are there to be checkpoints in memory though nobody says so? */
static int is_buddy_tried(const struct options *options,
                          const struct hosts *hosts)
{
    return options->buddy_is_auto && options->checkpoint.folder[0] == '\0' &&
           getenv("TEAMSTER_RECOVER") == NULL && is_spread(options, hosts) &&
           are_several(hosts) && !has_input() &&
           options->fabric != FABRIC_BY_UCX;
}

static void release_words(char **words)
{
    for (char **word = words; word != NULL && *word != NULL; word++) {
        free(*word);
    }
    free(words);
}

/** The options that were given, each in its long form. @return a new list, NULL at the
 * end; NULL: no memory */
static char **spell_options(const struct flags *flags)
{
    char **words = calloc(n_option_rows + 1, sizeof *words);
    size_t n = 0;

    for (unsigned i = 0; words != NULL && i < n_option_rows; i++) {
        const struct option_row *row = &option_rows[i];
        const char *value = flags->value[i];
        int has_value;

        if (value == NULL) {
            continue;
        }
        has_value = row->argument != NULL &&
                    (row->bare == NULL || strcmp(value, row->bare) != 0);
        if (asprintf(&words[n], "--%s%s%s", row->name, has_value ? "=" : "",
                     has_value ? value : "") < 0) {
            words[n] = NULL;
            release_words(words);
            return NULL;
        }
        n++;
    }
    return words;
}

static int run(const struct options *options, const struct flags *flags,
               const struct web *web, char **argv)
{
    struct hosts hosts = {0};
    struct hosts spares = {0};
    char **words = spell_options(flags);
    int has_file = strcmp(options->hostfile, "none") != 0;
    int has_hosts = has_file || strcmp(options->hosts, "none") != 0;
    int is_allocated =
        !has_hosts && getenv("TEAMSTER_NODES") == NULL && allocation_is_there();
    int exit_code = 0;
    int is_tried;

    if (has_hosts) {
        exit_code = use_hosts(options, has_file, &hosts);
    } else if (is_allocated) {
        exit_code = use_allocation(&hosts);
        has_hosts = 1;
    }

    hosts_label(&hosts);
    if (exit_code == 0) {
        exit_code = read_spares(options, has_hosts, &spares);
    }
    is_tried = is_buddy_tried(options, &hosts);
    if (is_tried) {
        setenv(BUDDY, OPTIONS_BUDDY_TRIED, 1);
    }
    if (exit_code == 0) {
        exit_code = launch(&(struct launch_plan){
            .n_nodes = has_hosts ? hosts.n : options->nodes,
            .argv = argv,
            .options = words,
            .hosts = hosts.all,
            .is_spread = is_spread(options, &hosts),
            .ssh = way_of(options, is_allocated),
            .is_slow_by_kernel = options->emulate_by == EMULATE_BY_CGROUP,
            .status_file = options->status_file,
            .report = options->report,
            .web = web,
            .progress = options->progress,
            .is_tagged = options->tag_output,
            .is_verbose = options->verbose,
            .hosts_are_others = has_hosts && !options->emulate,
            .checkpoints = options->checkpoint.folder,
            .is_in_memory = options->buddy || is_tried,
            .is_tried = is_tried,
            .restart = options->restart,
            .save_before_s = options->checkpoint_before,
            .n_recoveries =
                is_tried ? OPTIONS_BUDDY_RECOVERIES : options->recover,
            .is_output_held = options->output == OUTPUT_HELD,
            .spares = &spares,
        });
    }
    hosts_release(&spares);
    hosts_release(&hosts);
    release_words(words);
    return exit_code;
}

/** What a run around this one has decided for its own nodes. */
static void forget_tried(void)
{
    const char *value = getenv(BUDDY);

    if (value != NULL && strcmp(value, OPTIONS_BUDDY_TRIED) == 0) {
        unsetenv(BUDDY);
    }
}

static int refuse(const char *why)
{
    fprintf(stderr, "teamster run: %s\n", why);
    return EXIT_USAGE;
}

static int has_checkpoints(const struct options *options)
{
    return options->buddy || options->checkpoint.folder[0] != '\0';
}

int command_run(int argc, char **argv)
{
    struct flags flags;
    struct options options;
    struct web web;
    int first = parse_flags(argc, argv, &flags);
    char **program = first < 0 ? argv : argv + first;
    char error[256];
    int exit_code;

    if (first < 0) {
        return EXIT_USAGE;
    }
    if (flags.wants_help) {
        run_print_help();
        return 0;
    }
    forget_tried();
    exit_code = apply_flags(&flags, &options);
    if (exit_code != 0) {
        return exit_code;
    }
    if (strcmp(options.restart, "none") != 0) {
        exit_code = restart_prepare(options.restart, &program);
        if (exit_code != 0) {
            return exit_code;
        }
    }
    if (program[0] == NULL) {
        return refuse("which program? Try \"teamster run -n 2 ./program\" or "
                      "\"teamster run --help\".");
    }
    if (strcmp(options.hosts, "none") != 0 &&
        strcmp(options.hostfile, "none") != 0) {
        return refuse("--hosts and --hostfile both say where nodes are to be; "
                      "give one of them");
    }
    if (options.emulate_by == EMULATE_BY_CGROUP && !options.emulate) {
        return refuse("--emulate-by needs --emulate");
    }
    if (options.emulate && strcmp(options.hostfile, "none") == 0) {
        return refuse("--emulate needs --hostfile, which says what to emulate");
    }
    if (options.buddy && options.checkpoint.folder[0] != '\0') {
        return refuse("--buddy holds checkpoints in memory, --checkpoint=DIR "
                      "in a folder; give one of them");
    }
    if (options.recover > 0 && !has_checkpoints(&options)) {
        return refuse("--recover goes back to a checkpoint: give it "
                      "--checkpoint=DIR, too, or --buddy instead");
    }
    if (options.checkpoint_before > 0 && options.checkpoint.folder[0] == '\0') {
        return refuse("--checkpoint-before needs --checkpoint=DIR");
    }
    if (options.output == OUTPUT_HELD && !has_checkpoints(&options)) {
        return refuse("--output=held shows output once a checkpoint is behind "
                      "it: give it --checkpoint=DIR, too");
    }
    if (options.recover == 0 && strcmp(options.spare, "none") != 0) {
        return refuse("--spare is for runs that go on when a host is lost: "
                      "give it --recover, too");
    }
    if (options_contradict(&options, error, sizeof error)) {
        return refuse(error);
    }
    if (strcmp(options.report, "none") != 0) {
        exit_code = report_file_check("teamster run", options.report);
    }
    if (exit_code == 0 && options.web.is_wanted) {
        exit_code = web_listen("teamster run", &options.web, &web);
    }
    return exit_code != 0 ? exit_code
                          : run(&options, &flags,
                                options.web.is_wanted ? &web : NULL, program);
}
