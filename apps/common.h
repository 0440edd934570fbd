// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_COMMON_H
#define APPS_COMMON_H
/*
 * What jacobi and sor have in common besides arithmetic and clock: their
 * command line, how they start threads, and what they print.
 */

#include <stdbool.h>
#include <stddef.h>

#include "teamster.h"

enum { EXIT_USAGE = 64, EXIT_MEMORY = 71 };

/** The command line of a run. */
struct settings {
    size_t size; ///< rows and columns inside the border
    unsigned n_threads;
    unsigned n_iterations;
    unsigned residual_every; ///< iterations between two residuals; 0: none
    bool init_on_root;       ///< main() writes all start values
    bool verify;
    bool stats;
    bool sequential; ///< no Teamster: plain memory, one thread
};

/**
 * Read the command line. Prints one line and exits with EXIT_USAGE if it is
 * wrong; prints a text and exits with 0 if it asks for help.
 *
 * @param settings  in: the defaults; out: what was asked for
 * @param about     what the program does: the first lines of --help
 */
void settings_parse(struct settings *settings, int argc, char **argv,
                    const char *about);

/** tm_alloc(), or the end of the program. @param name  for reports */
void *shared_memory(const char *name, size_t size);

/** malloc(), or the end of the program. */
void *plain_memory(size_t size);

/** Start threads with the arguments 0 to n_threads - 1; wait for their end. */
void threads_run(size_t n_threads, void *(*start)(void *));

/**
 * Print what each node did, a line for each.
 * @param node_of  [n_threads]  the node that each thread was on
 */
void nodes_print(const unsigned *node_of, size_t n_threads);

/** Compare all bits of two arrays, and print what was found. */
bool is_identical(const double *result, const double *expected, size_t n);

#endif
