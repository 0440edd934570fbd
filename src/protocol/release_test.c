// SPDX-License-Identifier: BSD-3-Clause
//
// What a release sends, and when those go on that it is for. The test plays the other nodes.
#include "protocol/one_node_test.h"

enum { OURS = SPACE_BLOCK, THEIRS = 2 * SPACE_BLOCK };

// A page of this node, whose readers are pushed to.
static int open_page(void **state)
{
    (void)state;
    open_node(TM_ADAPTIVE, TM_PRODUCER_CONSUMER);
    (void)use_page(OURS, 1);
    get(SELF, &world.sent[0].message); // the request, at its directory node
    get(SELF, &world.sent[1].message); // the grant
    return 0;
}

static void release_for_node(node_id next)
{
    world.n_sent = 0;
    world.n_woken = 0;
    engine_release(world.engine, next, &world.waiter);
}

static void diffs_go_along_with_what_is_told_behind_them(void **state)
{
    (void)state;
    get_fetch(2, OURS, 0);
    write_page(OURS);
    release_for_node(2);
    assert_true(last_sent(2, MESSAGE_update)->message.goes_along);
    assert_int_equal(world.n_sent, 1);
    assert_int_equal(world.n_woken, 1);
}

static void diffs_go_alone_if_another_node_is_told(void **state)
{
    (void)state;
    get_fetch(2, OURS, 0);
    write_page(OURS);
    release_for_node(0);
    assert_false(last_sent(2, MESSAGE_update)->message.goes_along);
    assert_int_equal(world.n_woken, 0);
}

static void diffs_for_two_nodes_go_alone(void **state)
{
    (void)state;
    get_fetch(0, OURS, 0);
    get_fetch(2, OURS, 0);
    write_page(OURS);
    release_for_node(2);
    assert_false(last_sent(2, MESSAGE_update)->message.goes_along);
    assert_int_equal(world.n_sent, 2);
    assert_int_equal(world.n_woken, 0);
}

// The owner may have to push them on.
static void diffs_for_an_owner_go_alone_among_three(void **state)
{
    (void)state;
    copy_page(THEIRS, 5);
    write_page(THEIRS);
    release_for_node(2);
    assert_false(last_sent(2, MESSAGE_update)->message.goes_along);
    assert_int_equal(world.n_woken, 0);
}

// ---- while nodes come or go

static void get_ack(const struct sent *update, int is_handed)
{
    uint8_t body[WIRE_SIZE_ack_item + WIRE_SIZE_handed];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message ack = {
        .type = MESSAGE_update_ack,
        .u.update_ack = {.batch = update->message.u.update.batch, .is_last = 1},
        .body = body,
    };

    if (is_handed) {
        wire_put_ack_item(&writer, &(struct wire_ack_item){THEIRS, ACK_HANDED});
        wire_put_handed(&writer,
                        &(struct wire_handed){.version = 6, .epoch = 4});
    }
    ack.body_size = (uint32_t)(writer.at - body);
    get(2, &ack);
}

static void who_stops_diffs_its_copies(void **state)
{
    (void)state;
    copy_page(THEIRS, 5);
    write_page(THEIRS);
    world.n_sent = 0;
    engine_freeze(world.engine, 1);
    get_ack(last_sent(2, MESSAGE_update), 0);
    assert_int_equal(page_of(world.engine, THEIRS)->state, PAGE_CLEAN);
    assert_true(engine_is_still(world.engine));
}

// Its copy is written, and again when that is being released; then the node stops.
static const struct sent *stop_while_releasing(void)
{
    const struct sent *update;

    copy_page(THEIRS, 5);
    write_page(THEIRS);
    release_for_node(NODE_NONE);
    update = last_sent(2, MESSAGE_update);
    write_page(THEIRS);
    engine_freeze(world.engine, 1);
    return update;
}

static void who_stops_diffs_a_copy_when_its_diff_before_has_arrived(
    void **state)
{
    const struct sent *update;

    (void)state;
    update = stop_while_releasing();
    assert_int_equal(world.n_sent, 1);
    assert_false(engine_is_still(world.engine));
    get_ack(update, 0);
    update = last_sent(2, MESSAGE_update);
    assert_int_equal(world.n_sent, 2);
    assert_false(engine_is_still(world.engine));
    get_ack(update, 0);
    assert_int_equal(page_of(world.engine, THEIRS)->state, PAGE_CLEAN);
    assert_true(engine_is_still(world.engine));
}

// The answer brings the page. A diff that were behind would be passed on to here by who had it, and
// set back what is written meanwhile, if all go on without a change.
static void who_gets_a_page_has_no_diff_of_it_under_way(void **state)
{
    (void)state;
    get_ack(stop_while_releasing(), 1);
    assert_true(page_of(world.engine, THEIRS)->is_owner);
    assert_int_equal(world.n_sent, 1);
    assert_int_equal(page_of(world.engine, THEIRS)->in_flight, 0);
}

#define with_page(test)                                                        \
    cmocka_unit_test_setup_teardown(test, open_page, close_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_page(diffs_go_along_with_what_is_told_behind_them),
        with_page(diffs_go_alone_if_another_node_is_told),
        with_page(diffs_for_two_nodes_go_alone),
        with_page(diffs_for_an_owner_go_alone_among_three),
        with_page(who_stops_diffs_its_copies),
        with_page(who_stops_diffs_a_copy_when_its_diff_before_has_arrived),
        with_page(who_gets_a_page_has_no_diff_of_it_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
