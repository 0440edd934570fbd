// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_TOKENS_H
#define BASE_TOKENS_H

#include <stdint.h>

/*
 * Small numbers that stand for pointers in messages. A token that comes back is
 * checked: one that was never given, or is used up, finds nothing.
 */
struct tokens {
    struct token_slot *slots;
    uint32_t n_slots;
    uint32_t first_free; ///< index + 1, 0: none
};

struct token_slot {
    void *object;
    uint32_t next_free;
    uint8_t generation;
};

/** Make an empty table; takes no memory yet. */
void tokens_init(struct tokens *tokens);
void tokens_release(struct tokens *tokens);

/** @return a token for an object, never 0 */
uint32_t tokens_give(struct tokens *tokens, void *object);

/** @return the object, NULL if the token is not in use; the token stays in use */
void *tokens_find(const struct tokens *tokens, uint32_t token);

/** The same, but the token is used up. */
void *tokens_take(struct tokens *tokens, uint32_t token);

#endif
