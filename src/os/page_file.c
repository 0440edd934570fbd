// SPDX-License-Identifier: BSD-3-Clause
#include "os/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "os/unnamed_file.h"

static int fill(const struct page_file *file, const char *bytes)
{
    size_t size = (size_t)file->n_pages * TM_PAGE_SIZE;
    size_t done = 0;

    while (done < size) {
        ssize_t written =
            pwrite(file->fd, bytes + done, size - done, (off_t)done);

        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return 0;
        }
        done += (size_t)written;
    }
    return file->is_direct || fdatasync(file->fd) == 0;
}

tm_status page_file_open(struct page_file *file, const char *folder,
                         const void *bytes, unsigned n_pages, char *reason,
                         size_t size)
{
    *file =
        (struct page_file){.fd = unnamed_file_open(folder), .n_pages = n_pages};
    if (file->fd < 0) {
        snprintf(reason, size, "cannot make a file in %s: %s", folder,
                 strerror(errno));
        return TM_ESYSTEM;
    }
    file->is_in_memory = unnamed_file_is_in_memory(file->fd);
    file->is_direct = unnamed_file_go_direct(file->fd, bytes);
    if (!fill(file, bytes)) {
        snprintf(reason, size, "cannot write a file in %s: %s", folder,
                 strerror(errno));
        page_file_close(file);
        return TM_ESYSTEM;
    }
    return TM_OK;
}

tm_status page_file_write(const struct page_file *file, unsigned page,
                          const void *bytes)
{
    if (pwrite(file->fd, bytes, TM_PAGE_SIZE, (off_t)page * TM_PAGE_SIZE) !=
            TM_PAGE_SIZE ||
        (!file->is_direct && fdatasync(file->fd) != 0)) {
        log_error("cannot write page %u of a swap file: %m", page);
        return TM_ESYSTEM;
    }
    return TM_OK;
}

tm_status page_file_read(const struct page_file *file, unsigned page,
                         void *bytes)
{
    off_t offset = (off_t)page * TM_PAGE_SIZE;

    if (!file->is_direct) {
        posix_fadvise(file->fd, offset, TM_PAGE_SIZE, POSIX_FADV_DONTNEED);
    }
    if (pread(file->fd, bytes, TM_PAGE_SIZE, offset) != TM_PAGE_SIZE) {
        log_error("cannot read page %u of a swap file: %m", page);
        return TM_ESYSTEM;
    }
    return TM_OK;
}

void page_file_close(struct page_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->fd = -1;
}
