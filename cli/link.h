// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_LINK_H
#define CLI_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "cluster/bootstrap.h"

/** The launcher's end of a node's control socket. Never blocks. */
struct link {
    int fd; ///< -1 after its end
    struct buffer in;
    struct buffer out;
};

/** A frame; the body is valid until the next call for this link. */
struct link_frame {
    enum boot_kind kind;
    const uint8_t *body;
    size_t size;
};

/** Take all that has come. At the end of file fd becomes -1; frames may still be
 * waiting. */
void link_receive(struct link *link);

/** @return 1 and the next frame, 0 if there is no whole one, -1 if the node does
 * not speak this language */
int link_next(struct link *link, struct link_frame *frame);

void link_send(struct link *link, enum boot_kind kind, const void *body,
               size_t size);

/** The same with one number as the body. */
void link_send_number(struct link *link, enum boot_kind kind, uint32_t number);

/** Write what waits, as far as possible now. */
void link_write(struct link *link);

void link_close(struct link *link);

#endif
