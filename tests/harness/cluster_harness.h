// SPDX-License-Identifier: BSD-3-Clause
#ifndef HARNESS_CLUSTER_HARNESS_H
#define HARNESS_CLUSTER_HARNESS_H

/*
 * For tests of transports: several processes that are connected to each other.
 * The test's own process is none of them and touches no transport. All deadlines
 * are multiplied by TM_TEST_SLOWDOWN.
 */
#include <sys/types.h>

#include "net/transport.h"

#define HARNESS_MAX_NODES 8

struct harness_node {
    const struct transport *transport;
    struct net *net;
    node_id self;
    unsigned n_nodes;
    unsigned n_hosts;
    void *argument;
    /// Of the test: where the node's receive function keeps what it needs.
    void *state;
    void (*receive)(struct harness_node *node, node_id from,
                    const struct message *message);
    /// May be NULL.
    void (*event)(struct harness_node *node, enum net_event event,
                  node_id about, const char *why);
};

/** The body of a node; it ends with exit code 0 if all was well. Checks that do
 * not hold call harness_check(). */
typedef void harness_body(struct harness_node *node);

/** What the processes ended with: exit code, or 128 + signal. */
struct harness_result {
    int code[HARNESS_MAX_NODES];
};

/** Run body in n_nodes processes, connected (NULL: by nothing); wait until all have ended. Those
 * that have not after 30 s are killed. */
struct harness_result harness_run(const struct transport *transport,
                                  unsigned n_nodes, harness_body *body,
                                  void *argument);

/** What travels between hosts is not encrypted. */
extern int harness_is_plain;

/** How it travels; NULL, as it is at first: by TCP. */
extern const struct between *harness_between;

/** The same with the nodes on several hosts, as the transport sees it: node i is on
 * host i % n_hosts, and the network card between them is the loopback interface. */
struct harness_result harness_run_on_hosts(const struct transport *transport,
                                           unsigned n_nodes, unsigned n_hosts,
                                           harness_body *body, void *argument);

/** End this node with code 1 and a line if `holds` is 0. */
void harness_check_at(int holds, const char *expression, const char *file,
                      int line);
#define harness_check(expression)                                              \
    harness_check_at((expression) != 0, #expression, __FILE__, __LINE__)

/** progress() until *done is not 0, for at most 20 s; sleeping if asked to. */
void harness_wait(struct harness_node *node, const volatile int *done,
                  int asleep);

/** Wait until all nodes have called one of these as often. The first leaves the
 * transport alone, the second lets it make progress meanwhile. */
void harness_barrier(struct harness_node *node);
void harness_barrier_with_progress(struct harness_node *node);

/** A pseudo-random number from *state. */
uint64_t harness_random(uint64_t *state);

#endif
