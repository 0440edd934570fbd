// SPDX-License-Identifier: BSD-3-Clause
#include "os/read_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_of_system(int fd)
{
    static const char *const folders[] = {"/proc/", "/sys/", "/dev/"};
    char link[64];
    char name[16] = "";

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    (void)!readlink(link, name, sizeof name - 1);
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (strncmp(name, folders[i], strlen(folders[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

// @param[out] state  of it
static int is_read(int fd, struct stat *state)
{
    const int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY &&
           fstat(fd, state) == 0 && S_ISREG(state->st_mode) &&
           state->st_nlink > 0 && !is_of_system(fd);
}

void read_files_note(struct read_files *files)
{
    struct stat state;

    memset(files, 0, sizeof *files);
    for (int fd = 0; fd < READ_FILES; fd++) {
        if (is_read(fd, &state)) {
            files->all[fd].device = state.st_dev;
            files->all[fd].number = state.st_ino;
        }
    }
}

static int was_there(const struct read_files *files, int fd,
                     const struct stat *state)
{
    return fd < READ_FILES && files->all[fd].number == state->st_ino &&
           files->all[fd].device == state->st_dev;
}

int read_files_has_more(const struct read_files *files)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    struct stat state;
    int found = 0;

    while (folder != NULL && !found && (entry = readdir(folder)) != NULL) {
        const int fd = atoi(entry->d_name); // 0: `.`

        found = is_read(fd, &state) && !was_there(files, fd, &state);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}
