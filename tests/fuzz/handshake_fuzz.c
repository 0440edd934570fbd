// SPDX-License-Identifier: BSD-3-Clause
// net/handshake.c: a hello or an answer that was changed is refused, and so is whatever
// else the input says.
#include <string.h>

#include "fuzz.h"
#include "net/handshake.h"

static struct seals *seals;

static void make_seals(void)
{
    const uint8_t key[SEAL_KEY_SIZE] = {7};

    if (seals == NULL) {
        FUZZ_CHECK(seals_new(&seals, key, 0) == TM_OK);
    }
}

/** Both are read as they are, and refused with one byte changed, or not at all. */
static void change_genuine(struct wire_reader *input)
{
    const struct hello said = {.from = 1, .to = 2};
    const struct answer given = {.epoch = 3};
    uint8_t where = wire_get_u8(input);
    uint8_t with = wire_get_u8(input);
    struct handshake first;
    struct handshake second;
    struct seal_lanes lanes;
    struct hello hello;
    struct answer answer;

    handshake_hello(seals, &said, &first);
    FUZZ_CHECK(handshake_answer(seals, first.said, &given, &second, &lanes) ==
               TM_OK);
    memcpy(first.said + HELLO_SIZE, second.said + HELLO_SIZE, ANSWER_SIZE);
    FUZZ_CHECK(handshake_read_answer(seals, &first, &answer, &lanes) == TM_OK);
    first.said[HELLO_SIZE + where % ANSWER_SIZE] ^= with;
    FUZZ_CHECK((handshake_read_answer(seals, &first, &answer, &lanes) ==
                TM_OK) == (with == 0));
    first.said[where % HELLO_SIZE] ^= with;
    FUZZ_CHECK((handshake_read_hello(seals, first.said, &hello) == TM_OK) ==
               (with == 0));
}

static void read_noise(const struct wire_reader *input)
{
    struct handshake handshake = {0};
    struct seal_lanes lanes;
    struct hello hello;
    struct answer answer;
    size_t size = fuzz_left(input);

    if (size > sizeof handshake.said) {
        size = sizeof handshake.said;
    }
    if (size > 0) {
        memcpy(handshake.said, input->at, size);
        (void)handshake_is_hello(handshake.said, size);
    }
    FUZZ_CHECK(handshake_read_hello(seals, handshake.said, &hello) != TM_OK);
    FUZZ_CHECK(handshake_read_answer(seals, &handshake, &answer, &lanes) !=
               TM_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);

    make_seals();
    change_genuine(&input);
    read_noise(&input);
    return 0;
}
