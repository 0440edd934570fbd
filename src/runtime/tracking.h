// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_TRACKING_H
#define RUNTIME_TRACKING_H

#include <stdatomic.h>

#include "observe/access_sets.h"
#include "observe/track.h"
#include "runtime/threads.h"
#include "sync/sync.h"
#include "ult/ult.h"

struct node;

/* Which pages threads use, and in which order, in one iteration; or the pieces of a loop in
 * one entry. */

/** The number of a piece, where those of threads are: no thread has it. */
#define PIECE_BIT (UINT64_C(1) << 62)

/** What the message `track` asks for. */
enum track_what {
    TRACK_BEGIN,
    TRACK_SOMEBODY_DONE,
    TRACK_GIVE_UP,
    TRACK_BEGIN_PHASES, ///< and tell what is written behind which barrier
};

/** Who may want to know what a round finds. */
enum tracking_asker {
    TRACKING_FOR_PAGER,
    TRACKING_FOR_FILE, ///< --track
    TRACKING_FOR_SCHEME,
    TRACKING_FOR_SCRIPT, ///< --save-profile
    N_TRACKING_ASKERS,
};

/** Called under the node lock when a round is over, with what has been found, which
 * it is a holder of and frees: see access_sets_is_whole(). It may ask again. */
typedef void tracking_done_fn(struct node *node, struct access_sets *sets);

/** Tracking on this node: tracking.c. Guarded by the node lock. */
struct tracking {
    _Atomic int is_on; ///< changed under the lock, and read without
    int is_armed;      ///< the next iteration is to be tracked
    int began_early;   ///< before the barrier opened here
    int with_phases;   ///< barriers within the iteration count
    uint32_t round;    ///< that this is about
    struct track *track;
    uint64_t began_ns;
    uint64_t period_ns; ///< the latest iteration of a thread here, 0: not known
    uint64_t before_ns; ///< the one before the tracked one
    uint64_t iteration; ///< that is tracked, as threads count

    int is_of_loop;        ///< pieces are tracked, no iteration
    uint64_t piece_thread; ///< who does them
    uint64_t piece;        ///< with PIECE_BIT
    unsigned piece_slot;   ///< behind those of threads

    struct access_sets *sets; ///< the root, while a round is under way
    int is_for_loop;          ///< it is of a loop's entry
    uint32_t last_round;
    uint64_t give_up_ns;                       ///< 0: nobody is done
    tracking_done_fn *done[N_TRACKING_ASKERS]; ///< NULL: it has not asked
    uint64_t n_iterations;                     ///< that have ended, for --track
    unsigned n_written;                        ///< rounds, for --track
};

// ---- tracking.c: which pages threads use, on one node

/** A thread is about to arrive at a barrier that ends an iteration. */
void tracking_note_end(struct node *node, struct thread *thread, uint64_t key);
/** Some threads are at a stage of a barrier. */
void tracking_at_barrier(struct node *node, uint64_t key,
                         enum sync_stage stage);
/** The ult_config.turn. */
void tracking_turn(void *owner, struct ult *ult);
/** While tracking: the calling thread's node can serve this access now. Under the
 * node lock. */
void tracking_touch(struct node *node, const struct thread *thread,
                    page_no page, int is_write);

/** Is an iteration being tracked? Asked at each fault. Any thread. */
static inline int tracking_is_on(const struct tracking *tracking)
{
    return __builtin_expect(
        atomic_load_explicit(&tracking->is_on, memory_order_acquire), 0);
}

/** The calling thread may have run since before tracking began: then it waits for
 * its turn. Not under the node lock. */
static inline void tracking_enter(const struct tracking *tracking)
{
    if (tracking_is_on(tracking)) {
        ult_enter_gate();
    }
}

/** The calling thread is about to do pieces of a loop, one after the other: track them
 * for a round that tracking_ask_pieces() has begun.
 * @param first     the first piece
 * @param usual_ns  what they take together when they are not tracked
 * @return 0: something else is tracked here */
int tracking_begin_pieces(struct node *node, uint32_t round, unsigned first,
                          uint64_t usual_ns);
/** Its next piece. @param at  the how manieth of it, < NODE_PIECES_MAX */
void tracking_next_piece(struct node *node, unsigned piece, unsigned at);
/** It has done them: the root is told. Nothing if that was given up meanwhile. */
void tracking_end_pieces(struct node *node, uint32_t round);

// ---- tracking_round.c: the root's part

/** Track the next iteration, on all nodes; or if a round is under way, wait for what
 * that finds. Root, under the node lock; returns at once. @return 1 and `done` will be
 *         called, once for all that the asker has asked; 0 while members change */
int tracking_ask(struct node *node, enum tracking_asker asker,
                 tracking_done_fn *done);
/** Begin a round of a loop's entry: those nodes will be told, and answer, with their parts of
 * that. Root, under the node lock.
 * @param takes_part  [n_nodes]
 * @return its number; 0: another round is under way, or members change */
uint32_t tracking_ask_pieces(struct node *node, const uint8_t *takes_part);
/** The entry is over. Root, under the node lock.
 * @return for access_sets_free(); NULL: some node has not tracked its part */
struct access_sets *tracking_take_pieces(struct node *node);
/** Root: is it that of a loop's entry? */
int tracking_is_of(const struct node *node, uint32_t round);
/** Root: is a round under way? */
int tracking_is_active(struct node *node);
/** track_set or track_done has arrived. */
tm_status tracking_collect(struct node *node, node_id from,
                           const struct message *message);
/** On the root a barrier opens that ends an iteration: it is counted, and --track may want
 * the next one. */
void tracking_passes(struct node *node);
void tracking_round_tick(struct node *node);
/** Say so if --track has come to nothing. */
void tracking_finish(struct node *node);

#endif
