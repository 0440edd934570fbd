// SPDX-License-Identifier: BSD-3-Clause
/*
 * Diffs, for each kernel that this processor can run. Pages, twins and diffs lie
 * against inaccessible pages, so that reading or writing too far faults.
 *
 * One file, though it is long: every test draws its pages from the same ways in
 * which a page changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mem/diff.h"
#include "mem/diff_priv.h"
#include "mem/random_numbers_test.h"

#define PAGE ((size_t)TM_PAGE_SIZE)

#ifdef __SANITIZE_THREAD__
#define STEPS(n) ((n) / 10)
#else
#define STEPS(n) (n)
#endif

/** n_pages pages with an inaccessible one on either side. */
static uint8_t *new_guarded(size_t n_pages)
{
    uint8_t *all = mmap(NULL, (n_pages + 2) * PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(all != MAP_FAILED);
    assert_int_equal(
        mprotect(all + PAGE, n_pages * PAGE, PROT_READ | PROT_WRITE), 0);
    return all + PAGE;
}

static void free_guarded(uint8_t *pages, size_t n_pages)
{
    assert_int_equal(munmap(pages - PAGE, (n_pages + 2) * PAGE), 0);
}

static void fill_random(uint8_t *page)
{
    for (size_t i = 0; i < PAGE; i++) {
        page[i] = (uint8_t)next_random();
    }
}

/* ---- Ways in which a page changes --------------------------------------- */

enum change {
    NOTHING,
    ONE_BYTE,
    FIRST_BYTE,
    LAST_BYTE,
    ONE_WORD,
    FIRST_HALF,
    EVERY_EIGHTH,
    LOW_FIVE,
    EVERY_OTHER_BYTE,
    RUNS_128,
    RUNS_129,
    A_FEW_RUNS,
    SPARSE,
    HALF,
    EVERYTHING,
    N_CHANGES,
};

static void choose_runs(uint8_t *chosen, size_t n_runs)
{
    for (size_t i = 0; i < n_runs; i++) {
        chosen[i * (PAGE / n_runs)] = 1;
    }
}

static void choose_a_few_runs(uint8_t *chosen)
{
    for (size_t n_runs = 1 + random_below(9); n_runs > 0; n_runs--) {
        size_t start = random_below(PAGE);
        size_t length = 1 + random_below(PAGE - start);

        memset(chosen + start, 1, length);
    }
}

static int is_regularly_chosen(enum change change, size_t at, size_t word)
{
    switch (change) {
    case FIRST_BYTE:
        return at == 0;
    case LAST_BYTE:
        return at == PAGE - 1;
    case ONE_WORD:
        return at / 8 == word;
    case FIRST_HALF:
        return at < PAGE / 2;
    case EVERY_EIGHTH:
        return at % 8 == word % 8;
    case LOW_FIVE:
        return at % 8 < 5;
    case EVERY_OTHER_BYTE:
        return at % 2 == 1;
    case SPARSE:
        return random_below(100) == 0;
    case HALF:
        return random_below(2) == 0;
    default:
        return change == EVERYTHING;
    }
}

/** @param[out] chosen [4096] 1 for each byte that is to change */
static void choose(enum change change, uint8_t *chosen)
{
    size_t word = random_below(PAGE / 8);

    for (size_t i = 0; i < PAGE; i++) {
        chosen[i] = (uint8_t)is_regularly_chosen(change, i, word);
    }
    if (change == ONE_BYTE) {
        chosen[random_below(PAGE)] = 1;
    } else if (change == RUNS_128) {
        choose_runs(chosen, 128);
    } else if (change == RUNS_129) {
        choose_runs(chosen, 128);
        chosen[PAGE - 1] = 1;
    } else if (change == A_FEW_RUNS) {
        choose_a_few_runs(chosen);
    }
}

static size_t change_chosen(uint8_t *page, const uint8_t *chosen)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < PAGE; i++) {
        if (chosen[i]) {
            page[i] ^= (uint8_t)(1 + random_below(255));
            n_bytes++;
        }
    }
    return n_bytes;
}

/** Everything a test needs. */
struct pages {
    const struct diff_kernel *kernel;
    uint8_t *page;
    uint8_t *twin;
    uint8_t *other; ///< the page at another node
    uint8_t *other_twin;
    uint8_t *diffs; ///< two pages; a diff is laid to end where they end
    uint8_t chosen[PAGE];
};

static uint8_t *diff_of_size(const struct pages *p, size_t size)
{
    return p->diffs + 2 * PAGE - size;
}

static void pages_init(struct pages *p)
{
    p->page = new_guarded(1);
    p->twin = new_guarded(1);
    p->other = new_guarded(1);
    p->other_twin = new_guarded(1);
    p->diffs = new_guarded(2);
}

static void pages_release(struct pages *p)
{
    free_guarded(p->page, 1);
    free_guarded(p->twin, 1);
    free_guarded(p->other, 1);
    free_guarded(p->other_twin, 1);
    free_guarded(p->diffs, 2);
}

static void for_each_kernel(void (*test)(struct pages *p))
{
    struct pages p;

    pages_init(&p);
    for (unsigned i = 0; i < n_diff_kernels; i++) {
        p.kernel = diff_kernels[i];
        if (p.kernel->is_usable()) {
            print_message("kernel %s\n", p.kernel->name);
            test(&p);
        } else {
            print_message("kernel %s: not on this processor\n", p.kernel->name);
        }
    }
    pages_release(&p);
}

static size_t encode(const struct pages *p, uint8_t *diff)
{
    return diff_encode_by(p->kernel, p->page, p->twin, diff);
}

/** Encode, and lay the diff so that it ends at an inaccessible page. */
static size_t encode_to_end(const struct pages *p)
{
    uint8_t *room = diff_of_size(p, DIFF_MAX); // writing further faults
    size_t size = encode(p, room);

    memmove(diff_of_size(p, size), room, size);
    return size;
}

static tm_status apply_at_end(const struct pages *p, size_t size, uint8_t *page,
                              uint8_t *twin)
{
    return diff_apply_by(p->kernel, diff_of_size(p, size), size, page, twin);
}

/* ---- Encoding and applying ---------------------------------------------- */

static void check_round_trip(struct pages *p, enum change change)
{
    size_t n_changed;
    size_t size;

    fill_random(p->page);
    memcpy(p->twin, p->page, PAGE);
    memcpy(p->other, p->page, PAGE);
    memcpy(p->other_twin, p->page, PAGE);
    choose(change, p->chosen);
    n_changed = change_chosen(p->page, p->chosen);
    size = encode_to_end(p);
    assert_memory_equal(p->twin, p->page, PAGE);
    assert_int_equal(diff_count(diff_of_size(p, size), size), n_changed);
    if (n_changed == 0) {
        assert_int_equal(size, 0);
        return;
    }
    assert_int_equal(apply_at_end(p, size, p->other, p->other_twin), TM_OK);
    assert_memory_equal(p->other, p->page, PAGE);
    assert_memory_equal(p->other_twin, p->page, PAGE);
    assert_int_equal(encode(p, p->diffs), 0);
}

static void round_trips(struct pages *p)
{
    for (int i = 0; i < STEPS(30) * N_CHANGES; i++) {
        check_round_trip(p, (enum change)(i % N_CHANGES));
    }
}

static void a_diff_makes_the_other_copy_equal(void **state)
{
    (void)state;
    for_each_kernel(round_trips);
}

static void all_kernels_write_the_same_diff(void **state)
{
    struct pages p;
    uint8_t expected[DIFF_MAX];
    uint8_t old[PAGE];

    (void)state;
    pages_init(&p);
    for (int i = 0; i < STEPS(20) * N_CHANGES; i++) {
        size_t size;

        fill_random(p.page);
        memcpy(old, p.page, PAGE);
        memcpy(p.twin, old, PAGE);
        choose((enum change)(i % N_CHANGES), p.chosen);
        (void)change_chosen(p.page, p.chosen);
        size = diff_encode(p.page, p.twin, expected);
        for (unsigned k = 0; k < n_diff_kernels; k++) {
            p.kernel = diff_kernels[k];
            memcpy(p.twin, old, PAGE);
            if (p.kernel->is_usable()) {
                assert_int_equal(encode(&p, p.diffs), size);
                assert_memory_equal(p.diffs, expected, size);
            }
        }
    }
    pages_release(&p);
}

/** The length of the diff of a page that changed in n_runs runs of one byte. */
static size_t size_for_runs(struct pages *p, size_t n_runs)
{
    memset(p->twin, 0, PAGE);
    memset(p->page, 0, PAGE);
    for (size_t i = 0; i < n_runs; i++) {
        p->page[i * 2] = 1;
    }
    return encode(p, p->diffs);
}

static void shorter_form(struct pages *p)
{
    assert_int_equal(size_for_runs(p, 1), 1 + 4 + 1);
    assert_int_equal(size_for_runs(p, 128), 1 + 128 * 5);
    assert_int_equal(size_for_runs(p, 129), 1 + 512 + 129);
    memset(p->twin, 0, PAGE);
    memset(p->page, 1, PAGE);
    assert_int_equal(encode(p, p->diffs), 1 + 4 + PAGE);
}

static void the_shorter_form_is_taken(void **state)
{
    (void)state;
    for_each_kernel(shorter_form);
}

static void commute(struct pages *p)
{
    uint8_t *in_turn[2] = {p->other, p->other_twin};
    uint8_t diffs[2][DIFF_MAX];
    size_t sizes[2];

    for (int round = 0; round < STEPS(200); round++) {
        uint8_t old[PAGE];

        fill_random(old);
        memcpy(p->other, old, PAGE);
        memcpy(p->other_twin, old, PAGE);
        choose(HALF, p->chosen);
        for (int i = 0; i < 2; i++) {
            memcpy(p->page, old, PAGE);
            memcpy(p->twin, old, PAGE);
            (void)change_chosen(p->page, p->chosen);
            sizes[i] = encode(p, diffs[i]);
            for (size_t at = 0; at < PAGE; at++) {
                p->chosen[at] = !p->chosen[at] && random_below(8) > 0;
            }
        }
        for (int i = 0; i < 4; i++) {
            int which = i == 1 || i == 2; // 0, 1 on one page; 1, 0 on the other
            assert_int_equal(diff_apply_by(p->kernel, diffs[which],
                                           sizes[which], in_turn[i / 2], NULL),
                             TM_OK);
        }
        assert_memory_equal(p->other, p->other_twin, PAGE);
    }
}

static void diffs_of_different_bytes_commute(void **state)
{
    (void)state;
    for_each_kernel(commute);
}

static void ranges(struct pages *p)
{
    for (int i = 0; i < STEPS(500); i++) {
        size_t offset = random_below(PAGE);
        size_t length = 1 + random_below(i % 2 == 0 ? PAGE - offset : 1);
        uint8_t expected[PAGE];
        size_t size;

        fill_random(p->page);
        fill_random(p->other);
        memcpy(expected, p->other, PAGE);
        memcpy(expected + offset, p->page + offset, length);
        size = diff_of_range(p->page + offset, offset, length, p->diffs);
        memmove(diff_of_size(p, size), p->diffs, size);
        assert_int_equal(diff_count(diff_of_size(p, size), size), length);
        assert_int_equal(apply_at_end(p, size, p->other, NULL), TM_OK);
        assert_memory_equal(p->other, expected, PAGE);
    }
}

static void a_diff_of_a_range_sets_the_range(void **state)
{
    (void)state;
    for_each_kernel(ranges);
}

/* ---- With another thread at the page ------------------------------------ */

/** A thread that writes the bytes of a page that are not chosen, again and again,
 * and finds out whether one of them was set back. */
struct writer {
    volatile uint8_t *page;
    const uint8_t *chosen;
    atomic_int stop;
    atomic_uint n_rounds;
    unsigned n_lost;
};

#define WRITER_ROUNDS ((unsigned)STEPS(1000))

static void *write_others(void *argument)
{
    struct writer *writer = argument;

    for (uint8_t value = 1;; value++) {
        for (size_t i = 0; i < PAGE; i++) {
            if (!writer->chosen[i]) {
                writer->page[i] = value;
            }
        }
        for (size_t i = 0; i < PAGE; i++) {
            writer->n_lost += !writer->chosen[i] && writer->page[i] != value;
        }
        atomic_fetch_add_explicit(&writer->n_rounds, 1, memory_order_relaxed);
        if (atomic_load_explicit(&writer->stop, memory_order_relaxed)) {
            return NULL;
        }
    }
}

static int has_written(struct writer *writer)
{
    return atomic_load_explicit(&writer->n_rounds, memory_order_relaxed) >
           WRITER_ROUNDS;
}

static void stop_writer(struct writer *writer, pthread_t thread)
{
    atomic_store_explicit(&writer->stop, 1, memory_order_relaxed);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void check_others_untouched(struct pages *p, enum change change)
{
    struct writer writer = {.page = p->other, .chosen = p->chosen};
    pthread_t thread;
    size_t size;

    fill_random(p->page);
    memcpy(p->twin, p->page, PAGE);
    memcpy(p->other, p->page, PAGE);
    choose(change, p->chosen);
    (void)change_chosen(p->page, p->chosen);
    size = encode_to_end(p);
    assert_int_equal(pthread_create(&thread, NULL, write_others, &writer), 0);
    while (!has_written(&writer)) {
        assert_int_equal(apply_at_end(p, size, p->other, NULL), TM_OK);
    }
    stop_writer(&writer, thread);
    assert_int_equal(writer.n_lost, 0);
    for (size_t i = 0; i < PAGE; i++) {
        assert_true(!p->chosen[i] || p->other[i] == p->page[i]);
    }
}

static void others_untouched(struct pages *p)
{
    static const enum change changes[] = {ONE_BYTE, EVERY_EIGHTH, LOW_FIVE,
                                          HALF,     A_FEW_RUNS,   RUNS_128};

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        check_others_untouched(p, changes[i]);
    }
}

static void apply_leaves_other_bytes_to_other_writers(void **state)
{
    (void)state;
    for_each_kernel(others_untouched);
}

// Whatever the writer does, the other copy is what the twin is; and when it has
// stopped, one more diff makes them equal to the page.
static void take_snapshot(struct pages *p)
{
    size_t size = encode_to_end(p);

    if (size > 0) {
        assert_int_equal(apply_at_end(p, size, p->other, NULL), TM_OK);
    }
    assert_memory_equal(p->other, p->twin, PAGE);
}

static void snapshots(struct pages *p)
{
    struct writer writer = {.page = p->page, .chosen = p->chosen};
    pthread_t thread;

    fill_random(p->page);
    memcpy(p->twin, p->page, PAGE);
    memcpy(p->other, p->page, PAGE);
    choose(SPARSE, p->chosen);
    assert_int_equal(pthread_create(&thread, NULL, write_others, &writer), 0);
    while (!has_written(&writer)) {
        take_snapshot(p);
    }
    stop_writer(&writer, thread);
    take_snapshot(p);
    assert_memory_equal(p->other, p->page, PAGE);
}

static void what_one_diff_misses_the_next_has(void **state)
{
    (void)state;
    for_each_kernel(snapshots);
}

/** A thread that reads words which are all 0 or all ~0. */
struct reader {
    volatile uint64_t *words; ///< [512]
    atomic_int stop;
    unsigned n_torn;
};

// Reads what is being stored on purpose.
__attribute__((no_sanitize("thread"))) static void *read_words(void *argument)
{
    struct reader *reader = argument;

    while (!atomic_load_explicit(&reader->stop, memory_order_relaxed)) {
        for (size_t i = 0; i < PAGE / 8; i++) {
            uint64_t word = reader->words[i];

            reader->n_torn += word != 0 && word != ~UINT64_C(0);
        }
    }
    return NULL;
}

static void whole_words(struct pages *p)
{
    struct reader reader = {.words = (volatile uint64_t *)p->other};
    uint8_t diffs[2][DIFF_MAX];
    size_t sizes[2];
    pthread_t thread;

    memset(p->page, 0, PAGE);
    memset(p->twin, 0, PAGE);
    memset(p->other, 0, PAGE);
    for (size_t i = 0; i < PAGE; i += 16) { // every other word
        memset(p->page + i, 0xff, 8);
    }
    sizes[0] = encode(p, diffs[0]);
    memset(p->page, 0, PAGE);
    sizes[1] = encode(p, diffs[1]);
    assert_int_equal(pthread_create(&thread, NULL, read_words, &reader), 0);
    for (int i = 0; i < STEPS(20000); i++) {
        assert_int_equal(diff_apply_by(p->kernel, diffs[i % 2], sizes[i % 2],
                                       p->other, NULL),
                         TM_OK);
    }
    atomic_store_explicit(&reader.stop, 1, memory_order_relaxed);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(reader.n_torn, 0);
}

static void aligned_words_change_in_one_step(void **state)
{
    (void)state;
    for_each_kernel(whole_words);
}

/* ---- Malformed diffs ---------------------------------------------------- */

static void check_refused(const struct pages *p, const void *bytes, size_t size)
{
    uint8_t *diff = diff_of_size(p, size);
    uint8_t before[PAGE];

    memcpy(diff, bytes, size);
    memcpy(before, p->other, PAGE);
    assert_int_equal(diff_count(diff, size), 0);
    assert_int_equal(apply_at_end(p, size, p->other, p->other_twin), TM_EWIRE);
    assert_memory_equal(p->other, before, PAGE);
    assert_memory_equal(p->other_twin, before, PAGE);
}

#define CHECK_REFUSED(p, ...)                                                  \
    do {                                                                       \
        const uint8_t bytes_[] = {__VA_ARGS__};                                \
        check_refused((p), bytes_, sizeof(bytes_));                            \
    } while (0)

static void refusals(struct pages *p)
{
    uint8_t bitmap[1 + 512 + 2] = {2, 0x80};

    fill_random(p->other);
    memcpy(p->other_twin, p->other, PAGE);
    check_refused(p, "", 0);
    CHECK_REFUSED(p, 0);
    CHECK_REFUSED(p, 3, 0, 0, 1, 0, 9);       // no such form
    CHECK_REFUSED(p, 1);                      // no run
    CHECK_REFUSED(p, 1, 0, 0, 1);             // half a header
    CHECK_REFUSED(p, 1, 0, 0, 1, 0);          // no bytes
    CHECK_REFUSED(p, 1, 0, 0, 2, 0, 9);       // too few bytes
    CHECK_REFUSED(p, 1, 0, 0, 1, 0, 9, 9);    // one byte over
    CHECK_REFUSED(p, 1, 0, 0, 0, 0);          // an empty run
    CHECK_REFUSED(p, 1, 0x00, 0x10, 1, 0, 9); // leaves the page
    CHECK_REFUSED(p, 1, 0xff, 0x0f, 2, 0, 9, 9);
    CHECK_REFUSED(p, 1, 0xff, 0xff, 0xff, 0xff, 9);
    CHECK_REFUSED(p, 1, 4, 0, 1, 0, 9, 3, 0, 1, 0, 9);    // descends
    CHECK_REFUSED(p, 1, 4, 0, 2, 0, 9, 9, 5, 0, 1, 0, 9); // overlaps
    check_refused(p, bitmap, 1 + 511);                    // part of the mask
    check_refused(p, bitmap, 1 + 512);                    // too few bytes
    check_refused(p, bitmap, 1 + 512 + 2);                // too many
    bitmap[1] = 0;
    check_refused(p, bitmap, 1 + 512); // no bit
}

static void malformed_diffs_change_nothing(void **state)
{
    (void)state;
    for_each_kernel(refusals);
}

/** Whether every byte that differs from `before` may differ. */
static void check_random_diff(struct pages *p, size_t size)
{
    uint8_t before[PAGE];
    size_t n_differ = 0;
    size_t n_bytes = diff_count(diff_of_size(p, size), size);
    tm_status status;

    memcpy(before, p->other, PAGE);
    memcpy(p->other_twin, p->other, PAGE);
    status = apply_at_end(p, size, p->other, p->other_twin);
    assert_int_equal(status, n_bytes > 0 ? TM_OK : TM_EWIRE);
    for (size_t i = 0; i < PAGE; i++) {
        n_differ += p->other[i] != before[i];
    }
    assert_true(n_differ <= n_bytes);
    assert_memory_equal(p->other, p->other_twin, PAGE);
}

static void random_diffs(struct pages *p)
{
    unsigned n_valid = 0;

    fill_random(p->other);
    for (int i = 0; i < STEPS(3000); i++) {
        size_t size = random_below(i % 2 == 0 ? 40 : DIFF_MAX + 100);
        uint8_t *diff = diff_of_size(p, size);

        for (size_t at = 0; at < size; at++) {
            diff[at] = (uint8_t)(next_random() & (i % 3 == 0 ? 0x0f : 0xff));
        }
        if (size > 0) {
            diff[0] = (uint8_t)random_below(4);
        }
        check_random_diff(p, size);
    }
    for (int i = 0; i < STEPS(3000);
         i++) { // valid ones with a few bits turned over
        size_t size;

        fill_random(p->page);
        memcpy(p->twin, p->page, PAGE);
        choose((enum change)(1 + random_below(N_CHANGES - 1)), p->chosen);
        (void)change_chosen(p->page, p->chosen);
        size = encode_to_end(p);
        for (size_t n = random_below(3); size > 0 && n > 0; n--) {
            diff_of_size(p, size)[random_below(size < 600 ? size : 600)] ^=
                (uint8_t)(1u << random_below(8));
        }
        n_valid += diff_count(diff_of_size(p, size), size) > 0;
        check_random_diff(p, size);
    }
    assert_true(n_valid > STEPS(300) && n_valid < STEPS(3000));
}

static void any_bytes_as_a_diff_stay_inside_the_page(void **state)
{
    (void)state;
    for_each_kernel(random_diffs);
}

static void the_mask_of_a_diff_names_its_bytes(void **state)
{
    uint8_t page[TM_PAGE_SIZE] __attribute__((aligned(64)));
    uint8_t twin[TM_PAGE_SIZE] __attribute__((aligned(64)));
    uint8_t diff[DIFF_MAX];
    uint8_t again[DIFF_MAX];
    uint64_t mask[TM_PAGE_SIZE / 64];

    (void)state;
    for (unsigned step = 1; step < 600; step += step / 4 + 1) { // both forms
        size_t size;

        memset(page, 0, sizeof page);
        memset(twin, 0, sizeof twin);
        for (unsigned i = step - 1; i < TM_PAGE_SIZE; i += step) {
            page[i] = 1;
        }
        size = diff_encode(page, twin, diff);
        diff_mask(diff, size, mask);
        for (unsigned i = 0; i < TM_PAGE_SIZE; i++) {
            assert_int_equal(mask[i / 64] >> i % 64 & 1, page[i]);
        }
        assert_int_equal(diff_of_mask(page, mask, again), size);
        assert_memory_equal(again, diff, size);
        diff_mask(diff, size - 1, mask);
        for (unsigned i = 0; i < TM_PAGE_SIZE / 64; i++) {
            assert_int_equal(mask[i], 0);
        }
        assert_int_equal(diff_of_mask(page, mask, again), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_diff_makes_the_other_copy_equal),
        cmocka_unit_test(all_kernels_write_the_same_diff),
        cmocka_unit_test(the_shorter_form_is_taken),
        cmocka_unit_test(diffs_of_different_bytes_commute),
        cmocka_unit_test(a_diff_of_a_range_sets_the_range),
        cmocka_unit_test(the_mask_of_a_diff_names_its_bytes),
        cmocka_unit_test(apply_leaves_other_bytes_to_other_writers),
        cmocka_unit_test(what_one_diff_misses_the_next_has),
        cmocka_unit_test(aligned_words_change_in_one_step),
        cmocka_unit_test(malformed_diffs_change_nothing),
        cmocka_unit_test(any_bytes_as_a_diff_stay_inside_the_page),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
