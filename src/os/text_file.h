// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_TEXT_FILE_H
#define OS_TEXT_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Small files of /proc and /sys. They are read often, so no stdio.
 */

/** Read the beginning of a file.
 * @param[out] text  [size] it and a 0; "" if it cannot be read
 * @return bytes without the 0, 0 if it cannot be read
 * Context: any kernel thread; does not log. */
size_t text_file_read(const char *path, char *text, size_t size);

/** Find a number behind a key at the start of a line: "MemTotal:", "active_file".
 * @param[out] number  untouched if it is not found
 * @return 1 if found. Context: any; pure. */
int text_find_number(const char *text, const char *key, uint64_t *number);

#endif
