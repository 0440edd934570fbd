// SPDX-License-Identifier: BSD-3-Clause
#include "os/unseen.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int unseen_open(const char *path, int flags, unsigned mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

FILE *unseen_file(const char *path, const char *mode)
{
    const int how = mode[0] == 'a' ? O_APPEND : O_TRUNC;
    const int fd =
        unseen_open(path, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, mode);

    if (fd >= 0 && file == NULL) {
        close(fd);
    }
    return file;
}

int unseen_rename(const char *from, const char *to)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unseen_unlink(int folder, const char *path)
{
    return (int)syscall(SYS_unlinkat, folder, path, 0);
}

int unseen_bind(int fd, const struct sockaddr *name, socklen_t size)
{
    return (int)syscall(SYS_bind, fd, name, size);
}

int unseen_connect(int fd, const struct sockaddr *name, socklen_t size)
{
    return (int)syscall(SYS_connect, fd, name, size);
}

int unseen_accept(int fd, int flags)
{
    return (int)syscall(SYS_accept4, fd, NULL, NULL, flags);
}
