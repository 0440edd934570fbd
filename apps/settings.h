// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_SETTINGS_H
#define APPS_SETTINGS_H
/*
 * The command line of jacobi, sor, matmul and gauss.
 */

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_USAGE = 64, EXIT_MEMORY = 71 };

/** The command line of a run. */
struct settings {
    size_t size; ///< rows and columns; of a grid, inside its border
    unsigned n_threads;
    unsigned n_iterations;
    unsigned residual_every; ///< iterations between two residuals; 0: none
    double uneven;           ///< see extra_rows() in common.h; 0: all alike
    bool in_blocks;          ///< gauss: rows dealt in blocks, not in turn
    bool init_on_root;       ///< main() writes all start values
    bool verify;
    bool stats;
    bool report;     ///< print the time of each iteration
    bool time;       ///< print a line for programs to read
    bool sequential; ///< no Teamster: plain memory, one thread
};

/** Options that not all programs have. */
enum { OFFER_RESIDUAL = 1, OFFER_DEAL = 2 };

/** What --help says of a program. */
struct about {
    const char *text;       ///< what it does, the first lines
    const char *size;       ///< what --size means
    const char *iterations; ///< what --iterations means
    unsigned offers;        ///< OFFER_...
};

/**
 * Read the command line. Prints one line and exits with EXIT_USAGE if it is
 * wrong; prints a text and exits with 0 if it asks for help.
 *
 * @param settings  in: the defaults; out: what was asked for
 */
void settings_parse(struct settings *settings, int argc, char **argv,
                    const struct about *about);

#endif
