// SPDX-License-Identifier: BSD-3-Clause
// A node that is alone: the transport has no wires.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "net/seal.h"
#include "net/transport.h"

static const struct transport *const transport = &transport_ucx;

struct node {
    struct net *net;
    unsigned n_come;
    unsigned n_to_answer; ///< messages still to be sent from receive()
};

static void send_numbered(struct node *node, uint32_t number)
{
    char body[16] = "some bytes";
    struct message message = {
        .type = MESSAGE_stats_are,
        .u.stats_are = {.token = number},
        .body = body,
        .body_size = sizeof body,
    };

    transport->send(node->net, 0, &message);
    memset(body, 0, sizeof body); // the copy must not notice
}

static void receive(void *owner, node_id from, const struct message *message)
{
    struct node *node = owner;

    assert_int_equal(from, 0);
    assert_int_equal(message->type, MESSAGE_stats_are);
    assert_int_equal(message->u.stats_are.token, node->n_come);
    assert_int_equal(message->body_size, 16);
    assert_string_equal(message->body, "some bytes");
    node->n_come++;
    if (node->n_to_answer > 0) {
        node->n_to_answer--;
        send_numbered(node, node->n_come);
    }
}

static void open_node(struct node *node)
{
    struct net_place place = {0};

    assert_int_equal(transport->open(&node->net,
                                     &(struct net_config){
                                         .n_nodes = 1,
                                         .receive = receive,
                                         .owner = node,
                                     }),
                     TM_OK);
    transport->address(node->net, &place.address, &place.size);
    assert_non_null(place.address);
    assert_int_equal(transport->connect(node->net, &place, NULL, NULL, 0),
                     TM_OK);
}

static void messages_to_oneself_come_in_order_at_progress_only(void **unused)
{
    struct node node = {0};

    (void)unused;
    open_node(&node);
    assert_true(transport->arm(node.net));
    for (uint32_t i = 0; i < 100; i++) {
        send_numbered(&node, i);
    }
    assert_int_equal(node.n_come, 0);
    assert_false(transport->arm(node.net));
    assert_int_equal(transport->progress(node.net), 100);
    assert_int_equal(node.n_come, 100);
    assert_int_equal(transport->progress(node.net), 0);
    assert_true(transport->arm(node.net));
    assert_int_equal(transport->wait_fd(node.net), -1);
    transport->close(node.net);
}

static void a_message_sent_in_receive_comes_at_the_next_progress(void **unused)
{
    struct node node = {.n_to_answer = 3};

    (void)unused;
    open_node(&node);
    send_numbered(&node, 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(transport->progress(node.net), 1);
    }
    assert_int_equal(transport->progress(node.net), 0);
    transport->close(node.net);
}

static void one_that_is_widened_still_hears_itself(void **unused)
{
    static const uint8_t key[SEAL_KEY_SIZE] = "a key of tests";
    const struct net_config config = {.n_nodes = 1, .device = "no such card"};
    struct node node = {0};

    (void)unused;
    open_node(&node);
    send_numbered(&node, 0);
    assert_int_equal(transport->widen(node.net, &config, key), TM_OK);
    assert_int_equal(transport->widen(node.net, &config, key), TM_OK);
    assert_true(transport->wait_fd(node.net) >= 0);
    send_numbered(&node, 1);
    assert_int_equal(transport->progress(node.net), 2);
    assert_true(transport->arm(node.net));
    transport->close(node.net);
}

static void messages_to_oneself_are_not_counted_as_traffic(void **unused)
{
    struct node node = {0};
    struct net_counters counters;

    (void)unused;
    open_node(&node);
    send_numbered(&node, 0);
    transport->progress(node.net);
    send_numbered(&node, 1); // and close() gives back what nobody took
    transport->counters(node.net, &counters);
    assert_int_equal(counters.messages_sent, 0);
    assert_int_equal(counters.messages_received, 0);
    assert_int_equal(counters.bad_frames, 0);
    transport->close(node.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_to_oneself_come_in_order_at_progress_only),
        cmocka_unit_test(a_message_sent_in_receive_comes_at_the_next_progress),
        cmocka_unit_test(messages_to_oneself_are_not_counted_as_traffic),
        cmocka_unit_test(one_that_is_widened_still_hears_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
