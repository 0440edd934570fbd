// SPDX-License-Identifier: BSD-3-Clause
//
// tm_parallel_for(). Each node does one part of the range, as loop_memory.h says which: a task that
// is sent there, or here, and stays. That halves its part again and again, one half being a
// task of the node's, until they are small enough: so the node's workers deal them out among
// themselves. What has been done has cost so much in each bin: that goes back to who has entered
// the loop, and is remembered there for the next time.
//
// A part need not be in a row: it is of *runs* of pieces, which are gone over as if they were.
// *Positions* count their iterations, from 0.
//
// Loops within tasks or other loops stay on their node: a share of its own, nothing remembered.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/hash.h"
#include "runtime/loop_memory.h"
#include "runtime/node.h"
#include "runtime/paging.h"
#include "runtime/tasking.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"

#define PARTS_A_WORKER 16

typedef void body_fn(int64_t from, int64_t to, void *arg);

/** What a node does, as the argument of a task, which goes back. Behind it are what its pieces
 * have cost, its runs and the loop's argument. */
struct share_run {
    struct grid grid;
    int64_t length; ///< iterations of all runs
    int64_t grain;
    body_fn *body;
    void *arg; ///< if arg_size is 0
    uint16_t arg_size;
    uint16_t n_runs;
    uint16_t n_pieces; ///< of all runs
    uint16_t
        by_pieces; ///< what faults take is not theirs: they have others elsewhere
    uint32_t round;    ///< of tracking_ask_pieces(): it is tracked; else 0
    uint64_t usual_ns; ///< what it is likely to take, not tracked; 0: not known

    // What it has cost: history_node.
    uint64_t busy_ns;
    uint64_t comp_ns;
    uint64_t mem_ns;
    uint64_t out_ns;
    uint64_t pages_in;
    uint64_t pages_out;
    _Alignas(16) unsigned char tail[];
};

#define SHARE_ROOM (TASK_BYTES_MAX - sizeof(struct share_run) - 16)

_Static_assert(sizeof(struct piece_run) + SHARE_BINS * sizeof(uint64_t) +
                       TM_TASK_BYTES <=
                   SHARE_ROOM,
               "a share with its argument is a task");

// The node, for functions that are not given it.
static struct node *own_node(void)
{
    return &this_node;
}

static _Atomic uint64_t *costs_of(struct share_run *share)
{
    return (_Atomic uint64_t *)share->tail;
}

static struct piece_run *runs_of(struct share_run *share)
{
    return (struct piece_run *)(costs_of(share) + share->n_pieces);
}

static size_t tail_bytes(const struct share_run *share)
{
    return (share->n_pieces * sizeof(uint64_t) +
            share->n_runs * sizeof(struct piece_run) + 15) &
           ~(size_t)15;
}

static void *argument_of(struct share_run *share)
{
    return share->arg_size > 0 ? share->tail + tail_bytes(share) : share->arg;
}

static int64_t length_of(const struct grid *grid, const struct piece_run *run)
{
    return piece_at(grid, run->piece + run->n) - piece_at(grid, run->piece);
}

// ---- parts of a share

/** A part as the argument of a task of the node's. */
struct part_run {
    struct share_run *share;
    int64_t first; ///< positions
    int64_t end;
};

// @return of the share's pieces the one that is at a position
static unsigned piece_of(struct share_run *share, int64_t at)
{
    const struct piece_run *run = runs_of(share);
    unsigned before = 0;
    unsigned piece;
    int64_t length;

    while (at >= (length = length_of(&share->grid, run))) {
        at -= length;
        before += run->n;
        run++;
    }
    piece = (unsigned)((double)at * run->n / (double)length);
    return before + (piece < run->n ? piece : run->n - 1u); // rounded up
}

// Over all pieces that the part lies in: which of its iterations took how long is not known.
static void note_time(const struct part_run *part, uint64_t ns)
{
    struct share_run *share = part->share;
    const unsigned first = piece_of(share, part->first);
    const unsigned n = piece_of(share, part->end - 1) - first + 1;

    for (unsigned i = 0; i < n; i++) {
        atomic_fetch_add_explicit(&costs_of(share)[first + i], ns / n,
                                  memory_order_relaxed);
    }
}

static void call_body(struct share_run *share, int64_t from, int64_t to)
{
    share->body(from, to, argument_of(share));
}

static int64_t smaller_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Iterations at these positions, run by run.
static void run_positions(struct share_run *share, int64_t from, int64_t to)
{
    for (const struct piece_run *run = runs_of(share); from < to; run++) {
        const int64_t first = piece_at(&share->grid, run->piece);
        const int64_t length = length_of(&share->grid, run);

        if (from < length) {
            call_body(share, first + from, first + smaller_of(to, length));
        }
        from = from > length ? from - length : 0;
        to -= length;
    }
}

// Processor time of the calling thread, of pieces without what faults have taken.
static uint64_t used_ns(const struct share_run *share)
{
    const uint64_t ns = ult_charge_self();

    return share->by_pieces ? ns - thread_self()->handling_ns : ns;
}

static void run_part(void *argument)
{
    struct node *const node = own_node();
    struct part_run part = *(struct part_run *)argument;
    struct share_run *share = part.share;
    uint64_t began_ns;
    uint64_t ended_ns;
    int64_t used;

    while (part.end - part.first > share->grain) {
        struct part_run upper = part;

        upper.first = part.end = part.first + (part.end - part.first) / 2;
        (void)!tasking_spawn(node, NULL, run_part, &upper, sizeof upper, NULL);
    }
    began_ns = used_ns(share);
    run_positions(share, part.first, part.end);
    ended_ns = used_ns(share);
    used = (int64_t)(ended_ns - began_ns); // faults take what was estimated
    note_time(&part, used > 0 ? (uint64_t)used : 0);
}

static int64_t grain_of(const struct node *node, const struct share_run *share)
{
    const int64_t parts = PARTS_A_WORKER * (int64_t)node->n_workers;
    const int64_t grain = share->length / parts;

    return grain > 0 ? grain : 1;
}

static void run_parts(struct node *node, struct share_run *share)
{
    const struct part_run whole = {share, 0, share->length};
    tm_group group = {.is_local = 1};

    if (share->grain == 0) {
        share->grain = grain_of(node, share);
    }
    (void)!tasking_spawn(node, &group, run_part, &whole, sizeof whole, NULL);
    tasking_close(node, &group);
}

// Piece by piece, one after the other.
static void run_tracked(struct node *node, struct share_run *share)
{
    unsigned at = 0;

    for (unsigned i = 0; i < share->n_runs; i++) {
        const struct piece_run run = runs_of(share)[i];

        for (unsigned k = 0; k < run.n; k++, at++) {
            const int64_t from = piece_at(&share->grid, run.piece + k);
            const int64_t to = piece_at(&share->grid, run.piece + k + 1);

            tracking_next_piece(node, run.piece + k, at);
            if (to > from) {
                call_body(share, from, to);
            }
        }
    }
    tracking_end_pieces(node, share->round);
}

/** What was known when a share began. */
struct beginning {
    uint64_t wall_ns;
    uint64_t
        worker_ns; ///< that all workers have spent in threads, by the clock
    struct memory_use use;
};

static uint64_t workers_ns(struct node *node)
{
    uint64_t sum_ns = 0;

    (void)ult_charge_self();
    for (unsigned i = 0; i < node->n_workers; i++) {
        sum_ns += ult_worker_wall_ns(node->ult, i);
    }
    return sum_ns;
}

// Memory where it has a limit only: elsewhere it costs nothing.
static void look(struct node *node, const struct share_run *share,
                 struct beginning *now)
{
    *now = (struct beginning){.wall_ns = clock_now_ns()};
    if (share->by_pieces) {
        now->worker_ns = workers_ns(node);
    }
    if (paging_follows_faults(&node->paging)) {
        node_enter(node);
        paging_total_use(node, &now->use);
        node_leave(node);
    }
}

// Workers are taken for equally busy. Who waits for memory waits in place: that is of their
// time in threads.
static void note_cost(struct node *node, struct share_run *share,
                      const struct beginning *before)
{
    const unsigned n = node->n_workers;
    struct beginning now;

    look(node, share, &now);
    share->busy_ns = now.wall_ns - before->wall_ns;
    share->mem_ns = (now.use.wait_ns - before->use.wait_ns) / n;
    share->out_ns = (now.use.out_ns - before->use.out_ns) / n;
    share->pages_in = now.use.n_pages - before->use.n_pages;
    share->pages_out = now.use.n_gone - before->use.n_gone;
    share->comp_ns = (now.worker_ns - before->worker_ns) / n;
    share->comp_ns -=
        share->mem_ns < share->comp_ns ? share->mem_ns : share->comp_ns;
}

static void run_share(void *argument)
{
    struct node *const node = own_node();
    struct share_run *share = argument;
    struct beginning before;

    look(node, share, &before);
    if (share->round != 0 &&
        tracking_begin_pieces(node, share->round, runs_of(share)->piece,
                              share->usual_ns)) {
        run_tracked(node, share);
    } else {
        run_parts(node, share);
    }
    note_cost(node, share, &before);
}

// ---- shares of the loop

/** A loop that is entered. */
struct loop {
    int64_t grain;
    body_fn *body;
    void *arg;
    size_t arg_size;
    const tm_reduction *reduction;
};

static size_t size_of_run(const struct share_run *run)
{
    return sizeof *run + tail_bytes(run) + run->arg_size;
}

// @return NULL: there is nothing to do
static struct share_run *new_run(const struct loop *loop,
                                 const struct grid *grid,
                                 const struct piece_run *runs, unsigned n_runs)
{
    struct share_run head = {
        .grid = *grid,
        .grain = loop->grain,
        .body = loop->body,
        .arg = loop->arg,
        .arg_size = (uint16_t)loop->arg_size,
        .n_runs = (uint16_t)n_runs,
    };
    struct share_run *run;

    for (unsigned i = 0; i < n_runs; i++) {
        head.length += length_of(grid, &runs[i]);
        head.n_pieces = (uint16_t)(head.n_pieces + runs[i].n);
    }
    if (head.length == 0) {
        return NULL;
    }
    run = calloc(1, size_of_run(&head));
    ensure_memory(run != NULL);
    *run = head;
    memcpy(runs_of(run), runs, n_runs * sizeof *runs);
    if (loop->arg_size > 0) {
        memcpy(argument_of(run), loop->arg, loop->arg_size);
    }
    return run;
}

// @return 0: the node has left, or is about to
static int send_away(struct node *node, node_id to, struct task *task)
{
    int takes;

    node_enter(node);
    takes = roster_takes(&node->port.roster, to);
    if (takes) {
        tasks_send(node->tasking.tasks, to, task);
    }
    node_leave(node);
    return takes;
}

static void send_share(struct node *node, tm_group *group, node_id to,
                       struct share_run *run)
{
    struct open_group *open = tasking_open(node, group);
    struct task *task =
        task_new(run_share, &open->family, run, size_of_run(run));

    task->out = run;
    task->goes_back = 1;
    task->is_pinned = 1;
    family_add(&open->family);
    if (to != node->self && send_away(node, to, task)) {
        return;
    }
    if (to != node->self) {
        ((struct share_run *)task->argument)->round = 0; // not of this node
    }
    tasking_push(node, task);
}

// ---- here

static void run_here(struct node *node, const struct loop *loop, int64_t first,
                     int64_t end)
{
    const struct piece_run all = {0, SHARE_BINS};
    struct share_run *run =
        new_run(loop, &(struct grid){first, end, SHARE_BINS}, &all, 1);
    tm_group group = {.reduction = loop->reduction};

    (void)tasking_open(node, &group);
    if (run != NULL) {
        send_share(node, &group, node->self, run);
    }
    tasking_close(node, &group);
    free(run);
}

// ---- everywhere

static struct share_run *new_part(const struct loop *loop,
                                  const struct loop_visit *visit, unsigned i)
{
    struct piece_run runs[NODE_PIECES_MAX];
    struct grid grid;
    const unsigned n_runs = loop_visit_runs(visit, i, &grid, runs);
    struct share_run *run = new_run(loop, &grid, runs, n_runs);

    if (run != NULL) {
        run->by_pieces = visit->place != NULL;
        run->round = visit->round;
        run->usual_ns = loop_visit_usual_ns(visit, i);
    }
    return run;
}

static double in_s(uint64_t ns)
{
    return (double)ns * 1e-9;
}

// All have ended: nobody else adds to what pieces have cost.
static void note_part(struct loop_visit *visit, unsigned i,
                      struct share_run *run)
{
    const struct history_node report = {
        .busy_s = in_s(run->busy_ns),
        .comp_s = in_s(run->comp_ns),
        .mem_s = in_s(run->mem_ns),
        .out_s = in_s(run->out_ns),
        .pages_in = (double)run->pages_in,
        .pages_out = (double)run->pages_out,
    };

    loop_visit_note(visit, i, runs_of(run), run->n_runs,
                    (const uint64_t *)costs_of(run), &report);
}

static void run_shares(struct node *node, const struct loop *loop,
                       struct loop_visit *visit)
{
    tm_group group = {.reduction = loop->reduction};
    struct share_run *runs[TM_MAX_NODES];

    (void)tasking_open(node, &group);
    for (unsigned i = 0; i < visit->n; i++) {
        runs[i] = new_part(loop, visit, i);
        if (runs[i] != NULL && visit->shares[i].node != node->self) {
            send_share(node, &group, visit->shares[i].node, runs[i]);
        }
    }
    for (unsigned i = 0; i < visit->n; i++) { // others have begun meanwhile
        if (runs[i] != NULL && visit->shares[i].node == node->self) {
            send_share(node, &group, visit->shares[i].node, runs[i]);
        }
    }
    tasking_close(node, &group);
    for (unsigned i = 0; i < visit->n; i++) {
        if (runs[i] != NULL) {
            note_part(visit, i, runs[i]);
            free(runs[i]);
        }
    }
}

static void run_everywhere(struct node *node, const struct loop *loop,
                           const struct loop_call *call)
{
    struct loop_visit visit;

    loop_visit_begin(node, &visit, call);
    run_shares(node, loop, &visit);
    loop_visit_end(node, &visit);
}

static int is_good(int64_t grain, body_fn *body, void *arg,
                   const tm_loop_attr *attr)
{
    return grain >= 0 && body != NULL && attr->arg_size <= TM_TASK_BYTES &&
           (attr->arg_size == 0 || arg != NULL) &&
           tasking_reduction_is_good(attr->reduction);
}

static uint64_t key_of_loop(const tm_loop_attr *attr, uint64_t place)
{
    return attr->name == NULL
               ? place
               : hash_bytes(HASH_START, attr->name, strlen(attr->name));
}

tm_status tm_parallel_for(int64_t first, int64_t end, int64_t grain,
                          body_fn *body, void *arg, const tm_loop_attr *attr)
{
    static const tm_loop_attr none;
    struct node *const node = own_node();
    const tm_status status = CHECK_CALL("tm_parallel_for");
    const struct thread *thread = thread_self();
    struct loop loop;
    int64_t length;

    if (status != TM_OK) {
        return status;
    }
    attr = attr == NULL ? &none : attr;
    if (!is_good(grain, body, arg, attr) ||
        (end > first && __builtin_sub_overflow(end, first, &length))) {
        return TM_EINVAL;
    }
    loop = (struct loop){grain, body, arg, attr->arg_size, attr->reduction};
    if (end <= first) {
        first = end; // nothing but the reduction's initial value
    }
    if (first == end || thread->family != NULL || attr->is_local ||
        node->n_nodes == 1) {
        run_here(node, &loop, first, end);
    } else {
        run_everywhere(node, &loop,
                       &(struct loop_call){
                           .key = key_of_loop(attr, thread->place),
                           .place = thread->place,
                           .name = attr->name,
                           .first = first,
                           .end = end,
                           .room = SHARE_ROOM - attr->arg_size,
                       });
    }
    return TM_OK;
}
