// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/options.h"

static void forget(void)
{
    for (unsigned i = 0; i < n_option_rows; i++) {
        unsetenv(option_rows[i].variable);
    }
}

/** @return the bytes of node 0, whose variables are then forgotten */
static size_t encode(char *bytes)
{
    size_t size = settings_encode(bytes);

    assert_true(size > 0);
    forget();
    return size;
}

static void what_must_be_equal_is_node_0s(void **state)
{
    char bytes[SETTINGS_MAX];
    size_t size;

    (void)state;
    forget();
    setenv("TEAMSTER_PROTOCOL", "sequential", 1);
    size = encode(bytes);
    setenv("TEAMSTER_PROTOCOL", "eager-release", 1);
    setenv("TEAMSTER_POLICY", "none", 1);
    assert_int_equal(settings_adopt(bytes, size), TM_OK);
    assert_string_equal(getenv("TEAMSTER_PROTOCOL"), "sequential");
    assert_null(getenv("TEAMSTER_POLICY"));
}

static void what_a_node_is_like_is_its_own(void **state)
{
    char bytes[SETTINGS_MAX];
    size_t size;

    (void)state;
    forget();
    setenv("TEAMSTER_SPEED", "500", 1);
    setenv("TEAMSTER_MEMORY", "64M", 1);
    setenv("TEAMSTER_NODES", "7", 1);
    size = encode(bytes);
    setenv("TEAMSTER_SPEED", "400", 1);
    assert_int_equal(settings_adopt(bytes, size), TM_OK);
    assert_string_equal(getenv("TEAMSTER_SPEED"), "400");
    assert_string_equal(getenv("TEAMSTER_MEMORY"), "64M");
    assert_null(getenv("TEAMSTER_NODES"));
}

static void what_is_cut_or_too_long_is_refused(void **state)
{
    char bytes[SETTINGS_MAX];
    size_t size;

    (void)state;
    forget();
    setenv("TEAMSTER_PROTOCOL", "sequential", 1);
    size = encode(bytes);
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(settings_adopt(bytes, cut), TM_EWIRE);
    }
    bytes[size] = 0;
    assert_int_equal(settings_adopt(bytes, size + 1), TM_EWIRE);
}

static void too_many_of_them_are_refused(void **state)
{
    char bytes[SETTINGS_MAX];
    char *text = calloc(1, SETTINGS_MAX + 1);

    (void)state;
    forget();
    for (unsigned i = 0; i < SETTINGS_MAX; i++) {
        text[i] = 'x';
    }
    setenv("TEAMSTER_SWAP_DIR", text, 1);
    assert_int_equal(settings_encode(bytes), 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_must_be_equal_is_node_0s),
        cmocka_unit_test(what_a_node_is_like_is_its_own),
        cmocka_unit_test(what_is_cut_or_too_long_is_refused),
        cmocka_unit_test(too_many_of_them_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
