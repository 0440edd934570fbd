// SPDX-License-Identifier: BSD-3-Clause
//
// Tracking of one iteration on one node: when observe/track.h begins and ends,
// and how what it has found gets to the root.
//
//   off --track, what 0--> armed --an iteration begins--> on --it ends--> off
//
// An iteration begins where a barrier opens that ends one (STAGE_PASSING), before
// its threads are woken; it ends when all threads that were there have arrived
// at such a barrier again (STAGE_ARRIVED; threads of a node may arrive in several
// groups). It may contain other barriers. A thread that comes from another node
// begins its iteration with that, and is not waited for once it has gone.
//
// While tracking is on, the gate (ult_close_gate) lets one thread of the node run
// at a time, and a fault waits in place. So each touch is known to be of the
// thread whose turn it is. Two kinds of threads are outside when the gate closes,
// and come in by tracking_enter(): who has opened the barrier itself, without
// waiting, when it returns from it; and who was in no barrier, at its first fault.
// Of the latter, touches of pages that others have mapped just then are missed.
//
// Pieces of a loop are tracked in the same way, by themselves: the thread that does a node's
// part of an entry has them tracked from the first to the last, and while it does one, all
// that it touches is the piece's. Barriers and ends of iterations have no part in that.
//
// Nothing waits for ever: when the program's threads wait for each other in a way
// that the gate forbids (spinning, pipes), or when an iteration takes very much
// longer than the one before, the node gives up and says so.
//
// N1 is_on is set exactly while track_is_on().
// N2 While tracking is on a thread with is_tracked has not yet arrived, or waits.
#include "runtime/tracking.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "runtime/node.h"
#include "runtime/paging.h"
#include "runtime/parts.h"
#include "runtime/script.h"
#include "runtime/threads.h"
#include "tasks/pieces.h"

#include <stdlib.h>

#define LONG_FACTOR 100u
#define LEAST_LONG_NS (10 * 1000000000ull)
#define STUCK_FACTOR 20u
#define PART_FOR_TWINS 64u // of the pages in memory
#define LEAST_STUCK_NS (2 * 1000000000ull)

static int is_on(struct node *node)
{
    return tracking_is_on(&node->tracking);
}

static void open_tracking(struct node *node)
{
    node->tracking.track =
        track_new(&node->space, node_n_slots(node) + NODE_PIECES_MAX);
    if (node->tracking.track == NULL) {
        log_fatal(EXIT_MEMORY, "no memory to track %u threads",
                  node->options.max_threads);
    }
}

// ---- the threads of this node

typedef int thread_fn(const struct thread *thread, uint64_t key);

static int is_at(const struct thread *thread, uint64_t key)
{
    return thread->end_key == key;
}

static int is_expected(const struct thread *thread, uint64_t key)
{
    (void)key;
    return thread->is_tracked && thread->end_key == 0;
}

static int is_under_way(const struct thread *thread, uint64_t key)
{
    (void)key;
    return thread->ended_ns != 0 && thread->end_key == 0;
}

static int takes_part(const struct thread *thread, uint64_t key)
{
    (void)key;
    return thread->ended_ns != 0;
}

// Is there a thread here of which this is so?
static int any_thread(struct node *node, thread_fn *is_so, uint64_t key)
{
    unsigned n_left = ult_count(node->ult);

    for (unsigned i = 0; n_left > 0 && i <= node->options.max_threads; i++) {
        const struct thread *thread = node->threads[i];

        if (thread != NULL) {
            n_left--;
            if (is_so(thread, key)) {
                return 1;
            }
        }
    }
    return 0;
}

static int is_end(struct node *node, uint64_t key)
{
    return any_thread(node, is_at, key);
}

// Those at this barrier are expected at the next. 0: nobody is any more.
static void expect(struct node *node, uint64_t key)
{
    for (unsigned i = 0; i <= node->options.max_threads; i++) {
        struct thread *thread = node->threads[i];

        if (thread != NULL) {
            thread->is_tracked = key != 0 && thread->end_key == key;
        }
    }
}

// ---- the pages in use

static int follows(const struct page_run *run, const struct extent *extent)
{
    return extent->page + extent->n_pages == run->page;
}

// All extents, last one first, neighbours together. @return [n] for free()
static struct page_run *list_pages(struct node *node, size_t *n)
{
    struct page_run *runs = NULL;
    size_t room = 0;
    page_no below = node->space.n_pages;

    *n = 0;
    while (below > 0) {
        const struct extent *extent =
            engine_extent_below(node->engine, below - 1);

        if (extent == NULL) {
            break;
        }
        below = extent->page;
        if (*n > 0 && follows(&runs[*n - 1], extent)) {
            runs[*n - 1].page -= extent->n_pages;
            runs[*n - 1].n_pages += extent->n_pages;
            continue;
        }
        vector_reserve(runs, room, *n + 1);
        runs[(*n)++] = (struct page_run){extent->page, extent->n_pages};
    }
    return runs;
}

// ---- begin and end

// Of a node whose memory is limited, tracking takes little of it: it is when memory
// has just become short that there is something to track.
static size_t twins_max(const struct node *node)
{
    struct pager_stats now;

    if (node->paging.pager == NULL) {
        return TRACK_TWINS_MAX;
    }
    pager_stats(node->paging.pager, &now);
    return now.resident / PART_FOR_TWINS;
}

static void switch_on(struct node *node, struct tracking *tracking)
{
    size_t n;
    struct page_run *runs = list_pages(node, &n);

    tracking->began_ns = clock_now_ns();
    track_begin(tracking->track, runs, n, twins_max(node));
    atomic_store_explicit(&tracking->is_on, 1, memory_order_release);
    ult_close_gate(node->ult);
    free(runs);
}

static void begin(struct node *node, struct tracking *tracking)
{
    tracking->is_armed = 0;
    tracking->began_early = 0;
    tracking->before_ns = tracking->period_ns;
    tracking->iteration = sync_most_counted(node->sync) + 1;
    switch_on(node, tracking);
}

static void stop(struct node *node, struct tracking *tracking)
{
    size_t n;
    struct page_run *runs = list_pages(node, &n);

    atomic_store_explicit(&tracking->is_on, 0, memory_order_release);
    track_end(tracking->track, runs, n);
    ult_open_gate(node->ult);
    expect(node, 0);
    tracking->is_of_loop = 0;
    free(runs);
}

// ---- to the root

static void send_set(struct node *node, const struct tracking *tracking,
                     const struct access_set *set)
{
    const size_t whole = set->n * (size_t)WIRE_SIZE_access_run;
    const size_t room = whole < MESSAGE_BODY_MAX ? whole : MESSAGE_BODY_MAX;
    uint8_t *body = malloc(room + 1);
    struct wire_writer writer = {body, body + room, 0};
    struct message message = {
        .type = MESSAGE_track_set,
        .u.track_set = {.round = tracking->round, .thread = set->thread},
        .body = body,
    };
    struct wire_access_run run;
    uint32_t at = 0;

    ensure_memory(body != NULL);
    if (set->n == 0) {
        port_send(&node->port, 0, &message); // it is known to use none
    }
    while (access_set_next_run(set, &at, &run)) {
        wire_put_access_run(&writer, &run);
        message.body_size = (uint32_t)(writer.at - body);
        if (message.body_size + WIRE_SIZE_access_run > room || at == set->n) {
            port_send(&node->port, 0, &message);
            writer.at = body;
        }
    }
    free(body);
}

static void send_done(struct node *node, const struct tracking *tracking,
                      int is_cancelled, uint64_t took_ns)
{
    const struct message message = {
        .type = MESSAGE_track_done,
        .u.track_done = {.round = tracking->round,
                         .cancelled = is_cancelled != 0,
                         .took_ns = took_ns,
                         .before_ns = took_ns > 0 ? tracking->before_ns : 0,
                         .n_touches =
                             took_ns > 0 ? track_n_touches(tracking->track) : 0,
                         .iteration = tracking->iteration},
    };

    port_send(&node->port, 0, &message);
}

static void end(struct node *node, struct tracking *tracking)
{
    const struct access_set *set;
    uint64_t took_ns = clock_now_ns() - tracking->began_ns;
    unsigned slot = 0;
    unsigned n_sets = 0;

    if (tracking->period_ns > took_ns) {
        took_ns = tracking->period_ns; // with the wait at the barrier
    }
    stop(node, tracking);
    while ((set = track_next(tracking->track, &slot)) != NULL) {
        if (!tasking_is_runner(set->thread)) {
            send_set(node, tracking, set);
            paging_learn(node, set);
            n_sets++;
        }
    }
    send_done(node, tracking, 0, n_sets > 0 ? took_ns : 0);
    track_clear(tracking->track);
}

static void stop_tracking(struct node *node)
{
    struct tracking *tracking = &node->tracking;

    node_enter(node);
    tracking->is_armed = 0;
    if (is_on(node)) {
        stop(node, tracking);
    }
    node_leave(node);
}

static void give_up(struct node *node, struct tracking *tracking)
{
    stop(node, tracking);
    track_clear(tracking->track);
    send_done(node, tracking, 1, 0);
}

// ---- what happens to threads

void tracking_note_end(struct node *node, struct thread *thread, uint64_t key)
{
    uint64_t now_ns = clock_now_ns();

    if (thread->ended_ns != 0) {
        node->tracking.period_ns = now_ns - thread->ended_ns;
    }
    thread->ended_ns = now_ns;
    thread->end_key = key;
}

static void pass(struct node *node, struct tracking *tracking, uint64_t key)
{
    if (!is_end(node, key)) {
        if (tracking->with_phases) {
            track_phase(tracking->track); // if it is on
        }
        return;
    }
    if (is_on(node) && !tracking->began_early) {
        end(node, tracking); // late: a thread was expected that has not arrived
    } else if (tracking->is_armed) {
        begin(node, tracking);
    }
    if (is_on(node)) {
        tracking->began_early = 0;
        expect(node, key);
    }
}

void tracking_at_barrier(struct node *node, uint64_t key, enum sync_stage stage)
{
    struct tracking *tracking = &node->tracking;

    if (stage == STAGE_PASSING && node->self == 0 &&
        (node->options.track.iteration > 0 || script_is_wanted(node)) &&
        is_end(node, key)) {
        tracking_passes(node);
        script_passes(node);
    }
    if ((!tracking->is_armed && !is_on(node)) || tracking->is_of_loop) {
        return;
    }
    if (stage == STAGE_PASSING) {
        pass(node, tracking, key);
    } else if (stage == STAGE_ARRIVED && is_on(node) &&
               !any_thread(node, is_expected, key)) {
        end(node, tracking);
    }
}

// It comes from the end of an iteration. If all threads here are at that too, or
// there is none, then its iteration is the first that begins here.
static void thread_arrived(struct node *node, struct thread *thread)
{
    struct tracking *tracking = &node->tracking;

    if (tracking->is_armed && !tracking->is_of_loop &&
        !any_thread(node, is_under_way, 0)) {
        begin(node, tracking);
        tracking->began_early = 1;
    }
    thread->ended_ns = clock_now_ns();
    thread->is_tracked = is_on(node) && !tracking->is_of_loop;
}

static void thread_left(struct node *node, struct thread *thread)
{
    struct tracking *tracking = &node->tracking;

    if (!is_on(node)) {
        return;
    }
    track_forget(tracking->track, thread_slot_of(thread->number));
    if (tracking->is_of_loop) {
        return;
    }
    if (thread->is_tracked && !tracking->began_early &&
        !any_thread(node, is_expected, 0)) {
        end(node, tracking); // it was the last one
    }
}

// Whose turn it is, where sets are kept.
struct user {
    unsigned slot;
    uint64_t number;
};

static struct user user_of(const struct tracking *tracking,
                           const struct thread *thread)
{
    return tracking->is_of_loop && thread->number == tracking->piece_thread
               ? (struct user){tracking->piece_slot, tracking->piece}
               : (struct user){thread_slot_of(thread->number), thread->number};
}

static void take_turn(struct tracking *tracking, const struct thread *thread)
{
    const struct user user = user_of(tracking, thread);

    track_turn(tracking->track, user.slot, user.number);
}

void tracking_turn(void *owner, struct ult *ult)
{
    struct node *node = owner;
    const struct thread *thread = ult_user(ult);

    node_enter(node);
    if (is_on(node) && thread != NULL) {
        take_turn(&node->tracking, thread);
    }
    node_leave(node);
}

void tracking_touch(struct node *node, const struct thread *thread,
                    page_no page, int is_write)
{
    const struct user user = user_of(&node->tracking, thread);

    track_touch(node->tracking.track, user.slot, user.number, page, is_write);
}

// ---- pieces of a loop

static void name_piece(struct node *node, unsigned piece, unsigned at)
{
    node->tracking.piece = PIECE_BIT | piece;
    node->tracking.piece_slot = node_n_slots(node) + at;
}

int tracking_begin_pieces(struct node *node, uint32_t round, unsigned first,
                          uint64_t usual_ns)
{
    struct tracking *tracking = &node->tracking;
    int begins;

    node_enter(node);
    begins = !is_on(node) && !tracking->is_armed;
    if (begins) {
        tracking->round = round;
        tracking->is_of_loop = 1;
        tracking->piece_thread = thread_self()->number;
        tracking->before_ns = usual_ns;
        name_piece(node, first, 0);
        switch_on(node, tracking);
    }
    node_leave(node);
    tracking_enter(tracking);
    return begins;
}

// Is this round's entry still tracked, or was that given up?
static int is_at_pieces(struct node *node, uint32_t round)
{
    return is_on(node) && node->tracking.is_of_loop &&
           node->tracking.round == round;
}

void tracking_next_piece(struct node *node, unsigned piece, unsigned at)
{
    node_enter(node);
    if (is_on(node) && node->tracking.is_of_loop) {
        name_piece(node, piece, at);
        take_turn(&node->tracking, thread_self());
    }
    node_leave(node);
}

static void end_pieces(struct node *node, struct tracking *tracking)
{
    const uint64_t took_ns = clock_now_ns() - tracking->began_ns;
    const struct access_set *set;
    unsigned slot = 0;

    stop(node, tracking);
    while ((set = track_next(tracking->track, &slot)) != NULL) {
        if (set->thread & PIECE_BIT) {
            send_set(node, tracking, set);
        }
    }
    send_done(node, tracking, 0, took_ns);
    track_clear(tracking->track);
}

void tracking_end_pieces(struct node *node, uint32_t round)
{
    node_enter(node);
    if (is_at_pieces(node, round)) {
        end_pieces(node, &node->tracking);
    }
    node_leave(node);
}

// ---- from the root, and by time

static void arm(struct node *node, struct tracking *tracking, uint32_t round,
                int with_phases)
{
    if (is_on(node)) {
        stop(node, tracking); // an earlier round, which the root has given up
        track_clear(tracking->track);
    }
    tracking->round = round;
    tracking->with_phases = with_phases;
    tracking->is_armed = 1;
}

static tm_status follow_root(struct node *node, node_id from,
                             const struct message *message)
{
    struct tracking *tracking = &node->tracking;

    if (from != 0 || message->u.track.what > TRACK_BEGIN_PHASES) {
        return TM_EWIRE;
    }
    if (message->u.track.what == TRACK_BEGIN ||
        message->u.track.what == TRACK_BEGIN_PHASES) {
        arm(node, tracking, message->u.track.round,
            message->u.track.what == TRACK_BEGIN_PHASES);
        return TM_OK;
    }
    if (message->u.track.round != tracking->round) {
        return TM_OK;
    }
    if (message->u.track.what == TRACK_GIVE_UP) {
        tracking->is_armed = 0;
        if (is_on(node)) {
            give_up(node, tracking);
        }
    } else if (tracking->is_armed && !any_thread(node, takes_part, 0)) {
        tracking->is_armed = 0;
        send_done(node, tracking, 0, 0);
    }
    return TM_OK;
}

static uint64_t at_least(uint64_t ns, uint64_t least_ns)
{
    return ns > least_ns ? ns : least_ns;
}

static int tick(struct node *node)
{
    struct tracking *tracking = &node->tracking;
    uint64_t before_ns = tracking->before_ns;

    if (node_is_frozen(node)) {
        return 0;
    }
    if (tracking_is_active(node)) {
        tracking_round_tick(node);
    }
    if (is_on(node) &&
        (clock_now_ns() - tracking->began_ns >
             at_least(LONG_FACTOR * before_ns, LEAST_LONG_NS) ||
         ult_gate_is_stuck(
             node->ult, at_least(STUCK_FACTOR * before_ns, LEAST_STUCK_NS)))) {
        log_debug("tracking is given up: it takes too long");
        give_up(node, tracking);
    }
    return 0;
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    return message->type == MESSAGE_track
               ? follow_root(node, from, message)
               : tracking_collect(node, from, message);
}

static void finish(struct node *node)
{
    tracking_finish(node);
    stop_tracking(node);
}

const struct part part_tracking = {
    .open = open_tracking,
    .tick = tick,
    .owns = OWNER_tracking,
    .receive = receive,
    .thread_arrived = thread_arrived,
    .thread_left = thread_left,
    .save = parts_save_nothing,
    .finish = finish,
};
