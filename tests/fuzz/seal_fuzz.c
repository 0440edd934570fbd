// SPDX-License-Identifier: BSD-3-Clause
// net/seal.c: what is sealed opens, what was changed does not, nor does noise. The
// input says what is sealed and what is changed, since no fuzzer guesses a tag.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/seal.h"

enum { HEAD = 10, MOST = 8192 };

static struct seals *seals;

static void make_seals(void)
{
    const uint8_t key[SEAL_KEY_SIZE] = {7};

    if (seals == NULL) {
        FUZZ_CHECK(seals_new(&seals, key, 0) == TM_OK);
    }
}

struct letter {
    struct seal_lane lane; // as it is when the letter is opened
    uint8_t bytes[HEAD + MOST + SEAL_TAG_SIZE];
    size_t size; // behind the head
};

/** @return 1 if it opens; then to the text */
static int opens(const struct letter *letter, const uint8_t *text)
{
    static struct letter opened;
    struct seal_frame frame = {opened.bytes, HEAD, 0};

    if (letter->size < SEAL_TAG_SIZE) {
        return 0; // refused before (net/tcp_receive.c)
    }
    opened = *letter;
    frame.text_size = letter->size - SEAL_TAG_SIZE;
    if (seals_open(seals, &opened.lane, &frame) != TM_OK) {
        return 0;
    }
    FUZZ_CHECK(memcmp(opened.bytes + HEAD, text, frame.text_size) == 0);
    return 1;
}

/** @return 1 if something has been changed */
static int change(struct letter *letter, struct wire_reader *input)
{
    uint8_t what = wire_get_u8(input);
    uint16_t where = wire_get_u16(input);
    uint8_t with = wire_get_u8(input);

    switch (what) {
    case 1:
        letter->bytes[where % (HEAD + letter->size)] ^= with;
        return with != 0;
    case 2:
        letter->lane.key[where % SEAL_KEY_SIZE] ^= with;
        return with != 0;
    case 3:
        letter->lane.sequence ^= (uint64_t)with << where % 57;
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
    static struct letter noise;
    struct seal_frame frame = {letter.bytes, HEAD, 0};
    struct seal_lane sender = {.key = {3}};
    struct wire_reader changes;
    uint8_t text[MOST + SEAL_TAG_SIZE];

    make_seals();
    sender.sequence = wire_get_u64(&input);
    letter.lane = sender;
    changes = input;
    wire_get_u32(&input);
    frame.text_size = fuzz_left(&input) < MOST ? fuzz_left(&input) : MOST;
    memset(text, 0, sizeof text);
    memset(letter.bytes, 0, HEAD);
    if (frame.text_size > 0) {
        memcpy(text, input.at, frame.text_size);
    }
    memcpy(letter.bytes + HEAD, text, frame.text_size);
    letter.size = frame.text_size;
    noise = letter;
    FUZZ_CHECK(!opens(&noise, text));
    seals_seal(seals, &sender, &frame);
    letter.size += SEAL_TAG_SIZE;
    FUZZ_CHECK(opens(&letter, text));
    if (change(&letter, &changes)) {
        FUZZ_CHECK(!opens(&letter, text));
    }
    return 0;
}
