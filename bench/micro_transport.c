// SPDX-License-Identifier: BSD-3-Clause
//
// Measures round trips and streams of the transport between two processes:
// polling, and asleep on the event descriptor. Time is for one message there and
// back, or for one message of a stream.
//
//     micro_transport [round trips [hosts [plain|ucx]]]
//
// 2 hosts: the wire between hosts, over the loopback interface; plain: not encrypted; ucx:
// UCX, with the transports of UCX_TLS.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "harness/cluster_harness.h"

struct ping {
    const char *name;
    uint32_t request_size; ///< bytes of the body that node 0 sends
    uint32_t answer_size;
    int n_rounds;
    int is_stream; ///< one answer to all requests
    int asleep;
};

static int n_to_come;
static int is_complete;

static void count(struct harness_node *node, node_id from,
                  const struct message *message)
{
    (void)node;
    (void)from;
    (void)message;
    is_complete = --n_to_come == 0;
}

static void send_one(struct harness_node *node, uint32_t body_size)
{
    static uint8_t body[MESSAGE_BODY_MAX];
    struct message message = {
        .type = MESSAGE_page,
        .body = body,
        .body_size = body_size,
    };

    node->transport->send(node->net, (node_id)(1 - node->self), &message);
}

static void wait_for(struct harness_node *node, int n_messages, int asleep)
{
    n_to_come = n_messages;
    is_complete = 0;
    harness_wait(node, &is_complete, asleep);
}

static void ask(struct harness_node *node, const struct ping *ping)
{
    for (int i = 0; i < ping->n_rounds; i++) {
        send_one(node, ping->request_size);
        if (!ping->is_stream) {
            wait_for(node, 1, ping->asleep);
        }
    }
    if (ping->is_stream) {
        wait_for(node, 1, ping->asleep);
    }
}

static void answer(struct harness_node *node, const struct ping *ping)
{
    int n_answers = ping->is_stream ? 1 : ping->n_rounds;

    for (int i = 0; i < n_answers; i++) {
        wait_for(node, ping->n_rounds / n_answers, ping->asleep);
        send_one(node, ping->answer_size);
    }
}

static void measure(struct harness_node *node)
{
    const struct ping *ping = node->argument;
    double each_us = 0;

    node->receive = count;
    for (int pass = 0; pass < 2; pass++) { // the first to warm up
        uint64_t start;

        harness_barrier(node);
        start = clock_now_ns();
        (node->self == 0 ? ask : answer)(node, ping);
        each_us = (double)(clock_now_ns() - start) / 1e3 / ping->n_rounds;
    }
    if (node->self == 0) {
        printf("%-28s %-8s %8.2f us\n", ping->name,
               ping->asleep ? "asleep" : "polling", each_us);
    }
    node->transport->close(node->net);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 20000;
    unsigned n_hosts = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    struct ping pings[] = {
        {"round trip, no body", 0, 0, n, 0, 0},
        {"round trip, 4 KiB answer", 0, 4096, n, 0, 0},
        {"round trip, 64 KiB answer", 0, 65536, n / 10, 0, 0},
        {"stream of messages, no body", 0, 0, n, 1, 0},
        {"stream of 4 KiB", 4096, 0, n, 1, 0},
        {"stream of 64 KiB", 65536, 0, n / 10, 1, 0},
    };

    harness_is_plain = argc > 3;
    if (argc > 3 && strcmp(argv[3], "ucx") == 0) {
        harness_between = &between_ucx;
    }
    for (int asleep = 0; asleep < 2; asleep++) {
        for (unsigned i = 0; i < sizeof pings / sizeof pings[0]; i++) {
            pings[i].asleep = asleep;
            fflush(stdout);
            harness_run_on_hosts(&transport_ucx, 2, n_hosts, measure,
                                 &pings[i]);
        }
    }
    return 0;
}
