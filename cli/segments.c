// SPDX-License-Identifier: BSD-3-Clause
//
// No segment of shared memory is left of a run. UCX takes the name of one away as soon as it is
// made, but a node may be killed in between, while the kernel still looks for its
// pages. So nodes make their segments in a folder of the run, /dev/shm/teamster-*,
// and the folder is removed by the launcher or, if that was killed, by the keeper.
// It tries again for a while: a node that is being killed may be in the middle of
// making a file. Without /dev/shm there is no folder, and UCX does what it can.
//
// Whoever has to do with such a folder holds a lock on it, launcher or agent and its
// keeper. If all are killed at once (Slurm kills a step so, and the kernel a control group) the
// folder stays, but nobody's lock: the next run of the user on the host removes it.
//
// G1  Who has made a folder and then got its lock looks whether it is still there:
//     another one may have found it without a lock in between, and removed it.
#include "segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descriptor.h"

#define MEMORY "/dev/shm"
#define PREFIX "teamster-"

/** How often the folder is tried, and the time between two tries. */
#define N_TRIES 1000
#define TRY_US 10000

/** Call for each name in a folder, but "." and "..". */
static void for_each_name(int folder,
                          void (*call)(int folder, const char *name))
{
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = own >= 0 ? fdopendir(own) : NULL;
    struct dirent *entry;

    while (files != NULL && (entry = readdir(files)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            call(folder, entry->d_name);
        }
    }
    if (files != NULL) {
        closedir(files);
    } else if (own >= 0) {
        close(own);
    }
}

static void remove_file(int folder, const char *name)
{
    unlinkat(folder, name, 0); // folders stay
}

/** @param remove  what is in it */
static void remove_with(int folder, const char *name,
                        void (*remove)(int folder, const char *name))
{
    int inner =
        openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (inner < 0) {
        remove_file(folder, name);
        return;
    }
    for_each_name(inner, remove);
    close(inner);
    unlinkat(folder, name, AT_REMOVEDIR);
}

static void remove_generation(int folder, const char *name)
{
    remove_with(folder, name, remove_file);
}

static void remove_checkpoints(int folder, const char *name)
{
    remove_with(folder, name, remove_generation);
}

/** Segments, and checkpoints: a folder with one for each generation (--buddy). */
static void remove_all(int folder)
{
    for_each_name(folder, remove_checkpoints);
}

void segments_empty_folder(const char *path)
{
    int folder =
        path[0] == '\0' ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder >= 0) {
        for_each_name(folder, remove_file);
        close(folder);
    }
}

void segments_remove_folder(const char *path)
{
    int folder;

    if (path[0] == '\0') {
        return;
    }
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; i < N_TRIES; i++) {
        remove_all(folder);
        if (rmdir(path) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) {
            break;
        }
        usleep(TRY_US);
    }
    descriptor_close(folder);
}

/** One that nobody uses any more goes. */
static void look_at(int memory, const char *name)
{
    struct stat state;
    int folder =
        openat(memory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (folder < 0) {
        return;
    }
    if (fstat(folder, &state) == 0 && state.st_uid == geteuid() &&
        flock(folder, LOCK_EX | LOCK_NB) == 0) {
        remove_all(folder);
        unlinkat(memory, name, AT_REMOVEDIR);
    }
    close(folder);
}

static void remove_forgotten(void)
{
    DIR *memory = opendir(MEMORY);
    struct dirent *entry;

    while (memory != NULL && (entry = readdir(memory)) != NULL) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0) {
            look_at(dirfd(memory), entry->d_name);
        }
    }
    if (memory != NULL) {
        closedir(memory);
    }
}

/** @return the lock of a folder, -1 if it is not there any more */
static int take(const char *path)
{
    int lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (lock >= 0 && (flock(lock, LOCK_EX) != 0 || access(path, F_OK) != 0)) {
        close(lock); // G1
        lock = -1;
    }
    return lock;
}

int segments_make_folder(char *path, size_t size)
{
    int lock = -1;

    remove_forgotten();
    for (unsigned i = 0; i < N_TRIES && lock < 0; i++) {
        snprintf(path, size, MEMORY "/" PREFIX "%d-XXXXXX", (int)getpid());
        if (mkdtemp(path) == NULL) {
            break;
        }
        lock = take(path);
    }
    if (lock < 0) {
        path[0] = '\0';
    }
    return lock;
}
