// SPDX-License-Identifier: BSD-3-Clause
#include "base/status.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { LAST_STATUS = TM_ETIMEDOUT };

static void each_status_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (tm_status a = TM_OK; a >= LAST_STATUS; a--) {
        const char *text = tm_strerror(a);

        assert_non_null(text);
        assert_true(strlen(text) > 0);
        assert_string_not_equal(text, "unknown status");
        assert_true(text[strlen(text) - 1] != '.');
        for (tm_status b = a - 1; b >= LAST_STATUS; b--) {
            assert_string_not_equal(text, tm_strerror(b));
        }
    }
}

static void other_numbers_are_unknown(void **state)
{
    static const tm_status others[] = {1, LAST_STATUS - 1, INT_MAX, INT_MIN,
                                       INT_MIN + 1};

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_string_equal(tm_strerror(others[i]), "unknown status");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_has_a_text_of_its_own),
        cmocka_unit_test(other_numbers_are_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
