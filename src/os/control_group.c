// SPDX-License-Identifier: BSD-3-Clause
//
// /proc/self/cgroup says in which group a process is: with version 1 on the line of
// the controller, with version 2 on the line "0::". /proc/self/mountinfo
// says where groups are to be seen: which folder shows which group. The folder of
// the process's group is that mount's folder and the rest of the path:
//
//   group         mount shows   at                       folders looked at
//   /a/b          /             /sys/fs/cgroup           .../a/b, .../a, ...
//   /docker/1/c   /docker/1     /sys/fs/cgroup           .../c, ...
//   /             /             /sys/fs/cgroup           ...   (a namespace)
//   /elsewhere    /docker/1     /sys/fs/cgroup           ...
//
// Where both versions are mounted, a controller belongs to one of them: only its
// folders have the files.
#include "os/control_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/** The paths of the process's group, by version; "": none. */
struct membership {
    char path[3][PATH_SIZE];
};

/** A list that is gathered. */
struct found {
    const struct controller *controller;
    struct control_group *groups;
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
static void take_membership(const struct controller *controller,
                            struct membership *membership, char *line)
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
    if (version == 2 || has_word(controllers, controller->name)) {
        snprintf(membership->path[version], PATH_SIZE, "%s", path);
    }
}

/** @param pid  0: this process */
static void read_membership(const char *root, pid_t pid,
                            const struct controller *controller,
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
        take_membership(controller, membership, line);
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

static int has_file(const struct controller *controller,
                    const struct control_group *group)
{
    char path[PATH_SIZE];

    snprintf(path, sizeof path, "%s/%s", group->folder,
             controller->files[group->version]);
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
        struct control_group *group = &found->groups[found->n];
        int length =
            snprintf(group->folder, sizeof group->folder, "%s%s", folder, path);

        group->version = version;
        found->n += length < (int)sizeof group->folder &&
                    has_file(found->controller, group);
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
            strcmp(mount->type, version == 1 ? "cgroup" : "cgroup2") == 0 &&
            (version == 2 ||
             has_word(mount->options, found->controller->name))) {
            climb(found, version, folder, below(path, mount->shown));
        }
    }
}

unsigned control_groups_find(const char *root, pid_t pid,
                             const struct controller *controller,
                             struct control_group *groups, unsigned n_max)
{
    struct membership membership = {0};
    struct found found = {
        .controller = controller, .groups = groups, .n_max = n_max};
    char path[PATH_SIZE];
    char *line = NULL;
    size_t size = 0;
    FILE *file;

    read_membership(root, pid, controller, &membership);
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
