// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a container is that of its tightest control group, wherever in
// the path to the root that is; the usual tools show the machine's instead.
//
// /proc/self/cgroup says in which group a process is: with version 1 on the line of
// the memory controller, with version 2 on the line "0::". /proc/self/mountinfo
// says where groups are to be seen: which folder shows which group. The folder of
// the process's group is that mount's folder and the rest of the path:
//
//   group         mount shows   at                       folders looked at
//   /a/b          /             /sys/fs/cgroup           .../a/b, .../a, ...
//   /docker/1/c   /docker/1     /sys/fs/cgroup           .../c, ...
//   /             /             /sys/fs/cgroup           ...   (a namespace)
//   /elsewhere    /docker/1     /sys/fs/cgroup           ...
//
// In a namespace the container's own group is called "/", and its folder has a
// limit, as the true root never has with version 2. Where both versions are mounted,
// the memory controller belongs to one of them: only its folders have the files.
//
// What a group has used counts pages of files, which the kernel takes back when it
// needs them, as it does in MemAvailable. Shared memory is not among these.
#include "os/memory_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/text_file.h"

/** Version 1 says "no limit" with a number near 2^63. */
#define NO_LIMIT ((uint64_t)1 << 60)

enum { PATH_SIZE = 4096 };

/** Names of a version's files and of the lines in memory.stat. */
static const struct {
    const char *filesystem;
    const char *limits[2]; ///< the lower one holds; NULL: there is one only
    const char *used;
    const char *shared;
    const char *inactive;
    const char *active;
    const char *swap_cached;
    const char *swap_limit; ///< version 1: of memory and swap together
    const char *swap_used;
    const char *events; ///< its line "oom_kill" counts
} versions[] = {
    [1] = {"cgroup",
           {"memory.limit_in_bytes", NULL},
           "memory.usage_in_bytes",
           "total_shmem",
           "total_inactive_file",
           "total_active_file",
           "total_swapcached",
           "memory.memsw.limit_in_bytes",
           "memory.memsw.usage_in_bytes",
           "memory.oom_control"},
    [2] = {"cgroup2",
           {"memory.max", "memory.high"},
           "memory.current",
           "shmem",
           "inactive_file",
           "active_file",
           "swapcached",
           "memory.swap.max",
           "memory.swap.current",
           "memory.events"},
};

/** The paths of the process's group, by version; "": none. */
struct membership {
    char path[3][PATH_SIZE];
};

/** A list that is gathered. */
struct found {
    struct memory_group *groups;
    unsigned n;
    unsigned n_max;
};

static int has_word(const char *list, const char *wanted)
{
    size_t length = strlen(wanted);
    const char *at = list;

    while ((at = strstr(at, wanted)) != NULL) {
        if ((at == list || at[-1] == ',') &&
            (at[length] == ',' || at[length] == '\0')) {
            return 1;
        }
        at += length;
    }
    return 0;
}

/** One line of /proc/self/cgroup: number:controllers:path. */
static void take_membership(struct membership *membership, char *line)
{
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    int version;

    if (path == NULL) {
        return;
    }
    *path++ = '\0';
    controllers++;
    path[strcspn(path, "\n")] = '\0';
    version = controllers[0] == '\0' ? 2 : 1;
    if (version == 2 || has_word(controllers, "memory")) {
        snprintf(membership->path[version], PATH_SIZE, "%s", path);
    }
}

/** @param pid  0: this process */
static void read_membership(const char *root, pid_t pid,
                            struct membership *membership)
{
    char path[PATH_SIZE];
    char process[16] = "self";
    char *line = NULL;
    size_t size = 0;
    FILE *file;

    if (pid != 0) {
        snprintf(process, sizeof process, "%d", (int)pid);
    }
    snprintf(path, sizeof path, "%s/proc/%s/cgroup", root, process);
    file = fopen(path, "re");
    while (file != NULL && getline(&line, &size, file) > 0) {
        take_membership(membership, line);
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
}

/** Spaces and the like are written as \040 in mountinfo. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; to++) {
        unsigned code;

        if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static int has_limit(const struct memory_group *group)
{
    char path[PATH_SIZE];

    snprintf(path, sizeof path, "%s/%s", group->folder,
             versions[group->version].limits[0]);
    return access(path, R_OK) == 0;
}

/** The part of a group's path below what a mount shows; "" for the mount itself.
 */
static const char *below(const char *group, const char *shown)
{
    size_t length = strcmp(shown, "/") == 0 ? 0 : strlen(shown);

    if (strncmp(group, shown, length) != 0 ||
        (group[length] != '/' && group[length] != '\0') ||
        strncmp(group + length, "/..", 3) == 0) {
        return "";
    }
    return strcmp(group + length, "/") == 0 ? "" : group + length;
}

/** Add a mount's groups from the process's own upwards. */
static void climb(struct found *found, int version, const char *folder,
                  const char *rest)
{
    char path[PATH_SIZE];
    char *slash;

    snprintf(path, sizeof path, "%s", rest);
    while (found->n < found->n_max) {
        struct memory_group *group = &found->groups[found->n];
        int length =
            snprintf(group->folder, sizeof group->folder, "%s%s", folder, path);

        group->version = version;
        found->n += length < (int)sizeof group->folder && has_limit(group);
        slash = strrchr(path, '/');
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

/** A line of mountinfo: id parent device SHOWN FOLDER ... - TYPE source OPTIONS
 */
struct mount {
    char *shown; ///< the group that its folder shows
    char *folder;
    char *type;
    char *options;
};

/** @return 0 if it is none of a control group */
static int parse_mount(struct mount *mount, char *line)
{
    char *rest = strstr(line, " - ");
    char *at = line;

    if (rest == NULL || strncmp(rest + 3, "cgroup", 6) != 0) {
        return 0;
    }
    *rest = '\0';
    for (int i = 0; i < 3; i++) {
        strsep(&at, " ");
    }
    mount->shown = strsep(&at, " ");
    mount->folder = strsep(&at, " ");
    at = rest + 3;
    mount->type = strsep(&at, " ");
    strsep(&at, " ");
    mount->options = strsep(&at, " \n");
    if (mount->folder == NULL || mount->options == NULL) {
        return 0;
    }
    unescape(mount->shown);
    unescape(mount->folder);
    return 1;
}

static void take_mount(struct found *found, const char *root,
                       const struct membership *membership,
                       const struct mount *mount)
{
    char folder[PATH_SIZE];

    snprintf(folder, sizeof folder, "%s%s", root, mount->folder);
    for (int version = 1; version <= 2; version++) {
        const char *path = membership->path[version];

        if (path[0] != '\0' &&
            strcmp(mount->type, versions[version].filesystem) == 0 &&
            (version == 2 || has_word(mount->options, "memory"))) {
            climb(found, version, folder, below(path, mount->shown));
        }
    }
}

unsigned memory_groups_of(const char *root, pid_t pid,
                          struct memory_group *groups, unsigned n_max)
{
    struct membership membership = {0};
    struct found found = {.groups = groups, .n_max = n_max};
    char path[PATH_SIZE];
    char *line = NULL;
    size_t size = 0;
    FILE *file;

    read_membership(root, pid, &membership);
    snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
    file = fopen(path, "re");
    // The same group may be mounted twice: the first is as good as the second.
    while (file != NULL && found.n == 0 && getline(&line, &size, file) > 0) {
        struct mount mount;

        if (parse_mount(&mount, line)) {
            take_mount(&found, root, &membership, &mount);
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return found.n;
}

unsigned memory_groups_find(const char *root, struct memory_group *groups,
                            unsigned n_max)
{
    return memory_groups_of(root, 0, groups, n_max);
}

uint64_t memory_group_kills(const struct memory_group *group)
{
    char path[640];
    char text[1024];
    uint64_t n = 0;

    snprintf(path, sizeof path, "%s/%s", group->folder,
             versions[group->version].events);
    if (text_file_read(path, text, sizeof text) > 0) {
        text_find_number(text, "oom_kill", &n);
    }
    return n;
}

/** A number in a file; MEMORY_UNLIMITED if there is none, or it is "max". */
static uint64_t read_limit(const struct memory_group *group, const char *name)
{
    char path[640];
    char text[32];
    char *end;
    uint64_t bytes;

    snprintf(path, sizeof path, "%s/%s", group->folder, name);
    if (text_file_read(path, text, sizeof text) == 0) {
        return MEMORY_UNLIMITED;
    }
    bytes = strtoull(text, &end, 10);
    return end != text && bytes < NO_LIMIT ? bytes : MEMORY_UNLIMITED;
}

static uint64_t read_used(const struct memory_group *group, const char *name)
{
    uint64_t bytes = read_limit(group, name);

    return bytes != MEMORY_UNLIMITED ? bytes : 0;
}

/** @return bytes that the kernel may take back without writing: of files, and of what
 * the swap device has, too */
static uint64_t read_parts(const struct memory_group *group, uint64_t *shared)
{
    char path[640];
    char text[8192];
    uint64_t inactive = 0;
    uint64_t active = 0;
    uint64_t swap_cached = 0;

    snprintf(path, sizeof path, "%s/memory.stat", group->folder);
    text_file_read(path, text, sizeof text);
    text_find_number(text, versions[group->version].shared, shared);
    text_find_number(text, versions[group->version].inactive, &inactive);
    text_find_number(text, versions[group->version].active, &active);
    text_find_number(text, versions[group->version].swap_cached, &swap_cached);
    return inactive + active + swap_cached;
}

static uint64_t at_least_0(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void read_swap(const struct memory_group *group,
                      struct memory_group_state *state, uint64_t memory_used)
{
    int is_sum = group->version == 1; // of memory and swap
    uint64_t limit = MEMORY_UNLIMITED;

    if (!is_sum || state->limit != MEMORY_UNLIMITED) {
        limit = read_limit(group, versions[group->version].swap_limit);
    }
    if (limit == MEMORY_UNLIMITED) {
        return;
    }
    state->swap_limit = limit;
    state->swap_used = read_used(group, versions[group->version].swap_used);
    if (is_sum) {
        state->swap_limit = at_least_0(limit, state->limit);
        state->swap_used = at_least_0(state->swap_used, memory_used);
    }
}

void memory_group_read(const struct memory_group *group,
                       struct memory_group_state *state)
{
    uint64_t used = 0;

    *state = (struct memory_group_state){.limit = MEMORY_UNLIMITED,
                                         .swap_limit = MEMORY_UNLIMITED};
    for (int i = 0; i < 2; i++) {
        const char *name = versions[group->version].limits[i];
        uint64_t bytes =
            name != NULL ? read_limit(group, name) : MEMORY_UNLIMITED;

        if (bytes < state->limit) {
            state->limit = bytes;
            state->limit_file = name;
        }
    }
    if (state->limit != MEMORY_UNLIMITED) {
        used = read_used(group, versions[group->version].used);
        state->used = at_least_0(used, read_parts(group, &state->shared));
    }
    read_swap(group, state, used);
}
