// SPDX-License-Identifier: BSD-3-Clause
#include "held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "output.h"
#include "seen.h"

#define LINE_MAX 64

static void open_held(struct held *held)
{
    static struct stream writers[1];
    const char *folder = getenv("TMPDIR");

    held_open(held, writers, folder != NULL ? folder : "/tmp");
}

static void add(struct held *held, uint64_t cut, const char *line)
{
    held_add(held, &(struct held_piece){.cut = cut,
                                        .writer = 7,
                                        .size = (uint32_t)strlen(line),
                                        .bytes = line});
}

static void expect(struct held *held, const char *line)
{
    struct held_piece piece;

    if (line == NULL) {
        assert_false(held_is_due(held));
        assert_false(held_take(held, &piece));
        return;
    }
    assert_true(held_is_due(held));
    assert_true(held_take(held, &piece));
    assert_int_equal(piece.writer, 7);
    assert_int_equal(piece.size, strlen(line));
    assert_memory_equal(piece.bytes, line, piece.size);
}

static void nothing_is_shown_before_a_checkpoint_is_behind_it(void **state)
{
    struct held held;

    (void)state;
    open_held(&held);
    add(&held, SEEN_PREPARING, "prepares\n");
    add(&held, 0, "a\n");
    expect(&held, NULL);
    add(&held, 1, "c\n");
    add(&held, 0, "b\n"); // of a node that is read later
    held_saved(&held, 1);
    expect(&held, "prepares\n");
    expect(&held, "a\n");
    expect(&held, "b\n");
    expect(&held, NULL);
    add(&held, 0, "late\n");
    expect(&held, "late\n");
    expect(&held, NULL);
    held_release(&held);
}

static void one_that_did_not_become_whole_changes_nothing(void **state)
{
    struct held held;

    (void)state;
    open_held(&held);
    add(&held, 1, "a\n");
    add(&held, 2, "b\n"); // 2 was not written
    add(&held, 3, "c\n");
    held_saved(&held, 1);
    expect(&held, NULL);
    held_saved(&held, 3);
    expect(&held, "a\n");
    expect(&held, "b\n");
    expect(&held, NULL);
    held_release(&held);
}

static void what_the_run_goes_back_behind_is_dropped(void **state)
{
    struct held held;

    (void)state;
    open_held(&held);
    add(&held, 0, "a\n");
    add(&held, 1, "b at 10:00\n");
    add(&held, 2, "c at 10:01\n");
    held_go_back(&held, 1);
    expect(&held, "a\n");
    expect(&held, NULL);
    add(&held, 1, "b at 10:07\n");
    held_saved(&held, 1000);
    expect(&held, "b at 10:07\n");
    expect(&held, NULL);
    held_release(&held);
}

static void from_the_beginning_all_comes_again(void **state)
{
    struct held held;

    (void)state;
    open_held(&held);
    add(&held, SEEN_PREPARING, "prepares\n");
    add(&held, 0, "a\n");
    held_go_back(&held, 0);
    expect(&held, NULL);
    held_end(&held);
    expect(&held, NULL);
    held_release(&held);
}

static void at_the_end_all_is_shown(void **state)
{
    struct held held;

    (void)state;
    open_held(&held);
    add(&held, 4, "b\n");
    add(&held, SEEN_PREPARING, "a\n");
    held_end(&held);
    expect(&held, "a\n");
    expect(&held, "b\n");
    add(&held, 4, "c\n");
    expect(&held, "c\n");
    expect(&held, NULL);
    held_release(&held);
}

/** The line that was the n-th of a part. */
static void name_line(char *line, uint64_t cut, unsigned n)
{
    snprintf(line, LINE_MAX, "%u of %u%*s\n", n, (unsigned)cut, (int)(n % 30),
             "");
}

static void what_is_much_goes_to_files(void **state)
{
    struct held held;
    char line[LINE_MAX];
    unsigned n_added[3] = {0};
    uint64_t random = 5;

    (void)state;
    open_held(&held);
    held.memory_max = 5000;
    for (unsigned i = 0; i < 60000; i++) {
        const uint64_t cut = random_index(&random, 3);

        name_line(line, cut, n_added[cut]++);
        add(&held, cut, line);
        assert_true(held.in_memory <= held.memory_max);
    }
    for (unsigned cut = 0; cut < 3; cut++) {
        assert_true(held.parts[cut].fd >= 0);
    }
    for (unsigned cut = 0; cut < 3; cut++) {
        held_saved(&held, cut + 1);
        for (unsigned n = 0; n < n_added[cut]; n++) {
            name_line(line, cut, n);
            expect(&held, line);
        }
        expect(&held, NULL);
    }
    assert_int_equal(held.in_memory, 0);
    assert_int_equal(held.error, 0);
    held_release(&held);
}

static void what_is_shown_may_grow_meanwhile(void **state)
{
    struct held held;
    char line[LINE_MAX];

    (void)state;
    open_held(&held);
    held.memory_max = 3000;
    held_saved(&held, 1);
    for (unsigned n = 0; n < 20000; n++) {
        name_line(line, 0, n);
        add(&held, 0, line);
        if (n % 2 == 1) {
            name_line(line, 0, n / 2);
            expect(&held, line);
        }
    }
    for (unsigned n = 10000; n < 20000; n++) {
        name_line(line, 0, n);
        expect(&held, line);
    }
    expect(&held, NULL);
    held_release(&held);
}

static void without_room_for_files_it_stays_in_memory(void **state)
{
    struct held held;
    char line[LINE_MAX];

    (void)state;
    open_held(&held);
    held.folder = "/proc/self/nothing";
    held.memory_max = 1000;
    for (unsigned n = 0; n < 1000; n++) {
        name_line(line, 0, n);
        add(&held, 0, line);
    }
    assert_int_not_equal(held.error, 0);
    held_end(&held);
    for (unsigned n = 0; n < 1000; n++) {
        name_line(line, 0, n);
        expect(&held, line);
    }
    expect(&held, NULL);
    held_release(&held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_shown_before_a_checkpoint_is_behind_it),
        cmocka_unit_test(one_that_did_not_become_whole_changes_nothing),
        cmocka_unit_test(what_the_run_goes_back_behind_is_dropped),
        cmocka_unit_test(from_the_beginning_all_comes_again),
        cmocka_unit_test(at_the_end_all_is_shown),
        cmocka_unit_test(what_is_much_goes_to_files),
        cmocka_unit_test(what_is_shown_may_grow_meanwhile),
        cmocka_unit_test(without_room_for_files_it_stays_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
