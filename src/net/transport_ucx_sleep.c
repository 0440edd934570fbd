// SPDX-License-Identifier: BSD-3-Clause
//
// The transport over UCX and TCP: how a node sleeps. The nodes of its own host ring its
// doorbell (net/doorbell.h), if all of them can; else UCX wakes it. Nodes of other hosts are
// heard by the descriptor of TCP in any case. So a node with peers on both sides
// sleeps on two descriptors, joined to one: the doorbell's or UCX's, and TCP's. One that has
// no others on its host sleeps as if they all could ring.
//
// S1  Who arms looks for messages once more before sleeping: a sender that has seen the
//     doorbell unarmed has put its message there before.
// S2  TCP's descriptor needs no arming: it is readable while there is something.
// S3  Polling (transport.h) silences the doorbell, and takes TCP's descriptor out of what
//     is slept on with the doorbell. Who is first to poll takes it out before it stops, and
//     who is last puts it back after: so it is there while nobody polls, and then it tells
//     of what has come before as well.
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "net/transport_ucx_priv.h"

static int ucx_fd(const struct wire *wire)
{
    int fd = -1;

    return wire->ucx.ucp_worker_get_efd(wire->worker, &fd) == UCS_OK ? fd : -1;
}

/** One descriptor to sleep on for two. @param other  -1: there is one only
 * @return -1: not possible */
static int join_descriptors(int one, int other)
{
    struct epoll_event event = {.events = EPOLLIN};
    int joined = epoll_create1(EPOLL_CLOEXEC);

    if (joined >= 0 && (epoll_ctl(joined, EPOLL_CTL_ADD, one, &event) != 0 ||
                        (other >= 0 && epoll_ctl(joined, EPOLL_CTL_ADD, other,
                                                 &event) != 0))) {
        close(joined);
        joined = -1;
    }
    return joined;
}

tm_status ucx_join_networks(struct net *net)
{
    int is_done = 1;

    if (net->tcp == NULL) {
        return TM_OK;
    }
    if (net->wire != NULL) {
        net->joined_fd = join_descriptors(tcp_fd(net->tcp), ucx_fd(net->wire));
        is_done = net->joined_fd >= 0;
    }
    if (is_done && (net->wire == NULL || net->doorbell != NULL)) {
        net->joined_doorbell_fd = join_descriptors(
            tcp_fd(net->tcp),
            net->doorbell != NULL ? doorbell_fd(net->doorbell) : -1);
        is_done = net->joined_doorbell_fd >= 0;
    }
    if (!is_done) {
        log_error("cannot wait for two networks at once: %m");
    }
    return is_done ? TM_OK : TM_ESYSTEM;
}

int ucx_has_doorbell(const struct net *net)
{
    return net->wire == NULL ||
           doorbell_is_rung_by(net->doorbell, net->n_here - 1);
}

/** By the doorbell, or by UCX. @return 0 UCX has something from this host */
static int arm_within_host(struct net *net)
{
    net->sleeps_by_doorbell = ucx_has_doorbell(net);
    if (net->wire == NULL) {
        return 1;
    }
    if (net->sleeps_by_doorbell) {
        doorbell_arm(net->doorbell);
        return 1;
    }
    return net->wire->ucx.ucp_worker_arm(net->wire->worker) == UCS_OK;
}

int ucx_arm(struct net *net)
{
    return inbox_is_empty(&net->inbox) &&
           (net->tcp == NULL || !tcp_is_restless(net->tcp)) &&
           arm_within_host(net);
}

/** Do arrivals from other hosts wake who sleeps with the doorbell? */
static void listen_to_tcp(const struct net *net, int listens)
{
    struct epoll_event event = {.events = listens ? EPOLLIN : 0};

    (void)epoll_ctl(net->joined_doorbell_fd, EPOLL_CTL_MOD, tcp_fd(net->tcp),
                    &event);
}

void ucx_note_polling(struct net *net, int is_polling)
{
    // Counted also while there is no TCP yet: it may come while somebody polls.
    unsigned n_before = is_polling ? atomic_fetch_add(&net->n_polling, 1)
                                   : atomic_fetch_sub(&net->n_polling, 1);

    if (net->doorbell != NULL) {
        doorbell_note_polling(net->doorbell, is_polling);
    }
    if (net->joined_doorbell_fd >= 0 && n_before == (is_polling ? 0 : 1)) {
        listen_to_tcp(net, !is_polling); // S3
    }
}

int ucx_wait_fd(struct net *net)
{
    if (net->wire != NULL && !net->sleeps_by_doorbell) {
        return net->joined_fd >= 0 ? net->joined_fd : ucx_fd(net->wire);
    }
    if (net->joined_doorbell_fd >= 0) {
        return net->joined_doorbell_fd;
    }
    return net->doorbell != NULL ? doorbell_fd(net->doorbell) : -1;
}
