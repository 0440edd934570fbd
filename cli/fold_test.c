// SPDX-License-Identifier: BSD-3-Clause
#include "fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define N_NODES 12u
#define N_TEXTS 4u
#define LINES_MAX 4000u

static const char *const names[N_NODES] = {
    "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11",
};

static int node_says(struct fold *fold, unsigned node, const char *text)
{
    char line[256];
    const int size = snprintf(line, sizeof line, "teamster: %s%s%s\n",
                              names[node], text[0] == '\0' ? "" : ": ", text);

    return fold_take(fold, names[node], line, (size_t)size, 1000);
}

static void expect_lines(struct fold *fold, const char *expected)
{
    struct buffer lines = {0};

    fold_flush(fold, &lines);
    buffer_append(&lines, "", 1);
    assert_string_equal(buffer_front(&lines), expected);
    buffer_release(&lines);
    assert_int_equal(fold->due_ns, 0);
}

static void lines_alike_become_one(void **state)
{
    struct fold fold = {0};

    (void)state;
    node_says(&fold, 10, "warning: no room");
    node_says(&fold, 2, "warning: no room");
    node_says(&fold, 2, "it ends");
    node_says(&fold, 0, "warning: no room");
    node_says(&fold, 1, "other");
    node_says(&fold, 10, "it ends");
    expect_lines(&fold, "teamster: n0 n2 n10: warning: no room\n"
                        "teamster: n2 n10: it ends\n"
                        "teamster: n1: other\n");
    expect_lines(&fold, "");
    fold_release(&fold);
}

static void what_a_node_says_twice_is_there_twice(void **state)
{
    struct fold fold = {0};

    (void)state;
    node_says(&fold, 1, "a");
    node_says(&fold, 1, "b");
    node_says(&fold, 1, "a");
    node_says(&fold, 2, "b");
    node_says(&fold, 2, "a");
    node_says(&fold, 2, "a");
    expect_lines(&fold, "teamster: n1: a\n"
                        "teamster: n1 n2: b\n"
                        "teamster: n1 n2: a\n"
                        "teamster: n2: a\n");
    fold_release(&fold);
}

static void who_does_not_know_its_name_yet_is_named(void **state)
{
    static const char line[] = "teamster: bad: value\n";
    struct fold fold = {0};

    (void)state;
    assert_true(fold_take(&fold, names[3], line, sizeof line - 1, 1000));
    expect_lines(&fold, line);
    for (unsigned i = 1; i < 4; i++) {
        assert_true(fold_take(&fold, names[i], line, sizeof line - 1, 1000));
    }
    expect_lines(&fold, "teamster: n1 n2 n3: bad: value\n");
    fold_release(&fold);
}

static void other_lines_are_not_taken(void **state)
{
    static const char *const others[] = {"teamste", "\n", "my own words\n",
                                         "teamster run: all\n"};
    struct fold fold = {0};

    (void)state;
    assert_false(node_says(&fold, 1, "debug: it begins"));
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(
            fold_take(&fold, names[1], others[i], strlen(others[i]), 1000));
    }
    expect_lines(&fold, "");
    assert_true(node_says(&fold, 1, "debugging is over"));
    assert_true(node_says(&fold, 2, ""));
    expect_lines(&fold, "teamster: n1: debugging is over\nteamster: n2\n");
    fold_release(&fold);
}

static void what_the_launcher_says_waits_behind_them(void **state)
{
    struct fold fold = {0};

    (void)state;
    assert_false(fold_add(&fold, "teamster run: it begins"));
    node_says(&fold, 1, "full");
    assert_true(fold_add(&fold, "teamster run: it ends"));
    node_says(&fold, 2, "full");
    node_says(&fold, 1, "full");
    assert_true(fold_add(&fold, "teamster: n3: full"));
    node_says(&fold, 3, "full");
    expect_lines(&fold, "teamster: n1 n2 n3: full\n"
                        "teamster run: it ends\n"
                        "teamster: n1: full\n"
                        "teamster: n3: full\n");
    fold_release(&fold);
}

static void the_first_says_how_long_it_takes(void **state)
{
    static const char line[] = "teamster: n1: slow\n";
    struct fold fold = {0};
    uint64_t due_ns;

    (void)state;
    assert_int_equal(fold.due_ns, 0);
    fold_take(&fold, names[1], line, sizeof line - 1, 5000);
    due_ns = fold.due_ns;
    assert_true(due_ns > 5000);
    fold_take(&fold, names[2], line, sizeof line - 1, 9000);
    assert_int_equal(fold.due_ns, due_ns);
    fold_release(&fold);
}

/** What each node has said, as letters. */
struct said {
    char letters[N_NODES][LINES_MAX + 1];
    unsigned n[N_NODES];
};

static void note_said(struct said *said, unsigned node, char letter)
{
    assert_true(said->n[node] < LINES_MAX);
    said->letters[node][said->n[node]++] = letter;
}

static unsigned node_of(const char *name)
{
    unsigned node = 0;

    while (strcmp(names[node], name) != 0) {
        node++;
        assert_true(node < N_NODES);
    }
    return node;
}

static void hear_line(struct said *heard, char *line)
{
    char *colon = strchr(line, ':');
    char *rest = NULL;

    assert_non_null(colon);
    *colon = '\0';
    for (char *name = strtok_r(line, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        note_said(heard, node_of(name), colon[2]);
    }
}

static void hear(struct said *heard, struct fold *fold)
{
    struct buffer lines = {0};
    char *rest = NULL;

    fold_flush(fold, &lines);
    buffer_append(&lines, "", 1);
    for (char *line = strtok_r(buffer_front(&lines), "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_memory_equal(line, "teamster: ", 10);
        hear_line(heard, line + 10);
    }
    buffer_release(&lines);
}

static void all_is_said_in_order(void **state)
{
    static struct said said;
    static struct said heard;
    struct fold fold = {0};
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    for (unsigned step = 0; step < LINES_MAX; step++) {
        const unsigned node = (unsigned)rand_r(&seed) % N_NODES;
        const char text[2] = {(char)('a' + (unsigned)rand_r(&seed) % N_TEXTS)};

        note_said(&said, node, text[0]);
        if (!node_says(&fold, node, text)) { // it is full
            hear(&heard, &fold);
            assert_true(node_says(&fold, node, text));
        }
        if (rand_r(&seed) % 50 == 0) {
            hear(&heard, &fold);
        }
    }
    hear(&heard, &fold);
    assert_memory_equal(&said, &heard, sizeof said);
    fold_release(&fold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_alike_become_one),
        cmocka_unit_test(what_a_node_says_twice_is_there_twice),
        cmocka_unit_test(who_does_not_know_its_name_yet_is_named),
        cmocka_unit_test(other_lines_are_not_taken),
        cmocka_unit_test(what_the_launcher_says_waits_behind_them),
        cmocka_unit_test(the_first_says_how_long_it_takes),
        cmocka_unit_test(all_is_said_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
