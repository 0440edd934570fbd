// SPDX-License-Identifier: BSD-3-Clause
//
// A round of tracking, the root's part.
//
//   idle --tracking_ask: track to all--> active --all nodes are done, or have
//   had long enough--> idle, and all who asked get the sets
//
// Who asks while a round is active gets what that one finds: one iteration tells the
// scheme, the pager and --track the same.
//
// When the first node is done with a tracked iteration, the others are told, since
// a node without threads in iterations will never begin one. Nodes that have not
// answered when ANSWER_ITERATIONS times that iteration has passed again are given up.
//
// A round of a loop's entry is begun and ended by who enters the loop: nodes are told with
// their parts of it, and have answered when these have come back. Nobody else gets what it
// finds, which is of no thread.
//
// --track asks for rounds by itself, and writes what comes as text.
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/unseen.h"
#include "runtime/node.h"
#include "runtime/tracking.h"

#include <stdio.h>
#include <stdlib.h>

enum { ANSWER_ITERATIONS = 10 };

#define ANSWER_MIN_NS (2 * 1000000000ull)

static void tell_all(struct node *node, uint32_t round, enum track_what what)
{
    const struct message message = {
        .type = MESSAGE_track,
        .u.track = {.round = round, .what = (uint8_t)what},
    };

    port_send_all(&node->port, &message);
}

// They have no threads, and will not answer.
static void leave_out_those_gone(struct node *node, struct access_sets *sets)
{
    static const struct node_tracking nothing;

    for (unsigned i = 0; i < node->n_nodes; i++) {
        if (!roster_has(&node->port.roster, (node_id)i)) {
            ensure(access_sets_done(sets, (node_id)i, &nothing) == TM_OK);
        }
    }
}

// Phases cost all nodes a look at what was written, at each barrier: only a script has them.
static enum track_what what_for(enum tracking_asker asker)
{
    return asker == TRACKING_FOR_SCRIPT ? TRACK_BEGIN_PHASES : TRACK_BEGIN;
}

static void start(struct node *node, struct tracking *tracking)
{
    tracking->last_round++;
    tracking->sets = access_sets_new(tracking->last_round, node->n_nodes,
                                     node->space.n_pages);
    ensure_memory(tracking->sets != NULL);
    leave_out_those_gone(node, tracking->sets);
    tracking->give_up_ns = 0;
}

int tracking_ask(struct node *node, enum tracking_asker asker,
                 tracking_done_fn *done)
{
    struct tracking *tracking = &node->tracking;

    ensure(node->self == 0);
    if (node_is_changing(node) || tracking->is_for_loop) {
        return 0;
    }
    if (tracking->sets == NULL) {
        start(node, tracking);
        tell_all(node, tracking->last_round, what_for(asker));
    }
    tracking->done[asker] = done;
    return 1;
}

// ---- of a loop's entry

uint32_t tracking_ask_pieces(struct node *node, const uint8_t *takes_part)
{
    static const struct node_tracking nothing;
    struct tracking *tracking = &node->tracking;

    ensure(node->self == 0);
    if (node_is_changing(node) || tracking->sets != NULL) {
        return 0;
    }
    start(node, tracking);
    tracking->is_for_loop = 1;
    for (unsigned i = 0; i < node->n_nodes; i++) {
        if (!takes_part[i] && roster_has(&node->port.roster, (node_id)i)) {
            ensure(access_sets_done(tracking->sets, (node_id)i, &nothing) ==
                   TM_OK);
        }
    }
    return tracking->last_round;
}

int tracking_is_of(const struct node *node, uint32_t round)
{
    return node->tracking.is_for_loop && node->tracking.last_round == round;
}

// Those that have not answered will not.
struct access_sets *tracking_take_pieces(struct node *node)
{
    struct tracking *tracking = &node->tracking;
    struct access_sets *sets = tracking->sets;

    ensure(tracking->is_for_loop);
    tracking->sets = NULL;
    tracking->is_for_loop = 0;
    if (access_sets_is_whole(sets)) {
        return sets;
    }
    access_sets_free(sets);
    return NULL;
}

int tracking_is_active(struct node *node)
{
    return node->tracking.sets != NULL;
}

static void complete(struct node *node, struct tracking *tracking)
{
    struct access_sets *sets = tracking->sets;

    (void)node;
    tracking->sets = NULL;
    for (unsigned i = 0; i < N_TRACKING_ASKERS; i++) {
        tracking_done_fn *done = tracking->done[i];

        tracking->done[i] = NULL;
        if (done != NULL) {
            access_sets_hold(sets);
            done(node, sets);
        }
    }
    access_sets_free(sets);
}

static tm_status note_done(struct node *node, struct tracking *tracking,
                           node_id from, const struct message_track_done *done)
{
    const struct node_tracking said = {
        .is_cancelled = done->cancelled,
        .took_ns = done->took_ns,
        .before_ns = done->before_ns,
        .n_touches = done->n_touches,
        .iteration = done->iteration,
    };
    tm_status status = access_sets_done(tracking->sets, from, &said);

    if (status != TM_OK || tracking->is_for_loop) {
        return status;
    }
    if (access_sets_is_complete(tracking->sets)) {
        complete(node, tracking);
    } else if (tracking->give_up_ns == 0 &&
               (said.took_ns > 0 || said.is_cancelled)) {
        uint64_t timeout_ns = ANSWER_ITERATIONS * said.took_ns;

        tracking->give_up_ns =
            clock_now_ns() +
            (timeout_ns > ANSWER_MIN_NS ? timeout_ns : ANSWER_MIN_NS);
        tell_all(node, tracking->last_round, TRACK_SOMEBODY_DONE);
    }
    return TM_OK;
}

tm_status tracking_collect(struct node *node, node_id from,
                           const struct message *message)
{
    struct tracking *tracking = &node->tracking;
    uint32_t round = message->type == MESSAGE_track_set
                         ? message->u.track_set.round
                         : message->u.track_done.round;

    if (node->self != 0 || round == 0 || round > tracking->last_round) {
        return TM_EWIRE;
    }
    if (tracking->sets == NULL || round != access_sets_round(tracking->sets)) {
        return TM_OK; // of a round that was given up
    }
    if (message->type == MESSAGE_track_set) {
        return access_sets_add(tracking->sets, from,
                               message->u.track_set.thread, message->body,
                               message->body_size);
    }
    return note_done(node, tracking, from, &message->u.track_done);
}

void tracking_round_tick(struct node *node)
{
    static const struct node_tracking missing = {.is_cancelled = 1};
    struct tracking *tracking = &node->tracking;

    if (tracking->give_up_ns == 0 || clock_now_ns() < tracking->give_up_ns) {
        return;
    }
    tell_all(node, tracking->last_round, TRACK_GIVE_UP);
    for (unsigned i = 0; i < node->n_nodes; i++) {
        if (!access_sets_node(tracking->sets, (node_id)i)->is_done) {
            ensure(access_sets_done(tracking->sets, (node_id)i, &missing) ==
                   TM_OK);
        }
    }
    complete(node, tracking);
}

// ---- --track

static void write_run(struct node *node, FILE *file,
                      const struct wire_access_run *run)
{
    const struct extent *extent = engine_extent(node->engine, run->page);

    fprintf(file, "  %p %u %s%s %u %s+%llu\n",
            (void *)space_address(&node->space, run->page), run->n_pages,
            run->flags & USE_READ ? "r" : "", run->flags & USE_WRITE ? "w" : "",
            run->diff_bytes,
            extent == NULL || extent->name[0] == '\0' ? "?" : extent->name,
            extent == NULL ? 0ull
                           : (unsigned long long)(run->page - extent->page));
}

static void write_thread(struct node *node, FILE *file,
                         const struct access_sets *sets, uint32_t index)
{
    const struct thread_accesses *thread = access_sets_at(sets, index);

    fprintf(file, "thread %llu on node %u\n",
            (unsigned long long)thread->thread, thread->node);
    for (size_t i = 0; i < thread->n_runs; i++) {
        write_run(node, file, &thread->runs[i]);
    }
}

static void write_node(FILE *file, node_id node,
                       const struct node_tracking *said)
{
    if (said->is_cancelled) {
        fprintf(file, "node %u has given up\n", node);
        return;
    }
    fprintf(file,
            "node %u: %.3f ms, the iteration before %.3f ms, %llu accesses "
            "caught\n",
            node, (double)said->took_ns * 1e-6, (double)said->before_ns * 1e-6,
            (unsigned long long)said->n_touches);
}

static void write_sets(struct node *node, FILE *file,
                       const struct access_sets *sets)
{
    const struct roster *roster = &node->port.roster;

    fprintf(file, "round %u, ended in iteration %llu\n",
            access_sets_round(sets),
            (unsigned long long)node->tracking.n_iterations + 1);
    for (unsigned i = 0; i < roster->n_live; i++) {
        write_node(file, roster->live[i],
                   access_sets_node(sets, roster->live[i]));
    }
    for (uint32_t i = 0; i < access_sets_n_threads(sets); i++) {
        write_thread(node, file, sets, i);
    }
}

// @return 0 if it is not written, with errno
static int append_sets(struct node *node, const char *name,
                       const struct access_sets *sets)
{
    FILE *file = unseen_file(name, node->tracking.n_written == 0 ? "w" : "a");
    int is_written;

    if (file == NULL) {
        return 0;
    }
    write_sets(node, file, sets);
    is_written = fflush(file) == 0 && !ferror(file);
    return fclose(file) == 0 && is_written;
}

// Under the node lock, which is long for writing a file; but then the user has
// asked for it.
static void write_round(struct node *node, struct access_sets *sets)
{
    const char *name = node->options.track.file;

    if (name[0] != '\0' && !append_sets(node, name, sets)) {
        log_error("cannot write %s, which --track names: %m", name);
    }
    node->tracking.n_written++;
    access_sets_free(sets);
}

// It takes an iteration until all nodes know, and begins with the next.
static int is_wanted(struct node *node, uint64_t n_ended)
{
    unsigned at = node->options.track.iteration;

    return node->options.track.repeats ? (n_ended + 2) % at == 0
                                       : n_ended + 2 == at;
}

void tracking_passes(struct node *node)
{
    struct tracking *tracking = &node->tracking;

    tracking->n_iterations++;
    if (node->options.track.iteration > 0 &&
        is_wanted(node, tracking->n_iterations)) {
        (void)tracking_ask(node, TRACKING_FOR_FILE, write_round);
    }
}

void tracking_finish(struct node *node)
{
    if (node->options.track.iteration > 0 && node->tracking.n_written == 0) {
        log_error("--track: no iteration was tracked, %llu have ended on the "
                  "root; they end with tm_iteration_end()",
                  (unsigned long long)node->tracking.n_iterations);
    }
}
