// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_TCP_PRIV_H
#define NET_TCP_PRIV_H

#include "net/handshake.h"
#include "net/tcp.h"
#include "net/tcp_socket.h"

/* Shared by the files of the wire between hosts; tcp.c says how they work. */

/** In front of each frame: bytes behind it u32, roster epoch u32, kind u8. */
#define HEAD 9u

/** The most bytes behind a head. */
#define BEHIND_MAX (MESSAGE_HEADER_MAX + MESSAGE_BODY_MAX + SEAL_TAG_SIZE)

#define CONFIRM_SIZE (HEAD + SEAL_TAG_SIZE)

enum frame_kind {
    KIND_MESSAGE = 1,
    KIND_CONFIRM = 2, ///< the first one from who has connected
    KIND_BYE = 3,     ///< the end that follows is in order
    KIND_FENCED = 4,  ///< you are no member any more
};

enum channel_state {
    CHANNEL_ABSENT,
    CHANNEL_AWAITED,
    CHANNEL_CONNECTING,
    CHANNEL_ASKING,
    CHANNEL_PAUSING,
    CHANNEL_UP,
    CHANNEL_FENCED,
    CHANNEL_LOST,
};

struct channel {
    enum channel_state state;
    int fd;          ///< -1: none
    unsigned serial; ///< of the connection: counts those that were closed
    struct tcp_place place;
    struct handshake handshake;
    struct seal_lanes lanes;
    unsigned n_answered; ///< bytes of the answer that have come
    uint32_t since;      ///< the roster epoch in which it was added or removed
    uint64_t due_ns;     ///< CHANNEL_PAUSING: try again
    uint64_t begun_ns;   ///< when it was to be made
    int reason;          ///< errno of the last try
    // what comes
    uint8_t head[HEAD]; ///< n_head bytes of the next frame
    unsigned n_head;
    struct frame *partial; ///< a frame whose end has not come
    uint32_t n_partial;
    int has_said_bye;
    // what goes
    struct frame *first; ///< frames that wait; the first n_sealed are sealed
    struct frame *last;
    unsigned n_sealed;
    uint32_t n_gone;   ///< bytes of the first that are on their way
    uint64_t waiting;  ///< the memory of all
    uint64_t taken_ns; ///< when some were last taken, or it became heavy
    int is_full;       ///< told when there is room
    int is_deaf;       ///< takes nothing any more
    int is_dirty;      ///< in the list
    struct channel *next_dirty;
    // what is to be told
    int has_event;
    enum net_event event;
    char why[256];
};

/** A connection from a host that is not a node's yet. */
struct greeter {
    int fd; ///< -1: none
    enum { WANTS_HELLO, WANTS_PEER, WANTS_CONFIRM } state;
    uint8_t bytes[HELLO_SIZE];
    unsigned n_bytes;
    struct hello hello;
    struct seal_lanes lanes;
    uint64_t due_ns;
};

/** So many at one time: all nodes that there may be come at once, and on slow hosts take
 * their time; the rest is for strangers. */
#define N_GREETERS (TM_MAX_NODES + 32)

/** In secret memory: it has the keys. */
struct tcp {
    size_t size; ///< of all this
    node_id self;
    unsigned n_nodes; ///< that there may be
    unsigned n_begun; ///< channels from 0 on that are more than zeros
    uint32_t epoch;
    unsigned timeout_s;
    int is_plain;
    struct descriptor_set *sockets; ///< all that are open
    net_event_fn *event;
    void *owner;
    struct inbox *inbox;
    struct frame_pool *pool;
    struct seals *seals;
    int epoll;
    int listener; ///< -1: closed
    struct tcp_place place;
    uint8_t *room; ///< for what comes
    int is_meeting;
    int is_in_progress;
    unsigned n_events;
    struct channel *dirty; ///< have frames that were sent in progress
    int has_met;
    unsigned n_timed;   ///< channels that are being made
    unsigned n_awaited; ///< of these, by the other end
    unsigned n_greeters;
    uint64_t up_ns;        ///< when a channel was made last
    unsigned n_heavy;      ///< channels for which much waits: S3 in tcp_send.c
    uint64_t waiting;      ///< the memory of what waits for all
    uint64_t most_waiting; ///< 0: any
    uint64_t time_ns;      ///< in which this node did poll
    uint64_t polled_ns;
    struct handshake draft;
    struct greeter greeters[N_GREETERS];
    struct channel channels[]; ///< [n_nodes]
};

// ---- tcp_channel.c

/** What an event of epoll is about. */
enum watched { WATCHED_LISTENER, WATCHED_CHANNEL, WATCHED_GREETER };

/** Be told by epoll of a descriptor, or otherwise than before. */
void tcp_watch(const struct tcp *tcp, int fd, uint32_t events,
               enum watched what, unsigned index);
/** Close it if it is open, and watch it no more. */
void tcp_close_socket(const struct tcp *tcp, int *fd);

/** Does much wait? */
int channel_is_heavy(const struct channel *channel);
void channel_append(struct tcp *tcp, struct channel *channel,
                    struct frame *frame);
/** The first one has gone. */
void channel_take_off_first(struct tcp *tcp, struct channel *channel);
/** Forget what is queued. @param all  also what is sealed */
void channel_drop_queue(struct tcp *tcp, struct channel *channel, int all);

node_id channel_number(const struct tcp *tcp, const struct channel *channel);
/** Is a channel in this state to be made? */
int channel_is_timed(enum channel_state state);
void channel_set_state(struct tcp *tcp, struct channel *channel,
                       enum channel_state state);
/** Watch one that is up as it needs. */
void channel_watch(const struct tcp *tcp, const struct channel *channel);
/** Its connection is made, its keys are agreed upon; what waits may be flushed. */
void channel_is_up(struct tcp *tcp, struct channel *channel);
/** It is over with it. @param why  a few words, copied */
void channel_lose(struct tcp *tcp, struct channel *channel, const char *why);
/** Close it and forget all but what is to be told of it, and when it was added or
 * removed. */
void channel_clear(struct tcp *tcp, struct channel *channel);
/** Tell it in the next progress. */
void channel_tell(struct tcp *tcp, struct channel *channel,
                  enum net_event event);
void channel_forget_event(struct tcp *tcp, struct channel *channel);

// ---- tcp_send.c

/** Queue a frame without a text. */
void channel_send_control(struct tcp *tcp, struct channel *channel,
                          enum frame_kind kind);
/** Push out what is queued, as far as it is taken. */
void channel_flush(struct tcp *tcp, struct channel *channel);
void tcp_flush_dirty(struct tcp *tcp);
/** Lose one that takes nothing of much that waits. */
void channel_check_queue(struct tcp *tcp, struct channel *channel);
/** Lose one if more waits for all than there is memory for. */
void tcp_check_waiting(struct tcp *tcp);

// ---- tcp_receive.c

/** Take what has come from a peer that is up or fenced, and deliver it. */
void channel_receive(struct tcp *tcp, struct channel *channel);
size_t tcp_room_size(void);

// ---- tcp_greet.c

void tcp_accept(struct tcp *tcp);
void greeter_go_on(struct tcp *tcp, struct greeter *greeter);
/** A peer comes: it may be here already. */
void greeters_look_for(struct tcp *tcp, node_id node);
/** Close the listener, and what has come by it. */
void tcp_stop_listening(struct tcp *tcp);
/** The time of those that are slow is over. */
void greeters_check_time(struct tcp *tcp);

// ---- tcp_reach.c

/** Connect to a peer, with its place. */
void channel_begin(struct tcp *tcp, struct channel *channel);
/** The socket of one that is being connected is ready for something. */
void channel_go_on(struct tcp *tcp, struct channel *channel);
/** Try again what is due, give up what has taken too long. */
void channel_check_time(struct tcp *tcp, struct channel *channel);

#endif
