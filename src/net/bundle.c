// SPDX-License-Identifier: BSD-3-Clause
//
// Several messages in one frame. Write notices go in front of the message that lets threads
// of another node go on, and so do the diffs of a release that it is for: they are sent one
// right behind the other, to one node. A frame costs each end more than the bytes of a
// short message, so they go together. Who handles them does so one by one, as if each had
// come by itself: no state machine knows of bundles.
//
//   empty   a message that goes along    held
//   held    one that goes along          held, both
//   held    another to that node         all go, in one frame
//   held    one to another node, one that has no room, the end   what is held goes first
//
// B1  Messages leave in the order in which they were sent, whichever node they are for.
// B2  Nothing is held when the node lock is given back (runtime/node.c).
// B3  There is no bundle in a bundle.
#include "net/bundle.h"

#include <string.h>

#include "base/ensure.h"

int bundle_takes(const struct bundle *bundle, node_id to,
                 const struct message *message)
{
    const uint32_t size = WIRE_SIZE_bundled + message_size(message);

    return (bundle->n == 0 || bundle->to == to) && // B1
           size <= BUNDLE_MAX - bundle->used;
}

void bundle_add(struct bundle *bundle, node_id to,
                const struct message *message)
{
    struct wire_writer writer = {bundle->bytes + bundle->used,
                                 bundle->bytes + BUNDLE_MAX, 0};
    uint8_t header[MESSAGE_HEADER_MAX];
    const uint32_t header_size = message_encode_header(message, header);

    wire_put_u16(&writer, (uint16_t)(header_size + message->body_size));
    wire_put_bytes(&writer, header, header_size);
    if (message->body_size > 0) {
        wire_put_bytes(&writer, message->body, message->body_size);
    }
    ensure(!writer.failed);
    bundle->to = to;
    bundle->used = (uint32_t)(writer.at - bundle->bytes);
    bundle->n++;
}

void bundle_take(struct bundle *bundle, struct message *message)
{
    *message = (struct message){
        .type = MESSAGE_bundle,
        .u.bundle = {.count = (uint16_t)bundle->n},
        .body = bundle->bytes,
        .body_size = bundle->used,
    };
    if (bundle->n == 1) { // no other has followed: it goes as it is
        struct wire_reader reader = wire_read_body(message);

        ensure(bundle_next(&reader, message) == TM_OK);
    }
    bundle->n = 0;
    bundle->used = 0;
}

tm_status bundle_next(struct wire_reader *reader, struct message *message)
{
    const struct wire_bundled part = wire_get_bundled(reader);

    if (reader->failed ||
        message_decode(part.message.at, part.message.size, message) != TM_OK) {
        return TM_EWIRE;
    }
    return message->type == MESSAGE_bundle ? TM_EWIRE : TM_OK; // B3
}
