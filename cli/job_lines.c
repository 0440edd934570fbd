// SPDX-License-Identifier: BSD-3-Clause
#include "job_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/descriptor.h"

int job_lines_read(struct job_lines *lines)
{
    ssize_t n;

    if (lines->used + 4096 > lines->room) {
        lines->room = 2 * lines->room + 8192;
        lines->text = realloc(lines->text, lines->room);
        if (lines->text == NULL) {
            return 0;
        }
    }
    n = read(lines->fd, lines->text + lines->used,
             lines->room - lines->used - 1);
    if (n <= 0) {
        return n < 0 && errno == EINTR;
    }
    lines->used += (size_t)n;
    lines->text[lines->used] = '\0';
    return 1;
}

int job_lines_take(struct job_lines *lines, job_line_fn *take, void *owner)
{
    char *begin = lines->text;
    char *end;
    int is_new = 0;

    while ((end = memchr(begin, '\n',
                         lines->used - (size_t)(begin - lines->text))) !=
           NULL) {
        *end = '\0';
        is_new |= take(owner, begin);
        begin = end + 1;
    }
    lines->used -= (size_t)(begin - lines->text);
    memmove(lines->text, begin, lines->used);
    return is_new;
}

void job_lines_close(struct job_lines *lines)
{
    descriptor_drop(&lines->fd);
    free(lines->text);
    *lines = (struct job_lines){.fd = -1};
}
