// SPDX-License-Identifier: BSD-3-Clause
//
// The transport over UCX: how a node sleeps. The nodes of its own host ring its bell
// (net/bell.h), if all of them can; else UCX wakes it. Nodes of other hosts are heard
// by UCX's descriptor of the network in any case. So a node with peers on both sides
// sleeps on two descriptors, joined to one: a bell and the network's, or UCX's two.
//
// S1  After the bell is armed this host's messages are looked for once more: a sender
//     that has seen it unarmed has put its message there before.
// S2  The wire between hosts is armed last, and nothing is done with it before the
//     sleep: progress could take the event away and leave it unarmed. UCX itself
//     looks again when it is armed, and refuses if something has come.
// S3  A look (transport.h) silences the bell only. What other hosts send meanwhile
//     wakes who sleeps here; that is for nothing, and no harm.
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "net/transport_ucx_priv.h"

static int ucx_fd(const struct wire *wire)
{
    int fd = -1;

    return wire->ucx.ucp_worker_get_efd(wire->worker, &fd) == UCS_OK ? fd : -1;
}

/** One descriptor to sleep on for two. @return -1: not possible */
static int join_descriptors(int one, int other)
{
    struct epoll_event event = {.events = EPOLLIN};
    int joined = epoll_create1(EPOLL_CLOEXEC);

    if (joined >= 0 && (epoll_ctl(joined, EPOLL_CTL_ADD, one, &event) != 0 ||
                        epoll_ctl(joined, EPOLL_CTL_ADD, other, &event) != 0)) {
        close(joined);
        joined = -1;
    }
    return joined;
}

tm_status ucx_join_networks(struct net *net)
{
    const struct wire *near = net->wires[WITHIN_HOST];
    const struct wire *far = net->wires[BETWEEN_HOSTS];
    int is_done;

    if (near == NULL || far == NULL) {
        return TM_OK;
    }
    net->joined_fd = join_descriptors(ucx_fd(near), ucx_fd(far));
    is_done = net->joined_fd >= 0;
    if (is_done && net->bell != NULL) {
        net->joined_bell_fd = join_descriptors(bell_fd(net->bell), ucx_fd(far));
        is_done = net->joined_bell_fd >= 0;
    }
    if (!is_done) {
        log_error("cannot wait for two networks at once: %m");
    }
    return is_done ? TM_OK : TM_ESYSTEM;
}

int ucx_is_rung(const struct net *net)
{
    return bell_is_rung_by(net->bell, net->n_here - 1);
}

static int arm_wire(const struct wire *wire)
{
    return wire == NULL || wire->ucx.ucp_worker_arm(wire->worker) == UCS_OK;
}

/** By the bell, or by UCX. @return 0 something has come from this host meanwhile */
static int arm_within_host(struct net *net)
{
    net->sleeps_by_bell = ucx_is_rung(net);
    if (!net->sleeps_by_bell) {
        return arm_wire(net->wires[WITHIN_HOST]);
    }
    bell_arm(net->bell);
    return ucx_progress(net) == 0 && inbox_is_empty(&net->inbox);
}

int ucx_arm(struct net *net)
{
    return inbox_is_empty(&net->inbox) && arm_within_host(net) &&
           arm_wire(net->wires[BETWEEN_HOSTS]); // last: S2
}

void ucx_look(struct net *net, int is_looking)
{
    if (net->bell != NULL) {
        bell_look(net->bell, is_looking);
    }
}

int ucx_wait_fd(struct net *net)
{
    if (net->sleeps_by_bell) {
        return net->joined_bell_fd >= 0 ? net->joined_bell_fd
                                        : bell_fd(net->bell);
    }
    return net->joined_fd >= 0 ? net->joined_fd : ucx_fd(ucx_any_wire(net));
}
