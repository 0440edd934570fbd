// SPDX-License-Identifier: BSD-3-Clause
//
// A group may use `quota` microseconds of processor time in each `period`; then it
// stands still until the next. So the shorter the period, the more evenly it is slow; and
// the kernel takes no quota or period below a millisecond.
//
// Real-time threads, as a node's service thread, are not held to the quota. Version 1
// gives a group none of the time for these, if the kernel counts it, and then takes no
// process that has or wants such a thread: so some is asked for, less if there is not so
// much left.
#include "os/processor_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descriptor.h"

enum {
    LEAST_US = 1000,             // of quota and period
    PERIOD_MAX_US = 1000 * 1000, // likewise what the kernel takes
    PATH_SIZE = 640,
};

static const struct controller controller = {
    .name = "cpu",
    .files = {NULL, "cgroup.procs", "cgroup.procs"},
};

/** @return 0, or -1 with errno */
static int write_file(const struct control_group *group, const char *name,
                      const char *text)
{
    char path[PATH_SIZE];
    ssize_t written;
    int file;

    snprintf(path, sizeof path, "%s/%s", group->folder, name);
    file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    written = write(file, text, strlen(text));
    descriptor_close(file);
    return written > 0 ? 0 : -1;
}

static int write_number(const struct control_group *group, const char *name,
                        unsigned number)
{
    char text[16];

    snprintf(text, sizeof text, "%u", number);
    return write_file(group, name, text);
}

static void ask_for_real_time(const struct control_group *group)
{
    for (unsigned us = 100 * 1000; us >= 1000; us /= 10) {
        if (write_number(group, "cpu.rt_runtime_us", us) == 0) {
            return; // of each second
        }
    }
}

static int limit(const struct control_group *group, double processors)
{
    const double period_us =
        fmin(fmax(LEAST_US, LEAST_US / processors), PERIOD_MAX_US);
    const double quota_us = fmax(processors * period_us, LEAST_US);
    char text[32];

    if (group->version == 2) {
        snprintf(text, sizeof text, "%.0f %.0f", quota_us, period_us);
        return write_file(group, "cpu.max", text);
    }
    ask_for_real_time(group);
    return write_number(group, "cpu.cfs_period_us", (unsigned)period_us) == 0
               ? write_number(group, "cpu.cfs_quota_us", (unsigned)quota_us)
               : -1;
}

/** The caller's own group. @return 1 if there is one that can be seen */
static int find_own(struct control_group *own)
{
    return control_groups_find("", 0, &controller, own, 1) > 0;
}

tm_status processor_group_make(long job, unsigned number, double processors,
                               struct control_group *group)
{
    struct control_group own;
    size_t size = sizeof group->folder;
    int error;

    if (!find_own(&own)) {
        errno = ENOENT;
        return TM_ESYSTEM;
    }
    group->version = own.version;
    if ((size_t)snprintf(group->folder, size, "%s/teamster-%ld-%u", own.folder,
                         job, number) >= size) {
        errno = ENAMETOOLONG;
        return TM_ESYSTEM;
    }
    if (mkdir(group->folder, 0755) != 0) {
        return TM_ESYSTEM;
    }
    if (limit(group, processors) != 0) {
        error = errno;
        rmdir(group->folder);
        errno = error;
        return TM_ESYSTEM;
    }
    return TM_OK;
}

tm_status processor_group_enter(const struct control_group *group, pid_t pid)
{
    return write_number(group, "cgroup.procs", (unsigned)pid) == 0 ? TM_OK
                                                                   : TM_ESYSTEM;
}

unsigned processor_groups_remove(long job)
{
    struct control_group own;
    char beginning[40];
    struct dirent *entry;
    unsigned n_left = 0;
    DIR *folder;

    if (!find_own(&own)) {
        return 0;
    }
    snprintf(beginning, sizeof beginning, "teamster-%ld-", job);
    folder = opendir(own.folder);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, beginning, strlen(beginning)) == 0) {
            n_left += unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR) != 0;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return n_left;
}
