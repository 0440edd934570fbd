// SPDX-License-Identifier: BSD-3-Clause
#include "net/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_NODES 4u
#define TEXT_MAX 300u

static const uint8_t job_key[SEAL_KEY_SIZE] = "a key of the test, not random..";
static const uint8_t other_key[SEAL_KEY_SIZE] =
    "a key of some other run.......";
static const char head[6] = "head..";

static struct seals *all[N_NODES];

static int make_seals(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < N_NODES; i++) {
        if (seals_new(&all[i], job_key, (node_id)i, N_NODES) != TM_OK) {
            return -1;
        }
    }
    return 0;
}

static int free_seals(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < N_NODES; i++) {
        seals_free(all[i]);
    }
    return 0;
}

static struct seal_frame frame_of(uint64_t sequence)
{
    return (struct seal_frame){sequence, head, sizeof head};
}

/** Node 1 seals for node 2. @param[out] sealed  [size + SEAL_TAG_SIZE] */
static void seal_for_2(uint64_t sequence, uint8_t *sealed, size_t size)
{
    struct seal_frame frame = frame_of(sequence);

    for (size_t i = 0; i < size; i++) {
        sealed[i] = (uint8_t)(i * 7);
    }
    seals_seal(all[1], 2, &frame, sealed, size);
}

static tm_status open_at(unsigned self, node_id from, uint64_t sequence,
                         const uint8_t *sealed, size_t size)
{
    struct seal_frame frame = frame_of(sequence);
    uint8_t text[TEXT_MAX + SEAL_TAG_SIZE];

    return seals_open(all[self], from, &frame, sealed, size, text);
}

static void what_was_sealed_is_opened_and_cannot_be_read_before(void **unused)
{
    static const uint64_t sequences[] = {0, 1, 1ull << 32, UINT64_MAX};

    (void)unused;
    for (size_t size = 0; size < TEXT_MAX; size++) {
        struct seal_frame frame = frame_of(sequences[size % 4]);
        uint8_t sealed[TEXT_MAX + SEAL_TAG_SIZE];
        uint8_t text[TEXT_MAX];
        unsigned n_alike = 0;

        seal_for_2(frame.sequence, sealed, size);
        for (size_t i = 0; i < size; i++) {
            n_alike += sealed[i] == (uint8_t)(i * 7);
        }
        assert_true(n_alike < 8 + size / 16);
        assert_int_equal(
            seals_open(all[2], 1, &frame, sealed, size + SEAL_TAG_SIZE, text),
            TM_OK);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(text[i], (uint8_t)(i * 7));
        }
    }
}

static void a_change_of_any_bit_is_refused(void **unused)
{
    uint8_t sealed[40 + SEAL_TAG_SIZE];

    (void)unused;
    seal_for_2(5, sealed, 40);
    for (unsigned bit = 0; bit < 8 * sizeof sealed; bit++) {
        sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(open_at(2, 1, 5, sealed, sizeof sealed), TM_EWIRE);
        sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(open_at(2, 1, 5, sealed, sizeof sealed), TM_OK);
}

static void any_other_length_is_refused(void **unused)
{
    uint8_t sealed[40 + SEAL_TAG_SIZE + 1] = {0};

    (void)unused;
    seal_for_2(5, sealed, 40);
    for (size_t size = 0; size <= sizeof sealed; size++) {
        assert_int_equal(open_at(2, 1, 5, sealed, size),
                         size == 40 + SEAL_TAG_SIZE ? TM_OK : TM_EWIRE);
    }
}

static void another_place_sender_or_receiver_is_refused(void **unused)
{
    uint8_t sealed[40 + SEAL_TAG_SIZE];
    struct seal_frame frame = {5, "Head..", sizeof head};
    uint8_t text[40];

    (void)unused;
    seal_for_2(5, sealed, 40);
    assert_int_equal(open_at(2, 1, 6, sealed, sizeof sealed), TM_EWIRE);
    assert_int_equal(open_at(2, 1, 5 + (1ull << 32), sealed, sizeof sealed),
                     TM_EWIRE);
    assert_int_equal(open_at(2, 3, 5, sealed, sizeof sealed), TM_EWIRE);
    assert_int_equal(open_at(3, 1, 5, sealed, sizeof sealed), TM_EWIRE);
    // Sent back to its sender.
    assert_int_equal(open_at(1, 2, 5, sealed, sizeof sealed), TM_EWIRE);
    assert_int_equal(seals_open(all[2], 1, &frame, sealed, sizeof sealed, text),
                     TM_EWIRE);
}

static void another_run_is_refused(void **unused)
{
    struct seal_frame frame = frame_of(5);
    uint8_t sealed[40 + SEAL_TAG_SIZE];
    uint8_t text[40];
    struct seals *other;

    (void)unused;
    assert_int_equal(seals_new(&other, other_key, 2, N_NODES), TM_OK);
    seal_for_2(5, sealed, 40);
    assert_int_equal(seals_open(other, 1, &frame, sealed, sizeof sealed, text),
                     TM_EWIRE);
    seals_free(other);
}

static void equal_texts_are_sealed_differently(void **unused)
{
    uint8_t first[40 + SEAL_TAG_SIZE];
    uint8_t second[40 + SEAL_TAG_SIZE];

    (void)unused;
    seal_for_2(5, first, 40);
    seal_for_2(5, second, 40);
    assert_memory_equal(first, second, sizeof first);
    seal_for_2(6, second, 40);
    assert_memory_not_equal(first, second, sizeof first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_is_opened_and_cannot_be_read_before),
        cmocka_unit_test(a_change_of_any_bit_is_refused),
        cmocka_unit_test(any_other_length_is_refused),
        cmocka_unit_test(another_place_sender_or_receiver_is_refused),
        cmocka_unit_test(another_run_is_refused),
        cmocka_unit_test(equal_texts_are_sealed_differently),
    };

    return cmocka_run_group_tests(tests, make_seals, free_seals);
}
