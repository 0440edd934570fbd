// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include "net/message.h"

/*
 * A transport moves frames between nodes: reliable, in order per pair of nodes,
 * never duplicated. A node calls all functions of one `struct net` under its
 * node lock, except wait().
 */

struct net; ///< one node's end; each transport has its own

/** What the transport calls with each message that arrives, from progress()
 * and arm() only. The message lives until it returns; it may call send(). A frame that
 * does not decode is not delivered: it is counted and logged. */
typedef void net_receive_fn(void *owner, node_id from,
                            const struct message *message);

struct net_counters {
    uint64_t messages_sent;
    uint64_t bytes_sent; ///< frames to other nodes, without transport headers
    uint64_t messages_received;
    uint64_t bytes_received;
    uint64_t bad_frames;
};

/** What a node's end is opened with. */
struct net_config {
    node_id self;
    unsigned n_nodes;
    unsigned n_here;    ///< nodes on this host, self included
    const char *device; ///< the network card that other hosts are reached by;
                        ///< NULL: all nodes are on this host
    net_receive_fn *receive;
    void *owner; ///< for receive
};

/** Where a node is. */
struct net_place {
    const void *address;
    size_t size;
    int is_elsewhere; ///< on another host
};

struct transport {
    const char *name; ///< as in TEAMSTER_TRANSPORT and `teamster info`

    /** Open this node's end. May take milliseconds.
     * @return TM_OK, TM_ESYSTEM (logged) */
    tm_status (*open)(struct net **net, const struct net_config *config);

    /** This node's address, for the others. Lives until close(). */
    void (*address)(struct net *net, const void **bytes, size_t *size);

    /** Connect to all others. What travels to another host is encrypted and
     * authenticated with keys made of the job's.
     * @param places     [n_nodes]  copied; the entry of self is not read
     * @param job_key    [SEAL_KEY_SIZE]  the same for all nodes of a run and for
     *                   no other run; not kept. NULL if no node is elsewhere
     * @param[out] why   [room]  on failure: one line, not logged, since a node
     *                   that has died meanwhile is for others to tell
     * @return TM_OK, TM_EWIRE (an address is malformed), TM_EPEER (a node cannot
     *         be reached), TM_ESYSTEM (no keys can be made; logged) */
    tm_status (*connect)(struct net *net, const struct net_place *places,
                         const uint8_t *job_key, char *why, size_t room);

    /** Queue a message for a node, self included (then progress() delivers it).
     * Copies everything; never calls receive. */
    void (*send)(struct net *net, node_id to, const struct message *message);

    /** Deliver what has arrived, and push out what is queued.
     * @return the number of messages delivered, 0 if there was nothing to do */
    unsigned (*progress)(struct net *net);

    /** Get ready to sleep on wait_fd(): afterwards each arrival makes it
     * readable. May deliver messages, as progress() does.
     * @return 1 ready, 0 something has arrived meanwhile: call progress() */
    int (*arm)(struct net *net);

    /** Somebody calls progress() all the time from now on, or no longer does
     * (they are counted). If is_rung(), arrivals from this host meanwhile leave
     * wait_fd() alone; who stops calls progress() once more. Needs no lock. */
    void (*look)(struct net *net, int is_looking);

    /** Does look() count? Once it does, it stays so. */
    int (*is_rung)(const struct net *net);

    /** Messages that wait until a receiver has room. Nothing tells when it has:
     * while there are some, progress() must be called again soon. */
    unsigned (*n_unsent)(const struct net *net);

    /** A file descriptor for poll(); -1 if the transport has none. */
    int (*wait_fd)(struct net *net);

    /** Push out what is queued, at most for about 100 ms, and close. */
    void (*close)(struct net *net);

    void (*counters)(struct net *net, struct net_counters *counters);
};

extern const struct transport transport_ucx;  ///< UCX active messages
extern const struct transport transport_self; ///< a cluster of one

#endif
