// SPDX-License-Identifier: BSD-3-Clause
#include "files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "settings.h"

void input_refuse(const struct input *input, const char *format, ...)
{
    char reason[512];
    va_list arguments;

    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start() did it
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s: %s\n", program_invocation_name, input->path,
            reason);
    exit(EXIT_USAGE);
}

void input_open(struct input *input, const char *path)
{
    struct stat state;

    *input = (struct input){.path = path, .file = fopen(path, "rb")};
    if (input->file == NULL || fstat(fileno(input->file), &state) != 0) {
        input_refuse(input, "cannot be opened: %s", strerror(errno));
    }
    if (!S_ISREG(state.st_mode)) {
        input_refuse(input, "is not a regular file");
    }
    if (state.st_size == 0) {
        input_refuse(input, "is empty");
    }
    input->n_bytes = (uint64_t)state.st_size;
}

void input_close(struct input *input)
{
    fclose(input->file);
}

bool input_line(struct input *input, char *line, size_t size)
{
    char *end;

    line[0] = '\0';
    if (fgets(line, (int)size, input->file) == NULL) {
        return false;
    }
    end = strchr(line, '\n');
    if (end == NULL) {
        return false;
    }
    *end = '\0';
    return true;
}

static _Noreturn void output_refuse(const char *path)
{
    fprintf(stderr, "%s: %s: cannot be written: %s\n", program_invocation_name,
            path, strerror(errno));
    exit(EXIT_OUTPUT);
}

FILE *output_open(const char *path)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL) {
        output_refuse(path);
    }
    return file;
}

void output_close(FILE *file, const char *path)
{
    const bool failed = ferror(file) != 0;

    if (fclose(file) != 0 || failed) {
        output_refuse(path);
    }
}
