// SPDX-License-Identifier: BSD-3-Clause
#include "base/web_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect_place(const char *text, const char *host, unsigned port)
{
    struct web_address at;

    assert_int_equal(web_address_read(text, &at), 1);
    assert_int_equal(at.is_wanted, 1);
    assert_string_equal(at.host, host);
    assert_int_equal(at.port, port);
}

static void a_place_is_of_this_machine_unless_told(void **state)
{
    (void)state;
    expect_place("auto", "127.0.0.1", 0);
    expect_place("8080", "127.0.0.1", 8080);
    expect_place("0.0.0.0:65535", "0.0.0.0", 65535);
    expect_place("[::1]:80", "::1", 80);
    expect_place("[::]:0", "::", 0);
}

static void none_is_no_place(void **state)
{
    struct web_address at;

    (void)state;
    assert_int_equal(web_address_read("none", &at), 1);
    assert_int_equal(at.is_wanted, 0);
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const texts[] = {
        "",         "65536",        "host:80",      ":80",
        "1.2.3:80", "1.2.3.4",      "1.2.3.4:",     "::1:80",
        "[::1]80",  "[::1]",        "[1.2.3.4]:80", "8080x",
        "-1",       "1.2.3.4:80:1",
    };
    struct web_address at;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(web_address_read(texts[i], &at), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_of_this_machine_unless_told),
        cmocka_unit_test(none_is_no_place),
        cmocka_unit_test(what_is_no_address_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
