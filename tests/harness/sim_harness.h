// SPDX-License-Identifier: BSD-3-Clause
#ifndef HARNESS_SIM_HARNESS_H
#define HARNESS_SIM_HARNESS_H

#include "net/port.h"

/*
 * The simulated network: all nodes in one process, one event queue, virtual
 * time, everything drawn from one seed. Messages between two nodes stay in order
 * (as on the real transport); different pairs overtake each other freely. The
 * same seed and the same calls give the same events.
 */
struct sim;

/** How mean the network is. */
struct sim_config {
    unsigned n_nodes; ///< 1..TM_MAX_NODES
    uint64_t seed;
    uint64_t delay_min_ns; ///< of a message
    uint64_t delay_max_ns; ///< uniform between the two
    uint32_t pause_ppm;    ///< chance, in a million, that a delivery makes its
                           ///< node pause (deliver nothing) for pause_ns
    uint64_t pause_ns;
};

typedef void sim_receive_fn(void *owner, node_id from,
                            const struct message *message);
typedef void sim_timer_fn(void *owner, uint64_t argument);

/** @return NULL if memory is short; free with sim_free(). */
struct sim *sim_new(const struct sim_config *config);
void sim_free(struct sim *sim);

/** Give a node its receiver. */
void sim_attach(struct sim *sim, node_id node, sim_receive_fn *receive,
                void *owner);

/** The port of a node; lives as long as the sim. */
struct port *sim_port(struct sim *sim, node_id node);

/** Call fn(owner, argument) delay_ns from now (virtual), in order of time. */
void sim_after(struct sim *sim, uint64_t delay_ns, sim_timer_fn *fn,
               void *owner, uint64_t argument);

/** Make the next event happen. @return 0 when there is none. Each message is
 * encoded, decoded and compared on the way. */
int sim_step(struct sim *sim);

/** Virtual time, ns. */
uint64_t sim_now_ns(const struct sim *sim);

/** The next random number of the sim's generator (for the test's own choices
 * too): uniform in [0, bound), bound > 0. */
uint64_t sim_random(struct sim *sim, uint64_t bound);

/** Messages delivered so far, and a hash of all events (order, time, contents):
 * equal for equal seeds. */
uint64_t sim_n_delivered(const struct sim *sim);
uint64_t sim_event_hash(const struct sim *sim);

#endif
