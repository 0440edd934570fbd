// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_PULSE_H
#define CLUSTER_PULSE_H

#include "cluster/silence.h"
#include "net/port.h"

/** Who of the other nodes is alive; pulse.c says how that is known. */
struct pulse {
    const struct port *port;
    uint64_t timeout_ns; ///< 0: nobody is ever lost
    uint32_t n_beats;    ///< sent so far
    uint32_t launcher;   ///< the highest number of its beats that is known
    uint64_t sent_ns;    ///< when the own beats went out
    struct watch watch;
    struct pulse_node {
        struct silence silence;
        int is_suspect;
    } nodes[TM_MAX_NODES]; ///< of those who have left nothing counts
};

/** What pulse_poll() has found. */
enum pulse_event {
    PULSE_NOTHING,
    PULSE_SUSPECT, ///< a node has been silent for three fifths of the time
    PULSE_BACK,    ///< a suspect one is heard again
    PULSE_LOST,    ///< a node has been silent for all of it
};

/**
 * @param port       outlives it; beats are sent through it
 * @param timeout_s  seconds of silence until a node is lost; 0: never
 */
void pulse_init(struct pulse *pulse, const struct port *port, double timeout_s);

/** A node has come: its silence counts from now on. */
void pulse_expect(struct pulse *pulse, node_id node);

/** A message has come from a node, whatever it says. */
void pulse_hear(struct pulse *pulse, node_id from);

/**
 * Send beats if it is time, and see who is silent. To be called several times a
 * second.
 *
 * @param[out] node  whom the event is about, unless PULSE_NOTHING
 * @return the most important event; the rest comes with the next calls
 * Context: as all of it, under the node lock.
 */
enum pulse_event pulse_poll(struct pulse *pulse, node_id *node);

/** A beat of the launcher's is known to somebody.
 * @return 1 if it is news */
int pulse_hear_launcher(struct pulse *pulse, uint32_t number);

/** Tenths of a second since a node was heard, up to 255. */
uint8_t pulse_tenths(const struct pulse *pulse, node_id node);

/** Had two beats of a node not come at the last poll? So it is with each that is
 * lost. */
int pulse_is_silent(const struct pulse *pulse, node_id node);

/** @return nanoseconds since the last pulse_poll(): of a node that was stopped, for
 * how long, until it polls again */
uint64_t pulse_away_ns(const struct pulse *pulse);

#endif
