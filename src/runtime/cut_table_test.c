// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/cut_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { N_STRETCHES = 40, N_GENERATIONS = 60 };

static struct stretch make_stretch(page_no page, uint64_t contents)
{
    struct stretch stretch = {.page = page * STRETCH_PAGES, .which = 3};

    memcpy(stretch.digest, &contents, sizeof contents);
    stretch.place = (struct checkpoint_place){contents, contents};
    return stretch;
}

// @return 1 it was kept
static int put_stretch(struct cut_table *table, struct cut_table *parent,
                       page_no page, uint64_t contents)
{
    const struct stretch now = make_stretch(page, contents);
    const struct stretch *found = cut_table_find(parent, &now);

    if (found != NULL) {
        assert_int_equal(found->place.offset, contents);
        cut_table_keep(table, parent, found);
    } else {
        cut_table_add(table, &now);
    }
    return found != NULL;
}

// A generation whose stretches have these contents. @return how many were kept
static unsigned make_generation(struct cut_table *table, uint64_t generation,
                                struct cut_table *parent,
                                const uint64_t *contents, unsigned n)
{
    unsigned n_kept = 0;

    cut_table_begin(table, generation, 1, parent, CHECKPOINT_OLDER_MAX);
    for (unsigned i = 0; i < n; i++) {
        n_kept += (unsigned)put_stretch(table, parent, i, contents[i]);
    }
    return n_kept;
}

static void what_has_not_changed_is_kept_and_what_has_is_not(void **state)
{
    uint64_t contents[4] = {10, 11, 12, 13};
    struct cut_table none = {0};
    struct cut_table first;
    struct cut_table second;

    (void)state;
    assert_int_equal(make_generation(&first, 1, &none, contents, 4), 0);
    contents[2] = 99;
    assert_int_equal(make_generation(&second, 3, &first, contents, 4), 3);
    assert_int_equal(second.n, 4);
    assert_int_equal(second.sources[0].n_used, 1);
    assert_int_equal(second.sources[1].n_used, 3);
    assert_int_equal(second.sources[1].file.generation, 1);
    assert_int_equal(second.sources[1].file.index, 1);
    cut_table_release(&first);
    cut_table_release(&second);
}

static void other_pages_of_a_stretch_are_another_stretch(void **state)
{
    struct cut_table none = {0};
    struct cut_table parent;
    struct cut_table table;
    struct stretch stretch = make_stretch(5, 7);

    (void)state;
    cut_table_begin(&parent, 1, 0, &none, CHECKPOINT_OLDER_MAX);
    cut_table_add(&parent, &stretch);
    cut_table_begin(&table, 2, 0, &parent, CHECKPOINT_OLDER_MAX);
    stretch.which = 1; // one has become zero
    assert_null(cut_table_find(&parent, &stretch));
    cut_table_release(&parent);
    cut_table_release(&table);
}

static void without_its_files_nothing_of_a_parent_is_kept(void **state)
{
    const uint64_t contents[2] = {1, 2};
    const struct stretch now = make_stretch(0, 1);
    struct cut_table none = {0};
    struct cut_table parent;
    struct cut_table table;

    (void)state;
    make_generation(&parent, 1, &none, contents, 2);
    cut_table_begin(&table, 2, 0, &parent, CHECKPOINT_OLDER_MAX);
    assert_int_equal(table.n_sources, 2);
    cut_table_forget_parent(&table, &parent);
    assert_int_equal(table.n_sources, 1);
    assert_null(cut_table_find(&parent, &now));
    cut_table_release(&parent);
    cut_table_release(&table);
}

static void a_file_of_which_less_than_half_is_used_is_let_go(void **state)
{
    uint64_t contents[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct cut_table none = {0};
    struct cut_table tables[3];

    (void)state;
    make_generation(&tables[0], 1, &none, contents, 10);
    for (unsigned i = 0; i < 6; i++) {
        contents[i] += 100;
    }
    assert_int_equal(make_generation(&tables[1], 2, &tables[0], contents, 10),
                     4);
    assert_int_equal(make_generation(&tables[2], 3, &tables[1], contents, 10),
                     6);
    for (unsigned i = 0; i < 3; i++) {
        cut_table_release(&tables[i]);
    }
}

// Those that the most stretches are kept of.
static void older_files_are_no_more_than_there_may_be(void **state)
{
    uint64_t contents[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct cut_table none = {0};
    struct cut_table tables[4];

    (void)state;
    make_generation(&tables[0], 1, &none, contents, 8);
    contents[0] = 10;
    make_generation(&tables[1], 2, &tables[0], contents, 8);
    contents[1] = 11;
    contents[2] = 12;
    make_generation(&tables[2], 3, &tables[1], contents, 8);
    assert_int_equal(tables[2].n_sources, 3);
    cut_table_begin(&tables[3], 4, 1, &tables[2], 1);
    assert_int_equal(tables[3].n_sources, 2);
    assert_int_equal(tables[3].sources[1].file.generation, 1);
    for (unsigned i = 0; i < 4; i++) {
        cut_table_release(&tables[i]);
    }
}

static void as_much_is_expected_as_was_written(void **state)
{
    uint64_t contents[4] = {10, 11, 12, 13};
    struct cut_table none = {0};
    struct cut_table first;
    struct cut_table second;

    (void)state;
    assert_int_equal(cut_table_expect(&none, 1000), 1000);
    make_generation(&first, 1, &none, contents, 4);
    assert_int_equal(cut_table_expect(&first, 1000), 1000);
    contents[2] = 99;
    make_generation(&second, 2, &first, contents, 4);
    assert_int_equal(cut_table_expect(&second, 1000), 250);
    cut_table_release(&first);
    cut_table_release(&second);
}

// What is said of the files must be so.
static void check(const struct cut_table *table, const uint64_t *contents,
                  uint64_t n_of_file[N_GENERATIONS + 1])
{
    uint64_t n_used[CHECKPOINT_OLDER_MAX + 1] = {0};

    assert_in_range(table->n_sources, 1, CHECKPOINT_OLDER_MAX + 1);
    assert_int_equal(table->n, N_STRETCHES);
    for (size_t i = 0; i < table->n; i++) {
        assert_int_equal(table->stretches[i].place.offset, contents[i]);
        assert_in_range(table->stretches[i].source, 0, table->n_sources - 1);
        n_used[table->stretches[i].source]++;
    }
    n_of_file[table->generation] = n_used[0];
    for (unsigned i = 0; i < table->n_sources; i++) {
        const struct cut_source *source = &table->sources[i];

        assert_int_equal(source->n_used, n_used[i]);
        assert_int_equal(source->n_stretches,
                         n_of_file[source->file.generation]);
    }
}

static void whatever_changes_files_are_few_and_say_what_they_have(void **state)
{
    uint64_t seed = 4711;
    uint64_t contents[N_STRETCHES];
    uint64_t n_of_file[N_GENERATIONS + 1] = {0};
    struct cut_table tables[2] = {0};

    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (unsigned i = 0; i < N_STRETCHES; i++) {
        contents[i] = random_next(&seed);
    }
    for (unsigned generation = 1; generation <= N_GENERATIONS; generation++) {
        struct cut_table *table = &tables[generation % 2];

        for (uint64_t n = random_index(&seed, 4); n > 0; n--) {
            contents[random_index(&seed, N_STRETCHES)] = random_next(&seed);
        }
        cut_table_release(table);
        make_generation(table, generation, &tables[(generation + 1) % 2],
                        contents, N_STRETCHES);
        check(table, contents, n_of_file);
    }
    cut_table_release(&tables[0]);
    cut_table_release(&tables[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_not_changed_is_kept_and_what_has_is_not),
        cmocka_unit_test(other_pages_of_a_stretch_are_another_stretch),
        cmocka_unit_test(without_its_files_nothing_of_a_parent_is_kept),
        cmocka_unit_test(a_file_of_which_less_than_half_is_used_is_let_go),
        cmocka_unit_test(older_files_are_no_more_than_there_may_be),
        cmocka_unit_test(as_much_is_expected_as_was_written),
        cmocka_unit_test(whatever_changes_files_are_few_and_say_what_they_have),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
