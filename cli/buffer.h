// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_BUFFER_H
#define CLI_BUFFER_H

#include <stddef.h>

/** Bytes that wait: put in at the end, taken from the front. All zero is an
 * empty one. Out of memory ends the launcher or agent, and with it the run (71).
 * The job's key goes through buffers, so none leaves bytes behind in memory. */
struct buffer {
    char *bytes; ///< the first that waits is bytes[start]
    size_t start;
    size_t used; ///< that wait
    size_t room;
    size_t gone; ///< the first that was dropped and is not wiped is bytes[gone]
    size_t n_gone; ///< of them
};

void buffer_append(struct buffer *buffer, const void *bytes, size_t size);

/** The bytes that wait; valid until the next call. */
char *buffer_front(struct buffer *buffer);

/** Forget the first size bytes, size <= used. They can be read until the next call,
 * which overwrites them. */
void buffer_drop(struct buffer *buffer, size_t size);

/** Write what waits, as far as a descriptor takes it now.
 * @param is_socket  one that may block
 * @return 0; or why it takes nothing more, as errno: all of it is dropped then */
int buffer_write(struct buffer *buffer, int fd, int is_socket);

void buffer_release(struct buffer *buffer);

#endif
