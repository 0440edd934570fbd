// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_PORT_H
#define NET_PORT_H

#include "net/message.h"
#include "net/roster.h"

/*
 * A port is how the state machines above (pages, protocol, sync) see the cluster: who they
 * are, how many there are, how to send, what time it is. The runtime makes one
 * over a transport, tests make one over the simulated network. All calls of one
 * node are made under its node lock.
 */
struct port {
    node_id self;
    struct roster roster; ///< changed by the membership's changes only
    void *owner;          ///< of the functions below; they get it back

    /** Queue a message for a node, `to == self` included. Never calls back
     * before it returns; messages from one node to another arrive in the order
     * of these calls. Fields and body are copied. Does not block, cannot fail: a
     * lost peer ends the run elsewhere. */
    void (*send)(void *owner, node_id to, const struct message *message);

    /** The time, nanoseconds; monotonic. */
    uint64_t (*now_ns)(void *owner);
};

/** Queue a message, as the slot above says. */
static inline void port_send(const struct port *port, node_id to,
                             const struct message *message)
{
    port->send(port->owner, to, message);
}

/** Queue a message for all live nodes, self included. */
static inline void port_send_all(const struct port *port,
                                 const struct message *message)
{
    for (unsigned i = 0; i < port->roster.n_live; i++) {
        port_send(port, port->roster.live[i], message);
    }
}

#endif
