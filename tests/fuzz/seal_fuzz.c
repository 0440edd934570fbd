// SPDX-License-Identifier: BSD-3-Clause
// net/seal.c: what is sealed opens, what was changed does not, nor does noise. The
// input says what is sealed and what is changed, since no fuzzer guesses a tag.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/seal.h"

enum { HEAD = 10, MOST = 8192 };

static struct seals *sender;
static struct seals *receiver;

static void make_seals(void)
{
    const uint8_t key[SEAL_KEY_SIZE] = {7};

    if (sender == NULL) {
        FUZZ_CHECK(seals_new(&sender, key, 0, 3) == TM_OK &&
                   seals_new(&receiver, key, 1, 3) == TM_OK);
    }
}

struct letter {
    uint64_t sequence;
    uint8_t head[HEAD];
    uint8_t sealed[MOST + SEAL_TAG_SIZE];
    size_t size; // of what is sealed
};

/** @return 1 if it opens as a letter of a node; then to the text */
static int opens(const struct letter *letter, node_id from, const uint8_t *text)
{
    const struct seal_frame frame = {letter->sequence, letter->head, HEAD};
    static uint8_t opened[MOST + SEAL_TAG_SIZE];
    int does = seals_open(receiver, from, &frame, letter->sealed, letter->size,
                          opened) == TM_OK;

    FUZZ_CHECK(!does ||
               memcmp(opened, text, letter->size - SEAL_TAG_SIZE) == 0);
    return does;
}

/** @return 1 if something has been changed */
static int change(struct letter *letter, struct wire_reader *input)
{
    uint8_t what = wire_get_u8(input);
    uint16_t where = wire_get_u16(input);
    uint8_t with = wire_get_u8(input);

    switch (what) {
    case 1:
        letter->sealed[where % letter->size] ^= with;
        return with != 0;
    case 2:
        letter->head[where % HEAD] ^= with;
        return with != 0;
    case 3:
        letter->sequence ^= (uint64_t)with << where % 57;
        return with != 0;
    case 4:
        letter->size = where % letter->size;
        return 1;
    default:
        return 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);
    static struct letter letter;
    struct letter noise;
    struct wire_reader changes;
    uint8_t text[MOST];
    size_t length;

    make_seals();
    memset(letter.head, 0, HEAD);
    letter.sequence = wire_get_u64(&input);
    changes = input;
    wire_get_u32(&input);
    length = fuzz_left(&input) < MOST ? fuzz_left(&input) : MOST;
    memset(text, 0, sizeof text);
    if (length > 0) {
        memcpy(text, input.at, length);
    }
    memcpy(letter.sealed, text, length);
    letter.size = length;
    noise = letter;
    FUZZ_CHECK(!opens(&noise, 0, text));
    seals_seal(sender, 1,
               &(struct seal_frame){letter.sequence, letter.head, HEAD},
               letter.sealed, length);
    letter.size += SEAL_TAG_SIZE;
    FUZZ_CHECK(!opens(&letter, 2, text));
    FUZZ_CHECK(opens(&letter, 0, text));
    if (change(&letter, &changes)) {
        FUZZ_CHECK(!opens(&letter, 0, text));
    }
    return 0;
}
