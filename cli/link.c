// SPDX-License-Identifier: BSD-3-Clause
#include "link.h"

#include <errno.h>
#include <sys/socket.h>

#include "net/message.h"
#include "os/descriptor.h"

void link_receive(struct link *link)
{
    char bytes[16384];

    while (link->fd >= 0) {
        ssize_t size = recv(link->fd, bytes, sizeof bytes, MSG_DONTWAIT);

        if (size > 0) {
            buffer_append(&link->in, bytes, (size_t)size);
        } else if (size < 0 && errno == EINTR) {
            continue;
        } else if (size < 0 && errno == EAGAIN) {
            return;
        } else {
            descriptor_drop(&link->fd);
        }
        if (link->in.used > 4 * NODE_CARD_MAX) {
            return; // the rest at the next turn
        }
    }
}

int link_next(struct link *link, struct link_frame *frame)
{
    struct wire_reader reader;
    const uint8_t *front;
    size_t length;

    front = (const uint8_t *)buffer_front(&link->in); // wipes the last one
    if (link->in.used < BOOT_HEADER) {
        return 0;
    }
    reader = (struct wire_reader){.at = front, .end = front + BOOT_HEADER};
    length = wire_get_u32(&reader);
    if (length == 0 || length > NODE_CARD_MAX + 1) {
        return -1;
    }
    if (link->in.used < length + 4) {
        return 0;
    }
    frame->kind = wire_get_u8(&reader);
    frame->body = front + BOOT_HEADER;
    frame->size = length - 1;
    buffer_drop(&link->in, length + 4); // the bytes stay until the next call
    return boot_frame_is_good(frame->kind, frame->body, frame->size) ? 1 : -1;
}

void link_write(struct link *link)
{
    if (link->fd >= 0) {
        // If it fails the end of file comes next and says the rest.
        (void)buffer_write(&link->out, link->fd, 1);
    }
}

void link_send(struct link *link, enum boot_kind kind, const void *body,
               size_t size)
{
    uint8_t header[BOOT_HEADER];

    if (link->fd < 0) {
        return;
    }
    boot_header(header, kind, size);
    buffer_append(&link->out, header, sizeof header);
    buffer_append(&link->out, body, size);
    link_write(link);
}

void link_send_number(struct link *link, enum boot_kind kind, uint32_t number)
{
    uint8_t body[WIRE_SIZE_boot_number];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    wire_put_boot_number(&writer, &(struct wire_boot_number){number});
    link_send(link, kind, body, sizeof body);
}

void link_close(struct link *link)
{
    descriptor_drop(&link->fd);
    buffer_release(&link->in);
    buffer_release(&link->out);
}
