// SPDX-License-Identifier: BSD-3-Clause
// net/envelope.c: an envelope opens for whom it was closed, unless it was changed; noise
// opens for nobody, and may stand in the place of a public key.
#include <string.h>

#include "fuzz.h"
#include "net/envelope.h"

static struct envelope_keys *sender;
static struct envelope_keys *receiver;

static void take(void *to, size_t size, struct wire_reader *input)
{
    size_t n = fuzz_left(input) < size ? fuzz_left(input) : size;

    memset(to, 0, size);
    if (n > 0) {
        memcpy(to, wire_get_bytes(input, n), n);
    }
}

static void hear_noise(struct wire_reader input)
{
    uint8_t envelope[ENVELOPE_SIZE];
    uint8_t key[SEAL_KEY_SIZE];
    uint8_t public[ENVELOPE_PUBLIC_SIZE];

    take(envelope, sizeof envelope, &input);
    FUZZ_CHECK(envelope_open(receiver, envelope, key) == TM_EWIRE);
    memcpy(public, envelope, sizeof public);
    (void)!envelope_close(sender, key, public, envelope);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);
    uint8_t envelope[ENVELOPE_SIZE];
    uint8_t opened[SEAL_KEY_SIZE];
    uint8_t key[SEAL_KEY_SIZE];
    unsigned where;
    uint8_t with;

    if (sender == NULL) {
        FUZZ_CHECK(envelope_keys_new(&sender) == TM_OK &&
                   envelope_keys_new(&receiver) == TM_OK);
    }
    hear_noise(input);
    where = wire_get_u8(&input) % ENVELOPE_SIZE;
    with = wire_get_u8(&input);
    take(key, sizeof key, &input);
    FUZZ_CHECK(envelope_close(sender, key, envelope_public(receiver),
                              envelope) == TM_OK);
    FUZZ_CHECK(envelope_open(sender, envelope, opened) == TM_EWIRE);
    envelope[where] ^= with;
    if (envelope_open(receiver, envelope, opened) == TM_OK) {
        FUZZ_CHECK(with == 0 && memcmp(opened, key, sizeof key) == 0);
    } else {
        FUZZ_CHECK(with != 0);
    }
    return 0;
}
