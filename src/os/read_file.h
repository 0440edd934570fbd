// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_READ_FILE_H
#define OS_READ_FILE_H

#include <sys/types.h>

enum { READ_FILES = 256 };

/** Files that a process had open to read, at some time: by their descriptors, up to READ_FILES. */
struct read_files {
    struct {
        dev_t device;
        ino_t number; ///< 0: none
    } all[READ_FILES];
};

/** Note those that there are: others have opened them, for this process's start. */
void read_files_note(struct read_files *files);

/** Has this process a file open that it may read from, besides those? One with a name: not memory, nor
 * what the kernel shows in /proc and /sys, nor devices and what is in memory (/dev).
 * Context: any kernel thread; asks the kernel about each descriptor. */
int read_files_has_more(const struct read_files *files);

#endif
