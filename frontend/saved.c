// SPDX-License-Identifier: BSD-3-Clause
//
// What of a program is in no checkpoint, so that there is none (docs/checkpoints.md): what the
// kernel and the C library have for it on its nodes.
#include "front.h"
#include "signal_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STANDARD = 3, FDS = 1024 };

// Descriptors that the process began with.
static unsigned char is_inherited[FDS];

// Those of the library's own are closed by exec().
static int is_open(int fd)
{
    const int flags = fcntl(fd, F_GETFD);

    return fd >= STANDARD && flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

static int is_of_program(int fd)
{
    return is_open(fd) && (fd >= FDS || !is_inherited[fd]);
}

void front_note_inherited(void)
{
    for (int fd = 0; fd < FDS; fd++) {
        is_inherited[fd] = (unsigned char)is_open(fd);
    }
}

// @return a descriptor, or -1
static int find_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int found = -1;

    if (folder == NULL) {
        return -1;
    }
    while (found < 0 && (entry = readdir(folder)) != NULL) {
        const int fd = atoi(entry->d_name); // 0: `.`

        found = is_of_program(fd) ? fd : -1;
    }
    closedir(folder);
    return found;
}

static const char *tell_open(int fd)
{
    static char told[128];
    char path[64];
    char name[80] = "";

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)!readlink(path, name, sizeof name - 1);
    snprintf(told, sizeof told, "the program has a file open: %s", name);
    return told;
}

static const char *never;

void front_never_saved(const char *why)
{
    never = why;
}

const char *front_why_unsaved(void)
{
    const int fd = never != NULL ? -1 : find_open();

    if (fd < 0 && never == NULL && signal_why_unsaved != NULL) {
        return signal_why_unsaved();
    }
    return fd < 0 ? never : tell_open(fd);
}
