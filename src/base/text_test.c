// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_does_not_fit_is_cut_and_counted(void **state)
{
    char bytes[6] = "";
    struct text text = {bytes, sizeof bytes, 0};

    (void)state;
    text_add(&text, "%d-", 12);
    assert_string_equal(bytes, "12-");
    text_add(&text, "%s", "345");
    assert_string_equal(bytes, "12-34");
    text_add(&text, "67");
    assert_string_equal(bytes, "12-34");
    assert_int_equal(text.length, 8);
}

static void a_text_without_room_is_counted(void **state)
{
    struct text text = {0};

    (void)state;
    text_add(&text, "%s", "four");
    assert_int_equal(text.length, 4);
}

static void a_word_is_one_for_a_shell(void **state)
{
    static const char *const words[][2] = {
        {"n3.lab:22", "n3.lab:22"}, {"--web=:80", "--web=:80"}, {"", "''"},
        {"a b", "'a b'"},           {"it's", "'it'\\''s'"},     {"$x", "'$x'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char bytes[32] = "";
        struct text text = {bytes, sizeof bytes, 0};

        text_add_word(&text, words[i][0]);
        assert_string_equal(bytes, words[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_cut_and_counted),
        cmocka_unit_test(a_text_without_room_is_counted),
        cmocka_unit_test(a_word_is_one_for_a_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
