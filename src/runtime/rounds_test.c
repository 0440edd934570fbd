// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "mem/random_numbers_test.h"

enum { N_WORKERS = 3, N_THREADS = 9 };

struct test {
    struct rounds rounds;
    struct round_place places[N_THREADS];
    unsigned n_over;
};

static int begin(void **state)
{
    static struct test test;

    memset(&test, 0, sizeof test);
    *state = &test;
    return rounds_init(&test.rounds, N_WORKERS) == TM_OK ? 0 : 1;
}

static int end(void **state)
{
    struct test *test = *state;

    rounds_release(&test->rounds);
    return 0;
}

/** W1: who is listed is so once, in the round that its place names. */
static void check(const struct test *test)
{
    unsigned n_listed[N_THREADS] = {0};

    for (unsigned worker = 0; worker < N_WORKERS; worker++) {
        const struct round *round = &test->rounds.of_worker[worker];

        for (uint32_t i = 0; i < round->n; i++) {
            const uint32_t thread = round->threads[i];

            n_listed[thread]++;
            assert_int_equal(n_listed[thread], 1);
            assert_true(
                rounds_is_over(&test->rounds, worker, &test->places[thread]));
        }
    }
}

static void arrive(struct test *test, unsigned worker, uint32_t thread)
{
    struct round_place *place = &test->places[thread];

    if (rounds_is_over(&test->rounds, worker, place)) {
        rounds_next(&test->rounds, worker);
        test->n_over++;
    }
    rounds_arrive(&test->rounds, worker, thread, place);
    check(test);
}

static void leave(struct test *test, uint32_t thread)
{
    rounds_leave(&test->rounds, thread, &test->places[thread]);
    check(test);
}

static void expect(const struct test *test, unsigned worker, uint32_t n,
                   const uint32_t *threads)
{
    const struct round *round = &test->rounds.of_worker[worker];

    assert_int_equal(round->n, n);
    assert_memory_equal(round->threads, threads, n * sizeof *threads);
}

static void test_a_round_lists_threads_as_they_arrive(void **state)
{
    struct test *test = *state;
    const uint32_t order[] = {3, 1, 2};

    for (unsigned i = 0; i < 3; i++) {
        arrive(test, 0, order[i]);
    }
    expect(test, 0, 3, order);
    assert_int_equal(test->n_over, 0);
    arrive(test, 0, 3);
    expect(test, 0, 1, order);
    assert_int_equal(test->n_over, 1);
}

static void test_who_goes_and_comes_back_in_a_round_is_listed_once(void **state)
{
    struct test *test = *state;
    const uint32_t first[] = {2};
    const uint32_t both[] = {2, 1};

    arrive(test, 0, 1);
    arrive(test, 0, 2);
    arrive(test, 1, 1);
    expect(test, 0, 1, first);
    arrive(test, 0, 1);
    expect(test, 0, 2, both);
    expect(test, 1, 0, both);
    assert_int_equal(test->n_over, 0);
}

static void test_who_leaves_the_node_is_listed_where_it_comes_back(void **state)
{
    struct test *test = *state;
    const uint32_t one[] = {1};

    arrive(test, 0, 1);
    leave(test, 1);
    arrive(test, 1, 1);
    expect(test, 0, 0, one);
    arrive(test, 0, 1);
    expect(test, 0, 1, one);
    expect(test, 1, 0, one);
}

static void test_random_threads_are_listed_once(void **state)
{
    struct test *test = *state;

    seed_random();
    for (unsigned i = 0; i < 20000; i++) {
        const uint64_t random = next_random();
        const uint32_t thread = (uint32_t)(random >> 8) % N_THREADS;

        if (random % 16 == 0) {
            leave(test, thread);
        } else {
            arrive(test, (unsigned)(random >> 32) % N_WORKERS, thread);
        }
    }
    assert_true(test->n_over > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_round_lists_threads_as_they_arrive, begin, end),
        cmocka_unit_test_setup_teardown(
            test_who_goes_and_comes_back_in_a_round_is_listed_once, begin, end),
        cmocka_unit_test_setup_teardown(
            test_who_leaves_the_node_is_listed_where_it_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(test_random_threads_are_listed_once,
                                        begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
