// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Options without a letter of their own.
enum {
    INIT = 256,
    DEAL,
    UNEVEN,
    EFFORT,
    STEPS,
    REPORT,
    TIME,
    SEQUENTIAL,
    INPUT,
    WIDTH,
    HEIGHT,
    SEED,
    RANGE,
    VECTORS,
    CODEBOOK,
    BLOCK,
    START,
    OUTPUT
};

struct row {
    const char *name;
    int letter;
    const char *argument; // NULL: it takes none
    unsigned offer;       // 0: all programs have it
    const char *help;     // NULL: the program says it
    unsigned least, most; // of an argument that is a whole number
};

static const struct row rows[] = {
    {"size", 'n', "N", 0, NULL, 1, 60000},
    {"iterations", 'i', "K", 0, NULL, 1, 1000000},
    {"threads", 't', "T", 0, "threads, each with a part of its own", 1, 30000},
    {"input", INPUT, "FILE", OFFER_INPUT, NULL, 0, 0},
    {"width", WIDTH, "W", OFFER_FRAMES,
     "columns of a frame, of raw video or made up", 1, 60000},
    {"height", HEIGHT, "H", OFFER_FRAMES, "rows of a frame", 1, 60000},
    {"seed", SEED, "S", OFFER_SEED, "another one makes other start values", 0,
     UINT32_MAX},
    {"range", RANGE, "R", OFFER_FRAMES,
     "how far blocks are searched for: -R to R pixels each\n"
     "                      way",
     0, 1000},
    {"vectors", VECTORS, "FILE", OFFER_FRAMES, "write the vectors, as text", 0,
     0},
    {"codebook", CODEBOOK, "C", OFFER_CODEBOOK,
     "how many codewords are looked for", 1, 65536},
    {"block", BLOCK, "B", OFFER_CODEBOOK, "a vector is a block of B x B pixels",
     1, 64},
    {"start", START, "HOW", OFFER_CODEBOOK,
     "the first codebook: 'split', one codeword, split\n"
     "                      again and again, or 'seed', vectors drawn by lot",
     0, 0},
    {"output", OUTPUT, "NAME", OFFER_CODEBOOK,
     "write NAME.codebook; NAME.vq, the coded image; and\n"
     "                      NAME.pgm or NAME.ppm, to which it decodes",
     0, 0},
    {"deal", DEAL, "HOW", OFFER_DEAL,
     "how threads get rows: 'cyclic', in turn, or 'blocks'", 0, 0},
    {"init", INIT, "WHO", 0,
     "who writes the start values: 'threads', each\n"
     "                      thread its own part, or 'root', main() all of "
     "them",
     0, 0},
    {"residual", 'r', "R", OFFER_RESIDUAL, NULL, 1, 1000000},
    {"uneven", UNEVEN, "F", 0,
     "threads of unequal cost: each does a part of its\n"
     "                      work again, up to F times all of it, drawn from "
     "its\n"
     "                      number",
     0, 0},
    {"effort", EFFORT, "E", OFFER_EFFORT,
     "each row is computed E times, one after the other:\n"
     "                      as by slower processors, beside the same memory",
     1, 10000},
    {"steps", STEPS, "S", OFFER_STEPS, "no more than the first S pivot steps",
     1, 60000},
    {"verify", 'v', NULL, 0,
     "compute it again without Teamster and compare all\n"
     "                      bits; exit 1 if any differs",
     0, 0},
    {"report", REPORT, NULL, 0,
     "the time of each iteration, when it ends; where\n"
     "                      nodes have a limit of memory, also the pages each\n"
     "                      has read from its swap file and written to it",
     0, 0},
    {"time", TIME, NULL, 0,
     "a line for programs to read: mean and median time of\n"
     "                      an iteration, of the last half of them",
     0, 0},
    {"stats", 's', NULL, 0, "what each node did, as a table", 0, 0},
    {"sequential", SEQUENTIAL, NULL, 0,
     "without Teamster: plain memory, one thread", 0, 0},
    {"help", 'h', NULL, 0, "this text", 0, 0},
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static bool is_offered(const struct row *row, unsigned offers)
{
    return row->offer == 0 || (offers & row->offer) != 0;
}

// The whole number that an option sets; NULL: it sets something else, among
// them the size, which is wider.
static unsigned *number_of(struct settings *settings, int letter)
{
    switch (letter) {
    case 'i':
        return &settings->n_iterations;
    case 't':
        return &settings->n_threads;
    case 'r':
        return &settings->residual_every;
    case WIDTH:
        return &settings->width;
    case HEIGHT:
        return &settings->height;
    case SEED:
        return &settings->seed;
    case RANGE:
        return &settings->range;
    case CODEBOOK:
        return &settings->n_codewords;
    case BLOCK:
        return &settings->block;
    case EFFORT:
        return &settings->effort;
    case STEPS:
        return &settings->n_steps;
    default:
        return NULL;
    }
}

// The same for words that are taken as they are.
static const char **word_of(struct settings *settings, int letter)
{
    switch (letter) {
    case INPUT:
        return &settings->input;
    case VECTORS:
        return &settings->vectors;
    case OUTPUT:
        return &settings->output;
    default:
        return NULL;
    }
}

// And for options that say one of two words: it is true for the first.
struct choice {
    bool *is_first;
    const char *first, *second;
};

static struct choice choice_of(struct settings *settings, int letter)
{
    switch (letter) {
    case INIT:
        return (struct choice){&settings->init_on_root, "root", "threads"};
    case DEAL:
        return (struct choice){&settings->in_blocks, "blocks", "cyclic"};
    case START:
        return (struct choice){&settings->start_drawn, "seed", "split"};
    default:
        return (struct choice){NULL, NULL, NULL};
    }
}

static bool *flag_of(struct settings *settings, int letter)
{
    switch (letter) {
    case 'v':
        return &settings->verify;
    case 's':
        return &settings->stats;
    case REPORT:
        return &settings->report;
    case TIME:
        return &settings->time;
    case SEQUENTIAL:
        return &settings->sequential;
    default:
        return NULL;
    }
}

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

// Print one default, on a new line if this one is full.
// @return the column behind it
static int default_print(int column, const char *name, const char *value)
{
    if (column + strlen(name) + strlen(value) + 4 > 78) {
        column = printf("\n         ") - 1;
    }
    return column + printf(" --%s %s", name, value);
}

static void defaults_print(struct settings *settings, unsigned offers)
{
    int column = printf("\nDefaults: --size %zu", settings->size) - 1;

    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];
        const unsigned *number = number_of(settings, row->letter);
        const struct choice choice = choice_of(settings, row->letter);
        char digits[16];

        if (!is_offered(row, offers)) {
            continue;
        }
        if (number != NULL && *number != 0) {
            snprintf(digits, sizeof digits, "%u", *number);
            column = default_print(column, row->name, digits);
        } else if (choice.is_first != NULL) {
            column =
                default_print(column, row->name,
                              *choice.is_first ? choice.first : choice.second);
        }
    }
    printf("\n");
}

// How much memory the data take at some sizes.
static void data_print(const struct settings *settings,
                       const struct about *about)
{
    static const unsigned quarters[] = {1, 2, 4, 8, 12};

    printf("\n%s", about->data);
    for (unsigned i = 0; i < sizeof quarters / sizeof quarters[0]; i++) {
        struct settings other = *settings;

        other.size = settings->size * quarters[i] / 4;
        printf("  --size %-6zu %8.1f MiB%s\n", other.size,
               about->data_bytes(&other) * 0x1p-20,
               quarters[i] == 4 ? "  (the default)" : "");
    }
}

// What the program itself says of an option.
static const char *help_of(int letter, const struct about *about)
{
    switch (letter) {
    case 'n':
        return about->size;
    case 'i':
        return about->iterations;
    case 'r':
        return about->residual;
    default:
        return about->input;
    }
}

static void help_print(const struct settings *settings, const char *program,
                       const struct about *about)
{
    struct settings defaults = *settings;

    printf("Usage: %s [OPTION]...\n%s\n", program, about->text);
    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];
        if (is_offered(row, about->offers)) {
            row_print(row, row->help != NULL ? row->help
                                             : help_of(row->letter, about));
        }
    }
    defaults_print(&defaults, about->offers);
    data_print(settings, about);
    printf("\n"
           "Alone it runs on this machine as one node. On four nodes:\n"
           "\n"
           "  teamster run -n 4 %s --verify --stats\n",
           program);
    if (about->example != NULL) {
        printf("  teamster run -n 4 %s %s\n", program, about->example);
    }
}

static unsigned number_parse(const char *program, const struct row *row,
                             const char *text)
{
    char *end = NULL;
    const long long number = strtoll(text, &end, 10);

    if (end == text || *end != '\0' || number < row->least ||
        number > row->most) {
        fprintf(stderr, "%s: --%s is '%s'; it must be a number from %u to %u\n",
                program, row->name, text, row->least, row->most);
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

// @return is it the first? Neither of both ends the program.
static bool choice_parse(const char *program, const char *option,
                         const char *text, struct choice choice)
{
    if (strcmp(text, choice.first) != 0 && strcmp(text, choice.second) != 0) {
        fprintf(stderr, "%s: --%s is '%s'; it must be '%s' or '%s'\n", program,
                option, text, choice.first, choice.second);
        exit(EXIT_USAGE);
    }
    return strcmp(text, choice.first) == 0;
}

// Take one option into the settings; not help.
static void option_take(struct settings *settings, const char *program,
                        const struct row *row)
{
    unsigned *number = number_of(settings, row->letter);
    const char **word = word_of(settings, row->letter);
    const struct choice choice = choice_of(settings, row->letter);
    bool *flag = flag_of(settings, row->letter);

    if (row->letter == 'n') {
        settings->size = number_parse(program, row, optarg);
    } else if (number != NULL) {
        *number = number_parse(program, row, optarg);
    } else if (word != NULL) {
        *word = optarg;
    } else if (choice.is_first != NULL) {
        *choice.is_first = choice_parse(program, row->name, optarg, choice);
    } else if (flag != NULL) {
        *flag = true;
    } else {
        settings->uneven = factor_parse(program, row->name, optarg, 100.0);
    }
}

// What getopt_long() wants, of the options that a program has.
// @param letters  [3 * N_ROWS]
// @param options  [N_ROWS + 1]
static void tables_fill(char *letters, struct option *options, unsigned offers)
{
    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];

        if (!is_offered(row, offers)) {
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

static const struct row *row_at(int letter)
{
    const struct row *row = rows;

    while (row->letter != letter) {
        row++;
    }
    return row;
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
        if (letter == '?') { // getopt_long() has said what is wrong
            exit(EXIT_USAGE);
        }
        if (letter == 'h') {
            help_print(&defaults, argv[0], about);
            exit(EXIT_SUCCESS);
        }
        option_take(settings, argv[0], row_at(letter));
        settings->all_frames = settings->all_frames && letter != 'i';
    }
    if (optind < argc) {
        fprintf(stderr, "%s: '%s' is not an option; see --help\n", argv[0],
                argv[optind]);
        exit(EXIT_USAGE);
    }
}
