// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/bootstrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct node_card full_card(void)
{
    struct node_card card = {
        .build_id = "0123456789abcdef0123456789abcdef01234567",
        .layout_hash = 0x1122334455667788,
        .canary = 0xfedcba9876543200,
        .page_size = 4096,
        .pid = 4711,
        .options = "eager-release 262144",
        .capacity = {.host = "n1", .mflops = 1500, .memory_free = 1 << 30},
        .address_size = 300,
        .layout = "555555554000 1000 prog\n7ffff7c00000 2000 libc.so.6\n",
    };

    node_card_set_version(&card);
    for (unsigned i = 0; i < card.address_size; i++) {
        card.address[i] = (uint8_t)(i * 7);
    }
    return card;
}

static void expect_equal(const struct node_card *a, const struct node_card *b)
{
    assert_string_equal(a->version, b->version);
    assert_string_equal(a->build_id, b->build_id);
    assert_int_equal(a->layout_hash, b->layout_hash);
    assert_int_equal(a->canary, b->canary);
    assert_int_equal(a->page_size, b->page_size);
    assert_int_equal(a->pid, b->pid);
    assert_string_equal(a->options, b->options);
    assert_string_equal(a->capacity.host, b->capacity.host);
    assert_int_equal((int)a->capacity.mflops, (int)b->capacity.mflops);
    assert_int_equal(a->capacity.memory_free, b->capacity.memory_free);
    assert_int_equal(a->address_size, b->address_size);
    assert_memory_equal(a->address, b->address, a->address_size);
    assert_string_equal(a->layout, b->layout);
}

static void a_card_survives_its_encoding(void **state)
{
    static uint8_t bytes[NODE_CARD_MAX];
    struct node_card card = full_card();
    struct node_card copy;
    size_t used = 0;
    size_t size = node_card_encode(&card, bytes, sizeof bytes);

    (void)state;
    assert_true(size > 0);
    assert_int_equal(node_card_decode(bytes, size, &copy, &used), TM_OK);
    assert_int_equal(used, size);
    expect_equal(&card, &copy);
}

static void the_largest_card_fits_the_room_promised(void **state)
{
    static uint8_t bytes[NODE_CARD_MAX];
    static struct node_card card;
    static struct node_card copy;
    size_t used = 0;
    size_t size;

    (void)state;
    memset(card.version, 'v', sizeof card.version - 1);
    memset(card.build_id, 'b', sizeof card.build_id - 1);
    memset(card.options, 'o', sizeof card.options - 1);
    memset(card.layout, 'l', sizeof card.layout - 1);
    card.address_size = sizeof card.address;
    size = node_card_encode(&card, bytes, sizeof bytes);
    assert_true(size > 0);
    assert_int_equal(node_card_decode(bytes, size, &copy, &used), TM_OK);
    expect_equal(&card, &copy);
    assert_int_equal(node_card_encode(&card, bytes, size - 1), 0);
}

static void a_card_cut_anywhere_is_refused(void **state)
{
    static uint8_t bytes[NODE_CARD_MAX];
    struct node_card card = full_card();
    struct node_card copy;
    size_t size = node_card_encode(&card, bytes, sizeof bytes);

    (void)state;
    for (size_t length = 0; length < size; length++) {
        uint8_t *exact = malloc(length > 0 ? length : 1); // ASan sees its end
        size_t used = 0;

        memcpy(exact, bytes, length);
        assert_int_equal(node_card_decode(exact, length, &copy, &used),
                         TM_EWIRE);
        free(exact);
    }
}

static void random_bytes_do_no_harm(void **state)
{
    static uint8_t bytes[NODE_CARD_MAX];
    unsigned seed = (unsigned)time(NULL);
    struct node_card card = full_card();
    struct node_card copy;

    (void)state;
    print_message("seed %u\n", seed);
    for (int round = 0; round < 2000; round++) {
        size_t size = node_card_encode(&card, bytes, sizeof bytes);
        size_t used = 0;

        for (int i = 0; i < 3; i++) {
            bytes[(size_t)rand_r(&seed) % size] = (uint8_t)rand_r(&seed);
        }
        if (node_card_decode(bytes, size, &copy, &used) == TM_OK) {
            assert_true(used <= size);
            assert_true(copy.address_size <= sizeof copy.address);
        }
    }
}

static void expect_difference(const struct node_card *other, const char *a,
                              const char *b)
{
    struct node_card card = full_card();
    char text[1024] = "";

    assert_int_equal(node_card_compare(&card, other, 0, 3, text, sizeof text),
                     TM_EMISMATCH);
    if (strstr(text, a) == NULL || strstr(text, b) == NULL ||
        strstr(text, "node 0") == NULL || strstr(text, "node 3") == NULL ||
        strchr(text, '\n') != NULL) {
        fail_msg("'%s' does not name '%s' and '%s'", text, a, b);
    }
}

static void a_difference_is_told_with_both_values(void **state)
{
    struct node_card card = full_card();
    char version[sizeof card.version];

    (void)state;
    strcpy(version, card.version);
    strcpy(card.version, "9.9.9 wire 8");
    expect_difference(&card, version, "9.9.9 wire 8");
    card = full_card();
    strcpy(card.build_id, "feedbeef");
    expect_difference(&card, "0123456789abcdef", "feedbeef");
    card = full_card();
    strcpy(card.options, "sequential 65536");
    expect_difference(&card, "eager-release 262144", "sequential 65536");
    card = full_card();
    card.page_size = 16384;
    expect_difference(&card, "4096", "16384");
}

static void a_layout_difference_names_the_first_mapping(void **state)
{
    struct node_card card = full_card();

    (void)state;
    card.layout_hash++;
    strcpy(card.layout, "555555554000 1000 prog\n7ffff7a00000 2000 libc.so.6\n"
                        "7ffff7b00000 1000 libextra.so\n");
    expect_difference(&card, "7ffff7c00000 2000 libc.so.6",
                      "7ffff7a00000 2000 libc.so.6");
    strcpy(card.layout, "");
    expect_difference(&card, "\"555555554000 1000 prog\"", "\"\"");
}

static void a_layout_difference_without_text_shows_the_hashes(void **state)
{
    struct node_card card = full_card();

    (void)state;
    card.layout_hash++;
    expect_difference(&card, "1122334455667788", "1122334455667789");
}

static void what_may_differ_makes_no_difference(void **state)
{
    struct node_card card = full_card();
    struct node_card other = full_card();
    char text[256] = "untouched";

    (void)state;
    other.pid++;
    other.canary++;
    other.address_size = 2;
    assert_int_equal(node_card_compare(&card, &other, 0, 1, text, sizeof text),
                     TM_OK);
    assert_string_equal(text, "untouched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_card_survives_its_encoding),
        cmocka_unit_test(the_largest_card_fits_the_room_promised),
        cmocka_unit_test(a_card_cut_anywhere_is_refused),
        cmocka_unit_test(random_bytes_do_no_harm),
        cmocka_unit_test(a_difference_is_told_with_both_values),
        cmocka_unit_test(a_layout_difference_names_the_first_mapping),
        cmocka_unit_test(a_layout_difference_without_text_shows_the_hashes),
        cmocka_unit_test(what_may_differ_makes_no_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
