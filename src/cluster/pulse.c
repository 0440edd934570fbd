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
//   silent for all of it           PULSE_LOST, at each poll
//
// I1  Time in which this node itself did not poll does not count (silence.c): it was
//     stopped, or had no processor, and could hear nobody.
// I2  A silence begins with the poll before the message, so that no clock is read for
//     each message; polls are much more frequent than beats.
#include "cluster/pulse.h"

#define BEAT_NS UINT64_C(1000000000)

void pulse_init(struct pulse *pulse, const struct port *port, double timeout_s)
{
    *pulse = (struct pulse){
        .port = port,
        .timeout_ns = (uint64_t)(timeout_s * 1e9),
    };
    watch_start(&pulse->watch, port->now_ns(port->owner));
}

void pulse_expect(struct pulse *pulse, node_id node)
{
    pulse->nodes[node].is_suspect = 0;
    silence_end(&pulse->nodes[node].silence, &pulse->watch);
}

void pulse_hear(struct pulse *pulse, node_id from)
{
    if (from < TM_MAX_NODES) {
        silence_end(&pulse->nodes[from].silence, &pulse->watch); // I2
    }
}

static void send_beats(struct pulse *pulse, uint64_t now_ns)
{
    const struct message message = {
        .type = MESSAGE_beat,
        .u.beat = {.number = pulse->n_beats, .launcher = pulse->launcher}};

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

static enum pulse_event judge(const struct pulse *pulse,
                              struct pulse_node *node)
{
    enum silence_state state =
        silence_judge(&node->silence, &pulse->watch, pulse->timeout_ns / 5 * 3,
                      pulse->timeout_ns);
    int was_suspect = node->is_suspect;

    if (state == SILENCE_LOST) {
        return PULSE_LOST;
    }
    node->is_suspect = state == SILENCE_SUSPECT;
    if (node->is_suspect == was_suspect) {
        return PULSE_NOTHING;
    }
    return node->is_suspect ? PULSE_SUSPECT : PULSE_BACK;
}

enum pulse_event pulse_poll(struct pulse *pulse, node_id *node)
{
    const struct roster *roster = &pulse->port->roster;
    uint64_t now_ns = pulse->port->now_ns(pulse->port->owner);

    watch_poll(&pulse->watch, now_ns); // I1
    send_beats(pulse, now_ns);
    for (unsigned i = 0; i < roster->n_live && pulse->timeout_ns > 0; i++) {
        enum pulse_event event = PULSE_NOTHING;

        *node = roster->live[i];
        if (*node != pulse->port->self) {
            event = judge(pulse, &pulse->nodes[*node]);
        }
        if (event != PULSE_NOTHING) {
            return event;
        }
    }
    return PULSE_NOTHING;
}

int pulse_hear_launcher(struct pulse *pulse, uint32_t number)
{
    if (number <= pulse->launcher) {
        return 0;
    }
    pulse->launcher = number;
    return 1;
}

uint8_t pulse_tenths(const struct pulse *pulse, node_id node)
{
    uint64_t tenths =
        silence_ns(&pulse->nodes[node].silence, &pulse->watch) / (BEAT_NS / 10);

    return (uint8_t)(tenths < 255 ? tenths : 255);
}

int pulse_is_silent(const struct pulse *pulse, node_id node)
{
    return silence_ns(&pulse->nodes[node].silence, &pulse->watch) >=
           2 * BEAT_NS;
}

uint64_t pulse_away_ns(const struct pulse *pulse)
{
    return pulse->port->now_ns(pulse->port->owner) - pulse->watch.polled_ns;
}
