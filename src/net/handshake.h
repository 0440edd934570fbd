// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_HANDSHAKE_H
#define NET_HANDSHAKE_H

#include "net/seal.h"

/*
 * How two nodes make sure of each other on a new connection, and agree on its keys.
 * handshake.c says how. No I/O here.
 */

#define HELLO_SIZE 76u  ///< from the node that has connected
#define ANSWER_SIZE 73u ///< of the other one

/** What a hello says, once it is known to be genuine. */
struct hello {
    node_id from;
    node_id to;
    uint32_t epoch; ///< the roster epoch that the sender knows
};

/** What an answer says. */
struct answer {
    int is_fenced;  ///< the cluster has gone on without whom it answers
    uint32_t epoch; ///< the roster epoch that the sender knows
};

/** The end of a connection while it is made. To be kept in secret memory. */
struct handshake {
    uint8_t secret[SEAL_KEY_SIZE];
    uint8_t said[HELLO_SIZE + ANSWER_SIZE]; ///< so far
};

/** The keys that come out of it, for the frames of this end and of the other. */
struct seal_lanes {
    struct seal_lane out;
    struct seal_lane in;
};

/** Begin at the end that has connected: the hello is then in handshake->said. */
void handshake_hello(const struct seals *seals, const struct hello *hello,
                     struct handshake *handshake);

/** Do these bytes, 1 to HELLO_SIZE of them, look like the beginning of a hello? */
int handshake_is_hello(const uint8_t *bytes, size_t size);

/** Read a hello.
 * @param bytes  [HELLO_SIZE]  any
 * @return TM_OK, TM_EWIRE: nobody who has the job's key has ever said that */
TM_CHECKED tm_status handshake_read_hello(const struct seals *seals,
                                          const uint8_t *bytes,
                                          struct hello *hello);

/** Answer a hello that has been read.
 * @param handshake   [out]  the answer is in it, behind the hello
 * @param bytes       [HELLO_SIZE]  the hello
 * @param[out] lanes  of this end
 * @return TM_OK, TM_EWIRE */
TM_CHECKED tm_status handshake_answer(const struct seals *seals,
                                      const uint8_t *bytes,
                                      const struct answer *answer,
                                      struct handshake *handshake,
                                      struct seal_lanes *lanes);

/** Read the answer to one's own hello.
 * @param handshake   with the answer, any ANSWER_SIZE bytes, behind the hello
 * @param[out] lanes  of this end
 * @return TM_OK, TM_EWIRE: it is not one, or not to this hello */
TM_CHECKED tm_status handshake_read_answer(const struct seals *seals,
                                           const struct handshake *handshake,
                                           struct answer *answer,
                                           struct seal_lanes *lanes);

#endif
