// SPDX-License-Identifier: BSD-3-Clause
// net/message.c: what is decoded is encoded to the same bytes.
#include <string.h>

#include "fuzz.h"
#include "net/frame.h"
#include "net/message_equal_test.h"

static void encode_again(const struct message *message, const uint8_t *data,
                         size_t size)
{
    struct frame_pool pool;
    struct frame *frame;

    frame_pool_init(&pool);
    frame = frame_encode(&pool, 10, 16, message);
    FUZZ_CHECK(frame->size == 10 + size + 16);
    FUZZ_CHECK(memcmp(frame->bytes + 10, data, size) == 0);
    frame_put(frame);
    frame_pool_release(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct message message;
    struct message again;

    if (message_decode(data, (uint32_t)size, &message) != TM_OK) {
        return 0;
    }
    FUZZ_CHECK(message.body_size <= size);
    FUZZ_CHECK(message.body == NULL || (const uint8_t *)message.body ==
                                           data + size - message.body_size);
    FUZZ_CHECK(strcmp(message_name(message.type), "?") != 0);
    encode_again(&message, data, size);
    FUZZ_CHECK(message_decode(data, (uint32_t)size, &again) == TM_OK);
    FUZZ_CHECK(message_is_equal(&message, &again));
    return 0;
}
