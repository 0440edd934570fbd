// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_CONNECT_H
#define RUNTIME_CONNECT_H

#include "cluster/bootstrap.h"
#include "net/transport.h"

struct node;

/** Are there other nodes, or may there be some later? */
int node_may_have_others(struct node *node);

/** What this node's end of the transport is opened with. */
struct net_config node_net_config(struct node *node);

/** Open it. Ends the program if there is no port. @return as transport->open() */
tm_status connect_open(struct node *node);

/** Connect with all nodes of the roster, and with those that have left with none.
 * Ends the program if one cannot be reached. */
void connect_to_all(struct node *node, const struct boot_roster *roster);

#endif
