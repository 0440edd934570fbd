// SPDX-License-Identifier: BSD-3-Clause
//
// This node's end of the transport, and its way to the nodes that there are when the
// program starts. Those that come later: members.c.
#include "runtime/connect.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "os/descriptor.h"
#include "os/kthread.h"
#include "runtime/liveness.h"
#include "runtime/node.h"
#include "runtime/observer.h"

#define DEATH_SEEN_MS 3000

// One that is alone can have others later, if somebody can start them.
int node_may_have_others(struct node *node)
{
    return node->n_nodes > 1 || bootstrap_has_launcher(&node->bootstrap);
}

// For what waits for nodes of other hosts: three quarters of the memory that there is,
// and of swap. If more does, this node is near being ended by the kernel.
static uint64_t most_waiting(struct node *node)
{
    struct memory_state state;

    if (!observer_has_watch(node)) {
        return 0;
    }
    memory_read(&node->observer.watch, &state);
    return (state.total.bytes + state.swap_total) / 4 * 3 /
           (node->bootstrap.n_here > 0 ? node->bootstrap.n_here : 1);
}

// As --fabric names them.
static const struct between *between_hosts(const struct options *options)
{
    return options->fabric == FABRIC_BY_UCX ? &between_ucx : &between_tcp;
}

struct net_config node_net_config(struct node *node)
{
    const char *device = node->bootstrap.device;

    return (struct net_config){
        .self = node->self,
        .n_nodes = TM_MAX_NODES, // that there may ever be
        .n_here = node->n_nodes > 1 ? node->bootstrap.n_here : 0,
        .between = between_hosts(&node->options),
        .device = device[0] != '\0' ? device : NULL,
        .listens_within =
            node->bootstrap.joins > 0 && node->bootstrap.n_here > 1,
        .first_port = node->options.port_range.first,
        .last_port = node->options.port_range.last,
        // The node's own signs of life come first, and name the node.
        .timeout_s =
            node->options.peer_timeout > 0 ? node->options.peer_timeout + 2 : 0,
        .most_waiting = node_may_have_others(node) ? most_waiting(node) : 0,
        .is_plain = node->options.trust_network,
        .sockets = &node->sockets,
        .owner = node,
        .event = liveness_event,
        .receive = node_receive,
    };
}

tm_status connect_open(struct node *node)
{
    const struct net_config config = node_net_config(node);
    tm_status status;

    node->transport = &transport_ucx;
    if (node_may_have_others(node)) {
        status = kthread_try("async"); // UCX aborts if it cannot have its own
        if (status != TM_OK) {
            return status;
        }
    }
    status = node->transport->open(&node->net, &config);
    if (status == TM_EBUSY) {
        log_fatal(EXIT_UNREACHABLE,
                  "node %u has no port that others can "
                  "reach; --port-range=A-B gives some",
                  node->self);
    }
    return status;
}

void connect_to_all(struct node *node, const struct boot_roster *roster)
{
    struct net_place places[TM_MAX_NODES] = {0};
    char why[256] = "";
    tm_status status;

    descriptor_make_room(BOOT_DESCRIPTORS(node->n_nodes));
    for (unsigned i = 0; i < node->n_nodes; i++) {
        places[i] = (struct net_place){
            .address = roster->members[i].address,
            .size = roster->members[i].address_size,
            .is_elsewhere = roster->host_of[i] != roster->host_of[node->self],
            .comes = i < node->self,
        };
        if (roster->host_of[i] == BOOT_NO_HOST) { // it has left
            roster_remove(&node->port.roster, (node_id)i);
        }
    }
    node_enter(node);
    status = node->transport->connect(node->net, places, roster->job_key, why,
                                      sizeof why);
    // Not before: those who are there already come in an epoch before that.
    if (node->bootstrap.joins > 0) {
        node->transport->set_epoch(node->net, node->bootstrap.joins);
    }
    node_leave(node);
    // A node that cannot be reached has died, most often: the launcher sees that
    // soon, and names it.
    if (status == TM_EPEER &&
        bootstrap_is_ended(&node->bootstrap, DEATH_SEEN_MS)) {
        _exit(EXIT_NODE_LOST);
    }
    if (status != TM_OK) {
        log_fatal(status == TM_EPEER && node->bootstrap.device[0] != '\0'
                      ? EXIT_UNREACHABLE
                      : EXIT_CONFIG,
                  "%s", why);
    }
}
