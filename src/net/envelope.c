// SPDX-License-Identifier: BSD-3-Clause
//
// An envelope is a sealed box of libsodium: X25519 between a key that is made for
// this one envelope and thrown away, and the receiver's; the text is encrypted and
// authenticated under what comes of it. Who only listens, even to everything that is
// said, learns nothing. Who can change what is said can put a public key of his own
// in the place of a node's; there is nothing here against that.
#include "net/envelope.h"

#include "base/log.h"
#include "net/sodium.h"
#include "os/secret.h"

_Static_assert(ENVELOPE_PUBLIC_SIZE == crypto_box_PUBLICKEYBYTES &&
                   ENVELOPE_SIZE == SEAL_KEY_SIZE + crypto_box_SEALBYTES,
               "sizes are libsodium's");

struct envelope_keys {
    struct sodium sodium;
    uint8_t public[crypto_box_PUBLICKEYBYTES];
    uint8_t secret[crypto_box_SECRETKEYBYTES];
};

tm_status envelope_keys_new(struct envelope_keys **keys)
{
    struct envelope_keys *made = secret_new(sizeof *made);
    tm_status status;

    if (made == NULL) {
        log_error("no memory for a pair of keys: %m");
        return TM_ENOMEM;
    }
    status = sodium_load(&made->sodium, SODIUM_SEALS);
    if (status != TM_OK) {
        envelope_keys_free(made);
        return status;
    }
    made->sodium.crypto_box_keypair(made->public, made->secret);
    *keys = made;
    return TM_OK;
}

void envelope_keys_free(struct envelope_keys *keys)
{
    if (keys != NULL) {
        secret_free(keys, sizeof *keys);
    }
}

const uint8_t *envelope_public(const struct envelope_keys *keys)
{
    return keys->public;
}

tm_status envelope_close(const struct envelope_keys *keys,
                         const uint8_t *job_key, const uint8_t *public_key,
                         uint8_t *envelope)
{
    return keys->sodium.crypto_box_seal(envelope, job_key, SEAL_KEY_SIZE,
                                        public_key) == 0
               ? TM_OK
               : TM_EWIRE;
}

tm_status envelope_open(const struct envelope_keys *keys,
                        const uint8_t *envelope, uint8_t *job_key)
{
    return keys->sodium.crypto_box_seal_open(job_key, envelope, ENVELOPE_SIZE,
                                             keys->public, keys->secret) == 0
               ? TM_OK
               : TM_EWIRE;
}
