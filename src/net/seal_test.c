// SPDX-License-Identifier: BSD-3-Clause
#include "net/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define HEAD 6u
#define TEXT_MAX 300u
#define FRAME_SIZE (HEAD + TEXT_MAX + SEAL_TAG_SIZE)

static const uint8_t job_key[SEAL_KEY_SIZE] = "a key of the test, not random..";
static const uint8_t other_key[SEAL_KEY_SIZE] =
    "a key of some other run.......";

static struct seals *seals;
static struct seals *plain;

static int make_seals(void **unused)
{
    (void)unused;
    return seals_new(&seals, job_key, 0) == TM_OK &&
                   seals_new(&plain, job_key, 1) == TM_OK
               ? 0
               : -1;
}

static int free_seals(void **unused)
{
    (void)unused;
    seals_free(seals);
    seals_free(plain);
    return 0;
}

/** Two ends of one direction. */
struct ends {
    struct seal_lane out;
    struct seal_lane in;
};

static struct ends new_ends(uint64_t sequence)
{
    struct ends ends = {.out = {.key = "of a lane", .sequence = sequence}};

    ends.in = ends.out;
    return ends;
}

static struct seal_frame frame_in(uint8_t *bytes, size_t text_size)
{
    return (struct seal_frame){bytes, HEAD, text_size};
}

static void fill(uint8_t *bytes, size_t text_size)
{
    memcpy(bytes, "head..", HEAD);
    for (size_t i = 0; i < text_size; i++) {
        bytes[HEAD + i] = (uint8_t)(i * 7);
    }
}

static void seal(const struct seals *with, struct ends *ends, uint8_t *bytes,
                 size_t text_size)
{
    const struct seal_frame frame = frame_in(bytes, text_size);

    fill(bytes, text_size);
    seals_seal(with, &ends->out, &frame);
}

/** Does it open, as the next frame? The lane is not moved on, nor the frame
 * changed. */
static int opens(const struct seals *with, const struct ends *ends,
                 const uint8_t *bytes, size_t text_size)
{
    uint8_t copy[FRAME_SIZE];
    struct seal_lane in = ends->in;
    const struct seal_frame frame = frame_in(copy, text_size);

    memcpy(copy, bytes, HEAD + text_size + SEAL_TAG_SIZE);
    return seals_open(with, &in, &frame) == TM_OK;
}

static unsigned n_alike(const uint8_t *bytes, size_t text_size)
{
    unsigned n = 0;

    for (size_t i = 0; i < text_size; i++) {
        n += bytes[HEAD + i] == (uint8_t)(i * 7);
    }
    return n;
}

static void what_was_sealed_is_opened_and_cannot_be_read_before(void **unused)
{
    static const uint64_t sequences[] = {0, 1, 1ull << 32, UINT64_MAX};

    (void)unused;
    for (size_t size = 0; size < TEXT_MAX; size++) {
        struct ends ends = new_ends(sequences[size % 4]);
        uint8_t bytes[FRAME_SIZE];
        const struct seal_frame frame = frame_in(bytes, size);

        seal(seals, &ends, bytes, size);
        assert_true(n_alike(bytes, size) < 8 + size / 16);
        assert_memory_equal(bytes, "head..", HEAD);
        assert_int_equal(seals_open(seals, &ends.in, &frame), TM_OK);
        assert_int_equal(n_alike(bytes, size), size);
        assert_true(ends.in.sequence == ends.out.sequence);
    }
}

static void plain_frames_can_be_read_and_not_changed(void **unused)
{
    struct ends ends = new_ends(3);
    uint8_t bytes[FRAME_SIZE];

    (void)unused;
    seal(plain, &ends, bytes, 40);
    assert_int_equal(n_alike(bytes, 40), 40);
    assert_true(opens(plain, &ends, bytes, 40));
    assert_false(opens(seals, &ends, bytes, 40));
    for (unsigned bit = 0; bit < 8 * (HEAD + 40 + SEAL_TAG_SIZE); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(opens(plain, &ends, bytes, 40));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void a_change_of_any_bit_is_refused(void **unused)
{
    struct ends ends = new_ends(5);
    uint8_t bytes[FRAME_SIZE];

    (void)unused;
    seal(seals, &ends, bytes, 40);
    for (unsigned bit = 0; bit < 8 * (HEAD + 40 + SEAL_TAG_SIZE); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(opens(seals, &ends, bytes, 40));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(opens(seals, &ends, bytes, 40));
}

static void any_other_length_is_refused(void **unused)
{
    struct ends ends = new_ends(5);
    uint8_t bytes[FRAME_SIZE] = {0};

    (void)unused;
    seal(seals, &ends, bytes, 40);
    for (size_t size = 0; size < 60; size++) {
        assert_int_equal(opens(seals, &ends, bytes, size), size == 40);
    }
}

static void frames_open_at_their_own_place_only(void **unused)
{
    struct ends ends = new_ends(0);
    uint8_t bytes[4][FRAME_SIZE];

    (void)unused;
    for (unsigned i = 0; i < 4; i++) {
        seal(seals, &ends, bytes[i], 40);
    }
    for (unsigned place = 0; place < 4; place++) {
        ends.in.sequence = place;
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(opens(seals, &ends, bytes[i], 40), i == place);
        }
    }
    assert_memory_not_equal(bytes[0], bytes[1], FRAME_SIZE - SEAL_TAG_SIZE);
    ends.in.sequence = 1ull << 32;
    assert_false(opens(seals, &ends, bytes[0], 40));
}

/** Two ends draw, show and agree; the second on what it has seen, `seen`.
 * @return 1 if they have the same keys */
static int do_agree(const struct seals *first, const struct seals *second,
                    const char *said, const char *seen)
{
    uint8_t secret[2][SEAL_KEY_SIZE];
    uint8_t shown[2][SEAL_KEY_SIZE];
    uint8_t keys[2][2 * SEAL_KEY_SIZE];

    seals_make_pair(first, secret[0], shown[0]);
    seals_make_pair(second, secret[1], shown[1]);
    assert_memory_not_equal(shown[0], shown[1], SEAL_KEY_SIZE);
    assert_int_equal(
        seals_agree(first, secret[0], shown[1], said, strlen(said), keys[0]),
        TM_OK);
    assert_int_equal(
        seals_agree(second, secret[1], shown[0], seen, strlen(seen), keys[1]),
        TM_OK);
    return memcmp(keys[0], keys[1], sizeof keys[0]) == 0;
}

static void ends_agree_on_keys_if_they_have_the_key_and_heard_the_same(
    void **unused)
{
    struct seals *other;

    (void)unused;
    assert_int_equal(seals_new(&other, other_key, 0), TM_OK);
    assert_true(do_agree(seals, seals, "said", "said"));
    assert_false(do_agree(seals, other, "said", "said"));
    assert_false(do_agree(seals, seals, "said", "Said"));
    seals_free(other);
}

static void keys_are_of_the_numbers_that_were_drawn(void **unused)
{
    uint8_t secret[SEAL_KEY_SIZE];
    uint8_t shown[2][SEAL_KEY_SIZE];
    uint8_t keys[2][2 * SEAL_KEY_SIZE];

    (void)unused;
    for (unsigned i = 0; i < 2; i++) {
        seals_make_pair(seals, secret, shown[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            seals_agree(seals, secret, shown[i], "said", 4, keys[i]), TM_OK);
    }
    assert_memory_not_equal(keys[0], keys[1], SEAL_KEY_SIZE);
    assert_memory_not_equal(keys[0] + SEAL_KEY_SIZE, keys[1] + SEAL_KEY_SIZE,
                            SEAL_KEY_SIZE);
}

static void a_number_that_gives_the_same_key_to_all_is_refused(void **unused)
{
    static const uint8_t zero[SEAL_KEY_SIZE];
    uint8_t secret[SEAL_KEY_SIZE];
    uint8_t shown[SEAL_KEY_SIZE];
    uint8_t keys[2 * SEAL_KEY_SIZE];

    (void)unused;
    seals_make_pair(seals, secret, shown);
    assert_int_equal(seals_agree(seals, secret, zero, "", 0, keys), TM_EWIRE);
}

static void a_mac_is_of_the_key_and_of_all_bytes(void **unused)
{
    uint8_t mac[4][SEAL_MAC_SIZE];
    struct seals *other;

    (void)unused;
    assert_int_equal(seals_new(&other, other_key, 0), TM_OK);
    seals_mac(seals, "ab", 2, "c", 1, mac[0]);
    seals_mac(seals, "a", 1, "bc", 2, mac[1]);
    seals_mac(seals, "ab", 2, "d", 1, mac[2]);
    seals_mac(other, "ab", 2, "c", 1, mac[3]);
    assert_true(seals_is_same(seals, mac[0], mac[1]));
    assert_false(seals_is_same(seals, mac[0], mac[2]));
    assert_false(seals_is_same(seals, mac[0], mac[3]));
    seals_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_is_opened_and_cannot_be_read_before),
        cmocka_unit_test(plain_frames_can_be_read_and_not_changed),
        cmocka_unit_test(a_change_of_any_bit_is_refused),
        cmocka_unit_test(any_other_length_is_refused),
        cmocka_unit_test(frames_open_at_their_own_place_only),
        cmocka_unit_test(
            ends_agree_on_keys_if_they_have_the_key_and_heard_the_same),
        cmocka_unit_test(keys_are_of_the_numbers_that_were_drawn),
        cmocka_unit_test(a_number_that_gives_the_same_key_to_all_is_refused),
        cmocka_unit_test(a_mac_is_of_the_key_and_of_all_bytes),
    };

    return cmocka_run_group_tests(tests, make_seals, free_seals);
}
