// SPDX-License-Identifier: BSD-3-Clause
#include "os/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"

/** For file systems without O_TMPFILE: the name is gone at once. */
static int open_and_unlink(const char *folder)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof path, "%s/teamster-swap.XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        unlink(path);
    }
    return fd;
}

static int open_unnamed(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        return open_and_unlink(folder);
    }
    return fd;
}

/** Some file systems accept the flag and refuse the first transfer. */
static void go_direct(struct page_file *file, const void *bytes)
{
    int flags = fcntl(file->fd, F_GETFL);

    if (flags < 0 || fcntl(file->fd, F_SETFL, flags | O_DIRECT) != 0) {
        return;
    }
    file->is_direct = pwrite(file->fd, bytes, TM_PAGE_SIZE, 0) == TM_PAGE_SIZE;
    if (!file->is_direct) {
        fcntl(file->fd, F_SETFL, flags);
    }
}

static int is_in_memory(int fd)
{
    struct statfs system;

    return fstatfs(fd, &system) == 0 &&
           (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

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
    *file = (struct page_file){.fd = open_unnamed(folder), .n_pages = n_pages};
    if (file->fd < 0) {
        snprintf(reason, size, "cannot make a file in %s: %s", folder,
                 strerror(errno));
        return TM_ESYSTEM;
    }
    file->is_in_memory = is_in_memory(file->fd);
    go_direct(file, bytes);
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
