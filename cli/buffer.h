// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_BUFFER_H
#define CLI_BUFFER_H

#include <stddef.h>

/** Bytes that wait: put in at the end, taken from the front. All zero is an
 * empty one. Out of memory ends the launcher or agent, and with it the run (71). */
struct buffer {
    char *bytes; ///< the first that waits is bytes[start]
    size_t start;
    size_t used; ///< that wait
    size_t room;
};

void buffer_append(struct buffer *buffer, const void *bytes, size_t size);

/** The bytes that wait; valid until the next call. */
char *buffer_front(struct buffer *buffer);

/** Forget the first size bytes, size <= used. */
void buffer_drop(struct buffer *buffer, size_t size);

void buffer_release(struct buffer *buffer);

#endif
