// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_PROBE_H
#define OBSERVE_PROBE_H

#include "cluster/node_capacity.h"
#include "net/port.h"

/*
 * What messages to a peer cost: probe.c. All calls under the node lock.
 */

enum {
    PROBE_WARM_UP = 2,  ///< round trips that do not count
    PROBE_ROUNDS = 9,   ///< round trips of each kind
    PROBE_PACKETS = 32, ///< that the longest answer fills
    PROBE_PACKET_BYTES = TM_PAGE_SIZE,
};

enum probe_kind { PROBE_EMPTY, PROBE_PAGE, PROBE_LONG, PROBE_N_KINDS };

struct probe {
    int is_running; ///< a question is to be answered
    node_id peer;
    enum probe_kind kind; ///< under way
    unsigned round;
    uint32_t id; ///< of the question
    uint64_t asked_ns;
    uint64_t times_ns[PROBE_N_KINDS][PROBE_ROUNDS];
};

/** Begin to measure, with a probe of zeros or one that is over. It goes on by itself
 * with the answers that are received. There is always a question or an answer on its
 * way, so nodes do not leave before it is over (reconfig/membership.c, N1); a peer that
 * dies ends the run. */
void probe_start(struct probe *probe, const struct port *port, node_id peer);

/**
 * Take a message of type `probe`: a peer's question, or the answer to ours.
 *
 * @param[out] is_over  1: this was the last answer; set on TM_OK
 * @return TM_OK
 * @return TM_EWIRE  it asks for too long an answer, or answers what was not asked
 */
TM_CHECKED tm_status probe_receive(struct probe *probe, const struct port *port,
                                   node_id from, const struct message *message,
                                   int *is_over);

/** What was measured; only when it is over. Sets the fields of messages, leaves
 * those of swapping alone. */
void probe_result(struct probe *probe, struct node_costs *costs);

#endif
