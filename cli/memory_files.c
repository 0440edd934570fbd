// SPDX-License-Identifier: BSD-3-Clause
#include "memory_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ensure.h"
#include "os/checkpoint_manifest.h"

void memory_send(struct mux *mux, enum mux_kind kind,
                 const struct wire_agent_file *file, const void *bytes,
                 size_t size)
{
    struct buffer body = {0};
    uint8_t record[WIRE_SIZE_agent_file];
    struct wire_writer writer = {.at = record, .end = record + sizeof record};

    wire_put_agent_file(&writer, file);
    buffer_append(&body, record, sizeof record);
    if (size > 0) {
        buffer_append(&body, bytes, size);
    }
    mux_send(mux, kind, 0, buffer_front(&body), body.used);
    buffer_release(&body);
}

static void tell_manifest(const char *folder, uint64_t generation,
                          memory_tell_fn *tell, void *owner)
{
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    const struct wire_agent_file file = {generation, generation,
                                         MEMORY_MANIFEST, 0};
    char *text = NULL;
    size_t size;

    ensure_memory(manifest != NULL);
    if (checkpoint_load(folder, generation, manifest) == NULL) {
        text = checkpoint_manifest_write(manifest, &size);
    }
    if (text != NULL) {
        tell(owner, &file, text, size);
    }
    free(text);
    free(manifest);
}

/** @param[out] file  what its name says @return 1: it is a node's, of this generation or an older one */
static int read_name(const char *name, struct wire_agent_file *file)
{
    int behind = 0;

    file->of = file->generation;
    if (sscanf(name, "node-%" SCNu32 "%n", &file->index, &behind) != 1) {
        behind = 0;
        if (sscanf(name, "older-%" SCNu64 "-%" SCNu32 "%n", &file->of,
                   &file->index, &behind) != 2) {
            return 0;
        }
    }
    return name[behind] == '\0' && file->index < TM_MAX_NODES;
}

static void tell_files(const char *folder, uint64_t generation,
                       memory_tell_fn *tell, void *owner)
{
    char path[CHECKPOINT_PATH_MAX];
    struct dirent *entry;
    struct stat state;
    DIR *opened;

    checkpoint_generation_path(path, folder, generation);
    opened = opendir(path);
    while (opened != NULL && (entry = readdir(opened)) != NULL) {
        struct wire_agent_file file = {.generation = generation};

        if (read_name(entry->d_name, &file) &&
            fstatat(dirfd(opened), entry->d_name, &state, 0) == 0) {
            file.at = (uint64_t)state.st_size;
            tell(owner, &file, NULL, 0);
        }
    }
    if (opened != NULL) {
        closedir(opened);
    }
}

void memory_list(const char *folder, memory_tell_fn *tell, void *owner)
{
    uint64_t *generations;
    const size_t n = checkpoint_list(folder, &generations);

    for (size_t i = 0; i < n; i++) {
        tell_manifest(folder, generations[i], tell, owner);
        tell_files(folder, generations[i], tell, owner);
    }
    free(generations);
}

static void path_of(char *path, const char *folder,
                    const struct wire_agent_file *file)
{
    checkpoint_path_of(path, folder, file->generation,
                       &(struct checkpoint_older){.generation = file->of,
                                                  .index = file->index});
}

ssize_t memory_read_part(const char *folder, const struct wire_agent_file *from,
                         void *bytes, size_t size)
{
    char path[CHECKPOINT_PATH_MAX];
    ssize_t n;
    int fd;

    path_of(path, folder, from);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    n = pread(fd, bytes, size, (off_t)from->at);
    close(fd);
    return n;
}

static int write_manifest(const char *folder, uint64_t generation,
                          const void *text, size_t size)
{
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    int error = EINVAL;

    ensure_memory(manifest != NULL);
    if (checkpoint_manifest_read(text, size, manifest) == TM_OK &&
        manifest->generation == generation) {
        errno = EIO;
        error = checkpoint_commit(folder, manifest) == NULL ? 0 : errno;
    }
    free(manifest);
    return error;
}

int memory_write_part(const char *folder, const struct wire_agent_file *to,
                      const void *bytes, size_t size)
{
    char path[CHECKPOINT_PATH_MAX];
    ssize_t n;
    int fd;

    if (to->index == MEMORY_MANIFEST) {
        return write_manifest(folder, to->generation, bytes, size);
    }
    errno = EIO;
    if (checkpoint_open_generation(folder, to->generation) != NULL) {
        return errno;
    }
    path_of(path, folder, to);
    if (to->at == 0) {
        unlink(path); // what other generations have under that name stays
    }
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno;
    }
    n = pwrite(fd, bytes, size, (off_t)to->at);
    close(fd);
    return n == (ssize_t)size ? 0 : n < 0 ? errno : ENOSPC;
}

void memory_keep(const char *folder, uint64_t generation)
{
    checkpoint_remove_between(folder, 0, generation); // numbers begin with 1
    checkpoint_remove_between(folder, generation, UINT64_MAX);
}
