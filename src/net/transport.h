// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include "net/message.h"
#include "os/descriptor_set.h"

/*
 * A transport moves frames between nodes: reliable, in order per pair of nodes,
 * never duplicated. A node calls all functions of one `struct net` under its
 * node lock, except wait().
 */

struct net; ///< one node's end; each transport has its own

/** How nodes of other hosts are reached (net/between.h). */
struct between;
extern const struct between between_tcp; ///< authenticated and encrypted
extern const struct between
    between_ucx; ///< neither: UCX, with RDMA if it is there

/** What the transport calls with each message that arrives, from progress()
 * and arm() only. The message lives until it returns; it may call send(). A frame that
 * does not decode is not delivered: it is counted and logged. */
typedef void net_receive_fn(void *owner, node_id from,
                            const struct message *message);

/** What else happens, between hosts but for NET_PEER_LOST. */
enum net_event {
    NET_PEER_UP,   ///< a node that was added after connect() is connected
    NET_PEER_LOST, ///< the connection of one that was not removed has ended, or
                   ///< cannot be made; all that came of it has been delivered.
                   ///< Of this host: only if its process has not ended, and
                   ///< something here is in the way
    NET_FENCED,    ///< a node has told this one that the cluster has gone on
                   ///< without it
};

/** What the transport calls with each event, from progress() and arm() only. It may
 * call send(), add_peer() and remove_peer().
 * @param why  of NET_PEER_LOST: a few words; lives until it returns */
typedef void net_event_fn(void *owner, enum net_event event, node_id node,
                          const char *why);

/** Why a connection from another host was closed before it was a node's. */
enum net_refusal {
    NET_NO_HELLO,    ///< it does not begin as nodes do
    NET_CUT_SHORT,   ///< it has ended too soon
    NET_TOO_SLOW,    ///< it has not gone on
    NET_TOO_MANY,    ///< others came
    NET_WRONG_KEY,   ///< the hello was not made with the job's key
    NET_WRONG_NODE,  ///< it was, for another node, or for no such
    NET_NOT_AWAITED, ///< the node that it names is connected already
    NET_REMOVED,     ///< that node is no member any more
    NET_NO_CONFIRM,  ///< the hello was a recording
    NET_TOO_LATE,    ///< no more nodes are awaited
    NET_N_REFUSALS
};

/** In a few words, for users. */
extern const char *const net_refusal_texts[NET_N_REFUSALS];

struct net_counters {
    uint64_t messages_sent;
    uint64_t bytes_sent; ///< frames to other nodes, without transport headers
    uint64_t messages_received;
    uint64_t bytes_received;
    uint64_t rings; ///< nodes of this host that slept and were woken
    uint64_t bad_frames;
    uint64_t refused[NET_N_REFUSALS]; ///< connections
};

/** What a node's end is opened with. */
struct net_config {
    node_id self;
    unsigned n_nodes; ///< the numbers of nodes that may ever be added are below
    unsigned n_here; ///< nodes on this host, self included; 0: it is alone, and
                     ///< needs nothing to reach others by
    const struct between *between; ///< NULL: TCP
    const char *device;  ///< the network card that other hosts are reached by;
                         ///< NULL: all nodes are on this host, and what follows
                         ///< up to `event` is not read
    int listens_within;  ///< to this host, too: it has nodes that do not share
                         ///< memory with this one
    uint16_t first_port; ///< to listen on; 0: the system chooses
    uint16_t last_port;  ///< not below first_port
    unsigned timeout_s;  ///< what is not acknowledged for so long ends a
                         ///< connection; 0: after the system's time
    /** Bytes of memory for what waits for nodes of other hosts; if more does, one of
     * them is lost. 0: any */
    uint64_t most_waiting;
    int is_plain; ///< of TCP: authenticated only, not encrypted
    struct descriptor_set *sockets; ///< to other hosts: noted here
    net_event_fn *event;
    net_receive_fn *receive;
    void *owner; ///< for receive and event
};

/** Where a node is. */
struct net_place {
    const void *address;
    size_t size;      ///< 0: there is no such node now
    int is_elsewhere; ///< on another host, or of this one without memory shared
    int comes;        ///< of such a one: it connects to this node, not this one
                      ///< to it, and its address is not read
};

struct transport {
    /** Open this node's end. May take milliseconds.
     * @return TM_OK, TM_ENOMEM, TM_ESYSTEM (logged), TM_EBUSY (no port to listen on;
     *         logged) */
    tm_status (*open)(struct net **net, const struct net_config *config);

    /** This node's address, for the others. Lives until close(). */
    void (*address)(struct net *net, const void **bytes, size_t *size);

    /** From now on there are these others. All those of other hosts are connected; of
     * this host only one, and each other one when it is first sent something, unless
     * they do not share memory. What travels to another host by TCP is encrypted and
     * authenticated with keys made of the job's. Blocks until that is done, at most 10 s.
     *
     * @param places     [n_nodes]  copied; the entry of self is not read. Of two
     *                   nodes on two hosts exactly one has `comes` for the other
     * @param job_key    [SEAL_KEY_SIZE]  the same for all nodes of a run and for
     *                   no other run; not kept. NULL if no node is elsewhere
     * @param[out] why   [room]  on failure: one line, not logged, since a node
     *                   that has died meanwhile is for others to tell
     * @return TM_OK, TM_EWIRE (an address is malformed), TM_EPEER (a node cannot
     *         be reached), TM_ESYSTEM (no keys can be made; logged) */
    tm_status (*connect)(struct net *net, const struct net_place *places,
                         const uint8_t *job_key, char *why, size_t room);

    /** From now on nodes of other hosts may be added; none that `comes`, for nothing
     * listens. Does nothing if they may already.
     * @param config   as for open(), whose `event` and what is before it count
     * @param job_key  as for connect()
     * @return TM_OK, TM_ESYSTEM (logged; nothing has changed) */
    tm_status (*widen)(struct net *net, const struct net_config *config,
                       const uint8_t *job_key);

    /** There is one more node, or one under a number that was removed, as of
     * the epoch that was set before: what it sends with an older one is refused.
     * Connect to it, if it is on another host: NET_PEER_UP or NET_PEER_LOST follows.
     * Does not block: what is sent to it waits.
     * @param why  as for connect()
     * @return TM_OK, TM_EWIRE, TM_EPEER
     * @return TM_ESTATE  it `comes`, and this node does not listen any more: it
     *                    does until all that come have been connected */
    tm_status (*add_peer)(struct net *net, node_id node,
                          const struct net_place *place, char *why,
                          size_t room);

    /** A node is no member any more, as of the epoch that was set before. What it
     * still sends is refused and counted, and if it is on another host it is
     * told: there NET_FENCED follows, unless it has closed its end. */
    void (*remove_peer)(struct net *net, node_id node);

    /** The epoch that is in each frame to other hosts from now on, 0 until then.
     * It only grows. */
    void (*set_epoch)(struct net *net, uint32_t epoch);

    /** Queue a message for a node, self included (then progress() delivers it).
     * Copies everything; never calls receive. What is sent to a lost or removed
     * node is dropped. */
    void (*send)(struct net *net, node_id to, const struct message *message);

    /** Deliver what has arrived, and push out what is queued.
     * @return the number of messages delivered, 0 if there was nothing to do */
    unsigned (*progress)(struct net *net);

    /** Get ready to sleep on wait_fd(): afterwards each arrival makes it
     * readable. Who sleeps calls progress() once more before, and does not sleep if
     * that delivers something.
     * @return 1 ready, 0 something has arrived meanwhile: call progress() */
    int (*arm)(struct net *net);

    /** Somebody calls progress() all the time from now on, or no longer does
     * (they are counted). If has_doorbell(), arrivals meanwhile leave wait_fd()
     * alone; who stops calls progress() once more. Needs no lock. */
    void (*note_polling)(struct net *net, int is_polling);

    /** Does note_polling() count? Once it does, it stays so. */
    int (*has_doorbell)(const struct net *net);

    /** Messages that wait until a receiver has room. Nothing tells when it has:
     * while there are some, progress() must be called again soon. */
    unsigned (*n_unsent)(const struct net *net);

    /** Calls of progress(), so far, by which pieces of those messages may have gone: a
     * long one is counted above until its last piece has. */
    uint64_t (*n_steps)(const struct net *net);

    /** A file descriptor for poll(); -1 if the transport has none. */
    int (*wait_fd)(struct net *net);

    /** Push out what is queued, at most for about 100 ms, and close. */
    void (*close)(struct net *net);

    void (*counters)(struct net *net, struct net_counters *counters);
};

extern const struct transport transport_ucx; ///< UCX, and `between` hosts

#endif
