// SPDX-License-Identifier: BSD-3-Clause
// A token is slot index (24 bits) and generation (8 bits, never 0), so that an
// old token of a slot in use again is still refused, 254 times out of 255.
#include "base/tokens.h"

#include <string.h>

#include "base/vector.h"

void tokens_init(struct tokens *tokens)
{
    memset(tokens, 0, sizeof *tokens);
}

void tokens_release(struct tokens *tokens)
{
    free(tokens->slots);
    tokens_init(tokens);
}

static void grow(struct tokens *tokens)
{
    const uint32_t n = tokens->n_slots;

    vector_reserve(tokens->slots, tokens->n_slots, n + 1);
    ensure(tokens->n_slots < 1u << 24);
    for (uint32_t i = n; i < tokens->n_slots; i++) {
        tokens->slots[i] = (struct token_slot){.next_free = i + 2};
    }
    tokens->slots[tokens->n_slots - 1].next_free = 0;
    tokens->first_free = n + 1;
}

uint32_t tokens_give(struct tokens *tokens, void *object)
{
    uint32_t index;
    struct token_slot *slot;

    if (tokens->first_free == 0) {
        grow(tokens);
    }
    index = tokens->first_free - 1;
    slot = &tokens->slots[index];
    tokens->first_free = slot->next_free;
    slot->object = object;
    slot->generation = slot->generation == 255 ? 1 : slot->generation + 1;
    return index << 8 | slot->generation;
}

void *tokens_find(const struct tokens *tokens, uint32_t token)
{
    const uint32_t index = token >> 8;

    return index < tokens->n_slots &&
                   tokens->slots[index].generation == (token & 255)
               ? tokens->slots[index].object
               : NULL;
}

void *tokens_take(struct tokens *tokens, uint32_t token)
{
    void *object = tokens_find(tokens, token);

    if (object != NULL) {
        struct token_slot *slot = &tokens->slots[token >> 8];

        slot->object = NULL;
        slot->next_free = tokens->first_free;
        tokens->first_free = (token >> 8) + 1;
    }
    return object;
}
