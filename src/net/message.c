// SPDX-License-Identifier: BSD-3-Clause
//
// Encoding and decoding, written out by the preprocessor from messages.def: for
// each message one case that puts or gets its fields one by one in their order. A
// structure never reaches the wire, so neither padding nor byte order nor the compiler
// can change the format.
//
// I1  The header of every message fits MESSAGE_HEADER_MAX (checked when this
//     file is compiled), so that a writer over such a header cannot fail.
#include "net/message.h"

#include "base/ensure.h"

// NOLINTBEGIN(bugprone-macro-parentheses): fields are lists

// I1.
#define FIELD(width, name) +WIRE_SIZE_##width
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    _Static_assert((WIRE_SIZE_u16 fields) <= MESSAGE_HEADER_MAX,               \
                   #name " is longer than MESSAGE_HEADER_MAX");                \
    _Static_assert((number) < MESSAGES_END, #name " is above MESSAGES_END");
#include "net/messages.def"

#define RECORDS "net/messages.def"
#include "net/records_code.h"

// ---- messages ----

/** @return 0 if there is no such type */
static int put_fields(struct wire_writer *writer, const struct message *message)
{
    switch ((unsigned)message->type) {
#define FIELD(width, name) wire_put_##width(writer, from->name);
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number: {                                                             \
        const struct message_##name *from = &message->u.name;                  \
        fields return 1;                                                       \
    }
#include "net/messages.def"
    default:
        return 0;
    }
}

/** @return 0 if there is no such type */
static int get_fields(struct wire_reader *reader, struct message *message)
{
    switch ((unsigned)message->type) {
#define FIELD(width, name) to->name = wire_get_##width(reader);
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number: {                                                             \
        struct message_##name *to = &message->u.name;                          \
        fields return 1;                                                       \
    }
#include "net/messages.def"
    default:
        return 0;
    }
}

uint32_t message_encode_header(const struct message *message, uint8_t *header)
{
    struct wire_writer writer = {
        .at = header,
        .end = header + MESSAGE_HEADER_MAX,
    };

    wire_put_u16(&writer, (uint16_t)message->type);
    ensure(put_fields(&writer, message));
    ensure(!writer.failed);
    return (uint32_t)(writer.at - header);
}

// ---- bodies ----

int message_body_is_good(const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    switch ((unsigned)message->type) {
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number: {                                                             \
        const struct message_##name *from = &message->u.name;                  \
                                                                               \
        (void)from;                                                            \
        body break;                                                            \
    }
#include "net/messages.def"
    default:
        return 0;
    }
    return !reader.failed && reader.at == reader.end;
}

tm_status message_decode(const void *frame, uint32_t size,
                         struct message *message)
{
    struct wire_reader reader = wire_read(frame, size);
    struct message decoded;

    decoded.goes_along = 0;
    decoded.type = (enum message_type)wire_get_u16(&reader);
    if (!get_fields(&reader, &decoded) || reader.failed) {
        return TM_EWIRE;
    }
    decoded.body_size = (uint32_t)(reader.end - reader.at);
    if (decoded.body_size > MESSAGE_BODY_MAX) {
        return TM_EWIRE;
    }
    decoded.body = decoded.body_size > 0 ? reader.at : NULL;
    if (!message_body_is_good(&decoded)) {
        return TM_EWIRE;
    }
    *message = decoded;
    return TM_OK;
}

uint32_t message_size(const struct message *message)
{
    switch ((unsigned)message->type) {
#define FIELD(width, name) +WIRE_SIZE_##width
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number:                                                               \
        return (WIRE_SIZE_u16 fields) + message->body_size;
#include "net/messages.def"
    default:
        return 0;
    }
}

const uint8_t message_owners[MESSAGES_END] = {
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    [number] = OWNER_##owner,
#include "net/messages.def"
};

const char *message_name(unsigned type)
{
    switch (type) {
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number:                                                               \
        return #name;
#include "net/messages.def"
    default:
        return "?";
    }
}

// NOLINTEND(bugprone-macro-parentheses)
