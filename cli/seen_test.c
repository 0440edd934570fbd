// SPDX-License-Identifier: BSD-3-Clause
#include "seen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

static int is_new(struct seen *seen, uint64_t cut, const char *line)
{
    return seen_is_new(seen, cut, line, strlen(line));
}

static void lines_since_the_cut_are_not_shown_again(void **state)
{
    struct seen seen = {0};

    (void)state;
    assert_true(is_new(&seen, 0, "before\n"));
    assert_true(is_new(&seen, 1, "a\n"));
    assert_true(is_new(&seen, 1, "b\n"));
    seen_saved(&seen, 1);
    seen_go_back(&seen, 1);
    assert_false(is_new(&seen, 1, "b\n"));
    assert_false(is_new(&seen, 1, "a\n"));
    assert_true(is_new(&seen, 1, "a\n")); // the second of its kind
    assert_true(is_new(&seen, 1, "before\n"));
    assert_int_equal(seen_settle(&seen), 0);
    seen_release(&seen);
}

static void a_line_that_came_twice_is_dropped_twice(void **state)
{
    struct seen seen = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_true(is_new(&seen, 3, "again\n"));
    }
    seen_go_back(&seen, 3);
    for (int i = 0; i < 2; i++) {
        assert_false(is_new(&seen, 3, "again\n"));
    }
    assert_true(is_new(&seen, 3, "again\n"));
    seen_release(&seen);
}

static void what_was_dropped_is_dropped_after_the_next_loss_too(void **state)
{
    struct seen seen = {0};

    (void)state;
    assert_true(is_new(&seen, 2, "one\n"));
    assert_true(is_new(&seen, 2, "two\n"));
    seen_go_back(&seen, 2);
    assert_false(is_new(&seen, 2, "one\n"));
    seen_go_back(&seen, 2); // lost again, between the two
    assert_false(is_new(&seen, 2, "one\n"));
    assert_false(is_new(&seen, 2, "two\n"));
    assert_true(is_new(&seen, 2, "three\n"));
    seen_release(&seen);
}

static void lines_before_the_older_checkpoint_are_forgotten(void **state)
{
    struct seen seen = {0};

    (void)state;
    assert_true(is_new(&seen, 0, "start\n"));
    seen_saved(&seen, 1);
    assert_true(is_new(&seen, 1, "first\n"));
    assert_int_equal(seen.n_kept, 2);
    seen_saved(&seen, 2);
    assert_true(is_new(&seen, 2, "second\n"));
    assert_int_equal(seen.n_kept, 2);
    seen_go_back(&seen, 1); // the newer one is torn
    assert_false(is_new(&seen, 1, "first\n"));
    assert_false(is_new(&seen, 1, "second\n"));
    assert_true(is_new(&seen, 1, "start\n"));
    seen_release(&seen);
}

static void it_may_fall_back_again_and_farther(void **state)
{
    struct seen seen = {0};

    (void)state;
    seen_saved(&seen, 1);
    assert_true(is_new(&seen, 1, "first\n"));
    seen_saved(&seen, 2);
    assert_true(is_new(&seen, 2, "second\n"));
    seen_go_back(&seen, 2);
    assert_false(is_new(&seen, 2, "second\n"));
    seen_go_back(&seen, 1); // its files were torn meanwhile
    assert_false(is_new(&seen, 1, "first\n"));
    assert_false(is_new(&seen, 1, "second\n"));
    assert_true(is_new(&seen, 1, "third\n"));
    seen_release(&seen);
}

static void too_many_lines_are_so_until_they_are_not_needed(void **state)
{
    struct seen seen = {.n_kept = UINT64_C(1) << 40};

    (void)state;
    assert_true(is_new(&seen, SEEN_PREPARING, "apart\n"));
    assert_false(seen.is_overfull);
    assert_true(is_new(&seen, 0, "one too many\n"));
    assert_true(seen.is_overfull);
    seen_saved(&seen, 1);
    assert_true(seen.is_overfull); // the beginning may be gone back to
    seen_saved(&seen, 2);
    assert_false(seen.is_overfull);
    seen_release(&seen);
}

static void main_prepares_again_and_is_not_heard(void **state)
{
    struct seen seen = {0};

    (void)state;
    assert_true(is_new(&seen, SEEN_PREPARING, "welcome\n"));
    assert_true(is_new(&seen, 0, "go\n"));
    seen_saved(&seen, 1);
    seen_saved(&seen, 2);
    for (int i = 0; i < 3; i++) {
        seen_go_back(&seen, 2);
        assert_false(is_new(&seen, SEEN_PREPARING, "welcome\n"));
        assert_true(is_new(&seen, 2, "welcome\n") == (i == 0));
    }
    seen_release(&seen);
}

static void from_the_beginning_all_comes_again(void **state)
{
    struct seen seen = {0};

    (void)state;
    assert_true(is_new(&seen, SEEN_PREPARING, "welcome\n"));
    assert_true(is_new(&seen, SEEN_PREPARING, "of a thread\n"));
    assert_true(is_new(&seen, 0, "of another\n"));
    seen_go_back(&seen, 0);
    assert_false(is_new(&seen, SEEN_PREPARING, "of another\n"));
    assert_false(is_new(&seen, SEEN_PREPARING, "welcome\n"));
    assert_false(is_new(&seen, 0, "of a thread\n"));
    assert_true(is_new(&seen, 0, "of a thread\n"));
    seen_release(&seen);
}

static void what_does_not_come_again_is_counted_once(void **state)
{
    struct seen seen = {0};

    (void)state;
    assert_true(is_new(&seen, 1, "took 1.2 s\n"));
    assert_true(is_new(&seen, 1, "took 1.2 s\n"));
    seen_go_back(&seen, 1);
    assert_true(is_new(&seen, 1, "took 1.3 s\n"));
    assert_int_equal(seen_settle(&seen), 2);
    assert_int_equal(seen_settle(&seen), 0);
    assert_true(is_new(&seen, 1, "took 1.2 s\n"));
    seen_release(&seen);
}

static void the_runtimes_own_lines_are_always_shown(void **state)
{
    struct seen seen = {.never = "teamster: "};

    (void)state;
    assert_true(is_new(&seen, 1, "teamster: n1: warning: hot\n"));
    seen_go_back(&seen, 1);
    assert_true(is_new(&seen, 1, "teamster: n1: warning: hot\n"));
    assert_int_equal(seen_settle(&seen), 0);
    seen_release(&seen);
}

static void a_mark_is_known_by_its_token(void **state)
{
    struct seen seen = {.token = "0123456789abcdef"};
    char mark[SEEN_MARK + 1];

    (void)state;
    snprintf(mark, sizeof mark, "%ccut 0123456789abcdef %016x", '\0', 0x4e21u);
    assert_true(seen_is_mark(&seen, mark, SEEN_MARK));
    assert_int_equal(seen_mark(mark), 0x4e21);
    for (size_t i = 0; i < SEEN_MARK; i++) {
        assert_true(seen_is_mark(&seen, mark, i));
        mark[i] ^= '\x40';
        assert_false(seen_is_mark(&seen, mark, SEEN_MARK));
        mark[i] ^= '\x40';
    }
    seen.token[0] = '\0';
    assert_false(seen_is_mark(&seen, mark, 1));
}

// A program that writes numbered lines and is lost again and again, at any line, before and
// after checkpoints: each line is shown once.
static void each_line_is_shown_once_however_often_it_goes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct seen seen = {0};
        unsigned shown[200] = {0};
        uint64_t random = seed;
        uint64_t generation = 0; // that the run would go back to
        unsigned begins = 0;     // the first line after that
        uint64_t cut = 0;

        for (unsigned line = 0; line < 200; line++) {
            char text[32];

            snprintf(text, sizeof text, "line %u\n", line);
            shown[line] += (unsigned)is_new(&seen, cut, text);
            if (random_index(&random, 10) == 0) {
                cut = cut / 1000 * 1000 + cut % 1000 + 1;
                if (random_index(&random, 2) == 0) {
                    generation = cut;
                    begins = line + 1;
                    seen_saved(&seen, cut);
                }
            } else if (random_index(&random, 30) == 0) {
                seen_go_back(&seen, generation);
                line = begins - 1;
                cut = generation;
            }
        }
        for (unsigned line = 0; line < 200; line++) {
            assert_int_equal(shown[line], 1);
        }
        assert_int_equal(seen_settle(&seen), 0);
        seen_release(&seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_since_the_cut_are_not_shown_again),
        cmocka_unit_test(a_line_that_came_twice_is_dropped_twice),
        cmocka_unit_test(what_was_dropped_is_dropped_after_the_next_loss_too),
        cmocka_unit_test(lines_before_the_older_checkpoint_are_forgotten),
        cmocka_unit_test(it_may_fall_back_again_and_farther),
        cmocka_unit_test(too_many_lines_are_so_until_they_are_not_needed),
        cmocka_unit_test(main_prepares_again_and_is_not_heard),
        cmocka_unit_test(from_the_beginning_all_comes_again),
        cmocka_unit_test(what_does_not_come_again_is_counted_once),
        cmocka_unit_test(the_runtimes_own_lines_are_always_shown),
        cmocka_unit_test(a_mark_is_known_by_its_token),
        cmocka_unit_test(each_line_is_shown_once_however_often_it_goes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
