// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_FAILURE_DETECTOR_H
#define CLUSTER_FAILURE_DETECTOR_H

#include "cluster/silence.h"
#include "net/port.h"

/** Who of the other nodes is alive; failure_detector.c says how that is known. */
struct failure_detector {
    const struct port *port;
    uint64_t timeout_ns; ///< 0: nobody is ever lost
    uint32_t n_beats;    ///< sent so far
    uint32_t launcher;   ///< the highest number of its beats that is known
    uint64_t sent_ns;    ///< when the own beats went out
    struct watch watch;
    struct detector_node {
        struct silence silence;
        int is_suspect;
        int has_begun;     ///< it has been heard, or has joined
    } nodes[TM_MAX_NODES]; ///< of those who have left nothing counts
};

/** What detector_poll() has found. */
enum detector_event {
    DETECTOR_NOTHING,
    DETECTOR_SUSPECT, ///< a node has been silent for three fifths of the time
    DETECTOR_BACK,    ///< a suspect one is heard again
    DETECTOR_LOST,    ///< a node has been silent for all of it
};

/**
 * @param port       outlives it; beats are sent through it
 * @param timeout_s  seconds of silence until a node is lost; 0: never. One that has not
 *                   been heard yet has more, and so have all in large clusters
 */
void detector_init(struct failure_detector *detector, const struct port *port,
                   double timeout_s);

/** A node has joined: its silence counts from now on. */
void detector_expect(struct failure_detector *detector, node_id node);

/** A message has come from a node, whatever it says. */
void detector_hear(struct failure_detector *detector, node_id from);

/**
 * Send beats if it is time, and see who is silent. To be called several times a
 * second.
 *
 * @param[out] node  whom the event is about, unless DETECTOR_NOTHING
 * @return the most important event; the rest comes with the next calls
 * Context: as all of it, under the node lock.
 */
enum detector_event detector_poll(struct failure_detector *detector,
                                  node_id *node);

/** A beat of the launcher's is known to somebody.
 * @return 1 if it is news */
int detector_hear_launcher(struct failure_detector *detector, uint32_t number);

/** @return a time as long as it is to be in a cluster of this size */
uint64_t detector_stretch_ns(const struct failure_detector *detector,
                             uint64_t ns);

/** Whole seconds since a node was heard, in time in which this one did poll. */
unsigned detector_silent_s(const struct failure_detector *detector,
                           node_id node);

/** Tenths of a second since a node was heard, up to 255. */
uint8_t detector_tenths(const struct failure_detector *detector, node_id node);

/** Had two beats of a node not come at the last poll? So it is with each that is
 * lost. */
int detector_is_silent(const struct failure_detector *detector, node_id node);

/** @return nanoseconds since the last detector_poll(): of a node that was stopped, for
 * how long, until it polls again */
uint64_t detector_away_ns(const struct failure_detector *detector);

#endif
