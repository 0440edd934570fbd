// SPDX-License-Identifier: BSD-3-Clause
#include "os/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
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

int descriptor_open_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    return fd >= 0 ? fd : memfd_create("null", MFD_CLOEXEC);
}
