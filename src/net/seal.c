// SPDX-License-Identifier: BSD-3-Clause
//
// Frames between hosts are sealed with ChaCha20-Poly1305 (RFC 8439) of libsodium:
// nobody without the job's key can read one, make one, or change one.
//
// The job's key is 32 random bytes of the launcher. Two keys are made of it, one
// for the greetings of connections (BLAKE2b with a key) and one that goes into the
// keys of each connection, with what X25519 makes of two numbers that its ends have
// drawn for it (net/handshake.c).
//
// I1  The nonce of a frame is its number in its lane, 64 bits that count from 0.
//     Each lane has a key of its own that is never made again, so no nonce is used
//     twice under one key; and a frame opens at its own place only: one that is
//     left out, repeated, moved or recorded elsewhere does not.
// I2  The head, which travels in the clear, is authenticated as additional data.
//     With is_plain all of the frame is: it can be read, and nothing else.
// I3  Keys are in memory that no core file has (os/secret.h), and those of
//     connections can be made by nobody any more when these have ended: who
//     records a run and gets the job's key later cannot read it.
//
// ChaCha20 is fast on every processor, without tables that a cache could tell of.
#include "net/seal.h"

#include "base/log.h"
#include "net/sodium.h"
#include "os/secret.h"

#define NONCE_SIZE crypto_aead_chacha20poly1305_ietf_NPUBBYTES

_Static_assert(SEAL_KEY_SIZE == crypto_kdf_KEYBYTES &&
                   SEAL_KEY_SIZE == crypto_generichash_KEYBYTES &&
                   SEAL_KEY_SIZE == crypto_scalarmult_BYTES &&
                   SEAL_KEY_SIZE == crypto_scalarmult_SCALARBYTES &&
                   SEAL_KEY_SIZE == crypto_aead_chacha20poly1305_ietf_KEYBYTES,
               "all keys have the same length");
_Static_assert(SEAL_TAG_SIZE == crypto_aead_chacha20poly1305_ietf_ABYTES,
               "a sealed frame is longer by the tag");
_Static_assert(SEAL_MAC_SIZE == crypto_generichash_BYTES, "a hash is a MAC");

struct seals {
    struct sodium sodium;
    int is_plain;
    uint8_t greeting_key[SEAL_KEY_SIZE];
    uint8_t connection_key[SEAL_KEY_SIZE];
};

static void derive(const struct sodium *sodium, uint8_t *key, uint64_t number,
                   const uint8_t *job_key)
{
    sodium->crypto_kdf_derive_from_key(key, SEAL_KEY_SIZE, number, "TmFrames",
                                       job_key);
}

tm_status seals_new(struct seals **seals, const uint8_t *job_key, int is_plain)
{
    struct seals *made = secret_new(sizeof *made);
    tm_status status;

    if (made == NULL) {
        log_error("no memory for keys: %m");
        return TM_ENOMEM;
    }
    status = sodium_load(&made->sodium, SODIUM_SEALS);
    if (status != TM_OK) {
        seals_free(made);
        return status;
    }
    made->is_plain = is_plain;
    derive(&made->sodium, made->greeting_key, 1, job_key);
    derive(&made->sodium, made->connection_key, 2, job_key);
    *seals = made;
    return TM_OK;
}

void seals_free(struct seals *seals)
{
    secret_free(seals, sizeof *seals);
}

// ---- frames ----

/** What the cipher is given of a frame. */
struct parts {
    const uint8_t *clear; ///< authenticated only
    size_t clear_size;
    uint8_t *text; ///< encrypted as well, the tag behind it
    size_t text_size;
    uint8_t nonce[NONCE_SIZE];
};

static struct parts parts_of(const struct seals *seals, struct seal_lane *lane,
                             const struct seal_frame *frame)
{
    size_t both = frame->head_size + frame->text_size;
    size_t n_clear = seals->is_plain ? both : frame->head_size; // I2
    struct parts parts = {
        .clear = frame->bytes,
        .clear_size = n_clear,
        .text = frame->bytes + n_clear,
        .text_size = both - n_clear,
    };

    for (unsigned i = 0; i < 8; i++) { // I1
        parts.nonce[NONCE_SIZE - 8 + i] = (uint8_t)(lane->sequence >> (8 * i));
    }
    lane->sequence++;
    return parts;
}

void seals_seal(const struct seals *seals, struct seal_lane *lane,
                const struct seal_frame *frame)
{
    struct parts parts = parts_of(seals, lane, frame);

    seals->sodium.crypto_aead_chacha20poly1305_ietf_encrypt(
        parts.text, NULL, parts.text, parts.text_size, parts.clear,
        parts.clear_size, NULL, parts.nonce, lane->key);
}

tm_status seals_open(const struct seals *seals, struct seal_lane *lane,
                     const struct seal_frame *frame)
{
    struct parts parts = parts_of(seals, lane, frame);

    return seals->sodium.crypto_aead_chacha20poly1305_ietf_decrypt(
               parts.text, NULL, NULL, parts.text,
               parts.text_size + SEAL_TAG_SIZE, parts.clear, parts.clear_size,
               parts.nonce, lane->key) == 0
               ? TM_OK
               : TM_EWIRE;
}

// ---- for handshakes ----

void seals_mac(const struct seals *seals, const void *a, size_t a_size,
               const void *b, size_t b_size, uint8_t *mac)
{
    const struct sodium *sodium = &seals->sodium;
    crypto_generichash_state state;

    sodium->crypto_generichash_init(&state, seals->greeting_key, SEAL_KEY_SIZE,
                                    SEAL_MAC_SIZE);
    sodium->crypto_generichash_update(&state, a, a_size);
    sodium->crypto_generichash_update(&state, b, b_size);
    sodium->crypto_generichash_final(&state, mac, SEAL_MAC_SIZE);
    sodium->sodium_memzero(&state, sizeof state);
}

int seals_is_same(const struct seals *seals, const uint8_t *a, const uint8_t *b)
{
    return seals->sodium.sodium_memcmp(a, b, SEAL_MAC_SIZE) == 0;
}

void seals_make_pair(const struct seals *seals, uint8_t *secret, uint8_t *shown)
{
    seals->sodium.randombytes_buf(secret, SEAL_KEY_SIZE);
    seals->sodium.crypto_scalarmult_base(shown, secret);
}

tm_status seals_agree(const struct seals *seals, const uint8_t *secret,
                      const uint8_t *shown, const void *said, size_t said_size,
                      uint8_t *keys)
{
    const struct sodium *sodium = &seals->sodium;
    crypto_generichash_state state;
    uint8_t shared[SEAL_KEY_SIZE];

    if (sodium->crypto_scalarmult(shared, secret, shown) != 0) {
        return TM_EWIRE;
    }
    sodium->crypto_generichash_init(&state, seals->connection_key,
                                    SEAL_KEY_SIZE, (size_t)2 * SEAL_KEY_SIZE);
    sodium->crypto_generichash_update(&state, shared, sizeof shared);
    sodium->crypto_generichash_update(&state, said, said_size);
    sodium->crypto_generichash_final(&state, keys, (size_t)2 * SEAL_KEY_SIZE);
    sodium->sodium_memzero(&state, sizeof state);
    sodium->sodium_memzero(shared, sizeof shared);
    return TM_OK;
}
