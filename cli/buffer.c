// SPDX-License-Identifier: BSD-3-Clause
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static void make_room(struct buffer *buffer, size_t size)
{
    size_t room = buffer->room > 0 ? buffer->room : 4096;

    if (buffer->start + buffer->used + size <= buffer->room) {
        return;
    }
    if (buffer->start > 0) {
        memmove(buffer->bytes, buffer->bytes + buffer->start, buffer->used);
        buffer->start = 0;
    }
    while (room < buffer->used + size) {
        room *= 2;
    }
    if (room > buffer->room) {
        buffer->bytes = realloc(buffer->bytes, room);
        if (buffer->bytes == NULL) {
            log_fatal(EXIT_MEMORY, "no memory for %zu bytes that wait", room);
        }
        buffer->room = room;
    }
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
    if (size == 0) {
        return;
    }
    make_room(buffer, size);
    memcpy(buffer->bytes + buffer->start + buffer->used, bytes, size);
    buffer->used += size;
}

char *buffer_front(struct buffer *buffer)
{
    return buffer->bytes + buffer->start;
}

void buffer_drop(struct buffer *buffer, size_t size)
{
    buffer->start += size;
    buffer->used -= size;
    if (buffer->used == 0) {
        buffer->start = 0;
    }
}

void buffer_release(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}
