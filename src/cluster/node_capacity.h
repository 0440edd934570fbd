// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_NODE_CAPACITY_H
#define CLUSTER_NODE_CAPACITY_H

#include "base/status.h"
#include "net/message.h"

/*
 * What a node has to offer: measured or declared once, at the start. The first
 * half travels in the node's card, so that every node knows it of all nodes; the
 * costs take longer to measure and are sent to the root when they are known.
 */

/** What says how much memory there is. */
enum memory_by {
    MEMORY_BY_MACHINE, ///< MemTotal, MemAvailable
    MEMORY_BY_CGROUP1,
    MEMORY_BY_CGROUP2,
    MEMORY_BY_OPTION, ///< memory= of the hostfile, --memory
};

struct node_capacity {
    char host[64];    ///< name of its machine
    char name[64];    ///< what the user calls the node; "": just its number
    uint64_t machine; ///< equal on nodes of one machine
    double mflops;    ///< measured, of what a worker gets of a processor;
                      ///< 0: not measured
    double spread;    ///< median run beside the best: 0.02 is 2 % slower
    double declared_speed; ///< speed=, in any unit; 0: none
    double
        share; ///< of a processor that each worker gets: less than 1 if a slow
               ///< node is emulated
    uint32_t n_processors;    ///< that the node may use
    uint64_t processor_pool;  ///< equal on nodes that may use the same ones
    uint32_t n_workers;       ///< kernel threads that run threads
    uint64_t memory_total;    ///< bytes; what the node could get at most
    uint64_t memory_free;     ///< bytes; what it could get at the start
    uint64_t memory_declared; ///< bytes; memory=; 0: none
    uint64_t memory_pool;     ///< equal on nodes that draw on the same memory
    enum memory_by total_by;
    enum memory_by free_by;
};

/** How swapping was measured. */
enum swap_kind {
    SWAP_UNKNOWN, ///< not measured, or not yet
    SWAP_DIRECT,  ///< to the device and back
    SWAP_CACHED,  ///< direct transfers are refused: through the kernel's cache
    SWAP_IN_MEMORY, ///< the folder is no place for a swap file: it is in memory
};

/** Nanoseconds; 0 is unknown. Medians, without the fault itself. */
struct node_costs {
    enum swap_kind swap_kind;
    uint64_t swap_in_ns;   ///< t_spi: read one page
    uint64_t swap_out_ns;  ///< t_spo: write one page
    uint64_t latency_ns;   ///< half of a round trip of an empty message
    uint64_t fetch_ns;     ///< ask for a page and get it
    uint64_t packet_ns;    ///< t_packet: one more packet in a long message
    uint32_t packet_bytes; ///< Size_packet
};

/**
 * Is a copy of another node's page better kept in the swap file than fetched again? If
 * writing and reading it costs less than fetching. (It may be read more than once, but
 * an update of a page that is out makes it useless.) Unknown costs: no.
 *
 * Context: any thread; pure.
 */
int node_costs_keep_copies(const struct node_costs *costs);

/** The most bytes that either of these takes encoded. */
enum { NODE_CAPACITY_MAX = 256 };

/** Append to a message, and read from one; reading accepts any bytes and notes in
 * the reader if they make no sense. Context: any thread; pure. */
void node_capacity_put(struct wire_writer *writer,
                       const struct node_capacity *capacity);
void node_capacity_get(struct wire_reader *reader,
                       struct node_capacity *capacity);

/**
 * What a node is called in what is printed: by its name, if it was given one, else by its
 * number, "n3"; "node3" if another one has that name.
 *
 * @param capacity  [n_nodes], of those that are there
 * @param i         which of them
 * @param number    its number
 * @param[out] name [size]
 */
void capacity_name(const struct node_capacity *capacity, unsigned n_nodes,
                   unsigned i, unsigned number, char *name, size_t size);

/**
 * Count the nodes that may use the same processors as one of them. Nodes of a machine
 * that are bound to other ones, as job managers do, take nothing from it.
 *
 * @param capacity  [more than node, and than n_first]
 * @param n_first   of how many nodes, the first
 *
 * Context: any thread; pure.
 */
unsigned capacity_n_sharing(const struct node_capacity *capacity,
                            unsigned n_first, unsigned node);

/**
 * Tell which nodes take processors from each other: those that share fewer than their
 * workers need.
 *
 * @param capacity     [n_nodes], at least one
 * @param[out] crowds  [n_nodes]  1 + the first node of those that share; 0: with none
 *
 * Context: any thread; pure.
 */
void capacity_crowds(const struct node_capacity *capacity, unsigned n_nodes,
                     uint32_t *crowds);

/**
 * Tell the power of a processor of each node beside node 0's. Declared speeds count
 * if every node has one; else measured ones, and a node without a measurement
 * counts as node 0.
 *
 * @param capacity    [n_nodes], at least one
 * @param[out] power  [n_nodes]  C of [Liu06] by C of node 0; power[0] is 1
 *
 * Context: any thread; pure.
 */
void capacity_powers(const struct node_capacity *capacity, unsigned n_nodes,
                     double *power);

/**
 * Of what a control group leaves, seven eighths are for shared data: the kernel ends
 * who takes more, and there is private memory, and what others take.
 * @return these bytes. Context: any thread; pure
 */
uint64_t capacity_without_reserve(uint64_t bytes);

/**
 * Tell how much memory a node may use for the program: what is declared, or else its
 * part of what was free at the start, if other nodes draw on the same memory; less the
 * reserve if a control group limits it.
 *
 * @param capacity  [n_nodes]
 * @param node      < n_nodes
 * @return bytes; M of [Liu06]
 *
 * Context: any thread; pure.
 */
uint64_t capacity_memory(const struct node_capacity *capacity, unsigned n_nodes,
                         unsigned node);

#endif
