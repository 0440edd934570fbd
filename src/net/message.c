// SPDX-License-Identifier: BSD-3-Clause
//
// Encoding and decoding, written out by the preprocessor from messages.def: for
// each message one case that puts, gets or compares its fields one by one in
// their order. A structure never reaches the wire, so neither padding nor byte
// order nor the compiler can change the format.
//
// I1  A reader or writer never moves `at` past `end`, and once it has failed it
//     moves no more.
// I2  The header of every message fits MESSAGE_HEADER_MAX (checked when this
//     file is compiled), so that a writer over such a header cannot fail.
#include "net/message.h"

#include <string.h>

#include "base/ensure.h"

// NOLINTBEGIN(bugprone-macro-parentheses): fields are lists

// I2.
#define FIELD(width, name) +WIRE_SIZE_##width
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    _Static_assert((WIRE_SIZE_u16 fields) <= MESSAGE_HEADER_MAX,               \
                   #name " is longer than MESSAGE_HEADER_MAX");                \
    _Static_assert((number) < MESSAGES_END, #name " is above MESSAGES_END");
#include "net/messages.def"

// ---- cursors ----

static const uint8_t *advance_reader(struct wire_reader *reader, size_t size)
{
    const uint8_t *bytes = reader->at;

    if (reader->failed || (size_t)(reader->end - reader->at) < size) {
        reader->failed = 1;
        return NULL;
    }
    reader->at += size;
    return bytes;
}

static uint64_t get_uint(struct wire_reader *reader, unsigned width)
{
    const uint8_t *bytes = advance_reader(reader, width);
    uint64_t value = 0;

    if (bytes == NULL) {
        return 0;
    }
    for (unsigned i = 0; i < width; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

uint8_t wire_get_u8(struct wire_reader *reader)
{
    return (uint8_t)get_uint(reader, 1);
}

uint16_t wire_get_u16(struct wire_reader *reader)
{
    return (uint16_t)get_uint(reader, 2);
}

uint32_t wire_get_u32(struct wire_reader *reader)
{
    return (uint32_t)get_uint(reader, 4);
}

uint64_t wire_get_u64(struct wire_reader *reader)
{
    return get_uint(reader, 8);
}

const void *wire_get_bytes(struct wire_reader *reader, size_t size)
{
    return advance_reader(reader, size);
}

const char *wire_get_string(struct wire_reader *reader)
{
    size_t left = (size_t)(reader->end - reader->at);
    const uint8_t *nul;

    // An empty reader may stand at NULL, which memchr() does not take.
    if (reader->failed || left == 0) {
        reader->failed = 1;
        return NULL;
    }
    nul = memchr(reader->at, 0, left);
    if (nul == NULL) {
        reader->failed = 1;
        return NULL;
    }
    return (const char *)advance_reader(reader, (size_t)(nul - reader->at) + 1);
}

void wire_get_text(struct wire_reader *reader, char *text, size_t size)
{
    const char *string = wire_get_string(reader);

    text[0] = '\0';
    if (string == NULL || strlen(string) >= size) {
        reader->failed = 1;
        return;
    }
    memcpy(text, string, strlen(string) + 1);
}

static uint8_t *advance_writer(struct wire_writer *writer, size_t size)
{
    uint8_t *bytes = writer->at;

    if (writer->failed || (size_t)(writer->end - writer->at) < size) {
        writer->failed = 1;
        return NULL;
    }
    writer->at += size;
    return bytes;
}

static void put_uint(struct wire_writer *writer, uint64_t value, unsigned width)
{
    uint8_t *bytes = advance_writer(writer, width);

    if (bytes == NULL) {
        return;
    }
    for (unsigned i = 0; i < width; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

void wire_put_u8(struct wire_writer *writer, uint8_t value)
{
    put_uint(writer, value, 1);
}

void wire_put_u16(struct wire_writer *writer, uint16_t value)
{
    put_uint(writer, value, 2);
}

void wire_put_u32(struct wire_writer *writer, uint32_t value)
{
    put_uint(writer, value, 4);
}

void wire_put_u64(struct wire_writer *writer, uint64_t value)
{
    put_uint(writer, value, 8);
}

void wire_put_bytes(struct wire_writer *writer, const void *bytes, size_t size)
{
    uint8_t *to = advance_writer(writer, size);

    if (to != NULL && size > 0) {
        memcpy(to, bytes, size);
    }
}

void wire_put_string(struct wire_writer *writer, const char *string)
{
    const char *text = string == NULL ? "" : string;

    wire_put_bytes(writer, text, strlen(text) + 1);
}

// ---- records ----

static wire_bytes get_bytes(struct wire_reader *reader)
{
    const uint16_t size = wire_get_u16(reader);
    const void *at = wire_get_bytes(reader, size);

    return (wire_bytes){size > 0 ? at : NULL, at != NULL ? size : 0};
}

static void put_bytes(struct wire_writer *writer, wire_bytes bytes)
{
    wire_put_u16(writer, bytes.size);
    wire_put_bytes(writer, bytes.at, bytes.size);
}

#define get_u8 wire_get_u8
#define get_u16 wire_get_u16
#define get_u32 wire_get_u32
#define get_u64 wire_get_u64
#define get_text wire_get_string
#define FIELD(width, name) record.name = get_##width(reader);
#define RECORD(name, fields)                                                   \
    struct wire_##name wire_get_##name(struct wire_reader *reader)             \
    {                                                                          \
        struct wire_##name record;                                             \
                                                                               \
        fields return record;                                                  \
    }
#include "net/messages.def"

#define put_u8 wire_put_u8
#define put_u16 wire_put_u16
#define put_u32 wire_put_u32
#define put_u64 wire_put_u64
#define put_text wire_put_string
#define FIELD(width, name) put_##width(writer, record->name);
#define RECORD(name, fields)                                                   \
    void wire_put_##name(struct wire_writer *writer,                           \
                         const struct wire_##name *record)                     \
    {                                                                          \
        fields                                                                 \
    }
#include "net/messages.def"

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

static int fields_are_equal(const struct message *a, const struct message *b)
{
    switch ((unsigned)a->type) {
#define FIELD(width, name) &&one->name == other->name
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number: {                                                             \
        const struct message_##name *one = &a->u.name;                         \
        const struct message_##name *other = &b->u.name;                       \
        return 1 fields;                                                       \
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

static void skip_rest(struct wire_reader *reader)
{
    reader->at = reader->end;
}

int message_body_is_good(const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    switch ((unsigned)message->type) {
#define NONE
#define BYTES skip_rest(&reader);
#define ONE(record) (void)wire_get_##record(&reader);
#define MANY(record)                                                           \
    while (wire_has_more(&reader)) {                                           \
        (void)wire_get_##record(&reader);                                      \
    }
#define TIMES(field, record)                                                   \
    for (unsigned i = 0; i < from->field && !reader.failed; i++) {             \
        (void)wire_get_##record(&reader);                                      \
    }
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number: {                                                             \
        const struct message_##name *from = &message->u.name;                  \
                                                                               \
        (void)from;                                                            \
        body break;                                                            \
    }
#include "net/messages.def"
#undef NONE
#undef BYTES
#undef ONE
#undef MANY
#undef TIMES
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

int message_is_equal(const struct message *a, const struct message *b)
{
    return a->type == b->type && fields_are_equal(a, b) &&
           a->body_size == b->body_size &&
           (a->body_size == 0 || memcmp(a->body, b->body, a->body_size) == 0);
}

enum message_owner message_owner(unsigned type)
{
    switch (type) {
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number:                                                               \
        return OWNER_##owner;
#include "net/messages.def"
    default:
        return OWNER_none;
    }
}

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
