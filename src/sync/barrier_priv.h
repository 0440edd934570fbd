// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_BARRIER_PRIV_H
#define SYNC_BARRIER_PRIV_H

#include "sync/reduce.h"
#include "sync/sync_priv.h"

enum {
    /** If more nodes than this meet, some of them lead others. */
    BARRIER_ALONE_MAX = 16,
    /** Values in one message: their bodies fit MESSAGE_BODY_MAX. */
    BARRIER_VALUES_MAX = 8192,
};

struct barrier_relay;

/** A barrier: barrier.c has the node's part, barrier_manager.c the manager's,
 * barrier_relay.c that of a node between them. */
struct barrier {
    struct waiter release; ///< first member
    struct sync *sync;
    uint64_t key;
    struct barrier *next_watched;
    bool is_watched;

    // the node's part; a waiter's result holds its value, result2 its way
    struct waiter_queue gathering; ///< held back, to travel together
    struct waiter_queue sending;   ///< a release for them is under way
    struct waiter_queue waiting;   ///< the manager has been told
    bool is_flush_due;             ///< flush again when `sending` is sent
    uint32_t n_last;               ///< that passed here the last time
    uint64_t since_ns;             ///< when the first began to gather
    node_id via; ///< where arrivals go; NODE_NONE: to the manager

    struct barrier_relay *relay; ///< NULL: this node has passed nothing on

    // the manager's part
    uint32_t count;       ///< 0: never initialised
    uint64_t count_place; ///< where the program gave it
    uint32_t n_arrived;   ///< < count, between two messages
    uint64_t episode;     ///< that have been passed
    uint64_t first;       ///< a thread of those that arrived first
    uint64_t first_place; ///< and where it waits
    uint64_t most;        ///< counted by one of those of this episode
    uint8_t kind;         ///< of this episode, if n_arrived > 0
    uint8_t op;
    uint32_t *n_of_node; ///< [TM_MAX_NODES] arrived; NULL before the first
    node_id *ways; ///< [TM_MAX_NODES] who has passed them on, or NODE_NONE
    struct wire_contribution *values; ///< [n_values], room for n_room
    uint32_t n_values;
    uint32_t n_room;
    uint64_t check_ns; ///< when to ask the root whether others can arrive
};

/** The record of a barrier, new if need be. */
struct barrier *barrier_of(struct sync *sync, uint64_t key);

/** sync_poll() looks at it while something waits at it. */
void barrier_watch(struct barrier *barrier);

static inline bool kind_reduces(uint8_t kind)
{
    return kind == ARRIVE_DOUBLE || kind == ARRIVE_INT64;
}

/* barrier_manager.c */
/** Make n_of_node, of zeros, and ways. */
void barrier_make_counts(struct barrier *barrier);
/** Add n values, thread u64 and value u64 each. */
void barrier_keep_values(struct barrier *barrier, struct wire_reader *body,
                         uint32_t n);
/** Threads have arrived: ask now and then whether others can. */
void barrier_expect(struct barrier *barrier);

/** barrier_manager.c: asks the root now and then whether others can still arrive. */
void meeting_poll(struct barrier *barrier, uint64_t now_ns);
bool meeting_is_valid(const struct barrier *barrier);

/* barrier_relay.c */
/** Threads of another node, or of this one, have arrived, and this is not the manager.
 * The message is valid. */
void relay_arrivals(struct barrier *barrier, node_id from,
                    const struct message *message);
/** This node leads a group that had so many threads when it met last; 0: it does not. */
void relay_lead(struct barrier *barrier, uint32_t n_group);
/** Does it hold something back? Sends it if that has lasted long enough. */
bool relay_poll(struct barrier *barrier, uint64_t now_ns);
bool relay_is_valid(const struct barrier *barrier);
void relay_free(struct barrier *barrier);

#endif
