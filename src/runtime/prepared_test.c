// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/prepared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct prepared prepare(const char *const *calls, uint64_t result)
{
    struct prepared prepared = {.is_followed = 1};

    for (; *calls != NULL; calls++) {
        prepared_note_call(&prepared, *calls);
        prepared_note_result(&prepared, result);
    }
    return prepared;
}

static const char *const usual[] = {"tm_alloc",         "tm_mutex_lock",
                                    "tm_thread_create", "tm_alloc",
                                    "tm_thread_join",   NULL};
static const char *const longer[] = {
    "tm_alloc", "tm_mutex_lock", "tm_thread_create",
    "tm_alloc", "tm_alloc",      "tm_thread_join",
    NULL};
static const char *const beside[] = {"tm_thread_create", "tm_mutex_lock", NULL};

static void the_same_calls_are_the_same(void **state)
{
    const struct prepared first = prepare(usual, 7);
    const struct prepared again = prepare(usual, 7);

    (void)state;
    assert_null(first.spoilt);
    assert_int_equal(first.hash, again.hash);
    assert_int_equal(first.n_calls, 5);
}

static void other_calls_and_other_results_differ(void **state)
{
    const struct prepared first = prepare(usual, 7);
    const struct prepared other = prepare(usual, 8);
    const struct prepared more = prepare(longer, 7);

    (void)state;
    assert_int_not_equal(first.hash, other.hash);
    assert_int_not_equal(first.hash, more.hash);
}

static void what_depends_on_threads_spoils_it(void **state)
{
    const struct prepared prepared = prepare(beside, 0);

    (void)state;
    assert_string_equal(prepared.spoilt, "tm_mutex_lock");
    assert_false(prepared.has_gone_on);
}

static void so_does_going_on_from_the_wait(void **state)
{
    struct prepared prepared = prepare(usual, 0);
    const uint64_t hash = prepared.hash;

    (void)state;
    prepared_begin_wait(&prepared);
    assert_true(prepared.is_waiting);
    prepared_end_wait(&prepared);
    assert_false(prepared.is_waiting);
    assert_true(prepared.has_gone_on);
    assert_string_equal(prepared.spoilt, "tm_thread_join");
    prepared_note_call(&prepared, "tm_thread_join");
    prepared_begin_wait(&prepared);
    assert_false(prepared.is_waiting);
    assert_int_equal(prepared.hash, hash);
}

static void who_prepares_again_is_told_what_it_was(void **state)
{
    struct prepared prepared = {.is_repeated = 1, .n_told = 4};

    (void)state;
    assert_int_equal(prepared_n_nodes(&prepared, 2), 4);
    assert_int_equal(prepared_node(&prepared, 2, 3), 1);
    assert_int_equal(prepared_node(&prepared, 2, 4), 4); // there was none
    prepared.is_repeated = 0;
    assert_int_equal(prepared_n_nodes(&prepared, 2), 2);
    assert_int_equal(prepared_node(&prepared, 2, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_calls_are_the_same),
        cmocka_unit_test(other_calls_and_other_results_differ),
        cmocka_unit_test(what_depends_on_threads_spoils_it),
        cmocka_unit_test(so_does_going_on_from_the_wait),
        cmocka_unit_test(who_prepares_again_is_told_what_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
