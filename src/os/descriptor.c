// SPDX-License-Identifier: BSD-3-Clause
#include "os/descriptor.h"

#include <errno.h>
#include <fcntl.h>
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
