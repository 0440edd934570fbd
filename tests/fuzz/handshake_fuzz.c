// SPDX-License-Identifier: BSD-3-Clause
// net/handshake.c: two ends make sure of each other if nothing is changed, and do not if
// anything is; noise is nobody's. The input says what is said and what is changed: no
// fuzzer guesses a MAC.
#include <string.h>

#include "fuzz.h"
#include "net/handshake.h"

enum { HELLO_TEXT = HELLO_SIZE - SEAL_MAC_SIZE };

static struct seals *seals;
static struct seals *strangers;

static void make_seals(void)
{
    const uint8_t key[SEAL_KEY_SIZE] = {7};
    const uint8_t another[SEAL_KEY_SIZE] = {8};

    if (seals == NULL) {
        FUZZ_CHECK(seals_new(&seals, key, 0) == TM_OK &&
                   seals_new(&strangers, another, 0) == TM_OK);
    }
}

/** Bytes that anybody may send. */
static void hear_noise(struct wire_reader input)
{
    struct handshake handshake = {0};
    struct seal_lanes lanes;
    struct hello hello;
    struct answer answer;
    size_t n = fuzz_left(&input);

    if (n > sizeof handshake.said) {
        n = sizeof handshake.said;
    }
    if (n == 0) {
        return;
    }
    memcpy(handshake.said, input.at, n);
    handshake_is_hello(handshake.said, n);
    FUZZ_CHECK(handshake_read_hello(seals, handshake.said, &hello) == TM_EWIRE);
    FUZZ_CHECK(handshake_read_answer(seals, &handshake, &answer, &lanes) ==
               TM_EWIRE);
}

/** A hello that somebody with the job's key has made, who may mean harm: any text. */
static void hear_any_text(struct wire_reader input)
{
    uint8_t bytes[HELLO_SIZE] = {'T', 'M', 'H', '1'};
    struct handshake handshake = {0};
    struct seal_lanes lanes;
    struct hello hello;
    const struct answer answer = {0, 1};
    size_t n = fuzz_left(&input);

    if (n > HELLO_TEXT - 4) {
        n = HELLO_TEXT - 4;
    }
    if (n > 0) {
        memcpy(bytes + 4, input.at, n);
    }
    seals_mac(seals, bytes, HELLO_TEXT, NULL, 0, bytes + HELLO_TEXT);
    FUZZ_CHECK(handshake_read_hello(seals, bytes, &hello) == TM_OK);
    (void)!handshake_answer(seals, bytes, &answer, &handshake, &lanes);
    FUZZ_CHECK(handshake_read_hello(strangers, bytes, &hello) == TM_EWIRE);
}

/** Two ends that mean it. @param where, with  what is changed on the way; with 0:
 * nothing */
static void converse(const struct hello *said, unsigned where, uint8_t with)
{
    struct handshake first = {0};
    struct handshake second = {0};
    struct seal_lanes lanes[2];
    struct answer answer = {(int)(said->epoch & 1), said->epoch};
    struct hello heard;

    handshake_hello(seals, said, &first);
    if (where < HELLO_SIZE && with != 0) {
        first.said[where] ^= with;
        FUZZ_CHECK(handshake_read_hello(seals, first.said, &heard) == TM_EWIRE);
        return;
    }
    FUZZ_CHECK(handshake_read_hello(seals, first.said, &heard) == TM_OK);
    FUZZ_CHECK(heard.from == said->from && heard.to == said->to &&
               heard.epoch == said->epoch);
    FUZZ_CHECK(handshake_answer(seals, first.said, &answer, &second,
                                &lanes[1]) == TM_OK);
    memcpy(first.said, second.said, sizeof first.said);
    first.said[where] ^= with;
    if (with != 0) {
        FUZZ_CHECK(handshake_read_answer(seals, &first, &answer, &lanes[0]) ==
                   TM_EWIRE);
        return;
    }
    FUZZ_CHECK(handshake_read_answer(seals, &first, &answer, &lanes[0]) ==
               TM_OK);
    FUZZ_CHECK(answer.epoch == said->epoch);
    FUZZ_CHECK(memcmp(lanes[0].out.key, lanes[1].in.key, SEAL_KEY_SIZE) == 0);
    FUZZ_CHECK(memcmp(lanes[0].in.key, lanes[1].out.key, SEAL_KEY_SIZE) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);
    struct hello hello;
    unsigned where;

    make_seals();
    hear_noise(input);
    hear_any_text(input);
    hello.from = wire_get_u16(&input);
    hello.to = wire_get_u16(&input);
    hello.epoch = wire_get_u32(&input);
    where = wire_get_u8(&input) % (HELLO_SIZE + ANSWER_SIZE);
    converse(&hello, where, wire_get_u8(&input));
    return 0;
}
