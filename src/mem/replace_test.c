// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "mem/random_numbers_test.h"
#include "mem/replace.h"
#include "mem/replace_valid_test.h"

#define PAGES 400u
#define THREADS 9u
#define WORKERS 3u
#define SET 80u
#define LOOKBACK 6u

/* ---- a model that writes the future down, and searches it ---- */

struct model_thread {
    uint32_t pages[SET];
    uint32_t n;
    int worker; ///< -1: none
    int is_open;
    uint32_t progress;
    uint32_t from;
};

struct model {
    struct replace *replace;
    struct model_thread threads[THREADS];
    struct {
        uint32_t order[THREADS];
        uint32_t n;
        int turn; ///< index in the order; -1: none
    } workers[WORKERS];
    uint8_t is_resident[PAGES];
    uint32_t stamps[PAGES];
    uint32_t touches;
    uint32_t n_resident;
    uint32_t n_workers; ///< that were ever named
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/** Where a thread was when last seen, less the lookback. */
static void place(const struct model *model, struct model_thread *thread)
{
    uint32_t lookback = least(LOOKBACK, thread->n / 4);
    uint32_t behind =
        least(lookback, model->n_resident / 8 / model->n_workers) + 1;

    thread->from = thread->progress > behind ? thread->progress - behind : 0;
}

/** How many uses of a worker come before a page's next; UINT64_MAX: it has
 * none. */
static uint64_t uses_before(const struct model *model, unsigned w, page_no page)
{
    uint64_t best = UINT64_MAX;
    uint64_t at = 0;
    int turn = model->workers[w].turn;
    uint32_t n = model->workers[w].n;

    // What is open now, then one sweep, which ends with the same turn.
    for (uint32_t i = 0; i < n; i++) {
        const struct model_thread *thread =
            &model->threads[model->workers[w].order[i]];

        for (uint32_t q = thread->from; thread->is_open && q < thread->n; q++) {
            if (thread->pages[q] == page && q - thread->from < best) {
                best = q - thread->from;
            }
        }
        if (turn == (int)i && thread->is_open) {
            at = thread->n - thread->from;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct model_thread *thread =
            &model->threads[model->workers[w]
                                .order[((uint32_t)(turn + 1) + i) % n]];

        for (uint32_t q = 0; q < thread->n; q++, at++) {
            if (thread->pages[q] == page && at < best) {
                best = at;
            }
        }
    }
    return best;
}

static uint64_t next_use_of(const struct model *model, page_no page)
{
    uint64_t best = REPLACE_NEVER;

    for (unsigned w = 0; w < WORKERS; w++) {
        uint64_t total = 0;
        uint64_t uses;

        for (uint32_t i = 0; i < model->workers[w].n; i++) {
            total += model->threads[model->workers[w].order[i]].n;
        }
        uses = total == 0 ? UINT64_MAX : uses_before(model, w, page);
        if (uses != UINT64_MAX && (uses << 32) / total < best) {
            best = (uses << 32) / total;
        }
    }
    return best;
}

/* ---- random steps ---- */

static void learn(struct model *model, uint32_t t)
{
    struct model_thread *thread = &model->threads[t];
    uint8_t is_taken[PAGES] = {0};
    page_no pages[SET];
    uint32_t n = (uint32_t)random_below(SET);

    for (uint32_t q = 0; q < n; q++) {
        do {
            // Some pages are shared by many.
            pages[q] = random_below(random_below(3) == 0 ? PAGES : PAGES / 4);
        } while (is_taken[pages[q]]);
        is_taken[pages[q]] = 1;
        thread->pages[q] = (uint32_t)pages[q];
    }
    thread->n = n;
    thread->progress = 0;
    replace_learn(model->replace, t, pages, n);
}

static void set_order(struct model *model, unsigned w)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < model->workers[w].n; i++) {
        struct model_thread *thread =
            &model->threads[model->workers[w].order[i]];

        thread->worker = -1;
        thread->is_open = 0;
    }
    // First nobody: then no turn survives, and the model is simple.
    replace_order(model->replace, w, NULL, 0);
    for (uint32_t t = 0; t < THREADS; t++) {
        if (model->threads[t].worker < 0 && random_below(2) == 0) {
            model->threads[t].worker = (int)w;
            model->workers[w].order[n++] = t;
        }
    }
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)random_below(i);
        uint32_t other = model->workers[w].order[j];

        model->workers[w].order[j] = model->workers[w].order[i - 1];
        model->workers[w].order[i - 1] = other;
    }
    model->workers[w].n = n;
    model->workers[w].turn = -1;
    replace_order(model->replace, w, model->workers[w].order, n);
}

static struct model_thread *turn_of(struct model *model, unsigned w)
{
    int turn = model->workers[w].turn;

    return turn < 0 ? NULL : &model->threads[model->workers[w].order[turn]];
}

static void begin_turn(struct model *model, unsigned w)
{
    struct model_thread *thread = turn_of(model, w);
    uint32_t n = model->workers[w].n;

    if (n == 0) {
        return;
    }
    if (thread != NULL) {
        thread->is_open = 0;
    }
    model->workers[w].turn = random_below(4) == 0
                                 ? (int)random_below(n)
                                 : (model->workers[w].turn + 1) % (int)n;
    thread = turn_of(model, w);
    thread->is_open = 1;
    thread->progress = 0;
    replace_turn(model->replace, w,
                 model->workers[w].order[model->workers[w].turn]);
    place(model, thread);
}

static void touch(struct model *model, unsigned w)
{
    struct model_thread *thread = turn_of(model, w);
    uint32_t q;

    if (thread == NULL || !thread->is_open || thread->progress >= thread->n) {
        return;
    }
    q = thread->progress + (uint32_t)random_below(thread->n - thread->progress);
    q = least(q, thread->progress + 8);
    thread->progress = q + 1;
    replace_touch(model->replace, w, thread->pages[q]);
    model->stamps[thread->pages[q]] = ++model->touches;
    place(model, thread);
}

static void come_or_go(struct model *model)
{
    page_no page = random_below(PAGES);

    if (model->is_resident[page]) {
        replace_remove(model->replace, page);
        model->n_resident--;
    } else {
        replace_add(model->replace, page);
        model->stamps[page] = model->touches;
        model->n_resident++;
    }
    model->is_resident[page] ^= 1;
}

/** A step that makes sets stale places open turns anew. */
static void place_all(struct model *model)
{
    replace_learn(model->replace, 1000, NULL, 0); // stale for certain
    replace_forget(model->replace, 1000);
    (void)replace_needs(model->replace);
    for (uint32_t t = 0; t < THREADS; t++) {
        place(model, &model->threads[t]);
    }
}

static void step(struct model *model)
{
    unsigned w = (unsigned)random_below(WORKERS);
    size_t kind = random_below(1000);

    if (kind < 4) {
        learn(model, (uint32_t)random_below(THREADS));
        place_all(model);
    } else if (kind < 6) {
        set_order(model, w);
        place_all(model);
    } else if (kind < 100) {
        begin_turn(model, w);
    } else if (kind < 600) {
        touch(model, w);
    } else {
        come_or_go(model);
    }
}

static int may_go(void *context, page_no page)
{
    const struct model *model = context;

    assert_true(page < PAGES && model->is_resident[page]);
    return page % 7 != 3;
}

/** Where a page belongs in the answer: the classes, then the time. */
static unsigned class_of(const struct model *model, page_no page)
{
    uint32_t spared = least(32, model->n_resident / 8);
    unsigned is_known = next_use_of(model, page) != REPLACE_NEVER;

    return (model->touches - model->stamps[page] < spared ? 2 : 0) + is_known;
}

static void check_victims(struct model *model)
{
    page_no victims[PAGES];
    uint8_t is_named[PAGES] = {0};
    uint32_t n_allowed = 0;
    unsigned n = replace_victims(model->replace, victims, PAGES, may_go, model);

    for (page_no page = 0; page < PAGES; page++) {
        n_allowed += model->is_resident[page] && page % 7 != 3;
    }
    assert_int_equal(n, n_allowed);
    for (unsigned i = 0; i < n; i++) {
        assert_true(model->is_resident[victims[i]] && !is_named[victims[i]]);
        is_named[victims[i]] = 1;
        if (i > 0) {
            unsigned before = class_of(model, victims[i - 1]);
            unsigned now = class_of(model, victims[i]);

            assert_true(before <= now);
            assert_true(before < now || now % 2 == 0 ||
                        next_use_of(model, victims[i - 1]) >=
                            next_use_of(model, victims[i]));
        }
    }
}

static void check_ahead(struct model *model, unsigned w)
{
    page_no pages[PAGES];
    uint8_t is_named[PAGES] = {0};
    unsigned n = replace_ahead(model->replace, w, 50, pages, 20);

    assert_true(n <= 20);
    for (unsigned i = 0; i < n; i++) {
        assert_true(!model->is_resident[pages[i]] && !is_named[pages[i]]);
        assert_true(next_use_of(model, pages[i]) != REPLACE_NEVER);
        is_named[pages[i]] = 1;
    }
}

static void next_uses_and_victims_agree_with_the_future(void **state)
{
    struct replace_options options = {.lookback = LOOKBACK, .seed = 1};
    static struct model model;

    (void)state;
    memset(&model, 0, sizeof model);
    model.replace = replace_new(PAGES, &options);
    model.n_workers = WORKERS;
    replace_order(model.replace, WORKERS - 1, NULL, 0);
    for (unsigned w = 0; w < WORKERS; w++) {
        model.workers[w].turn = -1;
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        model.threads[t].worker = -1;
        learn(&model, t);
    }
    for (int i = 0; i < 4000; i++) {
        step(&model);
        assert_true(replace_is_valid(model.replace));
        for (page_no page = (page_no)i % 8; page < PAGES; page += 8) {
            assert_int_equal(replace_next_use(model.replace, page),
                             next_use_of(&model, page));
        }
        if (i % 8 == 0) {
            check_victims(&model);
            check_ahead(&model, (unsigned)random_below(WORKERS));
        }
    }
    replace_free(model.replace);
}

/* ---- single facts ---- */

static int any(void *context, page_no page)
{
    (void)context;
    (void)page;
    return 1;
}

/** @return with threads 0, 1, ... of worker 0, each with `each` pages of its own,
 * all resident, the first one's turn */
static struct replace *some_threads(uint32_t n, uint32_t each)
{
    struct replace *replace = replace_new(n * each, NULL);
    uint32_t order[64];
    page_no pages[4096];

    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t q = 0; q < each; q++) {
            pages[q] = t * each + q;
        }
        replace_learn(replace, t, pages, each);
        order[t] = t;
    }
    replace_order(replace, 0, order, n);
    for (page_no page = 0; page < n * each; page++) {
        replace_add(replace, page);
    }
    replace_turn(replace, 0, 0);
    return replace;
}

static void strays_of_a_large_memory_go_in_large_groups(void **state)
{
    static const struct {
        page_no n_pages;
        unsigned group;
    } cases[] = {{1000, 16}, {4096, 32}, {8191, 32}, {8192, 64}, {100000, 64}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replace *replace = replace_new(cases[i].n_pages, NULL);
        page_no victims[64];

        for (page_no page = 0; page < cases[i].n_pages; page++) {
            replace_add(replace, page);
        }
        assert_int_equal(replace_victims(replace, victims, 64, any, NULL), 64);
        for (unsigned k = 1; k < cases[i].group; k++) {
            assert_int_equal(victims[k], victims[0] + k);
        }
        assert_int_equal(victims[0] % cases[i].group, 0);
        if (cases[i].group < 64) {
            assert_int_not_equal(victims[cases[i].group],
                                 victims[0] + cases[i].group);
        }
        replace_free(replace);
    }
}

static void what_was_just_passed_goes_first(void **state)
{
    struct replace *replace = some_threads(4, 1000);
    page_no victims[3];

    (void)state;
    replace_touch(replace, 0, 500); // the lookback is 128
    assert_int_equal(replace_victims(replace, victims, 3, any, NULL), 3);
    assert_int_equal(victims[0], 371);
    assert_int_equal(victims[1], 370);
    assert_int_equal(victims[2], 369);
    replace_turn(replace, 0, 1);
    assert_int_equal(replace_victims(replace, victims, 1, any, NULL), 1);
    assert_int_equal(victims[0], 999);
    replace_free(replace);
}

static void a_thread_that_returns_keeps_its_pages(void **state)
{
    struct replace *replace = some_threads(3, 400);
    page_no victim;

    (void)state;
    replace_touch(replace, 0, 399);
    assert_int_equal(replace_victims(replace, &victim, 1, any, NULL), 1);
    assert_true(victim < 400);
    for (page_no page = 10; page < 20; page++) {
        replace_remove(replace, page);
        replace_touch(replace, 0, page);
        replace_add(replace, page);
    }
    for (page_no page = 10; page < 20; page++) {
        assert_true(replace_next_use(replace, page) <
                    replace_next_use(replace, 400));
    }
    // What it did not return to is not needed.
    assert_true(replace_next_use(replace, 5) > replace_next_use(replace, 1199));
    replace_turn(replace, 0, 1);
    replace_turn(replace, 0, 2);
    replace_turn(replace, 0, 0); // it is known by now
    replace_touch(replace, 0, 399);
    assert_true(replace_next_use(replace, 15) < replace_next_use(replace, 400));
    replace_free(replace);
}

/** Where it came back to before says nothing of a set that is smaller. */
static void what_is_learned_anew_is_all_that_is_needed(void **state)
{
    struct replace *replace = some_threads(1, 4000);
    page_no pages[256];
    page_no victims[64];

    (void)state;
    replace_touch(replace, 0, 3999);
    for (page_no page = 3000; page < 3003; page++) {
        replace_touch(replace, 0, page);
    }
    for (page_no page = 0; page < 256; page++) {
        pages[page] = page;
    }
    replace_learn(replace, 0, pages, 256);
    replace_touch(replace, 0, 255);
    for (page_no page = 10; page < 14; page++) {
        replace_touch(replace, 0, page);
    }
    for (page_no page = 0; page < 4000; page++) {
        replace_remove(replace, page);
    }
    assert_int_equal(replace_victims(replace, victims, 64, any, NULL), 0);
    // Four pages to which it returned, of those that it has.
    assert_int_equal(replace_ahead(replace, 0, 1000, victims, 4), 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(victims[i] >= 10 && victims[i] < 14);
    }
    assert_true(replace_is_valid(replace));
    replace_free(replace);
}

static void a_thread_off_its_set_is_not_believed(void **state)
{
    struct replace *replace = some_threads(2, 200);

    (void)state;
    for (page_no page = 200; page < 400; page++) {
        replace_touch(replace, 0, page); // of the other
    }
    replace_turn(replace, 0, 1);
    assert_true(replace_next_use(replace, 7) == REPLACE_NEVER);
    assert_true(replace_next_use(replace, 207) != REPLACE_NEVER);
    assert_true(replace_is_valid(replace));
    replace_free(replace);
}

static void what_was_read_ahead_in_vain_is_not_read_again(void **state)
{
    struct replace *replace = some_threads(2, 100);
    page_no page;

    (void)state;
    replace_touch(replace, 0, 50);
    replace_remove(replace, 51); // it was mapped, and may have been used
    assert_int_equal(replace_ahead(replace, 0, 10, &page, 1), 1);
    replace_add_ahead(replace, 51);
    replace_remove(replace, 51);
    assert_int_equal(replace_ahead(replace, 0, 10, &page, 1), 0);
    replace_touch(replace, 0, 51); // it is used after all
    replace_add(replace, 51);
    replace_remove(replace, 51);
    replace_turn(replace, 0, 1);
    replace_turn(replace, 0, 0);
    assert_int_equal(replace_ahead(replace, 0, 100, &page, 1), 1);
    assert_int_equal(page, 51);
    assert_int_equal(replace_ahead(replace, 0, 51, &page, 1), 0); // too far
    replace_free(replace);
}

static void needs_are_the_size_of_the_union(void **state)
{
    struct replace *replace = replace_new(1000, NULL);
    static const page_no first[] = {1, 2, 3, 4};
    static const page_no second[] = {4, 5, 900};
    static const uint32_t order[] = {7, 4000000000u};

    (void)state;
    replace_learn(replace, 7, first, 4);
    replace_learn(replace, 4000000000u, second, 3);
    assert_int_equal(replace_needs(replace).n_pages, 0); // no turns
    replace_order(replace, 1, order, 2);
    assert_int_equal(replace_needs(replace).n_pages, 6);
    assert_int_equal(replace_needs(replace).largest, 4);
    replace_forget(replace, 7);
    assert_int_equal(replace_needs(replace).n_pages, 3);
    replace_free(replace);
}

// The only one of its worker: nothing is left of where it was in the turn before.
static void a_thread_that_uses_nothing_any_more_needs_nothing(void **state)
{
    struct replace *replace = replace_new(1000, NULL);
    static const uint32_t order[] = {7};
    page_no used[100];
    page_no ahead[100];

    (void)state;
    for (page_no page = 0; page < 100; page++) {
        used[page] = page;
    }
    replace_learn(replace, 7, used, 100);
    replace_order(replace, 0, order, 1);
    replace_turn(replace, 0, 7);
    for (page_no page = 0; page < 90; page++) {
        replace_touch(replace, 0, page);
    }
    replace_turn(replace, 0, 0); // of nobody
    replace_learn(replace, 7, NULL, 0);
    assert_int_equal(replace_needs(replace).n_pages, 0);
    replace_turn(replace, 0, 7);
    assert_int_equal(replace_ahead(replace, 0, 1000, ahead, 100), 0);
    assert_true(replace_is_valid(replace));
    replace_free(replace);
}

static void strangers_are_drawn_but_not_those_just_touched(void **state)
{
    struct replace *replace = replace_new(UINT64_C(1) << 26, NULL);
    page_no victims[900];

    (void)state;
    for (page_no page = 0; page < 1000; page++) {
        replace_touch(replace, 0, page * 50000);
        replace_add(replace, page * 50000);
    }
    assert_int_equal(replace_victims(replace, victims, 900, any, NULL), 900);
    for (unsigned i = 0; i < 900; i++) {
        assert_true(victims[i] < (page_no)968 * 50000);
    }
    assert_true(replace_is_valid(replace));
    replace_free(replace);
    replace_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_uses_and_victims_agree_with_the_future),
        cmocka_unit_test(strays_of_a_large_memory_go_in_large_groups),
        cmocka_unit_test(what_was_just_passed_goes_first),
        cmocka_unit_test(a_thread_that_uses_nothing_any_more_needs_nothing),
        cmocka_unit_test(a_thread_that_returns_keeps_its_pages),
        cmocka_unit_test(what_is_learned_anew_is_all_that_is_needed),
        cmocka_unit_test(a_thread_off_its_set_is_not_believed),
        cmocka_unit_test(what_was_read_ahead_in_vain_is_not_read_again),
        cmocka_unit_test(needs_are_the_size_of_the_union),
        cmocka_unit_test(strangers_are_drawn_but_not_those_just_touched),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
