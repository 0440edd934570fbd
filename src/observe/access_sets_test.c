// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "observe/access_sets.h"

enum { N_PAGES = 1000, N_RUNS = 50 };

static uint8_t body[N_RUNS * WIRE_SIZE_access_run];

static struct wire_access_run run_at(unsigned i)
{
    return (struct wire_access_run){
        .page = (i * 37) % 900,
        .n_pages = 1 + i % 9,
        .flags = (uint16_t)(i % 2 ? USE_READ : USE_READ | USE_WRITE),
        .diff_bytes = (uint16_t)(i % 2 ? 0 : i * 80),
    };
}

static uint32_t write_runs(unsigned first, unsigned n)
{
    struct wire_writer writer = {body, body + sizeof body, 0};

    for (unsigned i = first; i < first + n; i++) {
        struct wire_access_run run = run_at(i);

        wire_put_access_run(&writer, &run);
    }
    return (uint32_t)(writer.at - body);
}

static void check_uses(const struct access_sets *sets, uint64_t thread,
                       unsigned first, unsigned n_runs)
{
    size_t n;
    const struct page_use *uses = access_sets_find(sets, thread, &n);
    size_t at = 0;

    assert_non_null(uses);
    for (unsigned i = first; i < first + n_runs; i++) {
        struct wire_access_run run = run_at(i);

        for (uint32_t k = 0; k < run.n_pages; k++, at++) {
            assert_int_equal(uses[at].page, run.page + k);
            assert_int_equal(uses[at].flags, run.flags);
            assert_int_equal(uses[at].diff_bytes, run.diff_bytes);
        }
    }
    assert_int_equal(at, n);
}

static void sets_come_out_as_they_were_sent(void **state)
{
    static const struct node_tracking said = {.took_ns = 5, .before_ns = 3};
    struct access_sets *sets = access_sets_new(7, 3, N_PAGES);
    size_t n_runs;

    (void)state;
    assert_int_equal(access_sets_round(sets), 7);
    assert_int_equal(access_sets_add(sets, 2, 42, body, write_runs(0, 10)),
                     TM_OK);
    assert_int_equal(access_sets_add(sets, 1, 17, body, write_runs(5, 3)),
                     TM_OK);
    assert_int_equal(access_sets_add(sets, 2, 42, body, write_runs(10, 40)),
                     TM_OK);
    for (unsigned node = 0; node < 3; node++) {
        assert_false(access_sets_is_complete(sets));
        assert_int_equal(access_sets_done(sets, (node_id)node, &said), TM_OK);
    }
    assert_true(access_sets_is_complete(sets));
    assert_true(access_sets_is_whole(sets));
    assert_int_equal(access_sets_node(sets, 1)->took_ns, 5);
    assert_int_equal(access_sets_n_threads(sets), 2);
    assert_int_equal(access_sets_at(sets, 0)->thread, 17);
    assert_int_equal(access_sets_at(sets, 1)->thread, 42);
    assert_int_equal(access_sets_at(sets, 1)->node, 2);
    assert_int_equal(access_sets_at(sets, 1)->n_runs, 50);
    assert_int_equal(access_sets_expand(sets), TM_OK);
    check_uses(sets, 17, 5, 3);
    check_uses(sets, 42, 0, 50);
    assert_null(access_sets_find(sets, 18, &n_runs));
    assert_int_equal(n_runs, 0);
    access_sets_free(sets);
}

static void many_threads_are_told_apart(void **state)
{
    enum { N_THREADS = 5000 };
    static const struct node_tracking said;
    struct access_sets *sets = access_sets_new(1, 1, N_PAGES);

    (void)state;
    for (unsigned i = 0; i < 2 * N_THREADS; i++) {
        unsigned thread = i * 7919 % N_THREADS;

        assert_int_equal(access_sets_add(sets, 0, (uint64_t)thread << 32 | 1,
                                         body, write_runs(thread % 40, 2)),
                         TM_OK);
    }
    assert_int_equal(access_sets_done(sets, 0, &said), TM_OK);
    assert_int_equal(access_sets_n_threads(sets), N_THREADS);
    for (unsigned i = 0; i < N_THREADS; i++) {
        const struct thread_accesses *thread = access_sets_at(sets, i);

        assert_int_equal(thread->thread, (uint64_t)i << 32 | 1);
        assert_int_equal(thread->runs[0].page, run_at(i % 40).page);
        assert_int_equal(thread->n_runs, 4);
    }
    access_sets_free(sets);
}

static void refuse(struct access_sets *sets, node_id node, uint32_t size)
{
    assert_int_equal(access_sets_add(sets, node, 3, body, size), TM_EWIRE);
    assert_int_equal(access_sets_n_threads(sets), 0);
}

static void refuse_run(struct access_sets *sets, struct wire_access_run run)
{
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct wire_access_run good = run_at(0);

    wire_put_access_run(&writer, &good);
    wire_put_access_run(&writer, &run);
    refuse(sets, 0, 2 * WIRE_SIZE_access_run);
}

static void what_makes_no_sense_is_refused(void **state)
{
    static const struct wire_access_run bad[] = {
        {.page = N_PAGES, .n_pages = 1, .flags = USE_READ},
        {.page = UINT64_MAX, .n_pages = 2, .flags = USE_READ},
        {.page = 1, .n_pages = 0, .flags = USE_READ},
        {.page = 1, .n_pages = N_PAGES, .flags = USE_READ},
        {.page = 1, .n_pages = UINT32_MAX, .flags = USE_READ},
        {.page = 1, .n_pages = 1, .flags = 0},
        {.page = 1, .n_pages = 1, .flags = 4},
        {.page = 1, .n_pages = 1, .flags = USE_READ, .diff_bytes = 1},
        {.page = 1, .n_pages = 1, .flags = USE_WRITE, .diff_bytes = 4097},
    };
    static const struct node_tracking said;
    struct access_sets *sets = access_sets_new(1, 2, N_PAGES);

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse_run(sets, bad[i]);
    }
    for (uint32_t size = 0; size < 4 * WIRE_SIZE_access_run; size++) {
        write_runs(0, 4);
        if (size % WIRE_SIZE_access_run != 0) {
            refuse(sets, 0, size);
        }
    }
    refuse(sets, 2, write_runs(0, 1)); // there is no such node
    assert_int_equal(access_sets_done(sets, 2, &said), TM_EWIRE);
    assert_int_equal(access_sets_done(sets, 1, &said), TM_OK);
    assert_int_equal(access_sets_done(sets, 1, &said), TM_EWIRE);
    refuse(sets, 1, write_runs(0, 1)); // it is done
    assert_false(access_sets_is_whole(sets));
    access_sets_free(sets);
}

static void random_bodies_change_nothing_but_what_they_may(void **state)
{
    struct access_sets *sets = access_sets_new(1, 1, N_PAGES);

    (void)state;
    srand(1);
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t size = (uint32_t)rand() % sizeof body;

        write_runs(0, N_RUNS);
        for (unsigned k = (unsigned)rand() % 4; k > 0; k--) {
            body[(unsigned)rand() % sizeof body] = (uint8_t)rand();
        }
        if (access_sets_add(sets, 0, (uint64_t)rand() % 8, body, size) ==
            TM_OK) {
            assert_int_equal(size % WIRE_SIZE_access_run, 0);
        }
    }
    for (uint32_t i = 0; i < access_sets_n_threads(sets); i++) {
        const struct thread_accesses *thread = access_sets_at(sets, i);

        for (size_t k = 0; k < thread->n_runs; k++) {
            assert_true(thread->runs[k].page + thread->runs[k].n_pages <=
                        N_PAGES);
        }
    }
    access_sets_free(sets);
}

static void who_uses_no_pages_is_known_to(void **state)
{
    static const struct node_tracking said;
    struct access_sets *sets = access_sets_new(1, 1, N_PAGES);
    size_t n_uses = 1;

    (void)state;
    assert_int_equal(access_sets_add(sets, 0, 3, NULL, 0), TM_OK);
    assert_int_equal(access_sets_done(sets, 0, &said), TM_OK);
    assert_int_equal(access_sets_expand(sets), TM_OK);
    assert_non_null(access_sets_find(sets, 3, &n_uses));
    assert_int_equal(n_uses, 0);
    assert_null(access_sets_find(sets, 4, &n_uses));
    access_sets_free(sets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_come_out_as_they_were_sent),
        cmocka_unit_test(many_threads_are_told_apart),
        cmocka_unit_test(who_uses_no_pages_is_known_to),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(random_bodies_change_nothing_but_what_they_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
