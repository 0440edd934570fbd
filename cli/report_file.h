// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_REPORT_FILE_H
#define CLI_REPORT_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "buffer.h"
#include "planner/run_record.h"

/* Files of --report and of `teamster report`. */

/** What the root has told of the run so far. Zeros to begin with. */
struct report_findings {
    struct buffer text; ///< JSON
    int is_whole;
};

/** Is a page wanted, or a record? By the file's name. */
int report_file_is_page(const char *path);

/** Could the file be written? @return 0, or an exit code (told, as of `command`) */
int report_file_check(const char *command, const char *path);

/** Writes something to a file, and leaves it to the caller to look for errors. */
typedef void report_file_fn(FILE *file, const void *what);

/**
 * Have a file written, to one beside that then takes the name.
 * @return 0, or an exit code (told, as of `command`): what was there is as it was
 */
int report_file_put(const char *command, const char *path,
                    report_file_fn *write, const void *what);

/** A page or a record, by the file's name. */
int report_file_put_record(const char *command, const char *path,
                           const struct record *record);

#endif
