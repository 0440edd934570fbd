// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_MESSAGE_H
#define NET_MESSAGE_H

#include "base/status.h"

/*
 * The messages of net/messages.def as C structures, and their encoding. On the
 * wire: number u16, the fields, then the body up to the end of the frame. The
 * length of a frame is the transport's affair.
 */

typedef uint8_t message_u8;
typedef uint16_t message_u16;
typedef uint32_t message_u32;
typedef uint64_t message_u64;

#define FIELD(width, name) message_##width name;
#define MESSAGE(number, name, meaning, fields)                                 \
    struct message_##name {                                                    \
        fields                                                                 \
    };
#include "net/messages.def"
#undef MESSAGE
#undef FIELD

enum message_type {
#define MESSAGE(number, name, meaning, fields) MESSAGE_##name = (number),
#include "net/messages.def"
#undef MESSAGE
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
#define MESSAGE(number, name, meaning, fields) struct message_##name name;
#include "net/messages.def"
#undef MESSAGE
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
 * @return TM_EWIRE  unknown number, too short for its fields, body too long
 * Context: any thread; pure.
 */
TM_CHECKED tm_status message_decode(const void *frame, uint32_t size,
                                    struct message *message);

/** @return bytes of a message, encoded; 0 if there is no such type
 * Context: any thread; pure. */
uint32_t message_size(const struct message *message);

/** @return 1 if type, fields and body of two messages are the same. */
int message_is_equal(const struct message *a, const struct message *b);

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
/** NULL is written as "". */
void wire_put_string(struct wire_writer *writer, const char *string);

#endif
