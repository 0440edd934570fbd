// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reconfig/migration_pages.h"

enum { MAX_RUNS = 64 };

/** The messages that were sent, as runs. */
struct sent {
    unsigned n;
    node_id to[MAX_RUNS];
    uint64_t page[MAX_RUNS];
    uint32_t n_pages[MAX_RUNS];
    uint8_t write[MAX_RUNS];
};

static void op_send(void *owner, node_id to, const struct message *message)
{
    struct sent *sent = owner;
    struct wire_reader reader = wire_read_body(message);

    while (reader.at < reader.end) {
        assert_true(sent->n < MAX_RUNS);
        sent->to[sent->n] = to;
        sent->page[sent->n] = wire_get_u64(&reader);
        sent->n_pages[sent->n] = wire_get_u32(&reader);
        sent->write[sent->n] = wire_get_u8(&reader);
        sent->n++;
    }
    assert_false(reader.failed);
}

static struct migration_pages *open_pages(struct port *port, struct sent *sent)
{
    *port = (struct port){.owner = sent, .send = op_send};
    roster_init(&port->roster, 2);
    memset(sent, 0, sizeof *sent);
    return migration_pages_new(port, NULL);
}

static void expect_run(const struct sent *sent, unsigned at, node_id to,
                       uint64_t page, uint32_t n_pages, unsigned write)
{
    assert_true(at < sent->n);
    assert_int_equal(sent->to[at], to);
    assert_int_equal(sent->page[at], page);
    assert_int_equal(sent->n_pages[at], n_pages);
    assert_int_equal(sent->write[at], write);
}

static void neighbours_of_one_kind_travel_as_a_run(void **state)
{
    static const struct page_use uses[] = {
        {10, USE_READ, 0},  {11, USE_READ, 0}, {12, USE_READ | USE_WRITE, 8},
        {13, USE_WRITE, 8}, {5, USE_READ, 0},
    };
    struct port port;
    struct sent sent;
    struct migration_pages *pages = open_pages(&port, &sent);

    (void)state;
    migration_pages_announce(pages, 1, 7, uses, 5);
    assert_int_equal(sent.n, 3);
    expect_run(&sent, 0, 1, 10, 2, 0);
    expect_run(&sent, 1, 1, 12, 2, 1);
    expect_run(&sent, 2, 1, 5, 1, 0);
    migration_pages_announce(pages, 1, 7, NULL, 0);
    assert_int_equal(sent.n, 3);
    migration_pages_free(pages);
}

// Thread i uses pages 10 i to 10 i + 11: two of them with its neighbour.
static const struct page_use *overlapping(void *owner, uint64_t thread,
                                          size_t *n)
{
    static struct page_use uses[4][12];

    if (owner != NULL && thread == *(const uint64_t *)owner) {
        return NULL;
    }
    for (unsigned i = 0; i < 12; i++) {
        uses[thread][i] = (struct page_use){10 * thread + i, USE_READ, 0};
    }
    *n = 12;
    return uses[thread];
}

static void what_only_those_used_that_left_is_withdrawn(void **state)
{
    static uint64_t numbers[] = {0, 1, 2, 3};
    static uint32_t before[] = {0, 0, 1, 1};
    static uint32_t after[] = {0, 1, 1, 1};
    uint64_t untracked = 2;
    struct remap plan = {
        .view = {.n_nodes = 2, .n_threads = 4},
        .numbers = numbers,
        .current = before,
        .wanted = after,
        .uses = overlapping,
    };
    struct port port;
    struct sent sent;
    struct migration_pages *pages = open_pages(&port, &sent);

    (void)state;
    migration_pages_withdraw(pages, &plan, before, after, PAGES_HAVE_LEFT);
    // Thread 1 had 10 to 21; thread 0, which stays, uses 10 and 11.
    assert_int_equal(sent.n, 1);
    expect_run(&sent, 0, 0, 12, 10, 0);

    // It goes back, and leaves 20 and 21 to thread 2.
    sent.n = 0;
    migration_pages_withdraw(pages, &plan, after, before, PAGES_WILL_LEAVE);
    assert_int_equal(sent.n, 1);
    expect_run(&sent, 0, 1, 10, 10, 1);

    // Nobody knows what thread 2 uses: node 1 is not told anything.
    sent.n = 0;
    plan.uses_owner = &untracked;
    migration_pages_withdraw(pages, &plan, after, before, PAGES_HAVE_LEFT);
    assert_int_equal(sent.n, 0);
    migration_pages_free(pages);
}

/** Receives what it sends. */
static void op_echo(void *owner, node_id to, const struct message *message)
{
    (void)to;
    assert_int_equal(migration_pages_receive(owner, message), TM_OK);
}

static void what_was_announced_is_known_in_order(void **state)
{
    static const struct page_use uses[] = {
        {10, USE_READ, 0}, {11, USE_READ, 0}, {3, USE_WRITE, 8},
        {4, USE_WRITE, 8}, {9, USE_READ, 0},
    };
    struct port port = {.send = op_echo};
    struct migration_pages *pages = migration_pages_new(&port, NULL);
    page_no list[PAGES_SOON_MAX];

    (void)state;
    port.owner = pages;
    migration_pages_announce(pages, 1, 7, uses, 5);
    assert_int_equal(migration_pages_announced(pages, 8, list), 0);
    assert_int_equal(migration_pages_announced(pages, 7, list), 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(list[i], uses[i].page);
    }
    migration_pages_free(pages);
}

// It was to come before, and has not.
static void of_two_announcements_the_later_counts(void **state)
{
    static const struct page_use first[] = {{10, USE_READ, 0},
                                            {3, USE_READ, 0}};
    static const struct page_use second[] = {{3, USE_READ, 0},
                                             {5, USE_READ, 0}};
    struct port port = {.send = op_echo};
    struct migration_pages *pages = migration_pages_new(&port, NULL);
    page_no list[PAGES_SOON_MAX];

    (void)state;
    port.owner = pages;
    migration_pages_announce(pages, 1, 7, first, 2);
    migration_pages_announce(pages, 1, 8, first, 2);
    migration_pages_announce(pages, 1, 7, second, 2);
    assert_int_equal(migration_pages_announced(pages, 7, list), 2);
    assert_int_equal(list[0], 3);
    assert_int_equal(list[1], 5);
    assert_int_equal(migration_pages_announced(pages, 8, list), 2);
    migration_pages_free(pages);
}

static void runs_end_where_numbers_have_a_gap(void **state)
{
    static const uint64_t numbers[] = {1, 2, 3, 7, 9, 10};
    uint32_t n;

    (void)state;
    assert_int_equal(migration_pages_next_run(numbers, 6, 0, &n), 3);
    assert_int_equal(n, 3);
    assert_int_equal(migration_pages_next_run(numbers, 6, 3, &n), 4);
    assert_int_equal(n, 1);
    assert_int_equal(migration_pages_next_run(numbers, 6, 4, &n), 6);
    assert_int_equal(n, 2);
}

static void a_wrong_number_of_runs_is_refused(void **state)
{
    static const uint8_t body[2 * WIRE_SIZE_page_run];
    struct message message = {.type = MESSAGE_pages_unused,
                              .u.pages_unused = {.n_runs = 1},
                              .body = body,
                              .body_size = sizeof body};
    struct port port;
    struct sent sent;
    struct migration_pages *pages = open_pages(&port, &sent);

    (void)state;
    assert_int_equal(migration_pages_receive(pages, &message), TM_EWIRE);
    migration_pages_free(pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_of_one_kind_travel_as_a_run),
        cmocka_unit_test(what_only_those_used_that_left_is_withdrawn),
        cmocka_unit_test(what_was_announced_is_known_in_order),
        cmocka_unit_test(of_two_announcements_the_later_counts),
        cmocka_unit_test(runs_end_where_numbers_have_a_gap),
        cmocka_unit_test(a_wrong_number_of_runs_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
