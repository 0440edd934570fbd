// SPDX-License-Identifier: BSD-3-Clause
#ifndef HARNESS_TCP_HARNESS_H
#define HARNESS_TCP_HARNESS_H

/*
 * For tests of the wire between hosts: several ends of it in one process, over the
 * loopback interface, and a hand that speaks as a node or as a stranger does.
 */
#include "net/handshake.h"
#include "net/tcp.h"

#define ENDS_MAX 4

/** One node's end. */
struct end {
    struct tcp *tcp; ///< NULL: closed
    struct inbox inbox;
    struct frame_pool pool;
    uint8_t address[32];
    size_t address_size;
    struct {
        unsigned n_come;  ///< messages, each the one that follows by its round
        uint64_t n_bytes; ///< of their bodies
        unsigned n_up;
        unsigned n_lost;
        unsigned n_fenced;
        char why[256]; ///< of the last that was lost
    } from[ENDS_MAX];
    /// Called with each message; may be NULL.
    void (*receive)(struct end *end, node_id from);
};

/** Open node `self`, with a key, not connected to anybody. */
void end_open(struct end *end, node_id self);
void end_open_with(struct end *end, const struct net_config *config,
                   const uint8_t *job_key);
void end_close(struct end *end);

/** The lower one connects to the higher. */
void ends_add(struct end *ends, node_id a, node_id b);

/** Open and connect all. */
void ends_open(struct end *ends, unsigned n_ends);
/** Connect those that are open. */
void ends_connect(struct end *ends, unsigned n_ends);
void ends_close(struct end *ends, unsigned n_ends);

/** Let all make progress, for some time. */
void ends_progress(struct end *ends, unsigned n_ends, unsigned for_ms);

/** Let all make progress until a counter has at least a value; fails after 20 s. */
void ends_wait(struct end *ends, unsigned n_ends,
               const volatile unsigned *counter, unsigned value);

/** Send a message, whose round is the number of those sent before, from the test's
 * own count. */
void end_send(struct end *end, node_id to, unsigned round, uint32_t body_size);

/** Connections that were refused, for any reason. */
unsigned end_n_refused(const struct end *end);

/** A connection by hand. */
struct hand {
    int fd;
    struct seals *seals;
    struct handshake handshake;
    struct seal_lanes lanes;
    unsigned n_sent;
};

/** Connect to an end. */
void hand_connect(struct hand *hand, const struct end *end);
void hand_close(struct hand *hand);
void hand_write(struct hand *hand, const void *bytes, size_t size);

/** Say hello as a node, and take the answer, which the end gives meanwhile.
 * @return 0 if the end closes the connection instead */
int hand_greet(struct hand *hand, struct end *end, const struct hello *hello,
               struct answer *answer);

/** Make a frame; kind 1 is a message, whose round is the number of those before.
 * @return its size */
size_t hand_frame(struct hand *hand, unsigned kind, uint32_t epoch,
                  uint8_t *bytes);

/** Does the end close the connection, within some time? */
int hand_is_closed(struct hand *hand, struct end *end);

#endif
