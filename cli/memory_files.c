// SPDX-License-Identifier: BSD-3-Clause
#include "memory_files.h"

#include <errno.h>
#include <fcntl.h>
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
    const struct wire_agent_file file = {generation, MEMORY_MANIFEST, 0};
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

void memory_list(const char *folder, memory_tell_fn *tell, void *owner)
{
    uint64_t *generations;
    const size_t n = checkpoint_list(folder, &generations);
    char path[CHECKPOINT_PATH_MAX];
    struct stat state;

    for (size_t i = 0; i < n; i++) {
        tell_manifest(folder, generations[i], tell, owner);
        for (unsigned index = 0; index < TM_MAX_NODES; index++) {
            checkpoint_file_path(path, folder, generations[i], index);
            if (stat(path, &state) == 0) {
                tell(owner,
                     &(struct wire_agent_file){generations[i], index,
                                               (uint64_t)state.st_size},
                     NULL, 0);
            }
        }
    }
    free(generations);
}

ssize_t memory_read_part(const char *folder, const struct wire_agent_file *from,
                         void *bytes, size_t size)
{
    char path[CHECKPOINT_PATH_MAX];
    ssize_t n;
    int fd;

    checkpoint_file_path(path, folder, from->generation, from->index);
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
    checkpoint_file_path(path, folder, to->generation, to->index);
    fd =
        open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (to->at == 0 ? O_TRUNC : 0),
             0600);
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
