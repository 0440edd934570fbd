// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_READINESS_H
#define FRONTEND_READINESS_H

#include <stdio.h>

/** On the root, in a thread, on its private stack: wait until a call that reads (POLLIN) or
 * writes (POLLOUT) the descriptor need not wait; other threads run meanwhile. One that is told
 * not to block is not waited for. errno stays. */
void front_await(int fd, short events);

/** The same before a stream is read, if its buffer is empty. */
void front_await_input(FILE *file);

/** Is what the stream reads from something that others write at their own pace: a pipe, a
 * socket, a terminal? */
int front_is_slow(FILE *file);

/** What poll(), select() or epoll_wait(), told not to wait, have found: nothing yet, if a signal
 * came meanwhile. @param n  what they have returned; errno is theirs. @return the same, or 0 */
int front_found(int n);

/** @return bytes that can be read of a stream without asking the kernel */
size_t front_buffered(const FILE *file);

#endif
