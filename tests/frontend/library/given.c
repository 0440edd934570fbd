// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "given.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 256 };

struct given {
    char *name;
    char *bytes;
    size_t first;
    size_t n;
    int fd;
    int n_lines;
    long n_bytes;
};

struct given *given_open(const char *path)
{
    struct given *given = calloc(1, sizeof *given);

    given->fd = open(path, O_RDONLY);
    if (given->fd < 0) {
        free(given);
        return NULL;
    }
    given->name = strdup(path);
    given->bytes = malloc(ROOM);
    return given;
}

static int next_byte(struct given *given)
{
    ssize_t n;

    if (given->first == given->n) {
        n = read(given->fd, given->bytes, ROOM);
        given->first = 0;
        given->n = n > 0 ? (size_t)n : 0;
    }
    return given->first < given->n ? given->bytes[given->first++] : -1;
}

char *given_line(struct given *given)
{
    char *line = NULL;
    size_t n = 0;

    for (int byte = next_byte(given); byte >= 0; byte = next_byte(given)) {
        line = realloc(line, n + 2);
        line[n++] = (char)byte;
        line[n] = '\0';
        if (byte == '\n') {
            break;
        }
    }
    given->n_bytes += (long)n;
    given->n_lines += n > 0;
    return line;
}

void given_tell(const struct given *given)
{
    printf("%d lines, %ld bytes", given->n_lines, given->n_bytes);
    fputs(" were read\n", stdout);
    fflush(stdout);
}

char *given_name(const struct given *given, const char *word)
{
    char *name = strdup(given->name);

    name = realloc(name, strlen(name) + strlen(word) + 1);
    return strcat(name, word);
}

char *given_text(const struct given *given, const char *format, ...)
{
    char *text;
    va_list list;

    va_start(list, format);
    if (vasprintf(&text, format, list) < 0) {
        text = NULL;
    }
    va_end(list);
    fprintf(stdout, "%d: ", given->n_lines);
    return text;
}

// What is left is freed when the program has ended.
static char *kept;

void given_keep(const char *text)
{
    kept = strdup(text);
}

__attribute__((destructor)) static void forget(void)
{
    if (kept != NULL && kept[0] != '\0') {
        kept[0] = '\0';
    }
    free(kept);
}

void given_close(struct given *given)
{
    close(given->fd);
    free(given->bytes);
    free(given->name);
    free(given);
}
