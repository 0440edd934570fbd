// SPDX-License-Identifier: BSD-3-Clause
//
// Files that reports go to. Written beside, and renamed when whole: a disk that is full leaves
// what was there.
#include "report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "planner/report_page.h"

/** Room for a path of the option and a number behind it. */
#define BESIDE_BYTES 4200

int report_file_is_page(const char *path)
{
    const size_t n = strlen(path);

    return n > 5 && strcmp(path + n - 5, ".html") == 0;
}

static int refuse(const char *command, const char *path, const char *why)
{
    fprintf(stderr, "%s: the report %s cannot be written: %s\n", command, path,
            why);
    return EXIT_OUTPUT;
}

static void name_beside(const char *path, char *beside)
{
    snprintf(beside, BESIDE_BYTES, "%s.%d", path, (int)getpid());
}

// @return NULL, or why nothing may take this name
static const char *what_is_there(const char *path)
{
    struct stat found;

    if (strlen(path) > BESIDE_BYTES - 32) {
        return strerror(ENAMETOOLONG);
    }
    // A device or a pipe would be gone if a file took its name.
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
        return S_ISDIR(found.st_mode) ? "it is a folder" : "it is not a file";
    }
    return NULL;
}

int report_file_check(const char *command, const char *path)
{
    const char *why = what_is_there(path);
    char beside[BESIDE_BYTES];
    int file;

    if (why != NULL) {
        return refuse(command, path, why);
    }
    name_beside(path, beside);
    file = open(beside, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        return refuse(command, path, strerror(errno));
    }
    close(file);
    unlink(beside);
    return 0;
}

static void put_page(FILE *file, const void *record)
{
    page_write(file, record);
}

static void put_record(FILE *file, const void *record)
{
    run_record_write(file, record);
}

int report_file_put_record(const char *command, const char *path,
                           const struct record *record)
{
    return report_file_put(command, path,
                           report_file_is_page(path) ? put_page : put_record,
                           record);
}

int report_file_put(const char *command, const char *path,
                    report_file_fn *write, const void *what)
{
    const char *why = what_is_there(path);
    char beside[BESIDE_BYTES];
    FILE *file;
    int is_written;

    if (why != NULL) {
        return refuse(command, path, why);
    }
    name_beside(path, beside);
    file = fopen(beside, "we");
    if (file == NULL) {
        return refuse(command, path, strerror(errno));
    }
    errno = 0;
    write(file, what);
    is_written = !ferror(file);
    if (fclose(file) != 0 || !is_written || rename(beside, path) != 0) {
        why = errno != 0 ? strerror(errno) : "writing failed";
        unlink(beside);
        return refuse(command, path, why);
    }
    return 0;
}
