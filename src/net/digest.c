// SPDX-License-Identifier: BSD-3-Clause
#include "net/digest.h"

#include <stdlib.h>

#include "net/sodium.h"

struct digests {
    struct sodium sodium;
};

tm_status digests_open(struct digests **digests)
{
    struct digests *made = malloc(sizeof *made);
    tm_status status;

    if (made == NULL) {
        return TM_ENOMEM;
    }
    status = sodium_load(&made->sodium,
                         "finds what has not changed since a checkpoint");
    if (status != TM_OK) {
        free(made);
        return status;
    }
    *digests = made;
    return TM_OK;
}

void digests_close(struct digests *digests)
{
    free(digests);
}

void digest_of(const struct digests *digests, uint64_t number,
               const void *bytes, size_t size, uint8_t digest[DIGEST_SIZE])
{
    const struct sodium *sodium = &digests->sodium;
    crypto_generichash_state state;

    sodium->crypto_generichash_init(&state, NULL, 0, DIGEST_SIZE);
    sodium->crypto_generichash_update(&state, (const uint8_t *)&number,
                                      sizeof number);
    sodium->crypto_generichash_update(&state, bytes, size);
    sodium->crypto_generichash_final(&state, digest, DIGEST_SIZE);
}
