// SPDX-License-Identifier: BSD-3-Clause
// The command line of `teamster run`, out of the table in base/options.def. What
// is given there becomes a variable, and variables are all that nodes read.
#include "flags.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"

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

        tables->names[i] = (struct option){
            row->name, has_value ? required_argument : no_argument, NULL,
            FIRST_ROW + (int)i};
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

int flags_parse(int argc, char **argv, struct flags *flags)
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
            flags->value[row] = optarg != NULL ? optarg : "1";
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

int flags_apply(const struct flags *flags, struct options *options)
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
    printf("--%s%s%s\n", row->name, row->argument != NULL ? "=" : "",
           row->argument != NULL ? row->argument : "");
    print_wrapped(row->help, 10);
    snprintf(variable, sizeof variable, "[%s%s, default %s]", row->variable,
             row->argument == NULL ? "=1" : "",
             row->default_value[0] != '\0' ? row->default_value : "none");
    print_wrapped(variable, 10);
}

void flags_print_help(void)
{
    for (unsigned i = 0; i < n_option_rows; i++) {
        print_row(&option_rows[i]);
    }
    printf("  -h, --help\n          print this\n");
}
