// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_FAILURE_DETECTOR_H
#define CLUSTER_FAILURE_DETECTOR_H

#include "cluster/silence.h"
#include "net/port.h"

/** Who of the other nodes is alive; failure_detector.c says how that is known. */
struct failure_detector {
    const struct port *port;
    const uint16_t *host_of; ///< of each node
    unsigned n_on_host;      ///< nodes of the fullest host
    uint64_t timeout_ns;     ///< 0: nobody is ever lost
    uint32_t n_beats;        ///< so often the own beats have gone out
    uint32_t launcher;       ///< the highest number of its beats that is known
    int has_news;            ///< it is higher than when the own beats went out
    uint64_t sent_ns;        ///< when they did
    uint64_t asked_ns;       ///< when who is awaited was asked
    struct watch watch;
    struct detector_node {
        struct silence silence;
        uint8_t near;       ///< enum host_ring_near
        uint8_t is_awaited; ///< it was sent something since it was heard
        uint8_t is_suspect;
        uint8_t has_begun; ///< it has been heard, or has joined
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
 * @param host_of    [n_ids] outlives it
 * @param timeout_s  seconds of silence until a node is lost; 0: never. One that has not
 *                   been heard yet has more, and so have all if a host has very many
 */
void detector_init(struct failure_detector *detector, const struct port *port,
                   const uint16_t *host_of, double timeout_s);

/** Nodes have come or gone: who is near whom has changed. */
void detector_follow(struct failure_detector *detector);

/** A node has joined: its silence counts from now on. */
void detector_expect(struct failure_detector *detector, node_id node);

/** A message has come from a node, whatever it says. */
void detector_hear(struct failure_detector *detector, node_id from);

/** Something is sent to another node, but for a beat: now it is to say something. */
void detector_sent(struct failure_detector *detector, node_id to);

/** A node asks for a beat. */
void detector_answer(struct failure_detector *detector, node_id to);

/** This node ends, because another one is lost: tell the others which. */
void detector_tell_lost(struct failure_detector *detector, node_id lost);

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

/** Do a node's beats come here? */
int detector_expects(const struct failure_detector *detector, node_id node);

/** @return a time as long as it is to be where a host has so many nodes */
uint64_t detector_stretch_ns(const struct failure_detector *detector,
                             uint64_t ns);

/** Whole seconds since a node was heard, or was sent something first, in time in which this
 * one did poll. */
unsigned detector_silent_s(const struct failure_detector *detector,
                           node_id node);

/** Tenths of a second since a node was heard, up to 255. */
uint8_t detector_tenths(const struct failure_detector *detector, node_id node);

/** Is a node judged, and had two beats of it not come at the last poll? So it is with each
 * that is lost. */
int detector_is_silent(const struct failure_detector *detector, node_id node);

/** @return nanoseconds since the last detector_poll(), or before it, by which it was late: of a
 * node that was stopped, for how long, until it has polled twice */
uint64_t detector_away_ns(const struct failure_detector *detector);

#endif
