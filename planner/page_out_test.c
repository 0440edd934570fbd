// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "planner/report_page_priv.h"

static char *written(void (*write)(FILE *file, const char *text),
                     const char *text)
{
    char *bytes = NULL;
    size_t size;
    FILE *file = open_memstream(&bytes, &size);

    assert_non_null(file);
    write(file, text);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static void nothing_in_a_text_is_markup(void **state)
{
    char *text =
        written(page_text, "<script>alert('a\"b')</script> & \x01\x7f");

    (void)state;
    assert_string_equal(text, "&lt;script&gt;alert(&#39;a&quot;b&#39;)"
                              "&lt;/script&gt; &amp; ??");
    free(text);
    text = written(page_text, "Gr\xc3\xb6\xc3\x9f"
                              "e");
    assert_string_equal(text, "Gr\xc3\xb6\xc3\x9f"
                              "e");
    free(text);
}

static void a_title_cannot_end_its_element(void **state)
{
    char *text = written(page_begin, "</title><script>");

    (void)state;
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "&lt;/title&gt;&lt;script&gt;"));
    free(text);
}

static void numbers_have_units_and_three_digits(void **state)
{
    char text[32];

    (void)state;
    assert_string_equal(page_time(0.0859, text), "85.9 ms");
    assert_string_equal(page_time(1.5, text), "1.50 s");
    assert_string_equal(page_time(123e-6, text), "123 us");
    assert_string_equal(page_percent(0.61, text), "61 %");
    assert_string_equal(page_percent(0.0451, text), "4.5 %");
    assert_string_equal(page_percent(1, text), "100 %");
    assert_string_equal(page_count(1234567, text), "1 234 567");
    assert_string_equal(page_count(0, text), "0");
    assert_string_equal(page_count(999, text), "999");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_a_text_is_markup),
        cmocka_unit_test(a_title_cannot_end_its_element),
        cmocka_unit_test(numbers_have_units_and_three_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
