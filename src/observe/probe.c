// SPDX-License-Identifier: BSD-3-Clause
//
// What messages between this node and a peer cost, over the real transport and with
// the peer's service thread answering as it does in a run: PROBE_ROUNDS questions
// without a body for an empty answer, then for a page, then for PROBE_PACKETS pages
// in one message. The first PROBE_WARM_UP round trips, which set up what the transport
// needs, do not count.
//
//   latency  half of an empty round trip, median
//   fetch    the round trip that brings a page, median
//   packet   what one more page costs in a long message: all diffs of a release for
//            one node travel in one message, so that a packet costs bandwidth, not
//            latency. From the fastest round trips of both lengths: medians differ
//            by whether somebody had to be woken, and that hides a few bytes more
//
// Each node asks its neighbour, the next number, so that no node answers more than
// one. An answer is followed by the next question at once, in the same handler: nobody
// waits, and the program's own messages go on meanwhile. All of it takes some 30
// round trips and moves 1.2 MB.
#include "observe/probe.h"

#include "observe/median.h"

enum { LONGEST = PROBE_PACKETS * PROBE_PACKET_BYTES };

static const uint32_t answer_sizes[PROBE_N_KINDS] = {
    [PROBE_EMPTY] = 0,
    [PROBE_PAGE] = PROBE_PACKET_BYTES,
    [PROBE_LONG] = LONGEST,
};

static void ask(struct probe *probe, const struct port *port)
{
    struct message message = {
        .type = MESSAGE_probe,
        .u.probe = {.id = ++probe->id,
                    .answer_size = answer_sizes[probe->kind]},
    };

    probe->asked_ns = port->now_ns(port->owner);
    port_send(port, probe->peer, &message);
}

void probe_start(struct probe *probe, const struct port *port, node_id peer)
{
    probe->is_running = 1;
    probe->peer = peer;
    probe->kind = PROBE_EMPTY;
    probe->round = 0;
    ask(probe, port);
}

static tm_status answer(const struct port *port, node_id to,
                        const struct message_probe *question)
{
    static const uint8_t zeros[LONGEST];
    struct message message = {
        .type = MESSAGE_probe,
        .u.probe = {.is_answer = 1, .id = question->id},
        .body = question->answer_size > 0 ? zeros : NULL,
        .body_size = question->answer_size,
    };

    if (question->answer_size > LONGEST) {
        return TM_EWIRE;
    }
    port_send(port, to, &message);
    return TM_OK;
}

static void take_time(struct probe *probe, uint64_t time_ns)
{
    unsigned warm_up = probe->kind == PROBE_EMPTY ? PROBE_WARM_UP : 0;

    if (probe->round >= warm_up) {
        probe->times_ns[probe->kind][probe->round - warm_up] = time_ns;
    }
    probe->round++;
    if (probe->round == PROBE_ROUNDS + warm_up) {
        probe->kind++;
        probe->round = 0;
    }
}

tm_status probe_receive(struct probe *probe, const struct port *port,
                        node_id from, const struct message *message,
                        int *is_over)
{
    if (!message->u.probe.is_answer) {
        *is_over = 0;
        return answer(port, from, &message->u.probe);
    }
    if (!probe->is_running || from != probe->peer ||
        message->u.probe.id != probe->id ||
        message->body_size != answer_sizes[probe->kind]) {
        return TM_EWIRE;
    }
    take_time(probe, port->now_ns(port->owner) - probe->asked_ns);
    probe->is_running = probe->kind < PROBE_N_KINDS;
    if (probe->is_running) {
        ask(probe, port);
    }
    *is_over = !probe->is_running;
    return TM_OK;
}

static uint64_t at_least_1(uint64_t ns)
{
    return ns > 0 ? ns : 1;
}

void probe_result(struct probe *probe, struct node_costs *costs)
{
    struct quartiles ns[PROBE_N_KINDS];
    uint64_t packets_ns;
    uint64_t n_packets = PROBE_PACKETS - 1;

    for (unsigned i = 0; i < PROBE_N_KINDS; i++) {
        ns[i] = quartiles_of(probe->times_ns[i], PROBE_ROUNDS);
    }
    packets_ns = ns[PROBE_LONG].least - ns[PROBE_PAGE].least;
    if (ns[PROBE_LONG].least <= ns[PROBE_PAGE].least) {
        packets_ns = ns[PROBE_LONG].least; // and its latency: it is not known
        n_packets = PROBE_PACKETS;
    }
    costs->latency_ns = at_least_1(ns[PROBE_EMPTY].median / 2);
    costs->fetch_ns = at_least_1(ns[PROBE_PAGE].median);
    costs->packet_ns = at_least_1(packets_ns / n_packets);
    costs->packet_bytes = PROBE_PACKET_BYTES;
}
