// SPDX-License-Identifier: BSD-3-Clause
#include "mem/pager_test.h"
#include "mem/transfers_test.h"

// As a fault does. @return how often it waited
static unsigned touch(struct test *test, page_no page, int is_write)
{
    struct wait wait = {.is_woken = 0};
    unsigned n = 0;

    while (ask(test, page, is_write, &wait) == PAGER_WAIT) {
        for (unsigned i = 0; !wait.is_woken; i++) {
            assert_true(i < 10);
            pager_poll(test->pager);
        }
        n++;
    }
    pager_settle(test->pager);
    return n;
}

// Some pages are being written when this returns.
static page_no begin_out(struct test *test)
{
    make_many(test, 0, BUDGET - BUDGET / 32);
    make(test, BUDGET - BUDGET / 32);
    pager_settle(test->pager);
    return find(test, IO_OUT, 0);
}

// A page is being read when this returns, and waited for.
static page_no begin_in(struct test *test, struct wait *wait)
{
    page_no page;

    make_many(test, 0, 2 * BUDGET);
    page = find(test, IO_NONE, 0);
    assert_int_equal(ask(test, page, 0, wait), PAGER_WAIT);
    return page;
}

// ---- tests

static void test_pages_go_and_come_back(void **state)
{
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, N_PAGES);
    assert_in_range(test.pager->stats.resident, BUDGET / 2, BUDGET);
    assert_int_equal(test.pager->stats.resident + test.pager->stats.out,
                     N_PAGES);
    for (page_no i = 0; i < N_PAGES; i++) {
        touch(&test, i, 0);
        assert_bytes(&test, i, (int)i % 251);
        assert_in_range(test.pager->stats.resident, 1, BUDGET);
        check(&test);
    }
    assert_int_equal(test.pager->stats.over, 0);
    for (page_no i = N_PAGES; i-- > 0;) { // the runtime wants them
        assert_bytes(&test, i, (int)i % 251);
        pager_settle(test.pager);
        pager_poll(test.pager);
    }
    assert_int_equal(pager_returns(test.pager, 0),
                     test.pager->stats.ins / N_PAGES);
    assert_int_equal(pager_returns(test.pager, test.pager->stats.ins), 0);
    for (page_no i = 0; i < N_PAGES; i++) {
        release_page(&test, i);
    }
    assert_int_equal(test.pager->stats.resident, 0);
    assert_int_equal(test.pager->stats.out, 0);
    assert_int_equal(pager_returns(test.pager, 0), 0); // of no page
    check(&test);
    close_test(&test);
}

static void test_a_smaller_budget_is_kept(void **state)
{
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, 50);
    pager_set_budget(test.pager, 20);
    pager_settle(test.pager);
    pager_poll(test.pager);
    assert_in_range(test.pager->stats.resident, 10, 20);
    check(&test);
    close_test(&test);
}

// A transfer takes memory, and is asked for when there is none.
static void test_few_transfers_make_much_room(void **state)
{
    enum { LEFT = 2, WRITES = 16 };
    struct swap_stats stats;
    struct test test;
    unsigned n_in_flight;

    (void)state;
    open_test(&test, N_PAGES, 0);
    make_many(&test, 0, N_PAGES);
    pager_set_budget(test.pager, LEFT);
    pager_settle(test.pager);
    do {
        swap_file_stats(test.swap, &stats);
        n_in_flight = stats.in_flight;
        assert_in_range(n_in_flight, 0, WRITES);
        pager_poll(test.pager);
        check(&test);
    } while (n_in_flight > 0);
    swap_file_stats(test.swap, &stats);
    assert_in_range(stats.n_out, N_PAGES / SWAP_TRANSFER_MAX,
                    N_PAGES / SWAP_TRANSFER_MAX + 2);
    assert_in_range(test.pager->stats.resident, 0, LEFT);
    close_test(&test);
}

static void test_a_page_touched_on_its_way_out_stays(void **state)
{
    struct wait wait = {.is_woken = 0};
    struct test test;
    page_no page;

    (void)state;
    open_test(&test, BUDGET, 0);
    page = begin_out(&test);
    assert_int_equal(ask(&test, page, 0, &wait), PAGER_GO_ON);
    check(&test);
    pager_poll(test.pager);
    assert_true(pager_is_here(test.pager, page));
    assert_int_equal(test.space.pages[page].swap_slot, 0);
    check(&test);
    close_test(&test);
}

static void test_a_page_changed_on_its_way_out_stays(void **state)
{
    struct test test;
    page_no page;

    (void)state;
    open_test(&test, BUDGET, 0);
    page = begin_out(&test);
    set_bytes(&test, page, 99);
    pager_poll(test.pager);
    assert_true(pager_is_here(test.pager, page));
    assert_bytes(&test, page, 99);
    check(&test);
    close_test(&test);
}

static void test_a_page_can_be_freed_on_its_way_out(void **state)
{
    struct test test;
    page_no page;

    (void)state;
    open_test(&test, BUDGET, 0);
    page = begin_out(&test);
    release_page(&test, page);
    check(&test);
    make(&test, page); // again, before the transfer has ended
    set_bytes(&test, page, 77);
    pager_poll(test.pager);
    assert_true(pager_is_here(test.pager, page));
    assert_bytes(&test, page, 77);
    check(&test);
    close_test(&test);
}

static void test_a_page_can_be_freed_on_its_way_in(void **state)
{
    struct wait wait = {.is_woken = 0};
    struct test test;
    page_no page;

    (void)state;
    open_test(&test, BUDGET, 0);
    page = begin_in(&test, &wait);
    assert_int_equal(test.space.pages[page].io, IO_IN);
    assert_false(pager_is_here(test.pager, page));
    release_page(&test, page);
    assert_true(wait.is_woken);
    assert_false(pager_is_here(test.pager, page));
    assert_false(pager_is_out(test.pager, page));
    pager_poll(test.pager);
    check(&test);
    close_test(&test);
}

// Let one page go and no other.
static void evict(struct test *test, page_no page)
{
    pager_release_claims(test->pager, &test->claims[test->who]);
    set_fates(test, FATE_STAY);
    test->fates[page] = FATE_SWAP;
    pager_set_budget(test->pager, test->pager->stats.resident - 1);
    pager_settle(test->pager);
    pager_poll(test->pager);
    assert_true(pager_is_out(test->pager, page));
    pager_set_budget(test->pager, BUDGET);
    check(test);
}

static void test_an_unwritten_page_keeps_its_slot(void **state)
{
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, 20);
    evict(&test, 7);
    assert_int_equal(touch(&test, 7, 0), 1);
    assert_int_not_equal(test.space.pages[7].swap_slot, 0);
    assert_int_equal(pager_allows(test.pager, 7, ACCESS_WRITE), ACCESS_READ);
    evict(&test, 7);
    assert_int_equal(test.pager->stats.outs, 1);
    assert_int_equal(test.pager->stats.outs_saved, 1);
    assert_bytes(&test, 7, 7);
    close_test(&test);
}

static void test_a_written_page_gives_its_slot_back(void **state)
{
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, 20);
    evict(&test, 7);
    touch(&test, 7, 0);
    touch(&test, 7, 1);
    assert_int_equal(test.space.pages[7].swap_slot, 0);
    assert_int_equal(pager_allows(test.pager, 7, ACCESS_WRITE), ACCESS_WRITE);
    set_bytes(&test, 7, 200);
    evict(&test, 7);
    assert_int_equal(test.pager->stats.outs, 2);
    touch(&test, 7, 0);
    assert_int_not_equal(test.space.pages[7].swap_slot, 0);
    assert_bytes(&test, 7, 200);
    check(&test);
    close_test(&test);
}

// G2: as when a page comes of which an old copy is here.
static void test_a_filled_page_gives_its_slot_back(void **state)
{
    static char bytes[TM_PAGE_SIZE];
    struct test test;

    (void)state;
    memset(bytes, 200, sizeof bytes);
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, 20);
    evict(&test, 7);
    touch(&test, 7, 0);
    space_set_access(&test.space, 7, 1, ACCESS_NONE);
    space_fill(&test.space, 7, 1, bytes);
    assert_int_equal(test.space.pages[7].swap_slot, 0);
    evict(&test, 7);
    touch(&test, 7, 0);
    assert_bytes(&test, 7, 200);
    check(&test);
    close_test(&test);
}

static void test_copies_are_given_up_and_useless_bytes_discarded(void **state)
{
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, 30);
    evict(&test, 3);
    touch(&test, 3, 0); // has a slot
    pager_release_claims(test.pager, &test.claims[0]);
    set_fates(&test, FATE_DROP);
    for (page_no i = 10; i < 20; i++) {
        test.fates[i] = FATE_DISCARD;
        test.space.pages[i].state = PAGE_ABSENT;
    }
    make(&test, 40);
    test.fates[40] = FATE_STAY;
    pager_set_budget(test.pager, 1);
    pager_settle(test.pager);
    assert_int_equal(test.n_dropped, 20);
    assert_int_equal(test.pager->stats.dropped, 20);
    assert_int_equal(test.pager->stats.resident, 1);
    assert_int_equal(test.pager->stats.out, 0);
    check(&test);
    close_test(&test);
}

static void fill(struct test *test)
{
    set_fates(test, FATE_STAY);
    for (page_no i = 0; i < BUDGET; i++) {
        make(test, i);
    }
}

static void test_no_more_is_taken_while_others_go(void **state)
{
    enum { MORE = 5 };
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    set_fates(&test, FATE_STAY);
    make_many(&test, 0, BUDGET + MORE);
    assert_true(
        pager_takes(test.pager, 0)); // nothing would ever tell otherwise
    set_fates(&test, FATE_SWAP);
    pager_poll(test.pager);
    assert_non_null(test.pager->in_flight);
    assert_false(pager_takes(test.pager, 0));
    assert_false(pager_takes(test.pager, MORE));
    assert_true(pager_takes(test.pager, MORE + 1));
    test.n_calls = 0;
    pager_poll(test.pager);
    assert_int_equal(test.n_calls, 1);
    assert_true(pager_takes(test.pager, 0));
    close_test(&test);
}

static void test_pages_are_brought_as_far_as_there_is_room(void **state)
{
    enum { ROOM = 3 };
    struct test test;
    page_no first;

    (void)state;
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, 2 * BUDGET);
    pager_set_budget(test.pager, test.pager->stats.resident + ROOM);
    pager_poll(test.pager);
    first = find(&test, IO_NONE, 0);
    test.n_calls = 0;
    pager_bring(test.pager, first, SWAP_TRANSFER_MAX);
    assert_int_equal(pager_room(test.pager), 0);
    pager_poll(test.pager);
    assert_int_equal(test.n_calls, 1);
    assert_false(pager_is_coming(test.pager, 0, N_PAGES));
    assert_bytes(&test, first, (int)first % 251);
    assert_int_equal(test.pager->n_ahead, 0);
    assert_int_equal(test.pager->stats.sync_ins, 0);
    assert_non_null(test.pager->in_flight);
    pager_poll(test.pager);
    assert_int_equal(test.n_calls, 2); // others have gone for them
    pager_poll(test.pager);
    assert_int_equal(test.n_calls, 2);

    set_fates(&test, FATE_STAY); // not even one has room
    first = find(&test, IO_NONE, 0);
    pager_set_budget(test.pager, 1);
    pager_bring(test.pager, first, SWAP_TRANSFER_MAX);
    assert_int_equal(test.pager->in_flight->swap.n_pages, 1);
    pager_poll(test.pager);
    assert_bytes(&test, first, (int)first % 251);
    close_test(&test);
}

static void test_few_pages_are_brought_beyond_the_budget(void **state)
{
    enum { BEYOND = 2 };
    struct test test;
    page_no pages[BEYOND + 3];
    unsigned n = 0;

    (void)state;
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, 2 * BUDGET);
    pager_poll(test.pager);
    for (page_no at = 0; at < N_PAGES && n < BEYOND + 3; at++) {
        if (pager_is_out(test.pager, at)) {
            pages[n++] = at;
        }
    }
    assert_int_equal(n, BEYOND + 3);
    pager_set_budget(test.pager, pager_used(test.pager));
    pager_bring_all(test.pager, pages, n, BEYOND);
    assert_int_equal(test.pager->in_flight->swap.n_pages, BEYOND);
    pager_bring_all(test.pager, &pages[BEYOND], 3, BEYOND); // there is no room
    assert_int_equal(pager_used(test.pager), test.pager->budget + BEYOND + 1);
    pager_poll(test.pager);
    close_test(&test);
}

// The transfer has ended, and nobody was told.
static void test_the_host_hears_of_a_page_before_a_thread_has_it(void **state)
{
    struct wait wait = {.is_woken = 0};
    struct test test;
    page_no page;

    (void)state;
    open_test(&test, BUDGET, 0);
    page = begin_in(&test, &wait);
    test.n_calls = 0;
    finish_transfers(test.pager);
    assert_true(wait.is_woken);
    assert_int_equal(test.n_calls, 0);
    assert_int_equal(ask(&test, page, 0, &wait), PAGER_GO_ON);
    assert_int_equal(test.n_calls, 1); // G6
    close_test(&test);
}

static void test_what_no_thread_uses_is_unwanted(void **state)
{
    const uint32_t threads[1] = {0};
    const page_no used[2] = {1, 2};
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, BUDGET / 2);
    assert_false(pager_is_unwanted(test.pager, 3)); // nobody knows
    replace_learn(pager_replace(test.pager), 0, used, 2);
    replace_order(pager_replace(test.pager), 0, threads, 1);
    assert_false(pager_is_unwanted(test.pager, 3)); // there is memory
    make_many(&test, BUDGET / 2, 2 * BUDGET);
    pager_poll(test.pager);
    assert_true(pager_is_short(test.pager));
    assert_true(pager_is_unwanted(test.pager, 3));
    assert_false(pager_is_unwanted(test.pager, 2));
    close_test(&test);
}

static void test_threads_wait_for_room_in_order(void **state)
{
    struct wait waits[3] = {{.is_woken = 0}};
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    fill(&test);
    test.n_coming = 1;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ask(&test, 100 + i, 0, &waits[i]), PAGER_WAIT);
    }
    assert_true(pager_is_awaited(test.pager));
    pager_poll(test.pager);
    assert_false(waits[0].is_woken);
    assert_true(test.n_relieved > 0);
    test.fates[5] = FATE_SWAP;
    test.fates[6] = FATE_SWAP;
    test.fates[7] = FATE_SWAP;
    pager_poll(test.pager);
    pager_poll(test.pager);
    assert_true(waits[0].is_woken && waits[1].is_woken && !waits[2].is_woken);
    assert_int_equal(waits[0].waiter.result, 1);
    test.n_coming = 0;
    pager_poll(test.pager);
    assert_true(waits[2].is_woken);
    assert_int_equal(waits[2].waiter.result, 1);
    assert_int_equal(test.pager->stats.over, 0);
    close_test(&test);
}

static void test_a_thread_is_let_in_if_nothing_is_under_way(void **state)
{
    struct wait waits[2] = {{.is_woken = 0}};
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    fill(&test);
    assert_int_equal(ask(&test, 100, 0, &waits[0]), PAGER_WAIT);
    assert_int_equal(ask(&test, 101, 0, &waits[1]), PAGER_WAIT);
    pager_settle(test.pager);
    assert_true(waits[0].is_woken);
    assert_false(waits[1].is_woken); // one at a time
    assert_int_equal(waits[0].waiter.result, 1);
    assert_int_equal(ask(&test, 100, 0, &waits[0]), PAGER_GO_ON);
    assert_int_equal(test.pager->stats.over, 1);
    assert_true(test.n_relieved > 0);
    pager_settle(test.pager);
    assert_true(waits[1].is_woken);
    close_test(&test);
}

static void put_out(struct test *test, page_no first, page_no n)
{
    make_many(test, first, n);
    make(test, first + n);
    set_fates(test, FATE_SWAP);
    test->fates[first + n] = FATE_STAY;
    pager_set_budget(test->pager, 1);
    pager_settle(test->pager);
    pager_poll(test->pager);
    pager_set_budget(test->pager, BUDGET);
    for (page_no i = first; i < first + n; i++) {
        assert_true(pager_is_out(test->pager, i));
    }
}

static void test_neighbours_come_ahead(void **state)
{
    struct wait wait = {.is_woken = 0};
    struct test test;
    uint64_t n_ahead;

    (void)state;
    open_test(&test, BUDGET, 0);
    put_out(&test, 0, 12);
    assert_int_equal(ask(&test, 2, 0, &wait), PAGER_WAIT);
    n_ahead = test.pager->n_ahead;
    assert_in_range(n_ahead, 1, 8);
    check(&test);
    pager_poll(test.pager);
    assert_true(wait.is_woken);
    assert_int_equal(test.pager->stats.ins, n_ahead + 1);
    assert_int_equal(test.pager->stats.ins_ahead, n_ahead);
    assert_int_equal(test.space.pages[3].ahead, 1);
    assert_int_equal(touch(&test, 2, 0), 0);
    assert_int_equal(touch(&test, 3, 0), 0); // those that came with it, too
    assert_int_equal(test.space.pages[4].ahead, 0);
    for (page_no i = 0; i < 12; i++) {
        assert_bytes(&test, i, (int)i);
    }
    check(&test);
    close_test(&test);
}

// @return how many come with a page that is asked for
static uint64_t n_with(struct test *test, page_no page)
{
    struct wait wait = {.is_woken = 0};
    const uint64_t before = test->pager->n_ahead;

    assert_int_equal(ask(test, page, 0, &wait), PAGER_WAIT);
    pager_poll(test->pager);
    return test->pager->n_ahead - before;
}

static void test_more_neighbours_come_the_farther_one_goes(void **state)
{
    enum { LARGE = 1600 };
    struct test test;

    (void)state;
    open_test(&test, LARGE, 0);
    put_out(&test, 0, 600);
    pager_set_budget(test.pager, LARGE);
    assert_int_equal(n_with(&test, 0), 16);
    assert_int_equal(touch(&test, 1, 0), 0); // and those behind it
    assert_int_equal(n_with(&test, 17), 32);
    assert_int_equal(touch(&test, 18, 0), 0);
    assert_int_equal(n_with(&test, 50), SWAP_TRANSFER_MAX - 1);
    assert_int_equal(touch(&test, 51, 0), 0);
    assert_int_equal(n_with(&test, 500), 16);
    check(&test);
    close_test(&test);
}

// Few pages, not needed soon, wait for others to go in one transfer with them.
static void test_few_come_ahead_when_they_are_needed_soon(void **state)
{
    enum { LARGE = 1600, N = 300, FIRST = 100, N_OUT = 5 };
    static const uint32_t threads[] = {0};
    page_no order[N];
    struct test test;

    (void)state;
    open_test(&test, LARGE, 0);
    make_many(&test, 0, N);
    set_fates(&test, FATE_STAY);
    for (page_no i = 0; i < N; i++) {
        order[i] = i;
        test.fates[i] = i >= FIRST && i < FIRST + N_OUT ? FATE_SWAP : FATE_STAY;
    }
    pager_set_budget(test.pager, 1);
    pager_settle(test.pager);
    pager_poll(test.pager);
    pager_set_budget(test.pager, LARGE);
    assert_true(pager_is_out(test.pager, FIRST));
    replace_learn(pager_replace(test.pager), 0, order, N);
    replace_order(pager_replace(test.pager), 0, threads, 1);
    assert_int_equal(touch(&test, 1, 0), 0);
    assert_int_equal(test.pager->n_ahead, 0);
    assert_int_equal(touch(&test, FIRST - 20, 0), 0);
    assert_int_equal(test.pager->n_ahead, N_OUT);
    close_test(&test);
}

static void test_what_is_learned_comes_ahead(void **state)
{
    static const page_no order[] = {1, 9, 5, 200, 3};
    static const uint32_t threads[] = {0};
    struct wait wait = {.is_woken = 0};
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    put_out(&test, 0, 12);
    replace_learn(pager_replace(test.pager), 0, order, 5);
    replace_order(pager_replace(test.pager), 0, threads, 1);
    assert_int_equal(ask(&test, 1, 0, &wait), PAGER_WAIT);
    assert_int_equal(test.space.pages[9].io, IO_IN);
    assert_int_equal(test.space.pages[5].io, IO_IN);
    assert_int_equal(test.space.pages[3].io, IO_IN);
    assert_int_equal(test.space.pages[2].io, IO_NONE);
    assert_int_equal(test.n_fetched_ahead, 1); // 200 is elsewhere
    pager_poll(test.pager);
    assert_int_equal(touch(&test, 1, 0), 0);
    assert_int_equal(touch(&test, 9, 1), 0);
    assert_bytes(&test, 5, 5);
    check(&test);
    close_test(&test);
}

// It came because it was needed, and went: nobody has been seen to touch it, and it is needed again.
static void test_what_was_only_mapped_comes_ahead(void **state)
{
    static const page_no order[] = {1, 9, 5, 3};
    static const uint32_t threads[] = {0};
    struct wait wait = {.is_woken = 0};
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    replace_learn(pager_replace(test.pager), 0, order, 4);
    replace_order(pager_replace(test.pager), 0, threads, 1);
    put_out(&test, 0, 12);
    assert_int_equal(ask(&test, 1, 0, &wait), PAGER_WAIT);
    assert_int_equal(test.space.pages[9].io, IO_IN);
    assert_int_equal(test.space.pages[5].io, IO_IN);
    assert_int_equal(test.space.pages[3].io, IO_IN);
    assert_int_equal(test.space.pages[2].io, IO_NONE); // no neighbour
    pager_poll(test.pager);
    check(&test);
    close_test(&test);
}

// Two threads that wait, one behind the other, and one that comes when there is room.
static void test_room_is_for_who_was_let_in(void **state)
{
    struct wait waits[2] = {{.is_woken = 0}};
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    fill(&test);
    test.n_coming = 1;
    assert_int_equal(ask(&test, 100, 0, &waits[0]), PAGER_WAIT);
    test.fates[5] = FATE_SWAP;
    test.n_coming = 0;
    pager_settle(test.pager);
    pager_poll(test.pager);
    assert_true(waits[0].is_woken);
    test.who = 1;
    assert_int_equal(ask(&test, 101, 0, &waits[1]), PAGER_WAIT);
    test.who = 0;
    assert_int_equal(ask(&test, 100, 0, &waits[0]), PAGER_GO_ON);
    assert_int_equal(test.pager->stats.over, 0);
    close_test(&test);
}

// One page after the other comes for an instruction, and room is made each time.
static void test_what_an_instruction_was_given_stays(void **state)
{
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    put_out(&test, 0, 8);
    pager_set_budget(test.pager, 2 * PAGER_CLAIMS);
    test.instruction = 7;
    for (page_no page = 0; page < PAGER_CLAIMS; page++) {
        touch(&test, page, 0);
        pager_set_budget(test.pager, 0); // whatever may go goes
        pager_settle(test.pager);
        pager_poll(test.pager);
        pager_set_budget(test.pager, 2 * PAGER_CLAIMS);
        for (page_no i = 0; i < 8; i++) {
            assert_int_equal(pager_is_here(test.pager, i), i <= page);
        }
        check(&test);
    }
    touch(&test, 7,
          0); // one more than an instruction needs: the first is done with
    assert_int_equal(test.space.pages[0].claims, 0);
    test.instruction = 8;
    touch(&test, 7, 0);
    for (page_no i = 0; i < 7; i++) {
        assert_int_equal(test.space.pages[i].claims, 0);
    }
    assert_int_equal(test.space.pages[7].claims, 1);
    check(&test);
    close_test(&test);
}

static void test_claims_end_when_the_worker_runs_another_thread(void **state)
{
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    make_many(&test, 0, 8);
    touch(&test, 0, 0);
    pager_note_away(test.pager, &test.claims[0]);
    test.who = 1;
    touch(&test, 1, 0);
    assert_int_equal(test.space.pages[0].claims, 1); // another worker's
    test.claims[2].worker = 1;
    pager_note_back(test.pager, &test.claims[2]); // it had no claims
    assert_int_equal(test.space.pages[1].claims, 0);
    pager_note_back(test.pager, &test.claims[0]);
    pager_release_claims(test.pager, &test.claims[0]);
    assert_int_equal(test.space.pages[0].claims, 0);
    check(&test);
    close_test(&test);
}

// Room for the claims of two threads, by half a budget.
enum { TWO = 2 * 2 * PAGER_CLAIMS };

// Threads have touched a page each, and are away.
static void open_with_some_away(struct test *test, unsigned n)
{
    open_test(test, BUDGET, 0);
    make_many(test, 0, 8);
    pager_set_budget(test->pager, TWO);
    for (test->who = 0; test->who < n; test->who++) {
        touch(test, test->who, 0);
        pager_note_away(test->pager, &test->claims[test->who]);
        check(test);
    }
}

// The oldest get it.
static void test_claims_of_the_oldest_stay(void **state)
{
    struct test test;

    (void)state;
    open_with_some_away(&test, 4);
    for (page_no i = 0; i < 4; i++) {
        assert_int_equal(test.space.pages[i].claims, i < 2);
    }
    pager_release_claims(test.pager, &test.claims[0]);
    assert_int_equal(test.space.pages[2].claims, 1);
    pager_set_budget(test.pager, 1); // two at least
    check(&test);
    assert_int_equal(test.space.pages[1].claims, 1);
    assert_int_equal(test.space.pages[2].claims, 1);
    pager_set_budget(test.pager, BUDGET);
    check(&test);
    assert_int_equal(test.space.pages[3].claims, 1);
    test.who = 1;
    test.instruction = 2; // it goes on, and is the youngest
    touch(&test, 1, 0);
    for (page_no page = 4; page < 8; page++) {
        touch(&test, page, 0); // and on, round a loop
    }
    pager_note_away(test.pager, &test.claims[1]);
    pager_set_budget(test.pager, TWO);
    assert_int_equal(test.space.pages[2].claims, 1);
    assert_int_equal(test.space.pages[3].claims, 1);
    assert_int_equal(test.space.pages[7].claims, 0);
    check(&test);
    close_test(&test);
}

// The oldest are away, and cannot come back before this one has gone on.
static void test_claims_of_who_runs_stay_besides_those_of_the_oldest(
    void **state)
{
    struct test test;

    (void)state;
    open_with_some_away(&test, 2);
    test.instruction = 7; // a word in two pages
    touch(&test, 2, 0);
    touch(&test, 3, 0);
    check(&test);
    for (page_no i = 0; i < 4; i++) {
        assert_int_equal(test.space.pages[i].claims, 1);
    }
    pager_note_away(test.pager, &test.claims[2]);
    check(&test);
    assert_int_equal(test.space.pages[2].claims + test.space.pages[3].claims,
                     0);
    pager_note_back(test.pager, &test.claims[2]);
    check(&test);
    assert_int_equal(test.space.pages[2].claims, 1);
    assert_int_equal(test.space.pages[3].claims, 1);
    pager_release_claims(test.pager, &test.claims[0]);
    assert_int_equal(test.space.pages[3].claims, 1);
    pager_release_claims(test.pager, &test.claims[2]);
    check(&test);
    assert_int_equal(test.space.pages[2].claims + test.space.pages[3].claims,
                     0);
    close_test(&test);
}

static void test_a_page_that_is_awaited_stays(void **state)
{
    struct wait wait = {.is_woken = 0};
    struct test test;

    (void)state;
    open_test(&test, BUDGET, 0);
    put_out(&test, 0, 2);
    assert_int_equal(ask(&test, 0, 0, &wait), PAGER_WAIT);
    pager_poll(test.pager);
    assert_true(wait.is_woken);
    pager_set_budget(test.pager, 1);
    make(&test, 50);
    make(&test, 51);
    pager_settle(test.pager);
    pager_poll(test.pager);
    assert_true(pager_is_here(test.pager, 0));
    assert_int_equal(ask(&test, 0, 0, &wait), PAGER_GO_ON);
    close_test(&test);
}

// ---- pages that share frames

enum { FIRST = 100, N_FRAMES = 4, N_VIEWS = 4, PART = TM_PAGE_SIZE / N_VIEWS };

static void fill_part(struct test *test, page_no page)
{
    char bytes[PART];

    memset(bytes, (int)page, sizeof bytes);
    space_fill(&test->space, page, 1, bytes);
    test->space.pages[page].state = PAGE_CLEAN;
    space_set_access(&test->space, page, 1, ACCESS_WRITE);
}

static void check_part(struct test *test, page_no page)
{
    const char *bytes =
        space_bytes(&test->space, page) + space_part(&test->space, page).offset;

    for (unsigned i = 0; i < PART; i++) {
        assert_int_equal((unsigned char)bytes[i], page);
    }
}

static void share(struct test *test)
{
    open_test(test, BUDGET, 0);
    space_share_frames(&test->space,
                       &(struct grain_area){FIRST, N_FRAMES, N_VIEWS});
}

static void test_a_frame_counts_once(void **state)
{
    struct test test;

    (void)state;
    share(&test);
    for (page_no page = FIRST; page < FIRST + 16; page++) {
        fill_part(&test, page);
    }
    assert_int_equal(test.pager->stats.resident, N_FRAMES);
    check(&test);
    space_set_access(&test.space, FIRST, 16, ACCESS_NONE);
    space_part_frames(&test.space, FIRST);
    space_discard(&test.space, FIRST, 16);
    assert_int_equal(test.pager->stats.resident, 0);
    check(&test);
    close_test(&test);
}

static void test_pages_of_a_frame_go_and_come_together(void **state)
{
    struct test test;

    (void)state;
    share(&test);
    for (page_no page = FIRST; page < FIRST + 12; page++) {
        fill_part(&test, page);
    }
    make_many(&test, 200, 4 * BUDGET);
    for (page_no page = FIRST; page < FIRST + 12; page++) {
        assert_true(pager_is_out(test.pager, page));
        assert_int_equal(view_of(&test.space, page), ACCESS_NONE); // V3
    }
    touch(&test, FIRST + 5, 0);
    assert_true(pager_is_here(test.pager, FIRST + 1));
    assert_true(pager_is_here(test.pager, FIRST + 9));
    assert_int_equal(pager_allows(test.pager, FIRST + 9, ACCESS_WRITE),
                     ACCESS_READ); // G2
    touch(&test, FIRST + 9, 1);
    assert_int_equal(pager_allows(test.pager, FIRST + 1, ACCESS_WRITE),
                     ACCESS_WRITE);
    for (page_no page = FIRST; page < FIRST + 12; page++) {
        check_part(&test, page);
    }
    check(&test);
    close_test(&test);
}

static void test_bytes_come_into_a_frame_that_is_out(void **state)
{
    struct test test;

    (void)state;
    share(&test);
    fill_part(&test, FIRST + 1);
    make_many(&test, 200, 4 * BUDGET);
    assert_true(pager_is_out(test.pager, FIRST + 1));
    fill_part(&test, FIRST + 13); // V2
    check_part(&test, FIRST + 13);
    check_part(&test, FIRST + 1);
    check(&test);
    close_test(&test);
}

static void test_frames_are_learned_once(void **state)
{
    static const page_no pages[] = {FIRST + 4, 7, FIRST, FIRST + 9, 7 + 1};
    struct test test;

    (void)state;
    share(&test);
    pager_learn(test.pager, 0, pages, 5);
    replace_order(pager_replace(test.pager), 0, (uint32_t[]){0}, 1);
    assert_int_equal(replace_needs(pager_replace(test.pager)).n_pages, 4);
    close_test(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_go_and_come_back),
        cmocka_unit_test(test_a_frame_counts_once),
        cmocka_unit_test(test_pages_of_a_frame_go_and_come_together),
        cmocka_unit_test(test_bytes_come_into_a_frame_that_is_out),
        cmocka_unit_test(test_frames_are_learned_once),
        cmocka_unit_test(test_a_smaller_budget_is_kept),
        cmocka_unit_test(test_few_transfers_make_much_room),
        cmocka_unit_test(test_a_page_touched_on_its_way_out_stays),
        cmocka_unit_test(test_a_page_changed_on_its_way_out_stays),
        cmocka_unit_test(test_a_page_can_be_freed_on_its_way_out),
        cmocka_unit_test(test_a_page_can_be_freed_on_its_way_in),
        cmocka_unit_test(test_an_unwritten_page_keeps_its_slot),
        cmocka_unit_test(test_a_written_page_gives_its_slot_back),
        cmocka_unit_test(test_a_filled_page_gives_its_slot_back),
        cmocka_unit_test(test_copies_are_given_up_and_useless_bytes_discarded),
        cmocka_unit_test(test_no_more_is_taken_while_others_go),
        cmocka_unit_test(test_pages_are_brought_as_far_as_there_is_room),
        cmocka_unit_test(test_few_pages_are_brought_beyond_the_budget),
        cmocka_unit_test(test_the_host_hears_of_a_page_before_a_thread_has_it),
        cmocka_unit_test(test_what_no_thread_uses_is_unwanted),
        cmocka_unit_test(test_threads_wait_for_room_in_order),
        cmocka_unit_test(test_a_thread_is_let_in_if_nothing_is_under_way),
        cmocka_unit_test(test_neighbours_come_ahead),
        cmocka_unit_test(test_more_neighbours_come_the_farther_one_goes),
        cmocka_unit_test(test_few_come_ahead_when_they_are_needed_soon),
        cmocka_unit_test(test_what_is_learned_comes_ahead),
        cmocka_unit_test(test_what_was_only_mapped_comes_ahead),
        cmocka_unit_test(test_a_page_that_is_awaited_stays),
        cmocka_unit_test(test_room_is_for_who_was_let_in),
        cmocka_unit_test(test_what_an_instruction_was_given_stays),
        cmocka_unit_test(test_claims_end_when_the_worker_runs_another_thread),
        cmocka_unit_test(test_claims_of_the_oldest_stay),
        cmocka_unit_test(
            test_claims_of_who_runs_stay_besides_those_of_the_oldest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
