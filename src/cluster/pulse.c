// SPDX-License-Identifier: BSD-3-Clause
//
// A node that has been stopped, or that no cable leads to any more, does not say
// so, and nothing below says it in time: TCP keeps the connection of a stopped
// process for ever. So each node sends each other a beat every second, and any
// message counts as one.
//
//   heard within 3/5 of the time   alive
//   silent for longer              suspect: PULSE_SUSPECT, once; PULSE_BACK if it
//                                  is heard again
//   silent for all of it           PULSE_LOST, at each look
//
// I1  Time in which this node itself did not look does not count: it was stopped,
//     or had no processor, and could hear nobody (since_ns). What has come
//     meanwhile is heard before it looks the next time.
// I2  heard_ns is the time of the look before, so that no clock is read for each
//     message; looks are much more frequent than beats.
#include "cluster/pulse.h"

#define BEAT_NS UINT64_C(1000000000)

/** A node that looks so much later than it should was stopped. */
#define STOPPED_NS UINT64_C(500000000)

void pulse_init(struct pulse *pulse, const struct port *port, double timeout_s)
{
    *pulse = (struct pulse){
        .port = port,
        .timeout_ns = (uint64_t)(timeout_s * 1e9),
    };
    pulse->since_ns = pulse->looked_ns = port->now_ns(port->owner);
}

void pulse_expect(struct pulse *pulse, node_id node)
{
    pulse->nodes[node] = (struct pulse_node){.heard_ns = pulse->looked_ns};
}

void pulse_hear(struct pulse *pulse, node_id from)
{
    if (from < TM_MAX_NODES) {
        pulse->nodes[from].heard_ns = pulse->looked_ns; // I2
    }
}

static void send_beats(struct pulse *pulse, uint64_t now_ns)
{
    const struct message message = {.type = MESSAGE_beat,
                                    .u.beat = {.number = pulse->n_beats}};

    const struct roster *roster = &pulse->port->roster;

    if (now_ns - pulse->sent_ns < BEAT_NS) {
        return;
    }
    pulse->sent_ns = now_ns;
    pulse->n_beats++;
    for (unsigned i = 0; i < roster->n_live; i++) {
        if (roster->live[i] != pulse->port->self) {
            port_send(pulse->port, roster->live[i], &message);
        }
    }
}

static uint64_t silence_of(const struct pulse *pulse,
                           const struct pulse_node *node, uint64_t now_ns)
{
    uint64_t from_ns =
        node->heard_ns > pulse->since_ns ? node->heard_ns : pulse->since_ns;

    return now_ns - from_ns; // I1
}

static enum pulse_news judge(const struct pulse *pulse, struct pulse_node *node,
                             uint64_t now_ns)
{
    uint64_t silence_ns = silence_of(pulse, node, now_ns);
    int was_suspect = node->is_suspect;

    if (silence_ns >= pulse->timeout_ns) {
        return PULSE_LOST;
    }
    node->is_suspect = silence_ns >= pulse->timeout_ns / 5 * 3;
    if (node->is_suspect == was_suspect) {
        return PULSE_NOTHING;
    }
    return node->is_suspect ? PULSE_SUSPECT : PULSE_BACK;
}

enum pulse_news pulse_look(struct pulse *pulse, node_id *node)
{
    const struct roster *roster = &pulse->port->roster;
    uint64_t now_ns = pulse->port->now_ns(pulse->port->owner);

    if (now_ns - pulse->looked_ns > STOPPED_NS) {
        pulse->since_ns = now_ns; // I1
    }
    pulse->looked_ns = now_ns;
    send_beats(pulse, now_ns);
    for (unsigned i = 0; i < roster->n_live && pulse->timeout_ns > 0; i++) {
        enum pulse_news news = PULSE_NOTHING;

        *node = roster->live[i];
        if (*node != pulse->port->self) {
            news = judge(pulse, &pulse->nodes[*node], now_ns);
        }
        if (news != PULSE_NOTHING) {
            return news;
        }
    }
    return PULSE_NOTHING;
}

int pulse_is_silent(const struct pulse *pulse, node_id node)
{
    return silence_of(pulse, &pulse->nodes[node], pulse->looked_ns) >=
           2 * BEAT_NS;
}

uint64_t pulse_away_ns(const struct pulse *pulse)
{
    return pulse->port->now_ns(pulse->port->owner) - pulse->looked_ns;
}
