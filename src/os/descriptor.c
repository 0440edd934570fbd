// SPDX-License-Identifier: BSD-3-Clause
#include "os/descriptor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

void descriptor_close(int fd)
{
    int saved_errno = errno;

    if (fd >= 0) {
        close(fd);
    }
    errno = saved_errno;
}

void descriptor_drop(int *fd)
{
    descriptor_close(*fd);
    *fd = -1;
}

void descriptor_make_room(unsigned n)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < n) {
        limit.rlim_cur = n < limit.rlim_max ? n : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE,
                        &limit); // what is missing is told by who misses it
    }
}

int descriptor_open_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    return fd >= 0 ? fd : memfd_create("null", MFD_CLOEXEC);
}

unsigned descriptor_each(void (*take)(void *owner, int fd), void *owner)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    unsigned n = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const int fd = atoi(entry->d_name);

        if (entry->d_name[0] != '.' && fd != dirfd(folder)) {
            take(owner, fd);
            n++;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return n;
}
