// SPDX-License-Identifier: BSD-3-Clause
#include "os/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/descriptor.h"

size_t text_file_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;

    while (fd >= 0 && used < size - 1) {
        ssize_t got = read(fd, text + used, size - 1 - used);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        used += (size_t)got;
    }
    text[used] = '\0';
    descriptor_close(fd);
    return used;
}

int text_find_number(const char *text, const char *key, uint64_t *number)
{
    size_t length = strlen(key);
    const char *line = text;
    char *end;
    uint64_t value;

    while (line != NULL && (strncmp(line, key, length) != 0 ||
                            (line[length] != ' ' && line[length] != '\t'))) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    if (line == NULL) {
        return 0;
    }
    value = strtoull(line + length, &end, 10);
    if (end == line + length) {
        return 0;
    }
    *number = value;
    return 1;
}
