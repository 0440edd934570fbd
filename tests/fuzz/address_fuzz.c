// SPDX-License-Identifier: BSD-3-Clause
// net/address.c: addresses as they come, and behind their checksums.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/address.h"

static void check_split(const uint8_t *data, size_t size)
{
    struct address_parts parts;
    uint8_t *joined;

    if (address_split(data, size, &parts) != TM_OK) {
        return;
    }
    FUZZ_CHECK(address_joined_size(&parts) == size);
    joined = malloc(size);
    FUZZ_CHECK(joined != NULL);
    address_join(&parts, joined);
    FUZZ_CHECK(memcmp(joined, data, size) == 0);
    free(joined);
    for (unsigned i = 0; i < 2; i++) {
        address_unwrap(parts.bytes[i], parts.size[i]);
    }
}

/** What is wrapped can be unwrapped; damaged, it cannot. */
static void check_wrapped(const uint8_t *data, size_t size)
{
    uint8_t where = data[0];
    uint8_t *wrapped = malloc(address_wrapped_size(size));

    FUZZ_CHECK(wrapped != NULL);
    address_wrap(data, size, wrapped);
    FUZZ_CHECK(address_unwrap(wrapped, address_wrapped_size(size)) ==
               wrapped + address_wrapped_size(0));
    wrapped[where % address_wrapped_size(size)] ^= 1;
    FUZZ_CHECK(address_unwrap(wrapped, address_wrapped_size(size)) == NULL);
    free(wrapped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    address_unwrap(data, size);
    check_split(data, size);
    if (size > 0) {
        check_wrapped(data, size);
    }
    return 0;
}
