// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Options without a letter of their own.
enum { INIT = 256, DEAL, UNEVEN, REPORT, TIME, SEQUENTIAL };

struct row {
    const char *name;
    int letter;
    const char *argument; // NULL: it takes none
    unsigned offer;       // 0: all programs have it
    const char *help;     // NULL: the program says it
};

static const struct row rows[] = {
    {"size", 'n', "N", 0, NULL},
    {"iterations", 'i', "K", 0, NULL},
    {"threads", 't', "T", 0, "threads, each with rows of its own"},
    {"deal", DEAL, "HOW", OFFER_DEAL,
     "how threads get rows: 'cyclic', in turn, or 'blocks'"},
    {"init", INIT, "WHO", 0,
     "who writes the start values: 'threads', each\n"
     "                      thread its own rows, or 'root', main() all of "
     "them"},
    {"residual", 'r', "R", OFFER_RESIDUAL,
     "every R iterations, how much the grid still changes"},
    {"uneven", UNEVEN, "F", 0,
     "threads of unequal cost: each does a part of its\n"
     "                      work again, up to F times all of it, drawn from "
     "its\n"
     "                      number"},
    {"verify", 'v', NULL, 0,
     "compute it again without Teamster and compare all\n"
     "                      bits; exit 1 if any differs"},
    {"report", REPORT, NULL, 0, "the time of each iteration, when it ends"},
    {"time", TIME, NULL, 0,
     "a line for programs to read: mean and median time of\n"
     "                      an iteration, of the last half of them"},
    {"stats", 's', NULL, 0, "what each node did, as a table"},
    {"sequential", SEQUENTIAL, NULL, 0,
     "without Teamster: plain memory, one thread"},
    {"help", 'h', NULL, 0, "this text"},
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void row_print(const struct row *row, const char *help)
{
    char name[32];

    snprintf(name, sizeof name, "--%s%s%s", row->name,
             row->argument != NULL ? " " : "",
             row->argument != NULL ? row->argument : "");
    if (row->letter < INIT) {
        printf("  -%c, %-15s %s\n", row->letter, name, help);
    } else {
        printf("      %-15s %s\n", name, help);
    }
}

static void help_print(const struct settings *settings, const char *program,
                       const struct about *about)
{
    printf("Usage: %s [OPTION]...\n%s\n", program, about->text);
    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];
        const char *help = row->letter == 'n'   ? about->size
                           : row->letter == 'i' ? about->iterations
                                                : row->help;

        if (row->offer == 0 || (about->offers & row->offer) != 0) {
            row_print(row, help);
        }
    }
    printf("\nDefaults: --size %zu --iterations %u --threads %u --init %s\n"
           "\n"
           "Alone it runs on this machine as one node. On four nodes:\n"
           "\n"
           "  teamster run -n 4 %s --verify --stats\n",
           settings->size, settings->n_iterations, settings->n_threads,
           settings->init_on_root ? "root" : "threads", program);
}

static unsigned number_parse(const char *program, const char *option,
                             const char *text, unsigned least, unsigned most)
{
    char *end = NULL;
    const long long number = strtoll(text, &end, 10);

    if (end == text || *end != '\0' || number < least || number > most) {
        fprintf(stderr, "%s: --%s is '%s'; it must be a number from %u to %u\n",
                program, option, text, least, most);
        exit(EXIT_USAGE);
    }
    return (unsigned)number;
}

static double factor_parse(const char *program, const char *option,
                           const char *text, double most)
{
    char *end = NULL;
    const double factor = strtod(text, &end);

    if (end == text || *end != '\0' || !(factor >= 0.0 && factor <= most)) {
        fprintf(stderr, "%s: --%s is '%s'; it must be a number from 0 to %g\n",
                program, option, text, most);
        exit(EXIT_USAGE);
    }
    return factor;
}

// @return is it `yes`? Neither of both ends the program.
static bool choice_parse(const char *program, const char *option,
                         const char *text, const char *yes, const char *no)
{
    if (strcmp(text, yes) != 0 && strcmp(text, no) != 0) {
        fprintf(stderr, "%s: --%s is '%s'; it must be '%s' or '%s'\n", program,
                option, text, yes, no);
        exit(EXIT_USAGE);
    }
    return strcmp(text, yes) == 0;
}

static void numbers_take(struct settings *settings, const char *program,
                         int letter)
{
    switch (letter) {
    case 'n':
        settings->size = number_parse(program, "size", optarg, 1, 60000);
        break;
    case 'i':
        settings->n_iterations =
            number_parse(program, "iterations", optarg, 1, 1000000);
        break;
    case 't':
        settings->n_threads =
            number_parse(program, "threads", optarg, 1, 30000);
        break;
    case 'r':
        settings->residual_every =
            number_parse(program, "residual", optarg, 1, 1000000);
        break;
    default:
        settings->uneven = factor_parse(program, "uneven", optarg, 100.0);
    }
}

// Take one option into the settings. @param letter  of a known one, not help
static void option_take(struct settings *settings, const char *program,
                        int letter)
{
    switch (letter) {
    case INIT:
        settings->init_on_root =
            choice_parse(program, "init", optarg, "root", "threads");
        break;
    case DEAL:
        settings->in_blocks =
            choice_parse(program, "deal", optarg, "blocks", "cyclic");
        break;
    case SEQUENTIAL:
        settings->sequential = true;
        break;
    case REPORT:
        settings->report = true;
        break;
    case TIME:
        settings->time = true;
        break;
    case 'v':
        settings->verify = true;
        break;
    case 's':
        settings->stats = true;
        break;
    case '?': // getopt_long() has said what is wrong
        exit(EXIT_USAGE);
    default:
        numbers_take(settings, program, letter);
    }
}

// What getopt_long() wants, of the options that a program has.
// @param letters  [3 * N_ROWS]
// @param options  [N_ROWS + 1]
static void tables_fill(char *letters, struct option *options, unsigned offers)
{
    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];

        if (row->offer != 0 && (offers & row->offer) == 0) {
            continue;
        }
        *options++ = (struct option){
            row->name, row->argument != NULL ? required_argument : no_argument,
            NULL, row->letter};
        if (row->letter < INIT) {
            *letters++ = (char)row->letter;
        }
        if (row->letter < INIT && row->argument != NULL) {
            *letters++ = ':';
        }
    }
    *letters = '\0';
    *options = (struct option){0};
}

void settings_parse(struct settings *settings, int argc, char **argv,
                    const struct about *about)
{
    const struct settings defaults = *settings;
    char letters[3 * N_ROWS];
    struct option options[N_ROWS + 1];
    int letter;

    tables_fill(letters, options, about->offers);
    while ((letter = getopt_long(argc, argv, letters, options, NULL)) != -1) {
        if (letter == 'h') {
            help_print(&defaults, argv[0], about);
            exit(EXIT_SUCCESS);
        }
        option_take(settings, argv[0], letter);
    }
    if (optind < argc) {
        fprintf(stderr, "%s: '%s' is not an option; see --help\n", argv[0],
                argv[optind]);
        exit(EXIT_USAGE);
    }
}
