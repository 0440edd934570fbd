// SPDX-License-Identifier: BSD-3-Clause
//
// The transport of a cluster: how a node sleeps. The nodes of its own host ring its
// doorbell (net/doorbell.h), if it has one; else UCX wakes it. Nodes of other hosts are
// heard by the descriptor of the wire between hosts in any case. So a node with peers on
// both sides sleeps on two descriptors, joined to one: the doorbell's or UCX's, and that
// wire's. One that has no others on its host sleeps as if they could ring.
//
// S1  Who arms looks for messages once more before sleeping: a sender that has seen the
//     doorbell unarmed has put its message there before.
// S2  The descriptor between hosts is readable while there is something, or from the first
//     arrival after it was armed on until it is armed again.
// S3  Polling (transport.h) silences the doorbell, and takes the descriptor between hosts out
//     of what is slept on with the doorbell. Who is first to poll takes it out before it
//     stops, and who is last puts it back after: so it is there while nobody polls, and then
//     it tells of what has come before as well (S2).
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "net/transport_ucx_priv.h"

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

    if (net->far == NULL) {
        return TM_OK;
    }
    if (net->wire != NULL) {
        net->joined_fd =
            join_descriptors(net->between->fd(net->far), wire_fd(net->wire));
        is_done = net->joined_fd >= 0;
    }
    if (is_done && (net->wire == NULL || net->doorbell != NULL)) {
        net->joined_doorbell_fd = join_descriptors(
            net->between->fd(net->far),
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
    return net->wire == NULL || net->doorbell != NULL;
}

/** By the doorbell, or by UCX. @return 0 UCX has something from this host */
static int arm_within_host(struct net *net)
{
    if (net->wire == NULL) {
        return 1;
    }
    if (net->doorbell != NULL) {
        doorbell_arm(net->doorbell);
        return 1;
    }
    return net->wire->ucx.ucp_worker_arm(net->wire->worker) == UCS_OK;
}

int ucx_arm(struct net *net)
{
    return inbox_is_empty(&net->inbox) && net->n_untold == 0 &&
           (net->far == NULL || net->between->arm(net->far)) &&
           arm_within_host(net);
}

/** Do arrivals from other hosts wake who sleeps with the doorbell? */
static void listen_to_others(const struct net *net, int listens)
{
    struct epoll_event event = {.events = listens ? EPOLLIN : 0};

    (void)epoll_ctl(net->joined_doorbell_fd, EPOLL_CTL_MOD,
                    net->between->fd(net->far), &event);
}

void ucx_note_polling(struct net *net, int is_polling)
{
    // Counted also while there is no such wire yet: it may come while somebody polls.
    unsigned n_before = is_polling ? atomic_fetch_add(&net->n_polling, 1)
                                   : atomic_fetch_sub(&net->n_polling, 1);

    if (net->doorbell != NULL) {
        doorbell_note_polling(net->doorbell, is_polling);
    }
    if (net->joined_doorbell_fd >= 0 && n_before == (is_polling ? 0 : 1)) {
        listen_to_others(net, !is_polling); // S3
    }
}

int ucx_wait_fd(struct net *net)
{
    if (!ucx_has_doorbell(net)) {
        return net->joined_fd >= 0 ? net->joined_fd : wire_fd(net->wire);
    }
    if (net->joined_doorbell_fd >= 0) {
        return net->joined_doorbell_fd;
    }
    return net->doorbell != NULL ? doorbell_fd(net->doorbell) : -1;
}
