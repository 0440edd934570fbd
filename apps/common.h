// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_COMMON_H
#define APPS_COMMON_H
/*
 * What the applications have in common besides command line, arithmetic and
 * clock: how they start threads, and what they print.
 */

#include <stdbool.h>
#include <stddef.h>

#include "settings.h"
#include "teamster.h"

/** tm_alloc(), or the end of the program. @param name  for reports */
void *shared_memory(const char *name, size_t size);

/** malloc(), or the end of the program. */
void *plain_memory(size_t size);

/** Start threads with the arguments 0 to n_threads - 1; wait for their end. */
void threads_run(size_t n_threads, void *(*start)(void *));

/**
 * How many rows a thread of n_rows does again in each iteration, so that
 * threads cost unequal times: with --uneven F up to F n_rows, drawn from the
 * thread's number. The result is the same, and so is the memory used.
 */
size_t extra_rows(const struct settings *settings, size_t thread,
                  size_t n_rows);

/** When iterations ended and where threads were: a part of what they share. */
struct course {
    double start_s;    ///< when the program began with its data
    double *ends_s;    ///< [n_iterations + 1]  see times_print()
    unsigned *node_of; ///< [n_threads]  where each ended; NULL: there are none
    bool reports;      ///< the time of each iteration
    bool tells;        ///< a line for programs to read
};

/** The program begins with its data now, in threads. @param[out] course  shared (what is
 * returned by value compilers write without telling the auditor) */
void course_begin(struct course *course, const struct settings *settings);

/** The sequential program does: as itself, or to verify. */
struct course course_begin_alone(const struct settings *settings);

/** Thread `me` has ended an iteration; 0: start values are ready. */
void course_note(const struct course *course, const struct settings *settings,
                 size_t me, unsigned iteration);

/** Print what times and nodes were, behind what has been worked on; the sequential
 * program's course is over. @param amount, unit  as times_print() */
void course_print(const struct course *course, const struct settings *settings,
                  double amount, const char *unit);

/** A program whose result is numbers. Their memory is shared, or for free(). */
struct solver {
    double *(*with_threads)(const struct settings *settings);
    double *(*sequentially)(const struct settings *settings);
    size_t (*n_values)(const struct settings *settings); ///< numbers
};

/** What main() does after tm_init(). @param settings  the defaults
 * @return the exit code */
int solver_run(const struct solver *solver, const struct about *about,
               struct settings *settings, int argc, char **argv);

/** Compare all bits of two arrays, and print what was found. */
bool is_identical(const double *result, const double *expected, size_t n);

/** The same of n bytes. */
bool is_identical_bytes(const void *result, const void *expected, size_t n);

/**
 * Peak signal-to-noise ratio of pixels from 0 to 255, in decibels.
 * @param error  sum of the squares of the differences
 * @return infinity if there is no difference
 */
double psnr_db(uint64_t error, double n_pixels);

#endif
