// SPDX-License-Identifier: BSD-3-Clause
#include "net/address.h"

#include "base/ensure.h"

/** "TMU4" */
#define ADDRESS_MARK 0x34554d54u
#define HEADER_SIZE 8u

static uint32_t checksum(const uint8_t *bytes, size_t size)
{
    uint32_t sum = 2166136261u; // FNV-1a

    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ bytes[i]) * 16777619u;
    }
    return sum;
}

size_t address_wrapped_size(size_t size)
{
    return HEADER_SIZE + size;
}

void address_wrap(const void *address, size_t size, uint8_t *wrapped)
{
    struct wire_writer writer = {
        .at = wrapped,
        .end = wrapped + address_wrapped_size(size),
    };

    wire_put_u32(&writer, ADDRESS_MARK);
    wire_put_u32(&writer, checksum(address, size));
    wire_put_bytes(&writer, address, size);
    ensure(!writer.failed);
}

const void *address_unwrap(const void *wrapped, size_t size)
{
    struct wire_reader reader = wire_read(wrapped, size);
    uint32_t mark = wire_get_u32(&reader);
    uint32_t sum = wire_get_u32(&reader);
    size_t left = (size_t)(reader.end - reader.at);

    if (reader.failed || left == 0 || mark != ADDRESS_MARK ||
        sum != checksum(reader.at, left)) {
        return NULL;
    }
    return reader.at;
}

size_t address_joined_size(const struct address_parts *parts)
{
    return 4 + parts->size[0] + 4 + parts->size[1];
}

void address_join(const struct address_parts *parts, uint8_t *joined)
{
    struct wire_writer writer = {
        .at = joined,
        .end = joined + address_joined_size(parts),
    };

    for (unsigned i = 0; i < 2; i++) {
        wire_put_u32(&writer, (uint32_t)parts->size[i]);
        wire_put_bytes(&writer, parts->bytes[i], parts->size[i]);
    }
    ensure(!writer.failed);
}

tm_status address_split(const void *joined, size_t size,
                        struct address_parts *parts)
{
    struct wire_reader reader = wire_read(joined, size);

    for (unsigned i = 0; i < 2; i++) {
        parts->size[i] = wire_get_u32(&reader);
        parts->bytes[i] = wire_get_bytes(&reader, parts->size[i]);
    }
    return reader.failed || reader.at != reader.end ? TM_EWIRE : TM_OK;
}
