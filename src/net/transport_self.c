// SPDX-License-Identifier: BSD-3-Clause
//
// The transport of a cluster of one: what the node sends to itself waits in its
// inbox until the next progress(). Nothing comes from outside, so there is
// nothing to sleep on.
#include <stdio.h>
#include <stdlib.h>

#include "base/ensure.h"
#include "base/log.h"
#include "net/inbox.h"
#include "net/transport.h"

struct net {
    struct frame_pool pool;
    struct inbox inbox;
};

static tm_status self_open(struct net **net, const struct net_config *config)
{
    struct net *made;

    ensure(config->self == 0); // a cluster of one stays so
    made = malloc(sizeof *made);
    if (made == NULL) {
        log_error("no memory for the transport");
        return TM_ENOMEM;
    }
    frame_pool_init(&made->pool);
    inbox_init(&made->inbox, config->self, config->receive, config->owner);
    *net = made;
    return TM_OK;
}

static void self_address(struct net *net, const void **bytes, size_t *size)
{
    (void)net;
    *bytes = "";
    *size = 0;
}

static tm_status self_connect(struct net *net, const struct net_place *places,
                              const uint8_t *job_key, char *why, size_t room)
{
    (void)net;
    (void)places;
    (void)job_key;
    (void)why;
    (void)room;
    return TM_OK;
}

static tm_status self_widen(struct net *net, const struct net_config *config,
                            const uint8_t *job_key)
{
    (void)net;
    (void)config;
    (void)job_key;
    log_error("a cluster of one stays so");
    return TM_ESYSTEM;
}

static tm_status self_add_peer(struct net *net, node_id node,
                               const struct net_place *place, char *why,
                               size_t room)
{
    (void)net;
    (void)place;
    snprintf(why, room, "node %u: a cluster of one stays so", node);
    return TM_EPEER;
}

static void self_remove_peer(struct net *net, node_id node)
{
    (void)net;
    (void)node;
}

static void self_set_epoch(struct net *net, uint32_t epoch)
{
    (void)net;
    (void)epoch;
}

static void self_send(struct net *net, node_id to,
                      const struct message *message)
{
    ensure(to == net->inbox.self);
    inbox_send_to_self(&net->inbox, frame_encode(&net->pool, 0, 0, message));
}

static unsigned self_progress(struct net *net)
{
    net->inbox.n_delivered = 0;
    inbox_deliver_to_self(&net->inbox);
    return net->inbox.n_delivered;
}

static int self_arm(struct net *net)
{
    return inbox_is_empty(&net->inbox);
}

static void self_note_polling(struct net *net, int is_polling)
{
    (void)net;
    (void)is_polling;
}

static int self_has_doorbell(const struct net *net)
{
    (void)net;
    return 0;
}

static unsigned self_n_unsent(const struct net *net)
{
    (void)net;
    return 0;
}

static int self_wait_fd(struct net *net)
{
    (void)net;
    return -1;
}

static void self_close(struct net *net)
{
    frame_pool_release(&net->pool);
    free(net);
}

static void self_counters(struct net *net, struct net_counters *counters)
{
    *counters = net->inbox.counters;
}

const struct transport transport_self = {
    .name = "self",
    .open = self_open,
    .address = self_address,
    .connect = self_connect,
    .widen = self_widen,
    .add_peer = self_add_peer,
    .remove_peer = self_remove_peer,
    .set_epoch = self_set_epoch,
    .send = self_send,
    .progress = self_progress,
    .arm = self_arm,
    .note_polling = self_note_polling,
    .has_doorbell = self_has_doorbell,
    .n_unsent = self_n_unsent,
    .wait_fd = self_wait_fd,
    .close = self_close,
    .counters = self_counters,
};
