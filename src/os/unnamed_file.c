// SPDX-License-Identifier: BSD-3-Clause
#include "os/unnamed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "os/unseen.h"

/** For file systems without O_TMPFILE: the name is gone at once. */
static int open_and_unlink(const char *folder)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof path, "%s/teamster-swap.%d-%llx", folder,
             (int)getpid(), (unsigned long long)clock_now_ns());
    fd = unseen_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)unseen_unlink(AT_FDCWD, path);
    }
    return fd;
}

int unnamed_file_open(const char *folder)
{
    int fd = unseen_open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        return open_and_unlink(folder);
    }
    return fd;
}

// Some file systems accept the flag and refuse the first transfer.
int unnamed_file_go_direct(int fd, const void *page)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) != 0) {
        return 0;
    }
    if (pwrite(fd, page, TM_PAGE_SIZE, 0) != TM_PAGE_SIZE) {
        fcntl(fd, F_SETFL, flags);
        return 0;
    }
    return 1;
}

int unnamed_file_is_in_memory(int fd)
{
    struct statfs system;

    return fstatfs(fd, &system) == 0 &&
           (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}
