// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_JOB_LINES_H
#define CLI_JOB_LINES_H

#include <stddef.h>

/** Lines of a launcher (control.h), as they come. All zero, but fd, is the beginning. */
struct job_lines {
    int fd;
    char *text;
    size_t used;
    size_t room;
};

/** Read what is there; waits until there is something.
 * @return 0 if there will be no more */
int job_lines_read(struct job_lines *lines);

/** A line, without its newline. @return 1 if it was of interest */
typedef int job_line_fn(void *owner, const char *line);

/** Take all whole lines. @return 1 if one of them was of interest */
int job_lines_take(struct job_lines *lines, job_line_fn *take, void *owner);

/** Forget them, and close the socket. */
void job_lines_close(struct job_lines *lines);

#endif
