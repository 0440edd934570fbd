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

/**
 * Print what each node did, a line for each.
 * @param node_of  [n_threads]  the node that each thread was on
 */
void nodes_print(const unsigned *node_of, size_t n_threads);

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
