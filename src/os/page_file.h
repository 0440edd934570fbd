// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_PAGE_FILE_H
#define OS_PAGE_FILE_H

#include <stddef.h>

#include "base/status.h"

/*
 * A file of pages that has no name, so that nothing of it is left however the
 * process ends. Reads and writes go to the device if the file system lets them.
 */

struct page_file {
    int fd;
    unsigned n_pages;
    int is_direct;    ///< 0: through the kernel's cache, which is then emptied
    int is_in_memory; ///< no device is behind the file system
};

/**
 * Make a file in a folder and write all its pages once.
 *
 * @param bytes         [n_pages * TM_PAGE_SIZE], at a multiple of TM_PAGE_SIZE
 * @param[out] reason   [size] on failure: why, not logged
 * @return TM_OK
 * @return TM_ESYSTEM  the folder takes no file, or there is no room
 *
 * Context: any kernel thread; blocks for the device.
 */
TM_CHECKED tm_status page_file_open(struct page_file *file, const char *folder,
                                    const void *bytes, unsigned n_pages,
                                    char *reason, size_t size);

/** Write one page, read one page; done when the device has done it.
 * @param bytes  [TM_PAGE_SIZE], at a multiple of TM_PAGE_SIZE
 * @return TM_OK, TM_ESYSTEM (logged) */
TM_CHECKED tm_status page_file_write(const struct page_file *file,
                                     unsigned page, const void *bytes);
TM_CHECKED tm_status page_file_read(const struct page_file *file, unsigned page,
                                    void *bytes);

void page_file_close(struct page_file *file);

#endif
