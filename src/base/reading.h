// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_READING_H
#define BASE_READING_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Values that somebody has written: numbers, sizes, words. Who refuses a value says what
 * is allowed, which is derived from the limits that are checked, so the two cannot differ.
 */

/** "64K", "1G", "4096" to bytes. @return TM_OK, TM_EINVAL */
TM_CHECKED tm_status parse_size(const char *text, uint64_t *bytes);

/** Digits, perhaps with a decimal point: "500", "0.25", ".5".
 * @return TM_OK, TM_EINVAL */
TM_CHECKED tm_status parse_decimal(const char *text, double *value);

/** "64K" for 65536. */
void size_write(char *text, size_t size, uint64_t bytes);

/** One value on its way from text to a field. */
struct reading {
    const char *text;
    char allowed[96]; ///< set when it is refused
};

/* Each takes the text if it is as allowed. @return 1, or 0 with `allowed` set */

/** A number from low to high. */
int reading_number(struct reading *reading, uint64_t low, uint64_t high,
                   uint64_t *value);
int reading_unsigned(struct reading *reading, unsigned low, unsigned high,
                     unsigned *value);

/** Bytes. @param word  what may stand for 0, or NULL */
int reading_bytes(struct reading *reading, const char *word, uint64_t low,
                  uint64_t high, uint64_t *value);

/** A path, or a word in its place. @param form  what is allowed, in words
 * @param[out] path  [size] */
int reading_path(struct reading *reading, int is_allowed, const char *form,
                 char *path, size_t size);

/** One of [n_names] names: its index. */
int reading_word(struct reading *reading, const char *const *names,
                 unsigned n_names, unsigned *index);

#endif
