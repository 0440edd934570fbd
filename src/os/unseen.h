// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_UNSEEN_H
#define OS_UNSEEN_H

#include <stdio.h>
#include <sys/socket.h>

/*
 * Calls of the system by which the library makes what is its own: its files, and its connections with
 * other nodes. In a program the C library's functions of these names are the runtime's
 * (runtime/wrap_outside.c), which takes what comes there for the program's own.
 *
 * All return as the C library's do, with errno.
 */

/** @param mode  of a file that is made */
int unseen_open(const char *path, int flags, unsigned mode);
/** @param mode  "w" or "a", which are not passed on to programs that are started */
FILE *unseen_file(const char *path, const char *mode);
int unseen_rename(const char *from, const char *to);
/** @param folder  where a path begins that does not begin with a slash; AT_FDCWD */
int unseen_unlink(int folder, const char *path);
int unseen_bind(int fd, const struct sockaddr *name, socklen_t size);
int unseen_connect(int fd, const struct sockaddr *name, socklen_t size);
/** Whoever connects is not asked for its name. */
int unseen_accept(int fd, int flags);

#endif
