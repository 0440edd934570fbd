// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/tokens.h"

static void a_token_finds_its_object_once(void **state)
{
    struct tokens tokens;
    int object;
    uint32_t token;

    (void)state;
    tokens_init(&tokens);
    token = tokens_give(&tokens, &object);
    assert_int_not_equal(token, 0);
    assert_ptr_equal(tokens_take(&tokens, token), &object);
    assert_null(tokens_take(&tokens, token));
    tokens_release(&tokens);
}

static void numbers_that_were_not_given_find_nothing(void **state)
{
    struct tokens tokens;
    int object;
    uint32_t token;

    (void)state;
    tokens_init(&tokens);
    assert_null(tokens_take(&tokens, 0));
    assert_null(tokens_take(&tokens, 0xffffffff));
    token = tokens_give(&tokens, &object);
    assert_null(tokens_take(&tokens, token ^ 1));
    assert_null(tokens_take(&tokens, token + 256));
    assert_ptr_equal(tokens_take(&tokens, token), &object);
    tokens_release(&tokens);
}

static void a_token_that_is_looked_at_stays(void **state)
{
    struct tokens tokens;
    int object;
    uint32_t token;

    (void)state;
    tokens_init(&tokens);
    assert_null(tokens_find(&tokens, 1));
    token = tokens_give(&tokens, &object);
    assert_ptr_equal(tokens_find(&tokens, token), &object);
    assert_ptr_equal(tokens_find(&tokens, token), &object);
    assert_null(tokens_find(&tokens, token + 1));
    assert_null(tokens_find(&tokens, UINT32_MAX));
    assert_ptr_equal(tokens_take(&tokens, token), &object);
    assert_null(tokens_find(&tokens, token));
    tokens_release(&tokens);
}

static void a_slot_used_again_refuses_its_old_token(void **state)
{
    struct tokens tokens;
    int object;
    uint32_t old;
    uint32_t token;

    (void)state;
    tokens_init(&tokens);
    old = tokens_give(&tokens, &object);
    tokens_take(&tokens, old);
    token = tokens_give(&tokens, &object);
    assert_int_equal(token >> 8, old >> 8);
    assert_null(tokens_take(&tokens, old));
    assert_ptr_equal(tokens_take(&tokens, token), &object);
    tokens_release(&tokens);
}

static void thousands_are_told_apart(void **state)
{
    enum { N = 5000 };
    static int objects[N];
    static uint32_t given[N];
    struct tokens tokens;

    (void)state;
    tokens_init(&tokens);
    for (int i = 0; i < N; i++) {
        given[i] = tokens_give(&tokens, &objects[i]);
    }
    for (int i = N - 1; i >= 0; i -= 2) {
        assert_ptr_equal(tokens_take(&tokens, given[i]), &objects[i]);
    }
    for (int i = 0; i < N; i += 2) {
        assert_ptr_equal(tokens_take(&tokens, given[i]), &objects[i]);
    }
    tokens_release(&tokens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_finds_its_object_once),
        cmocka_unit_test(numbers_that_were_not_given_find_nothing),
        cmocka_unit_test(a_token_that_is_looked_at_stays),
        cmocka_unit_test(a_slot_used_again_refuses_its_old_token),
        cmocka_unit_test(thousands_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
