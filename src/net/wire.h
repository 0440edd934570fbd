// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What travels between processes: little-endian numbers, one behind the other, without
 * padding, and how they are put and got. What consists of several is a record: see
 * net/records.h.
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

/** On the wire, in bytes; of texts and bytes what is there if they are empty. */
enum {
    WIRE_SIZE_u8 = 1,
    WIRE_SIZE_u16 = 2,
    WIRE_SIZE_u32 = 4,
    WIRE_SIZE_u64 = 8,
    WIRE_SIZE_text = 1,
    WIRE_SIZE_bytes = 2,
};

/*
 * Little-endian cursors. A reader that runs past the end returns 0
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
/** A number and so many bytes. */
wire_bytes wire_get_sized(struct wire_reader *reader);
void wire_put_sized(struct wire_writer *writer, wire_bytes bytes);

#endif
