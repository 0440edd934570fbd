// SPDX-License-Identifier: BSD-3-Clause
//
// This node's end of the transport, and its way to the nodes that there are when the
// program starts. Those that come later: members.c.
#include "runtime/connect.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/lifesigns.h"
#include "runtime/observer.h"
#include "runtime/runtime.h"

#define DEATH_SEEN_MS 3000

// One that is alone can have others later, if somebody can start them.
int node_may_have_others(void)
{
    return runtime.n_nodes > 1 || bootstrap_has_launcher(&runtime.bootstrap);
}

// For what waits for nodes of other hosts: three quarters of the memory that there is,
// and of swap. If more does, this node is near being ended by the kernel.
static uint64_t most_waiting(void)
{
    struct memory_state state;

    if (!observer_has_watch()) {
        return 0;
    }
    memory_read(&runtime.observer.watch, &state);
    return (state.total.bytes + state.swap_total) / 4 * 3 /
           (runtime.bootstrap.n_here > 0 ? runtime.bootstrap.n_here : 1);
}

struct net_config node_net_config(void)
{
    const char *device = runtime.bootstrap.device;

    return (struct net_config){
        .self = runtime.self,
        .n_nodes = TM_MAX_NODES, // that there may ever be
        .n_here = runtime.n_nodes > 1 ? runtime.bootstrap.n_here : 0,
        .device = device[0] != '\0' ? device : NULL,
        .listens_within =
            runtime.bootstrap.joins > 0 && runtime.bootstrap.n_here > 1,
        .first_port = runtime.options.port_range.first,
        .last_port = runtime.options.port_range.last,
        // The node's own signs of life come first, and name the node.
        .timeout_s = runtime.options.peer_timeout > 0
                         ? runtime.options.peer_timeout + 2
                         : 0,
        .most_waiting = node_may_have_others() ? most_waiting() : 0,
        .is_plain = runtime.options.trust_network,
        .sockets = &runtime.sockets,
        .event = lifesigns_event,
        .receive = node_receive,
    };
}

tm_status connect_open(void)
{
    const struct net_config config = node_net_config();
    tm_status status;

    runtime.transport =
        node_may_have_others() ? &transport_ucx : &transport_self;
    status = runtime.transport->open(&runtime.net, &config);
    if (status == TM_EBUSY) {
        log_fatal(EXIT_UNREACHABLE,
                  "node %u has no port that others can "
                  "reach; --port-range=A-B gives some",
                  runtime.self);
    }
    return status;
}

void connect_to_all(const struct boot_roster *roster)
{
    struct net_place places[TM_MAX_NODES] = {0};
    char why[256] = "";
    tm_status status;

    for (unsigned i = 0; i < runtime.n_nodes; i++) {
        places[i] = (struct net_place){
            .address = roster->cards[i].address,
            .size = roster->cards[i].address_size,
            .is_elsewhere = roster->host_of[i] != roster->host_of[runtime.self],
            .comes = i < runtime.self,
        };
        if (roster->host_of[i] == BOOT_NO_HOST) { // it has left
            roster_remove(&runtime.port.roster, (node_id)i);
        }
    }
    node_enter();
    status = runtime.transport->connect(runtime.net, places, roster->job_key,
                                        why, sizeof why);
    // Not before: those who are there already come in an epoch before that.
    if (runtime.bootstrap.joins > 0) {
        runtime.transport->set_epoch(runtime.net, runtime.bootstrap.joins);
    }
    node_leave();
    // A node that cannot be reached has died, most often: the launcher sees that
    // soon, and names it.
    if (status == TM_EPEER &&
        bootstrap_is_ended(&runtime.bootstrap, DEATH_SEEN_MS)) {
        _exit(EXIT_NODE_LOST);
    }
    if (status != TM_OK) {
        log_fatal(status == TM_EPEER && runtime.bootstrap.device[0] != '\0'
                      ? EXIT_UNREACHABLE
                      : EXIT_CONFIG,
                  "%s", why);
    }
}
