// SPDX-License-Identifier: BSD-3-Clause
//
// Files that reports go to.
#include "report_file.h"

#include <string.h>

#include "base/log.h"
#include "os/new_file.h"
#include "planner/report_page.h"

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

int report_file_check(const char *command, const char *path)
{
    const char *why = new_file_check(path);

    return why == NULL ? 0 : refuse(command, path, why);
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
    struct new_file new_file;
    const char *why = new_file_begin(&new_file, path);

    if (why == NULL) {
        write(new_file.file, what);
        why = new_file_end(&new_file);
    }
    return why == NULL ? 0 : refuse(command, path, why);
}
