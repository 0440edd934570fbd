// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_SODIUM_H
#define NET_SODIUM_H

#include <sodium.h>

#include "base/library.h"
#include "base/status.h"

/*
 * libsodium, loaded when it is needed: a run on one host needs none, if it writes no
 * checkpoints. All its functions that are used, once. Used inside of net/ only.
 */
#define SODIUM_FUNCTIONS(F)                                                    \
    F(crypto_aead_chacha20poly1305_ietf_decrypt)                               \
    F(crypto_aead_chacha20poly1305_ietf_encrypt)                               \
    F(crypto_box_keypair)                                                      \
    F(crypto_box_seal)                                                         \
    F(crypto_box_seal_open)                                                    \
    F(crypto_generichash_final)                                                \
    F(crypto_generichash_init)                                                 \
    F(crypto_generichash_update)                                               \
    F(crypto_kdf_derive_from_key)                                              \
    F(crypto_scalarmult)                                                       \
    F(crypto_scalarmult_base)                                                  \
    F(randombytes_buf)                                                         \
    F(sodium_init)                                                             \
    F(sodium_memcmp)                                                           \
    F(sodium_memzero)

#define SODIUM_SEALS "encrypts what travels between hosts"

struct sodium {
    SODIUM_FUNCTIONS(LIBRARY_MEMBER)
};

/** Load the library and start it. It stays loaded until the process ends.
 * @param use  what it does for who calls: "encrypts ..."
 * @return TM_OK, TM_ESYSTEM (logged) */
TM_CHECKED tm_status sodium_load(struct sodium *sodium, const char *use);

#endif
