// SPDX-License-Identifier: BSD-3-Clause
#include "os/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/unseen.h"

// @return NULL, or why nothing may take this name
static const char *what_is_there(const char *path)
{
    struct stat found;

    if (strlen(path) >= NEW_FILE_PATH_MAX) {
        return strerror(ENAMETOOLONG);
    }
    // A device or a pipe would be gone if a file took its name.
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
        return S_ISDIR(found.st_mode) ? "it is a folder" : "it is not a file";
    }
    return NULL;
}

const char *new_file_check(const char *path)
{
    struct new_file new_file;
    const char *why = new_file_begin(&new_file, path);

    if (why == NULL) {
        new_file_drop(&new_file);
    }
    return why;
}

const char *new_file_begin(struct new_file *new_file, const char *path)
{
    const char *why = what_is_there(path);

    new_file->file = NULL;
    if (why != NULL) {
        return why;
    }
    snprintf(new_file->path, sizeof new_file->path, "%s", path);
    snprintf(new_file->beside, sizeof new_file->beside, "%s.%d", path,
             (int)getpid());
    new_file->file = unseen_file(new_file->beside, "w");
    return new_file->file == NULL ? strerror(errno) : NULL;
}

const char *new_file_end(struct new_file *new_file)
{
    int is_written;

    if (!ferror(new_file->file)) {
        errno = 0; // else the write that failed has left why
    }
    is_written = fflush(new_file->file) == 0 && !ferror(new_file->file);
    if (fclose(new_file->file) == 0 && is_written &&
        unseen_rename(new_file->beside, new_file->path) == 0) {
        return NULL;
    }
    (void)unseen_unlink(AT_FDCWD, new_file->beside);
    return errno != 0 ? strerror(errno) : "writing failed";
}

void new_file_drop(struct new_file *new_file)
{
    fclose(new_file->file);
    (void)unseen_unlink(AT_FDCWD, new_file->beside);
}
