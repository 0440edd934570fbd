// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "mem/diff.h"
#include "observe/track.h"
#include "os/trap.h"

enum { N_SLOTS = 5, N_PAGES = 40, MANY = 6000, HEAP_SIZE = 64 << 20 };

static struct space space;
static struct track *track;
static struct page_run everything;

static uint64_t random_state;

static unsigned random_below(unsigned limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 11) % limit);
}

static void seed_random(void)
{
    const char *text = getenv("TM_TEST_SEED");

    random_state = text != NULL ? strtoull(text, NULL, 10)
                                : (uint64_t)time(NULL) * 2654435761u;
    random_state |= 1;
    print_message("TM_TEST_SEED=%llu\n", (unsigned long long)random_state);
}

static void open_with(const struct fault_source *source)
{
    assert_int_equal(space_open(&space, source, NULL, 0, HEAP_SIZE), TM_OK);
    everything.page = space.heap_page;
    everything.n_pages = MANY;
    track = track_new(&space, N_SLOTS);
    assert_non_null(track);
    space_populate(&space, space.heap_page, MANY);
    space_set_access(&space, space.heap_page, MANY, ACCESS_WRITE);
}

static void close_all(void)
{
    track_free(track);
    assert_int_equal(space.twins.n_used, 0);
    space_close(&space);
}

static const struct access_set *set_of(uint64_t thread)
{
    unsigned slot = 0;
    const struct access_set *set;

    do {
        set = track_next(track, &slot);
    } while (set != NULL && set->thread != thread);
    return set;
}

// ---- random programs, against what they have really done

struct expected {
    int has_run;
    unsigned n; // pages used
    unsigned pages[N_PAGES];
    unsigned flags[N_PAGES];
    unsigned diff_bytes[N_PAGES];
};

static struct expected expected[N_SLOTS];
static uint8_t before[N_PAGES][TM_PAGE_SIZE]; // its writes
static int is_written[N_PAGES];
static int hides_reads[N_PAGES]; // mapped since it was written
static unsigned running;

static page_no page_at(unsigned index)
{
    return space.heap_page + index;
}

static uint8_t *bytes_of(unsigned index)
{
    return (uint8_t *)space_bytes_to_change(&space, page_at(index));
}

static void end_writes(unsigned index)
{
    unsigned n = 0;

    for (unsigned i = 0; is_written[index] && i < TM_PAGE_SIZE; i++) {
        n += before[index][i] != bytes_of(index)[i];
    }
    is_written[index] = 0;
    expected[running].diff_bytes[index] += n;
}

static void change_turn(void)
{
    unsigned next = random_below(N_SLOTS);

    for (unsigned i = 0; next != running && i < N_PAGES; i++) {
        end_writes(i);
        hides_reads[i] = 0;
    }
    running = next;
    track_turn(track, running, 100 + running);
    expected[running].has_run = 1;
}

static void note_use(unsigned index, unsigned flag)
{
    struct expected *self = &expected[running];
    unsigned i = 0;

    while (i < self->n && self->pages[i] != index) {
        i++;
    }
    if (i == self->n) {
        self->pages[self->n++] = index;
    }
    self->flags[index] |= flag;
}

// What the thread does: fault as often as the view makes it.
static void access_page(unsigned index, int is_write)
{
    struct page *page = &space.pages[page_at(index)];
    uint8_t need = is_write ? ACCESS_WRITE : ACCESS_READ;

    hides_reads[index] &= page->mapped != ACCESS_NONE;
    if (page->mapped < need) {
        if (page->access < need) {
            space_set_access(&space, page_at(index), 1, need);
        }
        track_touch(track, running, 100 + running, page_at(index), is_write);
        note_use(index, is_write ? USE_WRITE : USE_READ);
        assert_true(page->mapped >= need);
        if (is_write) {
            memcpy(before[index], bytes_of(index), TM_PAGE_SIZE);
            is_written[index] = 1;
        }
    }
    if (is_write) {
        assert_true(is_written[index]);
    } else { // is seen, but behind a write
        assert_true(expected[running].flags[index] & USE_READ ||
                    hides_reads[index]);
    }
    hides_reads[index] |= is_write;
    for (unsigned i = random_below(40); is_write && i > 0; i--) {
        bytes_of(index)[random_below(TM_PAGE_SIZE)] =
            (uint8_t)random_below(256);
    }
}

static void lower_access(unsigned first)
{
    unsigned n = 1 + random_below(4);
    enum page_access access = random_below(2) ? ACCESS_READ : ACCESS_NONE;

    for (unsigned i = first; i < first + n && i < N_PAGES; i++) {
        if (space.pages[page_at(i)].access > access) {
            end_writes(i);
            space_set_access(&space, page_at(i), 1, access);
        }
    }
}

// An update of another node.
static void set_bytes(unsigned index)
{
    uint8_t bytes[30];
    uint8_t diff[DIFF_MAX];
    unsigned offset = random_below(TM_PAGE_SIZE - sizeof bytes);
    size_t size;

    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)random_below(256);
    }
    size = diff_of_range(bytes, offset, sizeof bytes, diff);
    memcpy(bytes_of(index) + offset, bytes, sizeof bytes);
    memcpy(before[index] + offset, bytes, sizeof bytes);
    space_changed(&space, page_at(index), diff, size);
}

static void make_step(void)
{
    unsigned index = random_below(N_PAGES);

    switch (random_below(12)) {
    case 0:
    case 1:
        change_turn();
        break;
    case 2:
        lower_access(index);
        break;
    case 3:
        set_bytes(index);
        break;
    default:
        access_page(index, (int)random_below(2));
    }
    assert_true(track_is_valid(track));
}

static void check_set(unsigned slot)
{
    const struct access_set *set = set_of(100 + slot);
    const struct expected *self = &expected[slot];

    if (self->n == 0) {
        assert_int_equal(set != NULL, self->has_run);
        assert_true(set == NULL || set->n == 0);
        return;
    }
    assert_non_null(set);
    assert_int_equal(set->n, self->n);
    for (unsigned i = 0; i < self->n; i++) {
        unsigned index = self->pages[i];
        unsigned diff_bytes = self->diff_bytes[index];

        assert_int_equal(set->entries[i].page, page_at(index));
        assert_int_equal(set->entries[i].flags, self->flags[index]);
        assert_int_equal(set->entries[i].diff_bytes,
                         diff_bytes > TM_PAGE_SIZE ? TM_PAGE_SIZE : diff_bytes);
    }
}

static void run_round(unsigned n_steps)
{
    memset(expected, 0, sizeof expected);
    memset(is_written, 0, sizeof is_written);
    memset(hides_reads, 0, sizeof hides_reads);
    running = 0;
    track_begin(track, &everything, 1, TRACK_TWINS_MAX);
    track_turn(track, running, 100);
    expected[running].has_run = 1;
    for (unsigned i = 0; i < n_steps; i++) {
        make_step();
    }
    for (unsigned i = 0; i < N_PAGES; i++) {
        end_writes(i);
    }
    track_end(track, &everything, 1);
    assert_true(track_is_valid(track));
    assert_int_equal(space.twins.n_used, 0);
    for (unsigned slot = 0; slot < N_SLOTS; slot++) {
        check_set(slot);
    }
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(space.pages[page_at(i)].mapped, ACCESS_NONE);
    }
}

static void sets_are_what_the_threads_did(void **state)
{
    (void)state;
    seed_random();
    open_with(NULL);
    for (unsigned round = 0; round < 60; round++) {
        run_round(random_below(3000));
    }
    close_all();
}

// ---- facts

static void pages_are_listed_in_order_of_first_use(void **state)
{
    static const unsigned order[] = {7, 3, 4, 5, 3, 7, 39, 0};
    static const struct wire_access_run runs[] = {
        {.page = 7, .n_pages = 1, .flags = USE_READ | USE_WRITE},
        {.page = 3, .n_pages = 3, .flags = USE_READ},
        {.page = 39, .n_pages = 1, .flags = USE_READ},
        {.page = 0, .n_pages = 1, .flags = USE_READ},
    };
    struct wire_access_run run;
    uint32_t at = 0;

    (void)state;
    open_with(NULL);
    track_begin(track, &everything, 1, TRACK_TWINS_MAX);
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
        track_touch(track, 1, 9, page_at(order[i]), 0);
    }
    track_touch(track, 1, 9, page_at(7), 1);
    track_end(track, &everything, 1);
    for (unsigned i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        assert_true(access_set_next_run(set_of(9), &at, &run));
        assert_int_equal(run.page, page_at((unsigned)runs[i].page));
        assert_int_equal(run.n_pages, runs[i].n_pages);
        assert_int_equal(run.flags, runs[i].flags);
        assert_int_equal(run.diff_bytes, 0);
    }
    assert_false(access_set_next_run(set_of(9), &at, &run));
    close_all();
}

static void write_many(size_t asked, size_t twins_max)
{
    open_with(NULL);
    track_begin(track, &everything, 1, asked);
    for (unsigned i = 0; i < MANY; i++) {
        track_touch(track, 1, 9, page_at(i), 1);
        memset(bytes_of(i), 0xff, i % 50);
        assert_true(space.twins.n_used <= twins_max);
    }
    assert_true(track_is_valid(track));
    track_end(track, &everything, 1);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(set_of(9)->entries[i].diff_bytes, i % 50);
    }
    close_all();
}

static void twins_are_not_kept_without_end(void **state)
{
    (void)state;
    write_many(SIZE_MAX, 2048);
    write_many(256, 256);
    write_many(0, 64);
}

static void a_thread_that_has_gone_leaves_nothing(void **state)
{
    (void)state;
    open_with(NULL);
    track_begin(track, &everything, 1, TRACK_TWINS_MAX);
    track_touch(track, 1, 9, page_at(3), 1);
    track_touch(track, 2, 8, page_at(3), 0);
    track_forget(track, 1);
    track_touch(track, 2, 8, page_at(4), 1);
    track_forget(track, 2); // it runs
    assert_true(track_is_valid(track));
    assert_int_equal(space.pages[page_at(4)].mapped, ACCESS_NONE);
    track_touch(track, 2, 7, page_at(5), 0); // another in its slot
    track_end(track, &everything, 1);
    assert_null(set_of(9));
    assert_null(set_of(8));
    assert_int_equal(set_of(7)->n, 1);
    close_all();
}

// Threads that switch all the time do not pay for all their pages at each turn.
static void who_goes_on_has_its_pages_if_it_has_paid(void **state)
{
    (void)state;
    open_with(NULL);
    track_begin(track, &everything, 1, TRACK_TWINS_MAX);
    for (unsigned i = 0; i < 10; i++) {
        track_touch(track, 1, 9, page_at(i), 0);
    }
    track_turn(track, 2, 8);
    track_turn(track, 1, 9);
    assert_int_equal(space.pages[page_at(9)].mapped, ACCESS_READ);
    track_turn(track, 2, 8);
    assert_int_equal(space.pages[page_at(9)].mapped, ACCESS_NONE);
    track_turn(track, 1, 9);
    assert_int_equal(space.pages[page_at(9)].mapped, ACCESS_NONE);
    track_end(track, &everything, 1);
    assert_int_equal(track_n_touches(track), 10);
    close_all();
}

// ---- with a real view

static volatile unsigned n_traps;

// Page 3 is written before the barrier, 4 before and behind it, 5 behind it; 6 is read.
static void what_is_written_behind_a_barrier_is_told_apart(void **state)
{
    static const unsigned writes[] = {1, 3, 2, 0};
    struct wire_access_run run;
    uint32_t at = 0;

    (void)state;
    open_with(NULL);
    track_begin(track, &everything, 1, TRACK_TWINS_MAX);
    track_touch(track, 1, 9, page_at(3), 1);
    track_touch(track, 1, 9, page_at(4), 1);
    track_phase(track);
    assert_int_equal(space.pages[page_at(4)].mapped, ACCESS_NONE);
    track_touch(track, 1, 9, page_at(4), 1);
    track_touch(track, 1, 9, page_at(5), 1);
    track_touch(track, 1, 9, page_at(6), 0);
    assert_true(track_is_valid(track));
    track_end(track, &everything, 1);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(access_set_next_run(set_of(9), &at, &run));
        assert_int_equal(run.page, page_at(3 + i));
        assert_int_equal(run.flags / WRITTEN_BEHIND(0), writes[i]);
        assert_int_equal(run.flags % WRITTEN_BEHIND(0),
                         i < 3 ? USE_WRITE : USE_READ);
    }
    close_all();
}

static int catch (void *owner, const struct trap *trap)
{
    page_no page;

    (void)owner;
    n_traps++;
    if (!space_find(&space, (void *)trap->address, &page) ||
        space.pages[page].access <
            (trap->is_write ? ACCESS_WRITE : ACCESS_READ)) {
        return 0;
    }
    track_touch(track, running, 100 + running, page, trap->is_write);
    return 1;
}

static volatile char *address_of(unsigned index)
{
    return space_address(&space, page_at(index));
}

// Thread t reads pages t*8..t*8+7 and changes t+1 bytes of every second one, in
// two turns.
static void sweep(void)
{
    for (unsigned phase = 0; phase < 2; phase++) {
        for (running = 0; running < 4; running++) {
            track_turn(track, running, 100 + running);
            for (unsigned i = running * 8; i < running * 8 + 8; i++) {
                (void)*address_of(i);
                for (unsigned k = 0;
                     i % 2 == phase && phase == 1 && k < running + 1; k++) {
                    address_of(i)[k * 9]++;
                }
            }
        }
    }
}

static void check_sweep(void)
{
    for (unsigned thread = 0; thread < 4; thread++) {
        const struct access_set *set = set_of(100 + thread);

        assert_int_equal(set->n, 8);
        for (unsigned i = 0; i < 8; i++) {
            const struct access_entry *entry = &set->entries[i];

            assert_int_equal(entry->page, page_at(thread * 8 + i));
            assert_int_equal(entry->flags,
                             i % 2 == 1 ? USE_READ | USE_WRITE : USE_READ);
            assert_int_equal(entry->diff_bytes, i % 2 == 1 ? thread + 1 : 0);
        }
    }
}

static void check_real(const struct fault_source *source)
{
    char reason[160];

    if (!source->is_available(reason, sizeof reason)) {
        print_message("%s: %s\n", source->name, reason);
        skip();
    }
    assert_int_equal(trap_install(source->signal, catch, NULL), TM_OK);
    assert_int_equal(trap_thread_open(), TM_OK);
    open_with(source);
    for (unsigned round = 0; round < 3; round++) {
        n_traps = 0;
        track_begin(track, &everything, 1, TRACK_TWINS_MAX);
        sweep();
        assert_int_equal(n_traps, 4 * 8 + 4 * 4); // reads, and writes
        track_end(track, &everything, 1);
        n_traps = 0;
        check_sweep();
        for (unsigned i = 0; i < MANY; i++) {
            address_of(i)[0] += 0;
        }
        assert_int_equal(n_traps, 0);
    }
    close_all();
}

static void real_accesses_are_caught_once_userfaultfd(void **state)
{
    (void)state;
    check_real(&fault_userfaultfd);
}

static void real_accesses_are_caught_once_mprotect(void **state)
{
    (void)state;
    check_real(&fault_mprotect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_what_the_threads_did),
        cmocka_unit_test(pages_are_listed_in_order_of_first_use),
        cmocka_unit_test(twins_are_not_kept_without_end),
        cmocka_unit_test(a_thread_that_has_gone_leaves_nothing),
        cmocka_unit_test(what_is_written_behind_a_barrier_is_told_apart),
        cmocka_unit_test(who_goes_on_has_its_pages_if_it_has_paid),
        cmocka_unit_test(real_accesses_are_caught_once_userfaultfd),
        cmocka_unit_test(real_accesses_are_caught_once_mprotect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
