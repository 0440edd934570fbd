// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_UNNAMED_FILE_H
#define OS_UNNAMED_FILE_H

/*
 * A file that has no name, so that nothing of it is left however the process ends.
 */

/** Make an empty one in a folder, to be read and written.
 * @return a descriptor to close(), or -1 and errno. Context: any kernel thread. */
int unnamed_file_open(const char *folder);

/** Let transfers go past the kernel's cache, if the file system does that.
 * @param page  [TM_PAGE_SIZE], at a multiple of TM_PAGE_SIZE; written to the start
 *              of the file to try
 * @return 1, or 0: the file is as it was. Context: any kernel thread; blocks for
 * the disk. */
int unnamed_file_go_direct(int fd, const void *page);

/** @return 1: no device is behind the file system (tmpfs, ramfs) */
int unnamed_file_is_in_memory(int fd);

#endif
