// SPDX-License-Identifier: BSD-3-Clause
// The memory of a container is that of its tightest control group, wherever in
// the path to the root that is; the usual tools show the machine's instead. With
// version 1 the path is on the line of the memory controller, with version 2 on
// the line "0::". If the path is one outside the container, its mount shows the
// container's own group as the root.
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Version 1 says "no limit" with a number near 2^63. */
#define NO_LIMIT ((uint64_t)1 << 60)

static uint64_t read_available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    unsigned long long kib = 0;
    char line[256];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return (uint64_t)kib * 1024;
}

/** A number in a file; UINT64_MAX if there is none, or it is "max". */
static uint64_t read_limit(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long bytes = 0;
    int found;

    if (file == NULL) {
        return UINT64_MAX;
    }
    found = fscanf(file, "%llu", &bytes);
    fclose(file);
    return found == 1 && bytes < NO_LIMIT ? bytes : UINT64_MAX;
}

/** Take the limits of a group and all groups above it into account. */
static void climb(struct memory_limit *limit, const char *mount,
                  const char *group, const char *file, const char *source)
{
    char path[384];
    char full[512];
    char *slash;

    snprintf(path, sizeof path, "%s", group);
    for (;;) {
        uint64_t bytes;

        if (strcmp(path, "/") == 0) {
            path[0] = '\0';
        }
        snprintf(full, sizeof full, "%s%s/%s", mount, path, file);
        bytes = read_limit(full);
        if (bytes < limit->cgroup) {
            limit->cgroup = bytes;
            memcpy(limit->cgroup_path, full, sizeof full);
            limit->source = source;
        }
        slash = strrchr(path, '/');
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

static int has_controller(const char *controllers, const char *wanted)
{
    char copy[256];
    char *rest = copy;
    const char *name;

    snprintf(copy, sizeof copy, "%s", controllers);
    while ((name = strsep(&rest, ",")) != NULL) {
        if (strcmp(name, wanted) == 0) {
            return 1;
        }
    }
    return 0;
}

/** One line of /proc/self/cgroup: number:controllers:path. */
static void take_line(struct memory_limit *limit, char *line)
{
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

    if (path == NULL) {
        return;
    }
    *path++ = '\0';
    controllers++;
    path[strcspn(path, "\n")] = '\0';
    if (has_controller(controllers, "memory")) {
        climb(limit, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes",
              "cgroup v1");
    } else if (controllers[0] == '\0') {
        climb(limit, "/sys/fs/cgroup", path, "memory.max", "cgroup v2");
        climb(limit, "/sys/fs/cgroup/unified", path, "memory.max", "cgroup v2");
    }
}

void memory_limit_read(struct memory_limit *limit)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[1024];

    *limit = (struct memory_limit){.available = read_available(),
                                   .cgroup = UINT64_MAX};
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        take_line(limit, line);
    }
    if (file != NULL) {
        fclose(file);
    }
    limit->bytes = limit->cgroup;
    if (limit->cgroup >= limit->available) {
        limit->bytes = limit->available;
        limit->source = "MemAvailable";
    }
}
