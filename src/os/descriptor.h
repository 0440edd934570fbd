// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_DESCRIPTOR_H
#define OS_DESCRIPTOR_H

/** Close a descriptor, if it is one; errno stays. @param fd  -1: there is none
 * Context: any kernel thread. */
void descriptor_close(int fd);

/** The same, and set it to -1. */
void descriptor_drop(int *fd);

/** Raise the limit of this process to n descriptors, or to the highest that is allowed. It is
 * inherited. Context: any kernel thread. */
void descriptor_make_room(unsigned n);

/** Open a file that is empty to whoever reads it, for reading and writing: /dev/null, or, in a
 * container that has none, a file in memory. Closed by execve().
 * @return -1 with errno set. Context: any kernel thread. */
int descriptor_open_null(void);

/** Call a function with each descriptor of this process that is open, in no order. It may close none.
 * @return how many there were; 0: /proc cannot be read. Context: any kernel thread. */
unsigned descriptor_each(void (*take)(void *owner, int fd), void *owner);

#endif
