// SPDX-License-Identifier: BSD-3-Clause
//
// Who runs tasks: runners, threads that nobody but this part knows of. They have slots and
// numbers of their own, so they are not placed, tracked, moved or waited for, and end with
// the process. There are none until the program uses tasks.
//
// Each runner belongs to a worker. One that blocks in a task, for a page, a mutex or its
// own tasks, makes room for others of that worker ([Lowenthal96]): there is always one
// that runs no task, or as many as there may be.
//
//   free   looks for a task: of its worker's deques, of other workers'   -> busy
//          there is none: asks other nodes, once                          -> idle
//          another of its worker waits for a page: parked until it comes  -> free
//   busy   runs a task; then gives way, if others of its worker wait      -> free
//   idle   parked, in the list                                            -> free
//
// Who spawns a task wakes one that is idle, of another worker if there is one; each that
// finds a task and sees more of them wakes the next.
//
// U1 No task is overlooked: a runner is in the list before it looks for the last time, and
//    a task is in a deque before its spawner looks at the list. All four are sequentially
//    consistent.
// U2 A runner that takes the last free place of its worker sees to another one first.
// U3 A thread that waits for a group runs meanwhile only tasks that come of it, by however
//    many steps: another could want a mutex that is held until the group has ended, and
//    could not give way to the thread below it.
// U4 While a runner waits for a page, others of its worker begin no task. What has begun
//    cannot be given away, so a node would take all that it has upon itself, and keep it when
//    others have nothing left; and tasks that read the same pages would take them from each
//    other's reading ahead. Where pages come from far away there is time for more: one for each
//    FAR_NS of a message's way, as Filaments does. Pages come, whatever tasks do: so it ends.
#include "base/clock.h"
#include "base/compare.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/image.h"
#include "pages/causality.h"
#include "protocol/protocol_calls.h"
#include "runtime/node.h"
#include "runtime/parts.h"
#include "runtime/threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_STACK ((uintptr_t)48 * 1024)
#define GIVE_WAY_NS (1000 * 1000u)

struct runner {
    struct node *node;
    struct runner *next; ///< in the list of those that are idle
    struct thread *thread;
    unsigned worker;
    uint64_t since_ns; ///< when it has given way
    _Atomic int is_idle;
    int holds_back; ///< it is in the list of those that do: U4
};

/** Of a worker: its runners that wait for pages, and those that begin no task meanwhile. */
struct fetching {
    unsigned n;
    struct runner *held_back;
};

// ---- idle runners

static void join_idle(struct tasking *tasking, struct runner *runner)
{
    atomic_store(&runner->is_idle, 1);
    mutex_lock(&tasking->lock);
    list_push(tasking->idle, runner);
    atomic_fetch_add(&tasking->n_idle, 1); // U1
    mutex_unlock(&tasking->lock);
}

// @return 0: somebody has woken it
static int leave_idle(struct tasking *tasking, struct runner *runner)
{
    int is_in_list;

    mutex_lock(&tasking->lock);
    is_in_list = atomic_load(&runner->is_idle);
    if (is_in_list) {
        list_remove(tasking->idle, runner);
        atomic_fetch_sub(&tasking->n_idle, 1);
        atomic_store(&runner->is_idle, 0);
    }
    mutex_unlock(&tasking->lock);
    return is_in_list;
}

static struct runner *find_idle(const struct tasking *tasking, unsigned worker)
{
    struct runner *runner = tasking->idle;

    while (runner != NULL && runner->worker == worker) {
        runner = runner->next;
    }
    return runner != NULL ? runner : tasking->idle;
}

// @param worker  of which one need not be woken, if there are others
static void wake_one(struct tasking *tasking, unsigned worker)
{
    struct runner *runner;

    if (atomic_load(&tasking->n_idle) == 0) { // U1
        return;
    }
    mutex_lock(&tasking->lock);
    runner = find_idle(tasking, worker);
    if (runner != NULL) {
        list_remove(tasking->idle, runner);
        atomic_fetch_sub(&tasking->n_idle, 1);
        atomic_store(&runner->is_idle, 0);
    }
    mutex_unlock(&tasking->lock);
    if (runner != NULL) {
        ult_unpark(runner->thread->ult);
    }
}

// ---- a runner

static void make_runner(struct node *node, unsigned worker);

static void ask_others(struct node *node)
{
    if (node->n_nodes > 1) {
        node_enter(node);
        tasks_ask(node->tasking.tasks);
        node_leave(node);
    }
}

static void rest(struct node *node, struct runner *runner)
{
    struct tasking *tasking = &node->tasking;

    ask_others(node);
    join_idle(tasking, runner);
    if (tasks_has_some(tasking->tasks) && leave_idle(tasking, runner)) {
        return; // U1
    }
    // Ends when somebody has tasks, or the run ends.
    while (atomic_load(&runner->is_idle)) {
        ult_park(1);
    }
}

// U2
static void see_to_another(struct node *node, unsigned worker)
{
    node_enter(node);
    if (node->tasking.n_runners < RUNNERS_MAX) {
        make_runner(node, worker);
    }
    node_leave(node);
}

// @param since_ns  when it has last given way
static void give_way(uint64_t *since_ns)
{
    const uint64_t now_ns = clock_now_ns();

    if (now_ns - *since_ns >= GIVE_WAY_NS) {
        *since_ns = now_ns;
        ult_yield();
    }
}

static void run_one(struct node *node, struct runner *runner, struct task *task)
{
    struct tasking *tasking = &node->tasking;
    _Atomic unsigned *n_free = &tasking->n_free[runner->worker];

    if (atomic_fetch_sub(n_free, 1) == 1) {
        see_to_another(node, runner->worker);
    }
    if (tasks_has_some(tasking->tasks)) {
        wake_one(tasking, runner->worker);
    }
    tasking_run(node, task);
    atomic_fetch_add(n_free, 1);
    give_way(&runner->since_ns);
}

// Under the node lock, where what messages cost is noted.
static void note_latency(struct node *node)
{
    enum { FAR_NS = 100 * 1000, MOST = 7 };
    const uint64_t n_more =
        smaller(node->capacity.own.latency_ns / FAR_NS, MOST);

    atomic_store_explicit(&node->tasking.n_fetching_more, (unsigned)n_more,
                          memory_order_relaxed);
}

static int fetches_enough(struct node *node, const struct fetching *own)
{
    return own->n > atomic_load_explicit(&node->tasking.n_fetching_more,
                                         memory_order_relaxed);
}

// U4
static void hold_back(struct node *node, struct runner *runner)
{
    struct tasking *tasking = &node->tasking;
    struct fetching *own = &tasking->fetching[runner->worker];

    if (fetches_enough(node, own) && tasks_has_some(tasking->tasks)) {
        wake_one(tasking, runner->worker); // it has been woken for one
    }
    while (fetches_enough(node, own)) {
        runner->holds_back = 1;
        list_push(own->held_back, runner);
        // Ends when a page has come.
        while (runner->holds_back) {
            ult_park(1);
        }
    }
}

void tasking_fetch_begins(struct node *node, const struct thread *thread)
{
    if (tasking_is_runner(thread->number)) {
        node->tasking.fetching[ult_worker(thread->ult)].n++;
    }
}

void tasking_fetch_ends(struct node *node, const struct thread *thread)
{
    struct fetching *own;

    if (!tasking_is_runner(thread->number)) {
        return;
    }
    own = &node->tasking.fetching[ult_worker(thread->ult)];
    own->n--;
    if (fetches_enough(node, own)) {
        return;
    }
    list_take_each (runner, own->held_back) {
        runner->holds_back = 0;
        ult_unpark(runner->thread->ult);
    }
}

static void run_for_ever(void *argument)
{
    struct runner *runner = argument;
    struct node *const node = runner->node;

    for (;;) {
        struct task *task;

        hold_back(node, runner);
        task = tasks_take(node->tasking.tasks, runner->worker);
        if (task == NULL) {
            rest(node, runner);
        } else {
            run_one(node, runner, task);
        }
    }
}

// Under the node lock.
static void make_runner(struct node *node, unsigned worker)
{
    struct tasking *tasking = &node->tasking;
    const unsigned slot = node_runner_slot(node, tasking->n_runners++);
    const uint64_t number = RUNNER_BIT | (uint64_t)node->self << 32 | slot;
    struct runner *runner = calloc(1, sizeof *runner);
    tm_status status;

    ensure_memory(runner != NULL);
    runner->node = node;
    runner->worker = worker;
    runner->thread = thread_new(node, number, "runner");
    atomic_fetch_add(&tasking->n_free[worker], 1);
    status = ult_spawn_beside(node->ult, slot, worker, run_for_ever, runner,
                              runner->thread, &runner->thread->ult);
    if (status != TM_OK) {
        log_fatal(EXIT_MEMORY, "node %u cannot start a runner of tasks: %s",
                  node->self, tm_strerror(status));
    }
}

// Tasks are used. Under the node lock.
static void begin_tasking(struct node *node)
{
    struct tasking *tasking = &node->tasking;

    if (atomic_load(&tasking->is_on)) {
        return;
    }
    for (unsigned i = 0; i < node->n_workers && i < RUNNERS_MAX; i++) {
        make_runner(node, i);
    }
    atomic_store(&tasking->is_on, 1);
}

// ---- tasks on the calling thread

void tasking_run(struct node *node, struct task *task)
{
    struct thread *thread = thread_self();
    struct family *const before = thread->family;
    struct family *const family = task->family;
    const unsigned n_before = thread->n_groups;

    thread->family = family;
    thread->n_groups = 0;
    task->function(task->argument);
    tasking_check_end(node, thread, "run a task that ended");
    thread->family = before;
    thread->n_groups = n_before;
    node_pay(node);
    if (task_end(node->tasking.tasks, task)) {
        node_enter(node);
        tasks_return(node->tasking.tasks, family);
        node_leave(node);
    }
}

// Other nodes wait for tasks.
static void serve_hungry(struct node *node)
{
    struct tasking *tasking = &node->tasking;

    if (tasks_should_give(tasking->tasks, ult_worker(ult_self()))) {
        node_enter(node);
        tasks_give(tasking->tasks);
        node_leave(node);
    } else if (!atomic_exchange(&tasking->wants_tick, 1)) {
        node_wake_service(node); // the only one here may be begun at once
    }
}

static void announce(struct node *node)
{
    struct tasking *tasking = &node->tasking;

    if (atomic_exchange(&tasking->has_announced, 1)) {
        return;
    }
    node_enter(node);
    tasks_announce(tasking->tasks);
    node_leave(node);
}

// Is it for this node only? Before it is pushed: then it may be gone at once.
static int stays_here(const struct node *node, const struct task *task)
{
    return task->family->is_local || task->is_pinned || node->n_nodes == 1;
}

void tasking_push(struct node *node, struct task *task)
{
    const int stays = stays_here(node, task);
    struct tasking *tasking = &node->tasking;

    if (!atomic_load_explicit(&tasking->is_on, memory_order_relaxed)) {
        node_enter(node);
        begin_tasking(node);
        node_leave(node);
    }
    tasks_push(tasking->tasks, ult_worker(ult_self()), task);
    wake_one(tasking, ult_worker(ult_self()));
    if (stays) {
        return;
    }
    if (!atomic_load_explicit(&tasking->has_announced, memory_order_relaxed)) {
        announce(node);
    }
    if (tasks_are_wanted(tasking->tasks)) {
        serve_hungry(node);
    }
}

// ---- waiting

static int has_stack(const struct thread *thread)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    char *low;
    char *top;

    ult_stack(thread->ult, &low, &top);
    // Half of it, too: a task is written for a stack of this size.
    return here - (uintptr_t)low >= LEAST_STACK &&
           here - (uintptr_t)low >= (uintptr_t)(top - low) / 2;
}

// U3. A task that one has taken keeps its family, and all above, from ending.
static int comes_of(const struct task *task, const struct family *family)
{
    const struct family *at = task->family;

    while (at != NULL && at != family) {
        at = at->above;
    }
    return at != NULL;
}

// @return a task for the calling thread; NULL: there is none, or only others', which
//         runners of this worker see to
static struct task *take_of(struct node *node, const struct open_group *group)
{
    struct tasking *tasking = &node->tasking;
    const unsigned worker = ult_worker(ult_self());
    struct task *task = tasks_take(tasking->tasks, worker);

    if (task == NULL || comes_of(task, &group->family)) {
        return task;
    }
    tasks_push(tasking->tasks, worker, task);
    wake_one(tasking, worker + 1);
    return NULL;
}

static void launch_threads(struct node *node, const struct thread *thread)
{
    if (sync_has_batch(node->sync)) {
        node_enter(node);
        sync_thread_launch(node->sync, thread->number);
        node_leave(node);
    }
}

static void park_for(struct node *node, struct open_group *group)
{
    const uint64_t began_ns = clock_now_ns();

    node_enter(node);
    list_push(node->tasking.waits, group);
    node_leave(node);
    // Ends when the last task does, or the run.
    while (family_n_left(&group->family) > 0 &&
           family_begin_wait(&group->family)) {
        ult_park(1);
    }
    node_enter(node);
    list_remove(node->tasking.waits, group);
    node_leave(node);
    atomic_fetch_add_explicit(&node->sync_ns, clock_now_ns() - began_ns,
                              memory_order_relaxed);
}

void tasking_wait(struct node *node, struct open_group *group)
{
    const struct thread *thread = thread_self();
    const int may_run = has_stack(thread);
    uint64_t since_ns = clock_now_ns();

    launch_threads(node, thread);
    while (family_n_left(&group->family) > 0) {
        struct task *task = may_run ? take_of(node, group) : NULL;

        if (task != NULL) {
            tasking_run(node, task);
            give_way(&since_ns);
        } else {
            park_for(node, group);
        }
    }
}

const struct open_group *tasking_next_wait(const struct node *node,
                                           const struct open_group *at,
                                           char *text, size_t size)
{
    char place[160] = "";

    at = at == NULL ? node->tasking.waits : at->next;
    if (at == NULL) {
        return NULL;
    }
    if (at->place != 0) {
        image_describe((uintptr_t)at->place - 1, place, sizeof place);
    }
    snprintf(text, size,
             "thread %" PRIu64 " waits for %" PRIu64 " tasks (tm_wait%s%s)",
             at->thread, family_n_left(&at->family),
             place[0] == '\0' ? "" : ", ", place);
    return at;
}

// ---- the part

static void release(void *owner, node_id next, struct waiter *done)
{
    struct node *node = owner;

    engine_release(node->engine, next, done);
}

static void order(void *owner, node_id to)
{
    struct node *node = owner;

    engine_order(node->engine, 0, to, ORDER_MOVES);
}

static void wake(void *owner, void *waiter)
{
    (void)owner;
    ult_unpark(waiter);
}

static void are_used(void *owner)
{
    begin_tasking(owner);
}

static void has_come(void *owner)
{
    struct node *node = owner;

    begin_tasking(node);
    for (unsigned i = 0; i < node->n_workers; i++) {
        wake_one(&node->tasking, i);
    }
}

static void open_tasking(struct node *node)
{
    struct tasking *tasking = &node->tasking;
    const struct tasks_ops ops = {
        .owner = node,
        .release = release,
        .order = order,
        .wake = wake,
        .has_come = has_come,
        .are_used = are_used,
    };

    mutex_init(&tasking->lock, RANK_SCHED);
    tasking->tasks = tasks_new(&node->port, &ops, node->n_workers);
    tasking->n_free = calloc(node->n_workers, sizeof *tasking->n_free);
    tasking->fetching = calloc(node->n_workers, sizeof *tasking->fetching);
    if (tasking->tasks == NULL || tasking->n_free == NULL ||
        tasking->fetching == NULL) {
        log_fatal(EXIT_MEMORY, "no memory for tasks");
    }
}

static int tick(struct node *node)
{
    struct tasking *tasking = &node->tasking;

    if (!atomic_load_explicit(&tasking->is_on, memory_order_relaxed) ||
        node_is_frozen(node)) {
        return 0;
    }
    note_latency(node);
    if (tasking->is_to_ask) {
        tasking->is_to_ask = 0;
        wake_one(tasking, 0);
    }
    if (tasking->is_to_announce && tasks_has_some(tasking->tasks)) {
        tasking->is_to_announce = 0;
        atomic_store(&tasking->has_announced, 1);
        tasks_announce(tasking->tasks);
    }
    atomic_store(&tasking->wants_tick, 0);
    if (tasks_are_wanted(tasking->tasks)) {
        tasks_give(tasking->tasks);
    }
    return 0;
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    return tasks_receive(node->tasking.tasks, from, message);
}

static void roster_changed(struct node *node, int is_first)
{
    (void)is_first;
    tasks_roster_changed(node->tasking.tasks);
    node->tasking.is_to_ask = 1;
    // Who has come hears of tasks that are there.
    node->tasking.is_to_announce |=
        atomic_exchange(&node->tasking.has_announced, 0);
}

const struct part part_tasks = {
    .open = open_tasking,
    .tick = tick,
    .owns = OWNER_tasks,
    .receive = receive,
    .roster_changed = roster_changed,
    .save = parts_save_nothing,
};
