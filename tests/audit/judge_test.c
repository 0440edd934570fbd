// SPDX-License-Identifier: BSD-3-Clause
#include "judge.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { X = 0x1000, Y = 0x2fff, OBJECT = 0x7000, OTHER = 0x7040 };

static struct judge_access access(uint64_t thread, uint64_t address,
                                  uint64_t value)
{
    return (struct judge_access){.thread = thread,
                                 .address = address,
                                 .place = 100 + thread,
                                 .size = 4,
                                 .value = value};
}

static void reads(struct judge *judge, uint64_t thread, uint64_t address,
                  uint64_t value)
{
    const struct judge_access it = access(thread, address, value);

    judge_read(judge, &it);
}

static void writes(struct judge *judge, uint64_t thread, uint64_t address,
                   uint64_t value)
{
    const struct judge_access it = access(thread, address, value);

    judge_write(judge, &it);
}

// Threads 1 to 3, after main() has filled X and Y, which crosses pages.
static struct judge *begin(void)
{
    struct judge *judge = judge_new();

    judge_fill(judge, 0, X, 8, NULL, 5);
    judge_fill(judge, 0, Y, 8, NULL, 5);
    for (uint64_t thread = 1; thread <= 3; thread++) {
        judge_create(judge, 0, thread);
    }
    return judge;
}

static void ends(struct judge *judge, uint64_t n_wrong, uint64_t n_raced)
{
    const struct judge_counts counts = judge_counts(judge);

    assert_int_equal(counts.wrong, n_wrong);
    assert_int_equal(counts.raced, n_raced);
    assert_true((judge_wrong(judge, 0) != NULL) == (n_wrong > 0));
    judge_free(judge);
}

static void a_read_of_the_last_write_is_right(void **state)
{
    struct judge *judge = begin();

    (void)state;
    reads(judge, 2, Y, 0);
    judge_lock(judge, 1, OBJECT);
    writes(judge, 1, Y, 0x01020304);
    judge_unlock(judge, 1, OBJECT);
    judge_lock(judge, 2, OBJECT);
    reads(judge, 2, Y, 0x01020304);
    ends(judge, 0, 0);
}

static void a_read_of_an_older_write_is_wrong_and_told(void **state)
{
    struct judge *judge = begin();
    const struct judge_wrong *wrong;

    (void)state;
    judge_lock(judge, 1, OBJECT);
    writes(judge, 1, Y, 0x01020304);
    judge_unlock(judge, 1, OBJECT);
    judge_lock(judge, 2, OBJECT);
    reads(judge, 2, Y, 0x01000304);
    wrong = judge_wrong(judge, 0);
    assert_non_null(wrong);
    assert_int_equal(wrong->byte, Y + 2);
    assert_int_equal(wrong->is, 0);
    assert_int_equal(wrong->should, 2);
    assert_int_equal(wrong->writer, 1);
    assert_int_equal(wrong->write_place, 101);
    assert_int_equal(wrong->read.thread, 2);
    ends(judge, 1, 0);
}

static void what_is_not_ordered_is_not_judged(void **state)
{
    struct judge *judge = begin();

    (void)state;
    judge_lock(judge, 1, OBJECT);
    writes(judge, 1, X, 7);
    judge_unlock(judge, 1, OBJECT);
    judge_lock(judge, 2, OTHER); // another mutex
    reads(judge, 2, X, 0);
    reads(judge, 2, X, 9);
    ends(judge, 0, 2);
}

static void a_race_that_is_told_later_takes_the_suspicion_back(void **state)
{
    struct judge *judge = begin();

    (void)state;
    reads(judge, 2, X, 7);
    assert_int_equal(judge_counts(judge).wrong, 1);
    writes(judge, 1, X, 7);
    ends(judge, 0, 1);
}

static void a_later_write_that_is_ordered_does_not(void **state)
{
    struct judge *judge = begin();

    (void)state;
    reads(judge, 2, X, 7);
    judge_unlock(judge, 2, OBJECT);
    judge_lock(judge, 1, OBJECT);
    writes(judge, 1, X, 7);
    ends(judge, 1, 0);
}

static void bytes_whose_writes_race_are_left_out_until_allocated(void **state)
{
    struct judge *judge = begin();

    (void)state;
    writes(judge, 1, X, 1);
    writes(judge, 2, X, 2);
    judge_join(judge, 0, 1);
    judge_join(judge, 0, 2);
    reads(judge, 0, X, 1);
    writes(judge, 0, X, 3);
    reads(judge, 0, X, 2);
    judge_fill(judge, 0, X, 8, NULL, 5);
    reads(judge, 0, X, 3);
    ends(judge, 1, 2);
}

static void a_barrier_orders_all_before_it_and_no_more(void **state)
{
    struct judge *judge = begin();

    (void)state;
    judge_barrier(judge, OBJECT, 2);
    writes(judge, 1, X, 1);
    judge_arrive(judge, 2, OBJECT);
    judge_arrive(judge, 1, OBJECT);
    judge_depart(judge, 1, OBJECT);
    writes(judge, 1, Y, 2);
    judge_arrive(judge, 1, OBJECT); // once more, before 2 has left
    judge_depart(judge, 2, OBJECT);
    reads(judge, 2, X, 0); // wrong
    reads(judge, 2, Y, 0); // not ordered: that is the next time
    ends(judge, 1, 1);
}

static void a_semaphore_orders_behind_its_only_post(void **state)
{
    struct judge *judge = begin();

    (void)state;
    judge_semaphore(judge, 0, OBJECT, 0);
    writes(judge, 1, X, 1);
    judge_post(judge, 1, OBJECT);
    judge_wait(judge, 2, OBJECT);
    reads(judge, 2, X, 0);
    ends(judge, 1, 0);
}

static void of_two_posts_nobody_knows_which(void **state)
{
    struct judge *judge = begin();

    (void)state;
    judge_semaphore(judge, 0, OBJECT, 0);
    writes(judge, 1, X, 1);
    judge_post(judge, 1, OBJECT);
    judge_post(judge, 3, OBJECT);
    judge_wait(judge, 2, OBJECT);
    reads(judge, 2, X, 0);
    ends(judge, 0, 1);
}

static void use(struct judge *judge, uint64_t thread, uint64_t was)
{
    struct judge_access read = access(thread, X, was);
    struct judge_access write = access(thread, X, was + 1);

    judge_atomic_end(judge, thread, X, &read, &write);
}

static void atomic_functions_are_judged_one_by_one(void **state)
{
    struct judge *judge = begin();

    (void)state;
    judge_atomic_begin(judge, 1, X);
    use(judge, 1, 0);
    judge_atomic_begin(judge, 2, X);
    use(judge, 2, 0); // the first one was lost
    ends(judge, 1, 0);
}

static void two_atomic_functions_at_a_time_are_not_judged(void **state)
{
    struct judge *judge = begin();

    (void)state;
    judge_atomic_begin(judge, 1, X);
    judge_atomic_begin(judge, 2, X);
    use(judge, 2, 1);
    use(judge, 1, 0);
    judge_atomic_begin(judge, 3, X);
    use(judge, 3, 2);
    judge_atomic_begin(judge, 1, X);
    use(judge, 1, 4); // known again: it is 3
    ends(judge, 1, 1);
}

static void what_a_thread_wrote_its_joiner_reads(void **state)
{
    struct judge *judge = begin();

    (void)state;
    writes(judge, 1, X, 1);
    judge_join(judge, 0, 1);
    reads(judge, 0, X, 0);
    writes(judge, 2, Y, 1);
    reads(judge, 0, Y, 0); // not joined yet
    ends(judge, 1, 1);
}

static void bytes_of_unknown_origin_are_not_judged(void **state)
{
    struct judge *judge = begin();

    (void)state;
    reads(judge, 1, 0x9000, 77);
    assert_int_equal(judge_counts(judge).unknown, 1);
    ends(judge, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_of_the_last_write_is_right),
        cmocka_unit_test(a_read_of_an_older_write_is_wrong_and_told),
        cmocka_unit_test(what_is_not_ordered_is_not_judged),
        cmocka_unit_test(a_race_that_is_told_later_takes_the_suspicion_back),
        cmocka_unit_test(a_later_write_that_is_ordered_does_not),
        cmocka_unit_test(bytes_whose_writes_race_are_left_out_until_allocated),
        cmocka_unit_test(a_barrier_orders_all_before_it_and_no_more),
        cmocka_unit_test(a_semaphore_orders_behind_its_only_post),
        cmocka_unit_test(of_two_posts_nobody_knows_which),
        cmocka_unit_test(atomic_functions_are_judged_one_by_one),
        cmocka_unit_test(two_atomic_functions_at_a_time_are_not_judged),
        cmocka_unit_test(what_a_thread_wrote_its_joiner_reads),
        cmocka_unit_test(bytes_of_unknown_origin_are_not_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
