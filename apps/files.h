// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_FILES_H
#define APPS_FILES_H
/*
 * Files that motion and vq read and write. What is wrong with one ends the
 * program with one line that names it: EXIT_USAGE for a file that was given,
 * EXIT_OUTPUT for one that cannot be written.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** A file that is read from its start to its end. */
struct input {
    const char *path;
    FILE *file;
    uint64_t n_bytes; ///< how long it is
};

/** Open a regular file that is not empty. */
void input_open(struct input *input, const char *path);
void input_close(struct input *input);

/** Something is wrong with the file: print `PATH: ...` and end the program. */
__attribute__((format(printf, 2, 3))) _Noreturn void input_refuse(
    const struct input *input, const char *format, ...);

/**
 * Read a line.
 * @param[out] line  [size]  without its end; nothing at the end of the file
 * @return was there one that is not longer?
 */
bool input_line(struct input *input, char *line, size_t size);

/** Open a file to write. Do so before long work: it may be impossible. */
FILE *output_open(const char *path);

/** Close it; what could not be written ends the program. */
void output_close(FILE *file, const char *path);

#endif
