// SPDX-License-Identifier: BSD-3-Clause
// Over the simulated network, where the time of a message is known.
#include "observe/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "harness/sim_harness.h"

enum { N_NODES = 3, DELAY_NS = 7000 };

struct node {
    struct port *port;
    struct probe probe;
    int n_over;
    unsigned n_refused;
};

static struct node nodes[N_NODES];

static void receive(void *owner, node_id from, const struct message *message)
{
    struct node *node = owner;
    int is_over = 0;

    if (probe_receive(&node->probe, node->port, from, message, &is_over) !=
        TM_OK) {
        node->n_refused++;
    }
    node->n_over += is_over;
}

static struct sim *make_world(uint64_t delay_max_ns)
{
    struct sim_config config = {
        .n_nodes = N_NODES,
        .seed = 1,
        .delay_min_ns = DELAY_NS,
        .delay_max_ns = delay_max_ns,
    };
    struct sim *sim = sim_new(&config);

    assert_non_null(sim);
    for (unsigned i = 0; i < N_NODES; i++) {
        nodes[i] = (struct node){.port = sim_port(sim, (node_id)i)};
        sim_attach(sim, (node_id)i, receive, &nodes[i]);
    }
    return sim;
}

static void start(unsigned node)
{
    probe_start(&nodes[node].probe, nodes[node].port,
                (node_id)((node + 1) % N_NODES));
}

static void run(struct sim *sim)
{
    while (sim_step(sim)) {
    }
}

static void every_node_measures_its_neighbour(void **state)
{
    struct sim *sim = make_world(DELAY_NS);
    struct node_costs costs = {.swap_in_ns = 5};

    (void)state;
    for (unsigned i = 0; i < N_NODES; i++) {
        start(i);
    }
    run(sim);
    for (unsigned i = 0; i < N_NODES; i++) {
        assert_int_equal(nodes[i].n_over, 1);
        assert_int_equal(nodes[i].n_refused, 0);
        probe_result(&nodes[i].probe, &costs);
        assert_int_equal(costs.latency_ns, DELAY_NS);
        assert_int_equal(costs.fetch_ns, 2 * DELAY_NS);
        // Bytes take no time there: how much of it is latency is not known.
        assert_int_equal(costs.packet_ns, 2 * DELAY_NS / PROBE_PACKETS);
        assert_int_equal(costs.packet_bytes, TM_PAGE_SIZE);
        assert_int_equal(costs.swap_in_ns, 5);
    }
    assert_int_equal(sim_n_delivered(sim),
                     N_NODES * 2 *
                         (PROBE_WARM_UP + PROBE_N_KINDS * PROBE_ROUNDS));
    sim_free(sim);
}

static void a_probe_that_is_over_may_start_again(void **state)
{
    struct sim *sim = make_world(10 * DELAY_NS);
    struct node_costs costs = {0};

    (void)state;
    start(0);
    run(sim);
    start(0);
    run(sim);
    assert_int_equal(nodes[0].n_over, 2);
    probe_result(&nodes[0].probe, &costs);
    assert_true(costs.fetch_ns >= 2 * DELAY_NS);
    assert_true(costs.fetch_ns <= 20 * DELAY_NS);
    sim_free(sim);
}

static tm_status give(struct message *message, node_id from)
{
    int is_over;

    return probe_receive(&nodes[0].probe, nodes[0].port, from, message,
                         &is_over);
}

static void what_was_not_asked_is_refused(void **state)
{
    struct sim *sim = make_world(DELAY_NS);
    struct message message = {.type = MESSAGE_probe,
                              .u.probe = {.is_answer = 1, .id = 1}};
    uint8_t body[1] = {0};

    (void)state;
    assert_int_equal(give(&message, 1), TM_EWIRE); // nothing was asked at all
    start(0);
    assert_int_equal(give(&message, 2), TM_EWIRE); // of somebody else
    message.u.probe.id = 2;
    assert_int_equal(give(&message, 1), TM_EWIRE); // another question
    message.u.probe.id = 1;
    message.body = body;
    message.body_size = sizeof body;
    assert_int_equal(give(&message, 1), TM_EWIRE); // too long
    message.body = NULL;
    message.body_size = 0;
    assert_int_equal(give(&message, 1), TM_OK);
    assert_int_equal(give(&message, 1), TM_EWIRE); // a second time
    message = (struct message){.type = MESSAGE_probe,
                               .u.probe = {.answer_size = UINT32_MAX}};
    assert_int_equal(give(&message, 1), TM_EWIRE);
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_measures_its_neighbour),
        cmocka_unit_test(a_probe_that_is_over_may_start_again),
        cmocka_unit_test(what_was_not_asked_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
