// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_NEW_FILE_H
#define OS_NEW_FILE_H

#include <stdio.h>

/* A file that takes its name when it is whole: written beside, and renamed. Whatever goes
 * wrong, what had the name before is still there. */

#define NEW_FILE_PATH_MAX 4096

struct new_file {
    FILE *file;
    char path[NEW_FILE_PATH_MAX];
    char beside[NEW_FILE_PATH_MAX + 16];
};

/** Could a file of this name be written now? Nothing is left behind.
 * @return NULL if so, else why not, for a message; valid until the next call here */
const char *new_file_check(const char *path);

/** Begin one. @param[out] new_file  new_file->file is to be written to
 * @return NULL, or why not: then there is nothing to end */
const char *new_file_begin(struct new_file *new_file, const char *path);

/** End it: it has its name now, unless a write has failed.
 * @return NULL, or why not: then what was written is gone */
const char *new_file_end(struct new_file *new_file);

/** Give it up: what was written is gone. */
void new_file_drop(struct new_file *new_file);

#endif
