// SPDX-License-Identifier: BSD-3-Clause
// teamster tables: what the values of options of `run` may be, where that is one of some
// words. For what is made of it when Teamster is built (tools/manual/completion.py); the
// rest of it is in --help.
#include <stdio.h>

#include "base/log.h"
#include "base/options.h"
#include "command.h"

static void print_words(const struct option_row *row)
{
    printf("%s", row->name);
    for (unsigned i = 0; row->words[i] != NULL; i++) {
        printf(" %s", row->words[i]);
    }
    putchar('\n');
}

int command_tables(int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "teamster tables: '%s' is not expected\n", argv[1]);
        return EXIT_USAGE;
    }
    for (unsigned i = 0; i < n_option_rows; i++) {
        if (option_rows[i].words != NULL) {
            print_words(&option_rows[i]);
        }
    }
    return 0;
}
