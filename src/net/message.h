// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_MESSAGE_H
#define NET_MESSAGE_H

#include "base/status.h"

/*
 * The messages and records of net/messages.def as C structures, and their encoding. On
 * the wire: number u16, the fields, then the body up to the end of the frame. The length
 * of a frame is the transport's affair.
 */

/** Bytes inside a frame. */
struct wire_bytes {
    const void *at; ///< NULL if size is 0
    uint16_t size;
};

typedef uint8_t wire_u8;
typedef uint16_t wire_u16;
typedef uint32_t wire_u32;
typedef uint64_t wire_u64;
typedef const char
    *wire_text; ///< put: NULL is written as ""; got: NULL if failed
typedef struct wire_bytes wire_bytes;

#define FIELD(width, name) wire_##width name;
#define RECORD(name, fields)                                                   \
    struct wire_##name {                                                       \
        fields                                                                 \
    };
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    struct message_##name {                                                    \
        fields                                                                 \
    };
#include "net/messages.def"

/** On the wire, in bytes; of texts and bytes what is there if they are empty. */
enum {
    WIRE_SIZE_u8 = 1,
    WIRE_SIZE_u16 = 2,
    WIRE_SIZE_u32 = 4,
    WIRE_SIZE_u64 = 8,
    WIRE_SIZE_text = 1,
    WIRE_SIZE_bytes = 2,
#define FIELD(width, name) +WIRE_SIZE_##width
#define RECORD(name, fields) WIRE_SIZE_##name = 0 fields,
#include "net/messages.def"
};

enum message_type {
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    MESSAGE_##name = (number),
#include "net/messages.def"
    MESSAGES_END = 160, ///< above all numbers
};

/** Who receives a message. */
enum message_owner {
    OWNER_none, ///< there is no such message
    OWNER_pages,
    OWNER_sync,
    OWNER_migration,
    OWNER_run, ///< the node itself
    // Parts of the runtime (runtime/parts.h).
    OWNER_numbers,
    OWNER_deadlock,
    OWNER_liveness,
    OWNER_membership,
    OWNER_balancing,
    OWNER_tracking,
    OWNER_paging,
    OWNER_capacity,
    OWNERS_END,
};

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

/** @return 1 if type, fields and body of two messages are the same. */
int message_is_equal(const struct message *a, const struct message *b);

/** @return who receives a type. */
enum message_owner message_owner(unsigned type);

/** @return the name of a type in messages.def, "?" if there is none. */
const char *message_name(unsigned type);

/*
 * Little-endian cursors for bodies. A reader that runs past the end returns 0
 * from then on and has `failed` set; check it once at the end. A writer that
 * would run past its capacity writes nothing more and has `failed` set.
 */
struct wire_reader {
    const uint8_t *at;
    const uint8_t *end;
    int failed;
};

struct wire_writer {
    uint8_t *at;
    uint8_t *end;
    int failed;
};

/** A reader of bytes. @param bytes  [size], NULL if there are none */
static inline struct wire_reader wire_read(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    return (struct wire_reader){at, size > 0 ? at + size : at, 0};
}

/** The same of a message's body. */
static inline struct wire_reader wire_read_body(const struct message *message)
{
    return wire_read(message->body, message->body_size);
}

/** @return the next integer, 0 if the body ends before */
uint8_t wire_get_u8(struct wire_reader *reader);
uint16_t wire_get_u16(struct wire_reader *reader);
uint32_t wire_get_u32(struct wire_reader *reader);
uint64_t wire_get_u64(struct wire_reader *reader);
/** @return size bytes inside the body, NULL if there are not so many */
const void *wire_get_bytes(struct wire_reader *reader, size_t size);
/** @return a NUL-terminated string inside the body, NULL if there is none */
const char *wire_get_string(struct wire_reader *reader);
/** Copy such a string. @param[out] text  [size]; "", and `failed` is set, if there is
 * none or it is too long */
void wire_get_text(struct wire_reader *reader, char *text, size_t size);

/** Append an integer, or bytes as they are. */
void wire_put_u8(struct wire_writer *writer, uint8_t value);
void wire_put_u16(struct wire_writer *writer, uint16_t value);
void wire_put_u32(struct wire_writer *writer, uint32_t value);
void wire_put_u64(struct wire_writer *writer, uint64_t value);
void wire_put_bytes(struct wire_writer *writer, const void *bytes, size_t size);
/** @return 1 if there is more of the body to read */
static inline int wire_has_more(const struct wire_reader *reader)
{
    return !reader->failed && reader->at < reader->end;
}

/** NULL is written as "". */
void wire_put_string(struct wire_writer *writer, const char *string);

/** For each record of messages.def: wire_get_NAME(reader), zeros if the body ends before
 * it does; wire_put_NAME(writer, &record). Texts and bytes that were got point into the
 * body. */
#define RECORD(name, fields)                                                   \
    struct wire_##name wire_get_##name(struct wire_reader *reader);            \
    void wire_put_##name(struct wire_writer *writer,                           \
                         const struct wire_##name *record);
#include "net/messages.def"

#endif
