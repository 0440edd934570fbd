// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_MESSAGE_H
#define NET_MESSAGE_H

#include "base/status.h"
#include "net/wire.h"

/*
 * The messages and records of net/messages.def as C structures, and their encoding. On
 * the wire: number u16, the fields, then the body up to the end of the frame. The length
 * of a frame is the transport's affair.
 */

#define RECORDS "net/messages.def"
#include "net/records.h"

#define FIELD(width, name) wire_##width name;
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    struct message_##name {                                                    \
        fields                                                                 \
    };
#include "net/messages.def"

enum message_type {
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    MESSAGE_##name = (number),
#include "net/messages.def"
    MESSAGES_END = 168, ///< above all numbers
};

/** Who receives a message. Those up to `numbers` are of what the program does: their
 * messages show that something happens (D1 of runtime/deadlock.c). */
enum message_owner {
    OWNER_none, ///< there is no such message
    OWNER_pages,
    OWNER_sync,
    OWNER_migration,
    OWNER_run, ///< the node itself
    // Parts of the runtime (runtime/parts.h).
    OWNER_tasks,
    OWNER_stats,
    OWNER_deadlock,
    OWNER_liveness,
    OWNER_members,
    OWNER_balancing,
    OWNER_tracking,
    OWNER_paging,
    OWNER_capacity,
    OWNER_report,
    OWNER_trace,
    OWNER_checkpoint,
    OWNER_tuning,
    OWNER_buddies,
    OWNERS_END,
};

/** In `owner` of a notice_entry: it is of a writer, which keeps the diff. */
#define NOTICE_OF_WRITER 0x8000u

/** What a message `diffs` is. */
#define DIFFS_MORE 0u
#define DIFFS_LAST 1u
#define DIFFS_DROPPED 2u

/** The longest encoded fields with the number; a frame is this plus a body. */
#define MESSAGE_HEADER_MAX 96u

/** The longest body, in bytes. A longer one must be sent in parts. */
#define MESSAGE_BODY_MAX (256u * 1024u)

/** A message, decoded. `body` points into memory of whoever made the message
 * and lives as long as the call that it is passed to. */
struct message {
    enum message_type type;
    union {
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    struct message_##name name;
#include "net/messages.def"
    } u;
    const void *body;   ///< NULL if body_size is 0
    uint32_t body_size; ///< bytes, <= MESSAGE_BODY_MAX
    uint8_t
        goes_along; ///< not sent: what its sender sends next is for the same node,
                    ///< so one frame will do for both (net/bundle.h)
};

/**
 * Encode number and fields (not the body) of a message.
 *
 * @param message      its type is valid (else a bug: ensure)
 * @param[out] header  [MESSAGE_HEADER_MAX] bytes
 * @return the bytes written
 * Context: any thread; pure.
 */
uint32_t message_encode_header(const struct message *message, uint8_t *header);

/**
 * Decode a frame. Accepts any bytes.
 *
 * @param frame         [size] bytes; message->body will point into it
 * @param[out] message  set only on TM_OK
 * @return TM_OK
 * @return TM_EWIRE  unknown number, too short for its fields, body too long or not
 *                   what messages.def says
 * Context: any thread; pure.
 */
TM_CHECKED tm_status message_decode(const void *frame, uint32_t size,
                                    struct message *message);

/** @return 1 if the body consists of what messages.def says; every message that is decoded
 * has such a one. Context: any thread; pure. */
int message_body_is_good(const struct message *message);

/** @return bytes of a message, encoded; 0 if there is no such type
 * Context: any thread; pure. */
uint32_t message_size(const struct message *message);

/** By type, up to MESSAGES_END. */
extern const uint8_t message_owners[];

/** @return who receives a type. */
static inline enum message_owner message_owner(unsigned type)
{
    return type < MESSAGES_END ? (enum message_owner)message_owners[type]
                               : OWNER_none;
}

/** @return the name of a type in messages.def, "?" if there is none. */
const char *message_name(unsigned type);

/** A reader of a message's body. */
static inline struct wire_reader wire_read_body(const struct message *message)
{
    return wire_read(message->body, message->body_size);
}

#endif
