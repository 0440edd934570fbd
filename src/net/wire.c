// SPDX-License-Identifier: BSD-3-Clause
//
// I1  A reader or writer never moves `at` past `end`, and once it has failed it
//     moves no more.
#include "net/wire.h"

#include <endian.h>
#include <string.h>

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

// NOLINTBEGIN(bugprone-macro-parentheses): names
#define INTEGER(width, from_wire, to_wire)                                     \
    wire_##width wire_get_##width(struct wire_reader *reader)                  \
    {                                                                          \
        const uint8_t *bytes = advance_reader(reader, sizeof(wire_##width));   \
        wire_##width value = 0;                                                \
                                                                               \
        if (bytes != NULL) {                                                   \
            memcpy(&value, bytes, sizeof value);                               \
        }                                                                      \
        return from_wire(value);                                               \
    }                                                                          \
                                                                               \
    void wire_put_##width(struct wire_writer *writer, wire_##width value)      \
    {                                                                          \
        uint8_t *bytes = advance_writer(writer, sizeof value);                 \
                                                                               \
        value = to_wire(value);                                                \
        if (bytes != NULL) {                                                   \
            memcpy(bytes, &value, sizeof value);                               \
        }                                                                      \
    }

INTEGER(u8, , )
INTEGER(u16, le16toh, htole16)
INTEGER(u32, le32toh, htole32)
INTEGER(u64, le64toh, htole64)
// NOLINTEND(bugprone-macro-parentheses)

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

wire_bytes wire_get_sized(struct wire_reader *reader)
{
    const uint16_t size = wire_get_u16(reader);
    const void *at = wire_get_bytes(reader, size);

    return (wire_bytes){size > 0 ? at : NULL, at != NULL ? size : 0};
}

void wire_put_sized(struct wire_writer *writer, wire_bytes bytes)
{
    wire_put_u16(writer, bytes.size);
    wire_put_bytes(writer, bytes.at, bytes.size);
}
