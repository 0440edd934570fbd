// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_SETTINGS_H
#define APPS_SETTINGS_H
/*
 * The command line of the applications.
 */

#include <stdbool.h>
#include <stddef.h>

/** How a program ends besides well or, if results differ, with 1. */
enum { EXIT_USAGE = 64, EXIT_MEMORY = 71, EXIT_OUTPUT = 73 };

/** The command line of a run. */
struct settings {
    size_t size; ///< rows and columns; of a grid, inside its border
    unsigned n_threads;
    unsigned n_iterations;
    unsigned residual_every; ///< iterations between two residuals; 0: none
    double uneven;           ///< see extra_rows() in common.h; 0: all alike
    unsigned effort;         ///< how often each row is computed in an iteration
    unsigned n_steps;        ///< gauss: pivot steps to do; 0: all
    bool in_blocks;          ///< gauss: rows dealt in blocks, not in turn
    bool init_on_root;       ///< main() writes all start values
    bool verify;
    bool stats;
    bool report;     ///< print the time of each iteration
    bool time;       ///< print a line for programs to read
    bool sequential; ///< no Teamster: plain memory, one thread
    unsigned seed;   ///< of start values that are drawn by lot

    // Of those that work on pictures.
    const char *input;      ///< a file; NULL: a picture is made up
    unsigned width, height; ///< motion: of a frame; 0: not said
    bool all_frames;        ///< motion: --iterations was not given
    unsigned range;         ///< motion: how far is searched, in pixels
    const char *vectors;    ///< motion: the file to write; NULL: none
    unsigned n_codewords;   ///< vq
    unsigned block;         ///< vq: rows and columns of a block
    bool start_drawn;       ///< vq: the first codebook is drawn by lot
    const char *output;     ///< vq: what names of files begin with; NULL: none
};

/** Options that not all programs have. */
enum {
    OFFER_RESIDUAL = 1,
    OFFER_DEAL = 2,
    OFFER_SEED = 4,
    OFFER_INPUT = 8,
    OFFER_FRAMES = 16,
    OFFER_CODEBOOK = 32,
    OFFER_EFFORT = 64,
    OFFER_STEPS = 128
};

/** What --help says of a program. */
struct about {
    const char *text;       ///< what it does and prints, the first lines
    const char *size;       ///< what --size means
    const char *iterations; ///< what --iterations means
    const char *input;      ///< what --input means
    const char *residual;   ///< what --residual prints
    const char *data;       ///< what lies in shared memory, lines
    double (*data_bytes)(const struct settings *settings); ///< how much
    const char *example; ///< arguments of another example; NULL: none
    unsigned offers;     ///< OFFER_...
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
