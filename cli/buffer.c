// SPDX-License-Identifier: BSD-3-Clause
#include "buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

static void wipe_dropped(struct buffer *buffer)
{
    if (buffer->n_gone > 0) {
        explicit_bzero(buffer->bytes + buffer->gone, buffer->n_gone);
        buffer->n_gone = 0;
    }
}

/** realloc() would leave a copy. */
static void move_bytes(struct buffer *buffer, size_t room)
{
    char *bytes = malloc(room);

    if (bytes == NULL) {
        log_fatal(EXIT_MEMORY, "no memory for %zu bytes that wait", room);
    }
    if (buffer->used > 0) {
        memcpy(bytes, buffer_front(buffer), buffer->used);
        explicit_bzero(buffer_front(buffer), buffer->used);
    }
    free(buffer->bytes);
    buffer->bytes = bytes;
    buffer->start = 0;
    buffer->room = room;
}

static void make_room(struct buffer *buffer, size_t size)
{
    size_t room = buffer->room > 0 ? buffer->room : 4096;

    if (buffer->start + buffer->used + size <= buffer->room) {
        return;
    }
    while (room < buffer->used + size) {
        room *= 2;
    }
    move_bytes(buffer, room);
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
    if (size == 0) {
        return;
    }
    wipe_dropped(buffer);
    make_room(buffer, size);
    memcpy(buffer->bytes + buffer->start + buffer->used, bytes, size);
    buffer->used += size;
}

char *buffer_front(struct buffer *buffer)
{
    wipe_dropped(buffer);
    return buffer->bytes + buffer->start;
}

void buffer_drop(struct buffer *buffer, size_t size)
{
    wipe_dropped(buffer);
    buffer->gone = buffer->start;
    buffer->n_gone = size;
    buffer->start += size;
    buffer->used -= size;
    if (buffer->used == 0) {
        buffer->start = 0;
    }
}

static ssize_t write_some(int fd, int is_socket, const void *bytes, size_t size)
{
    return is_socket ? send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                     : write(fd, bytes, size);
}

int buffer_write(struct buffer *buffer, int fd, int is_socket)
{
    int error = 0;

    while (buffer->used > 0) {
        ssize_t size =
            write_some(fd, is_socket, buffer_front(buffer), buffer->used);

        if (size < 0 && errno == EAGAIN) {
            break;
        }
        if (size < 0 && errno != EINTR) {
            error = errno;
            size = (ssize_t)buffer->used;
        }
        buffer_drop(buffer, size > 0 ? (size_t)size : 0);
        wipe_dropped(buffer);
    }
    return error;
}

void buffer_release(struct buffer *buffer)
{
    wipe_dropped(buffer);
    if (buffer->used > 0) {
        explicit_bzero(buffer_front(buffer), buffer->used);
    }
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}
