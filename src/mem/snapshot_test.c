// SPDX-License-Identifier: BSD-3-Clause
// Snapshots: a program that really faults; then random steps of a program, a pager and a disk
// against a model that knows what was in each page when the snapshot was taken.
#include "mem/pager_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mem/random_numbers_test.h"
#include "os/trap.h"

static struct snapshot snapshot = {.fd = -1};

static struct snapshot_page *entries_of(const struct space *space,
                                        const page_no *pages, size_t n)
{
    struct snapshot_page *entries = calloc(n + 1, sizeof *entries);

    assert_non_null(entries);
    for (size_t i = 0; i < n; i++) {
        entries[i] = (struct snapshot_page){
            .page = pages[i], .part = space_part(space, pages[i])};
    }
    return entries;
}

static int new_file(void)
{
    int fd = memfd_create("overflow", MFD_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static void begin(struct space *space, const page_no *pages, size_t n,
                  size_t n_room)
{
    assert_int_equal(snapshot_begin(space, &snapshot,
                                    entries_of(space, pages, n), n, n_room,
                                    n_room < n ? new_file() : -1),
                     TM_OK);
}

// ---- a program that faults

enum { FIRST = 256, N_SEEN = 40 };

static struct space seen; // by the program
static volatile unsigned n_traps;

// As engine_fault() does.
static int serve(void *owner, const struct trap *trap)
{
    page_no page;

    (void)owner;
    n_traps++;
    if (!space_find(&seen, (void *)trap->address, &page)) {
        return 0;
    }
    if (trap->is_write && seen.pages[page].in_snapshot) {
        snapshot_keep_run(&seen, page);
    }
    space_restore(&seen, page, 1);
    return 1;
}

static volatile char *at(page_no page)
{
    return space_address(&seen, page);
}

static void open_seen(const struct fault_source *source, page_no *pages)
{
    char reason[160];

    if (!source->is_available(reason, sizeof reason)) {
        print_message("%s: %s\n", source->name, reason);
        skip();
    }
    assert_int_equal(trap_install(source->signal, serve, NULL), TM_OK);
    assert_int_equal(trap_thread_open(), TM_OK);
    assert_int_equal(space_open(&seen, source, NULL, 0, 16 << 20), TM_OK);
    space_populate(&seen, FIRST, N_SEEN);
    space_set_access(&seen, FIRST, N_SEEN, ACCESS_WRITE);
    for (page_no i = 0; i < N_SEEN; i++) {
        pages[i] = FIRST + i;
        *at(FIRST + i) = (char)i;
    }
}

// All pages as they were, in whatever order they were read or kept.
static void read_all(struct space *space, int value_at_zero)
{
    char bytes[SNAPSHOT_RUN][TM_PAGE_SIZE];
    size_t end;

    for (size_t first = 0; first < snapshot.n; first = end) {
        end = snapshot_run_end(&snapshot, first);
        assert_true(end - first <= SNAPSHOT_RUN);
        assert_true(snapshot_read(space, first, end, bytes));
        assert_null(snapshot_read_kept(&snapshot, first, end, bytes));
        for (size_t i = first; i < end; i++) {
            assert_int_equal(bytes[i - first][0], value_at_zero + (int)i);
        }
    }
}

static void check_source(const struct fault_source *source)
{
    static const char other[TM_PAGE_SIZE] = "of another node";
    page_no pages[N_SEEN];

    open_seen(source, pages);
    begin(&seen, pages, N_SEEN, N_SEEN);
    n_traps = 0;
    assert_int_equal(*at(FIRST + 3), 3); // reading costs nothing
    assert_int_equal(n_traps, 0);
    *at(FIRST + 3) = 99;
    *at(FIRST + 15) = 99; // of the same run
    assert_int_equal(n_traps, 1);
    assert_int_equal(snapshot.n_kept, SNAPSHOT_RUN);
    *space_bytes_to_change(&seen, FIRST + 20) = 98;
    assert_int_equal(snapshot.n_kept, SNAPSHOT_RUN + 1);
    space_set_access(&seen, FIRST + 21, 1, ACCESS_NONE);
    space_discard(&seen, FIRST + 21, 1);
    assert_int_equal(snapshot.n_kept, SNAPSHOT_RUN + 2);
    space_fill(&seen, FIRST + 22, 1, other); // a copy that comes anew
    assert_int_equal(snapshot.n_kept, SNAPSHOT_RUN + 3);
    read_all(&seen, 0);
    n_traps = 0;
    *at(FIRST + 39) = 97; // it has been read
    assert_int_equal(n_traps, 0);
    snapshot_end(&seen);
    assert_int_equal(*at(FIRST + 3), 99);
    assert_int_equal(*at(FIRST + 20), 98);
    space_close(&seen);
}

static void test_pages_that_are_written_with_userfaultfd(void **state)
{
    (void)state;
    check_source(&fault_userfaultfd);
}

static void test_pages_that_are_written_with_mprotect(void **state)
{
    (void)state;
    check_source(&fault_mprotect);
}

// One that nobody reads to its end.
static void test_an_end_before_all_is_read(void **state)
{
    page_no pages[N_SEEN];

    (void)state;
    open_seen(&fault_mprotect, pages);
    begin(&seen, pages, N_SEEN, N_SEEN);
    snapshot_end(&seen);
    n_traps = 0;
    *at(FIRST) = 1;
    assert_int_equal(n_traps, 0);
    assert_int_equal(seen.pages[FIRST].in_snapshot, 0);
    space_close(&seen);
}

// Their last page and the first of the heap have neighbouring numbers, and nothing else.
static void test_variables_that_end_where_the_heap_begins(void **state)
{
    static char variables[257 * TM_PAGE_SIZE] __attribute__((aligned(4096)));
    page_no pages[20];

    (void)state;
    assert_int_equal(trap_install(SIGSEGV, serve, NULL), TM_OK);
    assert_int_equal(trap_thread_open(), TM_OK);
    assert_int_equal(space_open(&seen, &fault_mprotect, variables,
                                256 * TM_PAGE_SIZE, 16 << 20),
                     TM_OK);
    assert_int_equal(seen.heap_page, 256);
    for (page_no i = 0; i < 20; i++) {
        pages[i] = 246 + i;
    }
    space_populate(&seen, 246, 20);
    space_set_access(&seen, 246, 20, ACCESS_WRITE);
    begin(&seen, pages, 20, 20);
    n_traps = 0;
    *(volatile char *)&variables[256 * TM_PAGE_SIZE] = 1; // private
    assert_int_equal(n_traps, 0);
    *at(255) = 1;
    *at(256) = 1;
    assert_int_equal(n_traps, 2);
    snapshot_end(&seen);
    space_close(&seen);
}

// ---- what has no room in memory

static void test_the_rest_goes_to_the_file(void **state)
{
    static struct space space;
    page_no pages[20];
    char bytes[SNAPSHOT_RUN][TM_PAGE_SIZE];

    (void)state;
    assert_int_equal(space_open(&space, NULL, NULL, 0, 1 << 20), TM_OK);
    space_populate(&space, 0, 20);
    for (page_no i = 0; i < 20; i++) {
        pages[i] = i;
        *space_bytes_to_change(&space, i) = (char)i;
    }
    begin(&space, pages, 20, 2);
    for (page_no i = 0; i < 20; i++) {
        *space_bytes_to_change(&space, i) = 77;
    }
    assert_int_equal(snapshot.n_kept, 2); // N3
    read_all(&space, 0);
    snapshot_end(&space);
    assert_int_equal(snapshot_begin(&space, &snapshot,
                                    entries_of(&space, pages, 3), 3, 1,
                                    open("/dev/full", O_RDWR | O_CLOEXEC)),
                     TM_OK);
    for (page_no i = 0; i < 3; i++) {
        *space_bytes_to_change(&space, i) = 78;
    }
    assert_true(snapshot_read(&space, 0, 3, bytes));
    assert_non_null(strstr(snapshot.why, "no room on the disk"));
    assert_int_equal(snapshot.n_filed, 2);
    snapshot_end(&space);
    space_close(&space);
}

// ---- pages that share frames

static void test_pages_that_share_a_frame(void **state)
{
    static struct space space;
    const struct grain_area area = {.page = 256, .n_frames = 2, .n_views = 4};
    const page_no pages[] = {256, 257, 258, 262};
    char bytes[SNAPSHOT_RUN][TM_PAGE_SIZE];

    (void)state;
    assert_int_equal(space_open(&space, NULL, NULL, 0, 4 << 20), TM_OK);
    space_share_frames(&space, &area);
    space_populate(&space, 256, 2);
    for (unsigned i = 0; i < 4; i++) {
        space_bytes_to_change(&space,
                              pages[i])[space_part(&space, pages[i]).offset] =
            (char)(10 + i);
    }
    begin(&space, pages, 4, 4);
    space_bytes_to_change(&space, 258)[space_part(&space, 258).offset] = 99;
    assert_int_equal(snapshot.n_kept, 1); // its neighbours have not changed
    space_part_frames(&space, 256);
    space_discard(&space, 256, 8);
    assert_int_equal(snapshot.n_kept, 4);
    assert_true(snapshot_read(&space, 0, 4, bytes));
    assert_null(snapshot_read_kept(&snapshot, 0, 4, bytes));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(bytes[i][0], 10 + i);
    }
    snapshot_end(&space);
    space_close(&space);
}

// ---- blocks that are freed

static size_t free_block_that_is_out(page_no n_pages)
{
    static page_no pages[N_PAGES];
    struct test test;
    size_t n_kept;
    const char *why;

    open_test(&test, BUDGET, 0);
    make_many(&test, 0, n_pages);
    for (page_no i = 0; i < n_pages; i++) {
        pages[i] = i;
    }
    begin(&test.space, pages, n_pages, n_pages);
    space_set_access(&test.space, 0, n_pages, ACCESS_NONE);
    space_discard(&test.space, 0, n_pages);
    assert_true(test.pager->stats.resident_max <= BUDGET + 2 * SNAPSHOT_RUN);
    n_kept = snapshot.n_kept;
    why = snapshot.why;
    snapshot_end(&test.space);
    spare_memory_release(&snapshot.aside);
    close_test(&test);
    assert_true((n_kept == n_pages) == (why == NULL));
    return n_kept;
}

static void test_a_block_that_is_out_is_kept_if_it_is_small(void **state)
{
    (void)state;
    assert_int_equal(free_block_that_is_out(200), 200);
    assert_int_equal(free_block_that_is_out(1000), 0);
}

// ---- pages that have come ahead

static page_no come_ahead(struct test *test)
{
    struct wait wait = {.is_woken = 0};
    page_no page = 0;

    make_many(test, 0, 2 * BUDGET);
    pager_set_budget(test->pager, 8 * BUDGET);
    for (unsigned i = 0; i < 8; i++) { // in order, so it is expected to go on
        (void)ask(test, find(test, IO_NONE, 0), 0, &wait);
        pager_poll(test->pager);
    }
    while (page < 2 * BUDGET && !test->space.pages[page].ahead) {
        page++;
    }
    assert_true(page < 2 * BUDGET);
    return page;
}

// As the pager sees it nobody has asked for it, but it was mapped with its neighbours.
static void test_a_page_that_came_ahead_and_is_mapped(void **state)
{
    struct test test;
    page_no page;

    (void)state;
    open_test(&test, BUDGET, 0);
    page = come_ahead(&test);
    test.space.pages[page].swap_slot = 0; // nor is it in the swap file
    space_set_access(&test.space, page, 1, ACCESS_WRITE);
    assert_int_equal(view_of(&test.space, page), ACCESS_WRITE);
    begin(&test.space, &page, 1, 1);
    assert_true(view_of(&test.space, page) <= ACCESS_READ); // N2
    snapshot_end(&test.space);
    swap_file_close(test.swap);
    pager_free(test.pager);
    space_close(&test.space);
}

// ---- random steps

// Few, so that each is often meant.
enum { N_USED = 128 };

struct model {
    uint8_t exists[N_USED];
    uint8_t value[N_USED];
    uint8_t was[N_USED];                    ///< when the snapshot was taken
    size_t n_read;                          ///< of its pages
    char bytes[SNAPSHOT_RUN][TM_PAGE_SIZE]; ///< of those that are read next
    struct wait waits[N_THREADS];
    uint8_t is_waiting[N_THREADS];
};

static void take(struct test *test, struct model *model, uint64_t random)
{
    page_no pages[N_USED];
    size_t n = 0;

    for (page_no i = 0; i < N_USED; i++) {
        if (model->exists[i]) {
            pages[n++] = i;
            model->was[i] = model->value[i];
        }
    }
    model->n_read = 0;
    begin(&test->space, pages, n, random % 2 ? n : (random >> 8) % (n + 1));
}

static void read_some(struct test *test, struct model *model)
{
    const size_t first = model->n_read;
    size_t end;

    if (first == snapshot.n) {
        snapshot_end(&test->space);
        return;
    }
    end = snapshot_run_end(&snapshot, first);
    if (!snapshot_read(&test->space, first, end, model->bytes)) {
        return; // again, later
    }
    assert_null(snapshot_read_kept(&snapshot, first, end, model->bytes));
    for (size_t i = first; i < end; i++) {
        const uint8_t *page = (uint8_t *)model->bytes[i - first];

        assert_int_equal(page[0], model->was[snapshot.pages[i].page]);
        assert_memory_equal(page, page + 1, TM_PAGE_SIZE - 1);
    }
    model->n_read = end;
}

// A thread that was let in touches another page than it waited for: the pager need not care.
static void touch(struct test *test, struct model *model, uint64_t random,
                  page_no page)
{
    const unsigned who = (unsigned)(random >> 40) % N_THREADS;
    struct wait *wait = &model->waits[who];

    if (model->is_waiting[who] && !wait->is_woken) {
        return;
    }
    if (!model->is_waiting[who]) {
        wait->waiter.result = 0;
    }
    test->who = who;
    model->is_waiting[who] =
        ask(test, page, (random >> 50) % 2, wait) == PAGER_WAIT;
    if (!model->is_waiting[who] && !model->exists[page]) {
        make(test, page); // as the protocol would
        model->exists[page] = 1;
        model->value[page] = (uint8_t)(page % 251);
    } else if (!model->is_waiting[who] &&
               view_of(&test->space, page) == ACCESS_WRITE) {
        model->value[page] = (uint8_t)(random >> 20); // without a fault
        memset(space_place(&test->space, page), model->value[page],
               TM_PAGE_SIZE);
    }
    pager_release_claims(test->pager, &test->claims[who]);
}

static void change(struct test *test, struct model *model, uint64_t random,
                   page_no page)
{
    char bytes[TM_PAGE_SIZE];

    if (!model->exists[page]) {
        return;
    }
    model->value[page] = (uint8_t)(random >> 20);
    if ((random >> 30) % 2) {
        set_bytes(test, page, model->value[page]);
    } else if (!pager_is_out(test->pager, page) &&
               test->space.pages[page].io == IO_NONE) {
        memset(bytes, model->value[page], sizeof bytes);
        release_page(test, page);
        space_fill(&test->space, page, 1, bytes);
        test->space.pages[page].state = PAGE_CLEAN;
        space_set_access(&test->space, page, 1, ACCESS_WRITE);
    } else {
        set_bytes(test, page, model->value[page]);
    }
}

static void step(struct test *test, struct model *model, uint64_t random)
{
    const page_no page = (page_no)(random >> 8) % N_USED;
    const enum page_fate fates[] = {FATE_SWAP, FATE_SWAP, FATE_STAY, FATE_DROP};

    switch (random % 11) {
    case 0:
        if (model->exists[page]) {
            release_page(test, page);
            model->exists[page] = 0;
        }
        break;
    case 1:
    case 2:
        change(test, model, random, page);
        break;
    case 3:
        pager_poll(test->pager);
        break;
    case 4:
        test->fates[page] = fates[(random >> 30) % 4];
        break;
    case 5:
        pager_settle(test->pager);
        break;
    case 6:
        if (model->exists[page]) {
            space_set_access(&test->space, page, 1,
                             (random >> 30) % 2 ? ACCESS_READ : ACCESS_WRITE);
        }
        break;
    case 7:
        if (test->space.snapshot == NULL) {
            take(test, model, random >> 16);
        } else {
            read_some(test, model);
        }
        break;
    default:
        touch(test, model, random, page);
    }
}

static void note_dropped(const struct test *test, struct model *model)
{
    for (page_no i = 0; i < N_USED; i++) {
        model->exists[i] &= test->space.pages[i].state != PAGE_ABSENT;
    }
}

static void run_random(void)
{
    static struct model model;
    struct test test;

    memset(&model, 0, sizeof model);
    open_test(&test, 10 + next_random() % 60, 0);
    for (unsigned i = 0; i < 3000; i++) {
        step(&test, &model, next_random());
        note_dropped(&test, &model);
        check(&test);
    }
    while (test.space.snapshot != NULL) {
        read_some(&test, &model);
        pager_poll(test.pager);
        note_dropped(&test, &model);
    }
    spare_memory_release(&snapshot.aside);
    release_all(&test, model.exists, model.value, N_USED);
    close_test(&test);
}

static void test_random_steps(void **state)
{
    (void)state;
    seed_random();
    for (unsigned i = 0; i < 20; i++) {
        run_random();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_that_are_written_with_userfaultfd),
        cmocka_unit_test(test_pages_that_are_written_with_mprotect),
        cmocka_unit_test(test_an_end_before_all_is_read),
        cmocka_unit_test(test_variables_that_end_where_the_heap_begins),
        cmocka_unit_test(test_the_rest_goes_to_the_file),
        cmocka_unit_test(test_a_block_that_is_out_is_kept_if_it_is_small),
        cmocka_unit_test(test_pages_that_share_a_frame),
        cmocka_unit_test(test_a_page_that_came_ahead_and_is_mapped),
        cmocka_unit_test(test_random_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
