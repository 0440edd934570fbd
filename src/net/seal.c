// SPDX-License-Identifier: BSD-3-Clause
//
// Frames between hosts are sealed with ChaCha20-Poly1305 (RFC 8439) of libsodium:
// nobody without the job's key can read one, make one, or change one.
//
// The job's key is 32 random bytes of the launcher. Each pair of nodes has two keys
// made of it, one for each direction:
//
//     key(a -> b) = BLAKE2b of the job's key, the number a * 2^16 + b and the
//                   context "TmFrames"                      (crypto_kdf)
//
// I1  The nonce of a frame is its sequence number, 64 bits that the transport
//     counts from 0 for each direction and never uses twice. With a key for each
//     direction and a key for each run, no nonce is used twice under one key.
// I2  Sequence number and sender, which travel in the clear, are authenticated as
//     additional data: a frame cannot be given another place or sender. One that
//     comes a second time is refused by its sequence number (net/order.c), one
//     that is sent back to its sender by the direction of its key.
// I3  Keys are in memory that no core file has (os/secret.h).
//
// ChaCha20 is fast on every processor, without tables that a cache could tell of.
// The library is loaded when a run has several hosts; a run on one needs none.
#include "net/seal.h"

#include <dlfcn.h>
#include <sodium.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"
#include "os/secret.h"

#define SODIUM_LIBRARY "libsodium.so.23"
#define NONCE_SIZE crypto_aead_chacha20poly1305_ietf_NPUBBYTES

_Static_assert(SEAL_KEY_SIZE == crypto_kdf_KEYBYTES &&
                   SEAL_KEY_SIZE == crypto_aead_chacha20poly1305_ietf_KEYBYTES,
               "the job's key makes keys of its own length");
_Static_assert(SEAL_TAG_SIZE == crypto_aead_chacha20poly1305_ietf_ABYTES,
               "a sealed text is longer by the tag");

#define SODIUM_FUNCTIONS(F)                                                    \
    F(crypto_aead_chacha20poly1305_ietf_decrypt)                               \
    F(crypto_aead_chacha20poly1305_ietf_encrypt)                               \
    F(crypto_kdf_derive_from_key)                                              \
    F(sodium_init)

struct sodium {
#define SODIUM_FUNCTION(name) __typeof__(name) *(name);
    SODIUM_FUNCTIONS(SODIUM_FUNCTION)
#undef SODIUM_FUNCTION
};

/** The keys of a node with another one. */
struct pair {
    uint8_t to[SEAL_KEY_SIZE];
    uint8_t from[SEAL_KEY_SIZE];
};

struct seals {
    struct sodium sodium;
    size_t size; ///< of all this
    node_id self;
    unsigned n_nodes;
    struct pair pairs[]; ///< [n_nodes]; that of self is not used
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
    if (sodium->sodium_init() < 0) {
        log_error("libsodium cannot start");
        return TM_ESYSTEM;
    }
    return TM_OK;
}

static void derive(struct seals *seals, const uint8_t *job_key)
{
    for (unsigned i = 0; i < seals->n_nodes; i++) {
        struct pair *pair = &seals->pairs[i];
        uint64_t out = (uint64_t)seals->self << 16 | i;
        uint64_t in = (uint64_t)i << 16 | seals->self;

        seals->sodium.crypto_kdf_derive_from_key(pair->to, SEAL_KEY_SIZE, out,
                                                 "TmFrames", job_key);
        seals->sodium.crypto_kdf_derive_from_key(pair->from, SEAL_KEY_SIZE, in,
                                                 "TmFrames", job_key);
    }
}

tm_status seals_new(struct seals **seals, const uint8_t *job_key, node_id self,
                    unsigned n_nodes)
{
    size_t size = sizeof **seals + n_nodes * sizeof(struct pair);
    struct seals *made = secret_new(size);
    tm_status status;

    ensure(self < n_nodes);
    if (made == NULL) {
        log_error("no memory for %u nodes' keys: %m", n_nodes);
        return TM_ENOMEM;
    }
    made->size = size;
    made->self = self;
    made->n_nodes = n_nodes;
    status = load(&made->sodium);
    if (status != TM_OK) {
        seals_free(made);
        return status;
    }
    derive(made, job_key);
    *seals = made;
    return TM_OK;
}

void seals_free(struct seals *seals)
{
    if (seals != NULL) {
        secret_free(seals, seals->size);
    }
}

/** I1. */
static void make_nonce(uint8_t *nonce, uint64_t sequence)
{
    memset(nonce, 0, NONCE_SIZE);
    for (unsigned i = 0; i < 8; i++) {
        nonce[NONCE_SIZE - 8 + i] = (uint8_t)(sequence >> (8 * i));
    }
}

void seals_seal(const struct seals *seals, node_id to,
                const struct seal_frame *frame, void *text, size_t size)
{
    uint8_t nonce[NONCE_SIZE];

    ensure(to < seals->n_nodes && to != seals->self);
    make_nonce(nonce, frame->sequence);
    seals->sodium.crypto_aead_chacha20poly1305_ietf_encrypt(
        text, NULL, text, size, frame->head, frame->head_size, NULL, nonce,
        seals->pairs[to].to);
}

tm_status seals_open(const struct seals *seals, node_id from,
                     const struct seal_frame *frame, const void *sealed,
                     size_t size, void *text)
{
    uint8_t nonce[NONCE_SIZE];

    ensure(from < seals->n_nodes && from != seals->self);
    if (size < SEAL_TAG_SIZE) {
        return TM_EWIRE;
    }
    make_nonce(nonce, frame->sequence);
    return seals->sodium.crypto_aead_chacha20poly1305_ietf_decrypt(
               text, NULL, NULL, sealed, size, frame->head, frame->head_size,
               nonce, seals->pairs[from].from) == 0
               ? TM_OK
               : TM_EWIRE;
}
