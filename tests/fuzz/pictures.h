// SPDX-License-Identifier: BSD-3-Clause
#ifndef PICTURES_H
#define PICTURES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Readers of apps/ end the program when a file is wrong, and take names of files.
 * Compiled with -Dexit=fuzz_exit they come back from there.
 */

/** Call a reader with the name of a file that holds these bytes. What it has
 * allocated by plain_memory() and opened is given back, however it ends. */
void fuzz_reader(const uint8_t *bytes, size_t size,
                 void (*reader)(const char *path));

#endif
