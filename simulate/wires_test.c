// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/wires.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { N_NODES = 3, N_LETTERS = 500, BODY = 4096 };

struct seen {
    struct events *events;
    uint64_t n_from[N_NODES][N_NODES];
    unsigned n;
};

// Messages of two nodes are numbered.
static void receive(void *owner, node_id to, node_id from,
                    const struct message *message)
{
    struct seen *seen = owner;

    assert_int_equal(message->type, MESSAGE_page);
    assert_int_equal(message->u.page.page, seen->n_from[from][to]++);
    seen->n++;
}

static void send_page(struct wires *wires, node_id from, node_id to,
                      uint64_t number, uint32_t size)
{
    static const uint8_t body[BODY];
    const struct message message = {.type = MESSAGE_page,
                                    .u.page = {.page = number},
                                    .body = body,
                                    .body_size = size};

    wires_send(wires, from, to, &message);
}

static void messages_of_two_nodes_stay_in_order(void **state)
{
    const struct wire_speed speeds[N_NODES] = {
        {1e-4, 1e8}, {2e-5, 1e7}, {0, 1e9}};
    uint64_t n_sent[N_NODES][N_NODES] = {0};
    struct events events;
    struct seen seen = {.events = &events};
    struct wires *wires;

    (void)state;
    events_init(&events, 5);
    wires = wires_new(&events, N_NODES, speeds, 0.5, receive, &seen);
    for (unsigned i = 0; i < N_LETTERS; i++) {
        const node_id from = (node_id)events_random(&events, N_NODES);
        const node_id to =
            (node_id)((from + 1 + events_random(&events, 2)) % N_NODES);

        send_page(wires, from, to, n_sent[from][to]++,
                  (uint32_t)events_random(&events, BODY));
        if (events_random(&events, 3) == 0) {
            events_step(&events);
        }
    }
    while (events_step(&events)) {
    }
    assert_int_equal(seen.n, N_LETTERS);
    assert_int_equal(wires_counts(wires)[MESSAGE_page].n, N_LETTERS);
    wires_free(wires);
    events_release(&events);
}

// 100 messages of some 4 KiB at a MiB a second, and a millisecond.
static void bytes_and_the_way_take_their_time(void **state)
{
    const struct wire_speed speeds[2] = {{1e-3, 1048576}, {0, 1e9}};
    struct events events;
    struct seen seen = {.events = &events};
    struct wires *wires;

    (void)state;
    events_init(&events, 5);
    wires = wires_new(&events, 2, speeds, 0, receive, &seen);
    for (unsigned i = 0; i < 100; i++) {
        send_page(wires, 0, 1, i, BODY);
    }
    while (events_step(&events)) {
    }
    assert_true(events.now_ns > 390 * 1000000u + 1000000u);
    assert_true(events.now_ns < 400 * 1000000u + 1000000u);
    wires_free(wires);
    events_release(&events);
}

// A message of 4 KiB and some bytes, the slower of two links at a MiB a second.
static void assert_slow_link_is_paid_for(const struct wire_speed *speeds)
{
    struct events events;
    struct seen seen = {.events = &events};
    struct wires *wires;

    events_init(&events, 5);
    wires = wires_new(&events, 2, speeds, 0, receive, &seen);
    send_page(wires, 0, 1, 0, BODY);
    while (events_step(&events)) {
    }
    assert_int_equal(seen.n, 1);
    assert_true(events.now_ns > 3900 * 1000u + 1000000u);
    assert_true(events.now_ns < 4000 * 1000u + 1000000u);
    wires_free(wires);
    events_release(&events);
}

static void one_message_pays_for_the_slower_link(void **state)
{
    const struct wire_speed speeds[] = {
        {1e-3, 1e10}, {1e-3, 1048576}, {1e-3, 1e10}};

    (void)state;
    assert_slow_link_is_paid_for(&speeds[0]); // the receiver's
    assert_slow_link_is_paid_for(&speeds[1]);
}

static void what_is_under_way_in_the_end_is_freed(void **state)
{
    const struct wire_speed speeds[2] = {{1e-3, 1e9}, {1e-3, 1e9}};
    struct events events;
    struct seen seen = {.events = &events};
    struct wires *wires;

    (void)state;
    events_init(&events, 5);
    wires = wires_new(&events, 2, speeds, 0, receive, &seen);
    for (unsigned i = 0; i < 10; i++) {
        send_page(wires, 0, 1, i, BODY);
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_true(events_step(&events));
    }
    wires_free(wires); // ASan looks
    events_release(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_two_nodes_stay_in_order),
        cmocka_unit_test(bytes_and_the_way_take_their_time),
        cmocka_unit_test(one_message_pays_for_the_slower_link),
        cmocka_unit_test(what_is_under_way_in_the_end_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
