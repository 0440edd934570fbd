// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_WRITTEN_FILE_H
#define OS_WRITTEN_FILE_H

enum { WRITTEN_FILES = 1024 };

/** Files that a process had open to write to, at some time: by their descriptors, up to WRITTEN_FILES. */
struct written_files {
    unsigned char is_there[WRITTEN_FILES];
};

/** Note those that there are: others have opened them, for this process's start. */
void written_files_note(struct written_files *files);

/** Has this process a file open that it may write to, besides those? One with a name: not memory, and
 * not what goes when it is closed.
 * Context: any kernel thread; asks the kernel about each descriptor. */
int written_files_has_more(const struct written_files *files);

#endif
