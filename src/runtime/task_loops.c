// SPDX-License-Identifier: BSD-3-Clause
//
// tm_parallel_for(). Each node does one share of the range (tasks/shares.h): a task that is
// sent there, or here, and stays. It halves its share again and again, one half being a task of
// the node's, until the parts are small enough: so the node's workers deal them out among
// themselves. What a part has cost is noted in its share, which goes back to who has entered the
// loop, and is remembered there for the next time.
//
// Loops within tasks or other loops stay on their node: a share of its own, nothing remembered.
// A loop's memory is of the nodes that there were: after a change of members it begins anew.
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/hash.h"
#include "runtime/node.h"
#include "runtime/starting_threads.h"
#include "runtime/tasking.h"
#include "runtime/threads.h"
#include "tasks/shares.h"

#define PARTS_A_WORKER 16
#define LEAST_ITERATIONS 4            // of a node, that its times say something
#define LONG_RANGE (INT64_C(1) << 40) // cuts are as exact as can be

typedef void body_fn(int64_t from, int64_t to, void *arg);

/** A share as the argument of a task, which goes back. */
struct share_run {
    int64_t first;
    int64_t end;
    int64_t grain;
    body_fn *body;
    void *arg;         ///< if arg_size is 0
    uint64_t arg_size; ///< bytes that follow
    _Atomic uint64_t bin_ns[SHARE_BINS];
    _Alignas(16) unsigned char bytes[];
};

_Static_assert(sizeof(struct share_run) + TM_TASK_BYTES <= TASK_BYTES_MAX,
               "a share with its argument is a task");

/** What is known of a loop. */
struct loop_memory {
    uint64_t key;
    uint32_t epoch;       ///< of the roster
    unsigned n;           ///< nodes; 0: nothing yet
    struct share *shares; ///< [n]
};

// The node, for functions that are not given it.
static struct node *own_node(void)
{
    return &this_node;
}

// Of a loop, perhaps nothing yet. Under the node lock.
static struct loop_memory *memory_of(struct node *node, uint64_t key)
{
    struct table *loops = &node->tasking.loops;

    if (loops->pool.size == 0) {
        table_init(loops, sizeof(struct loop_memory));
    }
    return table_get(loops, key);
}

// ---- parts of a share

/** A part as the argument of a task of the node's. */
struct part_run {
    struct share_run *share;
    int64_t first;
    int64_t end;
};

// Over all bins that the part lies in: which of its iterations took how long is not known.
static void note_time(struct share_run *share, const struct part_run *part,
                      uint64_t ns)
{
    const struct share whole = {.first = share->first, .end = share->end};
    const unsigned first = share_bin(&whole, part->first);
    const unsigned n = share_bin(&whole, part->end - 1) - first + 1;

    for (unsigned i = 0; i < n; i++) {
        atomic_fetch_add_explicit(&share->bin_ns[first + i], ns / n,
                                  memory_order_relaxed);
    }
}

static void run_part(void *argument)
{
    struct node *const node = own_node();
    struct part_run part = *(struct part_run *)argument;
    struct share_run *share = part.share;
    uint64_t began_ns;

    while (part.end - part.first > share->grain) {
        struct part_run upper = part;

        upper.first = part.end = part.first + (part.end - part.first) / 2;
        (void)!tasking_spawn(node, NULL, run_part, &upper, sizeof upper, NULL);
    }
    began_ns = ult_charge_self();
    share->body(part.first, part.end,
                share->arg_size > 0 ? share->bytes : share->arg);
    note_time(share, &part, ult_charge_self() - began_ns);
}

static int64_t grain_of(const struct node *node, const struct share_run *share)
{
    const int64_t parts = PARTS_A_WORKER * (int64_t)node->n_workers;
    const int64_t grain = (share->end - share->first) / parts;

    return grain > 0 ? grain : 1;
}

static void run_share(void *argument)
{
    struct node *const node = own_node();
    struct share_run *share = argument;
    const struct part_run whole = {share, share->first, share->end};
    tm_group group = {.is_local = 1};

    if (share->grain == 0) {
        share->grain = grain_of(node, share);
    }
    (void)!tasking_spawn(node, &group, run_part, &whole, sizeof whole, NULL);
    tasking_close(node, &group);
}

// ---- shares of the loop

// Begin or go on with what is known. Under the node lock.
static void recall(struct node *node, struct loop_memory *memory)
{
    node_id nodes[TM_MAX_NODES];
    double power[TM_MAX_NODES];
    uint32_t n_workers[TM_MAX_NODES];

    if (memory->n > 0 && memory->epoch == node->port.roster.epoch) {
        return;
    }
    memory->epoch = node->port.roster.epoch;
    memory->n = roster_open(&node->port.roster, nodes);
    memory->shares =
        realloc(memory->shares, memory->n * sizeof *memory->shares);
    ensure_memory(memory->shares != NULL);
    starting_powers(node, nodes, memory->n, power, n_workers);
    for (unsigned i = 0; i < memory->n; i++) {
        memory->shares[i] = (struct share){
            .node = nodes[i], .power = power[i], .n_workers = n_workers[i]};
    }
    shares_begin(memory->shares, memory->n, 0, LONG_RANGE);
}

// Of fewer iterations than some for each node neither times nor cuts tell anything.
static int tells_much(int64_t first, int64_t end, unsigned n)
{
    return end - first >= (int64_t)n * LEAST_ITERATIONS;
}

// @return [*n] for free()
static struct share *shares_of(struct node *node, uint64_t key, int64_t first,
                               int64_t end, unsigned *n)
{
    struct loop_memory *memory;
    struct share *shares;

    node_enter(node);
    memory = memory_of(node, key);
    recall(node, memory);
    *n = memory->n;
    shares = malloc(*n * sizeof *shares);
    ensure_memory(shares != NULL);
    memcpy(shares, memory->shares, *n * sizeof *shares);
    if (tells_much(first, end, *n)) {
        shares_adapt(shares, *n, first, end);
    } else {
        shares_keep(shares, *n, first, end);
    }
    node_leave(node);
    return shares;
}

// Who enters a loop while others are in it measures for itself: the last one counts.
static void remember(struct node *node, uint64_t key,
                     const struct share *shares, unsigned n)
{
    struct loop_memory *memory;

    node_enter(node);
    memory = memory_of(node, key);
    if (memory->n == n && memory->shares[n - 1].node == shares[n - 1].node) {
        memcpy(memory->shares, shares, n * sizeof *shares);
    }
    node_leave(node);
}

/** A loop that is entered. */
struct loop {
    int64_t grain;
    body_fn *body;
    void *arg;
    size_t arg_size;
    const tm_reduction *reduction;
};

static struct share_run *new_run(const struct loop *loop, int64_t first,
                                 int64_t end)
{
    struct share_run *run = calloc(1, sizeof *run + loop->arg_size);

    ensure_memory(run != NULL);
    run->first = first;
    run->end = end;
    run->grain = loop->grain;
    run->body = loop->body;
    run->arg = loop->arg;
    run->arg_size = loop->arg_size;
    if (loop->arg_size > 0) {
        memcpy(run->bytes, loop->arg, loop->arg_size);
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
    const size_t size = sizeof *run + run->arg_size;
    struct open_group *open = tasking_open(node, group);
    struct task *task = task_new(run_share, &open->family, run, size);

    task->out = run;
    task->goes_back = 1;
    task->is_pinned = 1;
    family_add(&open->family);
    if (to != node->self && send_away(node, to, task)) {
        return;
    }
    tasking_push(node, task);
}

static void take_times(struct share *share, struct share_run *run)
{
    for (unsigned i = 0; i < SHARE_BINS; i++) {
        share->bin_ns[i] =
            atomic_load_explicit(&run->bin_ns[i], memory_order_relaxed);
    }
    free(run);
}

// @param shares  [n], of which those that are empty are left out
static void run_shares(struct node *node, const struct loop *loop,
                       struct share *shares, unsigned n)
{
    tm_group group = {.reduction = loop->reduction};
    struct share_run *runs[TM_MAX_NODES];

    (void)tasking_open(node, &group);
    for (unsigned i = 0; i < n; i++) {
        runs[i] = new_run(loop, shares[i].first, shares[i].end);
        if (shares[i].end > shares[i].first && shares[i].node != node->self) {
            send_share(node, &group, shares[i].node, runs[i]);
        }
    }
    for (unsigned i = 0; i < n; i++) { // others have begun meanwhile
        if (shares[i].end > shares[i].first && shares[i].node == node->self) {
            send_share(node, &group, shares[i].node, runs[i]);
        }
    }
    tasking_close(node, &group);
    for (unsigned i = 0; i < n; i++) {
        take_times(&shares[i], runs[i]);
    }
}

static void run_here(struct node *node, const struct loop *loop, int64_t first,
                     int64_t end)
{
    struct share share = {
        .node = node->self, .first = first, .end = end, .n_workers = 1};

    run_shares(node, loop, &share, 1);
}

static void run_everywhere(struct node *node, const struct loop *loop,
                           uint64_t key, int64_t first, int64_t end)
{
    unsigned n;
    struct share *shares = shares_of(node, key, first, end, &n);

    run_shares(node, loop, shares, n);
    if (tells_much(first, end, n)) {
        remember(node, key, shares, n);
    }
    free(shares);
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
        run_everywhere(node, &loop, key_of_loop(attr, thread->place), first,
                       end);
    }
    return TM_OK;
}
