// SPDX-License-Identifier: BSD-3-Clause
//
// An envelope is a sealed box of libsodium: X25519 between a key that is made for
// this one envelope and thrown away, and the receiver's; the text is encrypted and
// authenticated under what comes of it. Who only listens, even to everything that is
// said, learns nothing. Who can change what is said can put a public key of his own
// in the place of a node's; there is nothing here against that.
#include "net/envelope.h"

#include <dlfcn.h>
#include <sodium.h>

#include "base/log.h"
#include "os/secret.h"

#define SODIUM_LIBRARY "libsodium.so.23"

_Static_assert(ENVELOPE_PUBLIC_SIZE == crypto_box_PUBLICKEYBYTES &&
                   ENVELOPE_SIZE == SEAL_KEY_SIZE + crypto_box_SEALBYTES,
               "sizes are libsodium's");

#define SODIUM_FUNCTIONS(F)                                                    \
    F(crypto_box_keypair)                                                      \
    F(crypto_box_seal)                                                         \
    F(crypto_box_seal_open)                                                    \
    F(sodium_init)

struct sodium {
#define SODIUM_FUNCTION(name) __typeof__(name) *(name);
    SODIUM_FUNCTIONS(SODIUM_FUNCTION)
#undef SODIUM_FUNCTION
};

struct envelope_keys {
    struct sodium sodium;
    uint8_t public[crypto_box_PUBLICKEYBYTES];
    uint8_t secret[crypto_box_SECRETKEYBYTES];
};

static tm_status load(struct sodium *sodium)
{
    void *library = dlopen(SODIUM_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        log_error("cannot load libsodium, which encrypts what travels between "
                  "hosts: %s",
                  dlerror());
        return TM_ESYSTEM;
    }
#define SODIUM_FUNCTION(name)                                                  \
    sodium->name = (__typeof__(name) *)dlsym(library, #name);                  \
    if (sodium->name == NULL) {                                                \
        log_error(SODIUM_LIBRARY " has no function " #name "()");              \
        return TM_ESYSTEM;                                                     \
    }
    SODIUM_FUNCTIONS(SODIUM_FUNCTION)
#undef SODIUM_FUNCTION
    return sodium->sodium_init() >= 0 ? TM_OK : TM_ESYSTEM;
}

tm_status envelope_keys_new(struct envelope_keys **keys)
{
    struct envelope_keys *made = secret_new(sizeof *made);
    tm_status status;

    if (made == NULL) {
        log_error("no memory for a pair of keys: %m");
        return TM_ENOMEM;
    }
    status = load(&made->sodium);
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
