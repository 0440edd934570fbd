// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/boot_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/log.h"

#define FRAMES "cluster/boot_frames.def"
#include "net/frames_code.h"

int boot_frame_is_good(enum boot_kind kind, const void *body, size_t size)
{
    return frame_is_good(kind, body, size);
}

void boot_header(uint8_t *header, enum boot_kind kind, size_t body_size)
{
    struct wire_writer writer = {.at = header, .end = header + BOOT_HEADER};

    wire_put_u32(&writer, (uint32_t)body_size + 1);
    wire_put_u8(&writer, (uint8_t)kind);
}

tm_status boot_send(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            log_error("the launcher is gone: cannot write to it: %m");
            return TM_EPEER;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return TM_OK;
}

static tm_status receive_all(int fd, uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t received = recv(fd, bytes, size, 0);

        if (received < 0 && errno == EINTR) {
            continue;
        }
        if (received <= 0) {
            log_error("the launcher is gone: this node ends");
            return TM_EPEER;
        }
        bytes += received;
        size -= (size_t)received;
    }
    return TM_OK;
}

tm_status boot_receive(int fd, struct boot_frame *frame)
{
    uint8_t header[BOOT_HEADER];
    struct wire_reader reader = {.at = header, .end = header + sizeof header};
    uint32_t length;
    tm_status status = receive_all(fd, header, sizeof header);

    if (status != TM_OK) {
        return status;
    }
    length = wire_get_u32(&reader);
    frame->kind = wire_get_u8(&reader);
    if (length == 0 || length > BOOT_FRAME_MAX) {
        log_error("the launcher sent a frame of %u bytes", length);
        return TM_EWIRE;
    }
    frame->size = length - 1;
    frame->body = malloc(length);
    if (frame->body == NULL) {
        log_error("no memory for a frame of %u bytes", length);
        return TM_ENOMEM;
    }
    status = receive_all(fd, frame->body, frame->size);
    if (status == TM_OK &&
        !boot_frame_is_good(frame->kind, frame->body, frame->size)) {
        log_error("the launcher sent a malformed frame of kind %u",
                  (unsigned)frame->kind);
        status = TM_EWIRE;
    }
    if (status != TM_OK) {
        free(frame->body);
    }
    return status;
}
