// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIMULATE_SIMULATE_H
#define SIMULATE_SIMULATE_H

#include "net/message.h"
#include "place/profile.h"
#include "simulate/disk.h"
#include "simulate/wires.h"

/*
 * A run in virtual time: nodes with the real engine, protocols, synchronisation, pager and
 * scheme, over a simulated network, disks and processors; threads are a profile's script.
 * docs/simulate.md says what is real and what is a model.
 */

/** Work of others on a node from a time on. */
struct simulated_load {
    double from_s;
    double share; ///< of each processor that is left to the run: above 0, to 1
};

/** A node. */
struct simulated_node {
    struct node_view
        view;       ///< name, power, workers, memory; and what it says of costs
    int has_budget; ///< keeps within view.memory_pages; else all that it uses fits
    struct disk_speed disk;
    struct wire_speed wire;
    uint32_t n_loads;
    const struct simulated_load
        *loads; ///< [n_loads], rising; none: all is left
};

/** What is to be run. Refers to arrays of the caller's, which stay. */
struct simulation {
    uint32_t n_nodes; ///< 1 to TM_MAX_NODES
    const struct simulated_node *nodes;
    uint32_t n_threads;
    const struct thread_view *threads; ///< [n_threads]: computation_s
    const struct profile_script *script;
    tm_protocol protocol;
    const struct policy *policy; ///< NULL: threads stay
    struct cost_model model;     ///< that it predicts by: its equations
    const uint32_t
        *counts;      ///< [n_nodes] by hand, instead of a policy; NULL: none
    int begins_equal; ///< as many threads on each node at first
    uint32_t n_iterations; ///< at least 1
    uint64_t seed;
    double noise; ///< times of threads and latencies differ by up to this part
};

/** Set the model. @param name  as for cost_model_find(). @return 0 if there is none of it */
int simulation_use_model(struct simulation *simulation, const char *name);

/** Where a node's workers were, s, added up over these. */
struct simulated_times {
    double compute_s;
    double page_s; ///< waited for the disk, or for room
    double
        wire_s; ///< nothing to run, and a thread waited for a page from a node
    double wait_s; ///< nothing to run: barriers
};

struct simulated_node_result {
    struct simulated_times times;
    uint64_t messages; ///< to other nodes
    uint64_t bytes;
    uint64_t pages_fetched;
    uint64_t updates_sent;
    uint64_t page_ins;
    uint64_t page_outs;
    uint64_t copies_forgotten;
    uint64_t disk_busy_ns;
    uint64_t
        disk_hurried;   ///< calls that took no time: the pager waited in place
    uint32_t n_threads; ///< in the end
};

struct simulated_move {
    uint64_t iteration; ///< that had ended
    uint32_t thread;    ///< of the profile
    uint32_t from;
    uint32_t to;
};

/** Counts of the whole cluster up to the end of an iteration. */
struct simulated_iteration {
    uint64_t length_ns;
    uint64_t messages;
    uint64_t bytes;
    uint64_t pages_fetched;
    uint64_t page_ins;
};

struct simulation_result {
    uint64_t total_ns; ///< from the start of threads to the end of all
    struct simulated_iteration *iterations; ///< [n_iterations], in turn
    struct simulated_node_result *nodes;    ///< [n_nodes]
    struct simulated_move *moves;           ///< [n_moves]
    size_t n_moves;
    struct wire_count counts[MESSAGES_END];
    uint32_t n_plans;
    uint32_t n_remaps;
    uint32_t n_undone;
};

/**
 * Run it. The same simulation gives the same result.
 *
 * @param[out] result  to be released with simulation_release(); set on success
 * @param[out] error   [size] one line, set on failure
 * @return TM_OK
 * @return TM_ECONFIG  a node has too little memory for it, or is none that could be: too many
 *                     of them or of processors, or hopelessly slow ones
 * @return TM_ESTATE   the run stands still: an error of this program
 *
 * Context: any thread; takes long. Without memory the process ends.
 */
TM_CHECKED tm_status simulate(const struct simulation *simulation,
                              struct simulation_result *result, char *error,
                              size_t size);

void simulation_release(struct simulation_result *result);

/** The protocol of that name that all memory can have. @return 0: there is none */
int simulated_protocol(const char *name, tm_protocol *protocol);
/** The name of the one that a run has if nothing is said. */
const char *simulated_protocol_usual(void);

#endif
