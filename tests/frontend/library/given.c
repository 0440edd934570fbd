// SPDX-License-Identifier: BSD-3-Clause
#include "given.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 256 };

struct given {
    pthread_mutex_t mutex;
    pthread_cond_t has_read;
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
    pthread_mutex_init(&given->mutex, NULL);
    pthread_cond_init(&given->has_read, NULL);
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

static char *read_line(struct given *given)
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

char *given_line(struct given *given)
{
    char *line;

    pthread_mutex_lock(&given->mutex);
    line = read_line(given);
    pthread_cond_broadcast(&given->has_read);
    pthread_mutex_unlock(&given->mutex);
    return line;
}

void given_await(struct given *given, int n_lines)
{
    pthread_mutex_lock(&given->mutex);
    while (given->n_lines < n_lines) {
        pthread_cond_wait(&given->has_read, &given->mutex);
    }
    pthread_mutex_unlock(&given->mutex);
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

void given_close(struct given *given)
{
    close(given->fd);
    free(given->bytes);
    free(given->name);
    pthread_cond_destroy(&given->has_read);
    pthread_mutex_destroy(&given->mutex);
    free(given);
}
