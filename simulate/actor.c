// SPDX-License-Identifier: BSD-3-Clause
//
// A thread of a simulation: it goes through the pages of its part in order, as often as its
// iteration has barriers, and arrives at one each time.
//
//   ABSENT -> RUNNABLE     actor_start: it begins on a node, or has come to it
//   RUNNABLE -> RUNNING    take_next: its worker has nobody else
//   RUNNING -> RUNNING     pay: what it has computed passes on the clock
//   RUNNING -> HELD        wait_in_place: for the disk, or for room; its worker waits, too
//   RUNNING -> FETCHING    wait_for_page: its worker runs others
//   RUNNING -> PARKED      arrive: at a barrier
//   RUNNING -> ABSENT      leave: it is sent to another node
//   RUNNING -> ENDED       end
//
// What it does at a page is what runtime/page_fault.c and runtime/paging.c have a thread do
// at a fault; a page that its node may use costs nothing but the time of the use. A use that
// would fault comes after all that was computed before has passed, so that the order of
// faults and messages is that of the clock.
#include "simulate/lab_priv.h"

#include "base/ensure.h"
#include "base/list.h"
#include "base/memory.h"

/** A thread computes so long without looking what has become of its pages. */
#define QUANTUM_NS 200000.0

/** So many times a page can be used and cannot be after all: a fault of this program. */
#define TRIES_MAX 1000

static void take_next(void *owner, uint64_t argument);
static void go_on(void *owner, uint64_t argument);

static uint64_t now_ns(const struct actor *actor)
{
    return actor->lab->events.now_ns;
}

static struct lab_worker *worker_of(const struct actor *actor)
{
    return &actor->node->workers[actor->worker];
}

// ---- workers

void worker_note(struct lab_worker *worker)
{
    const uint64_t until_ns = worker->node->lab->events.now_ns;
    const uint64_t ns = until_ns - worker->since_ns;
    const double seconds = (double)ns * 1e-9;

    worker->since_ns = until_ns;
    if (worker->current == NULL) {
        *(worker->n_fetching > 0 ? &worker->times.wire_s
                                 : &worker->times.wait_s) += seconds;
    } else {
        worker->wall_ns += ns;
        *(worker->current->step == ACTOR_HELD ? &worker->times.page_s
                                              : &worker->times.compute_s) +=
            seconds;
    }
}

static void call_worker(struct lab_worker *worker)
{
    struct events *events = &worker->node->lab->events;

    events_at(events, events->now_ns, take_next, worker, 0);
}

void actor_ready(struct actor *actor)
{
    struct lab_worker *worker = worker_of(actor);

    actor->step = ACTOR_RUNNABLE;
    list_append(worker, actor);
    if (worker->current == NULL) {
        call_worker(worker);
    }
}

static void idle(void *owner, uint64_t argument)
{
    struct lab_node *node = owner;

    (void)argument;
    for (unsigned i = 0; i < node->n_workers; i++) {
        if (node->workers[i].current != NULL ||
            node->workers[i].first != NULL) {
            return;
        }
    }
    sync_poll(node->sync, 1);
    lab_node_leave(node);
}

static void take_next(void *owner, uint64_t argument)
{
    struct lab_worker *worker = owner;
    struct actor *actor = worker->first;

    if (worker->current != NULL || actor == NULL) {
        return;
    }
    worker_note(worker);
    worker->first = actor->next;
    worker->current = actor;
    actor->step = ACTOR_RUNNING;
    go_on(worker, argument);
}

// The worker's thread waits, or has gone: others have their turn.
static void give_worker_back(struct actor *actor)
{
    struct lab_worker *worker = worker_of(actor);
    struct events *events = &actor->lab->events;

    worker_note(worker);
    worker->current = NULL;
    if (worker->first != NULL) {
        call_worker(worker);
    } else {
        events_at(events, events->now_ns, idle, actor->node, 0);
    }
}

// ---- time

// The part of a processor that others leave.
static double share_left(const struct actor *actor)
{
    const struct simulated_node *says = lab_node_says(actor->node);
    const double now_s = (double)(now_ns(actor) - actor->lab->start_ns) * 1e-9;
    double share = 1;

    for (uint32_t i = 0; i < says->n_loads; i++) {
        share = says->loads[i].from_s <= now_s ? says->loads[i].share : share;
    }
    return share;
}

// What was computed passes on the clock; then the thread goes on.
static void pay(struct actor *actor)
{
    const double ns = actor->owed_ns / share_left(actor);

    actor->comp_ns += (uint64_t)actor->owed_ns;
    actor->owed_ns = 0;
    events_at(&actor->lab->events, now_ns(actor) + (uint64_t)ns, go_on,
              worker_of(actor), 0);
}

static const struct play_part *part_of(const struct actor *actor)
{
    const struct play *play = &actor->lab->play;

    return actor->iteration == 0
               ? &play->fills[actor->index]
               : &play->rounds[actor->iteration % play->n_rounds *
                                   play->n_threads +
                               actor->index];
}

// A phase begins: what does each use of a page take here?
static void begin_phase(struct actor *actor)
{
    const struct lab *lab = actor->lab;
    const struct simulation *simulation = lab->simulation;
    const double n_phases = simulation->script->n_barriers;
    const uint64_t n_touches = part_of(actor)->n_touches;
    const double noise = simulation->noise *
                         (double)events_random(&actor->lab->events, 1u << 20) /
                         (double)(1u << 20);
    const double phase_ns = simulation->threads[actor->index].computation_s *
                            1e9 * (1 + noise) / n_phases /
                            lab_node_says(actor->node)->view.power;

    actor->at = (struct actor_place){0};
    actor->touch_ns = 0;
    if (actor->iteration > 0 && n_touches > 0) {
        actor->touch_ns = phase_ns / (double)n_touches;
    } else if (actor->iteration > 0) {
        actor->owed_ns += phase_ns;
    }
}

// ---- pages

static void note_wait(struct actor *actor, int is_for_room)
{
    const uint64_t ns = now_ns(actor) - actor->waits_since_ns;

    actor->node->wait_ns += ns;
    actor->node->out_ns += is_for_room ? ns : 0;
}

// The disk has done what the thread waits for.
static void end_wait_in_place(struct waiter *waiter)
{
    struct actor *actor = (struct actor *)waiter;
    struct lab_worker *worker = worker_of(actor);

    worker_note(worker);
    actor->step = ACTOR_RUNNING;
    actor->is_let_in = waiter->result != 0;
    note_wait(actor, actor->is_let_in);
    events_at(&actor->lab->events, now_ns(actor), go_on, worker, 0);
}

static void wait_in_place(struct actor *actor)
{
    worker_note(worker_of(actor));
    actor->step = ACTOR_HELD;
    actor->waits_since_ns = now_ns(actor);
}

// The page has come from another node.
static void end_wait_for_page(struct waiter *waiter)
{
    struct actor *actor = (struct actor *)waiter;
    struct lab_worker *worker = worker_of(actor);

    worker_note(worker);
    worker->n_fetching--;
    actor->node->n_parked--;
    actor->is_resumed = 1;
    actor_ready(actor);
}

static void wait_for_page(struct actor *actor, page_no page, int is_write)
{
    struct lab_worker *worker = worker_of(actor);

    if (actor->node->pager != NULL) {
        pager_note_away(actor->node->pager, &actor->claims);
    }
    actor->page = page;
    actor->is_write = is_write;
    worker_note(worker);
    worker->n_fetching++;
    actor->node->n_parked++;
    actor->step = ACTOR_FETCHING;
    give_worker_back(actor);
}

// The thread goes on behind a wait for a page.
static void resume(struct actor *actor)
{
    struct lab_node *node = actor->node;

    actor->is_resumed = 0;
    engine_note_missed(node->engine, actor->page, actor->is_write,
                       &actor->history);
    if (node->pager != NULL) {
        pager_note_back(node->pager, &actor->claims);
    }
    if ((node->pager != NULL ||
         engine_is_to_hear(node->engine, actor->page, &actor->history)) &&
        engine_resumed(node->engine, actor->page, &actor->history)) {
        lab_node_let_go_later(node);
    }
}

// Would the program's access not fault?
static int is_usable(const struct lab_node *node, page_no page, int is_write)
{
    const struct page *record = &node->space.pages[page];
    const struct page *frame =
        &node->space.pages[space_frame(&node->space, page)];
    const enum page_access need = is_write ? ACCESS_WRITE : ACCESS_READ;

    return record->access >= need && !record->updates_pending &&
           !(frame->ahead && frame->io == 0) &&
           (node->pager == NULL ||
            pager_allows(node->pager, page, ACCESS_WRITE) >= need);
}

// @return 1 it is in memory, or may come; 0 the thread waits
static int is_admitted(struct actor *actor, page_no page, int is_write,
                       uintptr_t instruction)
{
    struct lab_node *node = actor->node;
    struct pager_toucher toucher = {
        .worker = actor->worker,
        .thread = (uint32_t)actor->number,
        .instruction = instruction,
        .claims = &actor->claims,
        .is_let_in = actor->is_let_in,
    };

    actor->is_let_in = 0;
    if (node->pager == NULL) {
        return 1;
    }
    actor->waiter.wake = end_wait_in_place;
    if (pager_fault(node->pager, page, is_write, &toucher, &actor->waiter) ==
        PAGER_GO_ON) {
        return 1;
    }
    wait_in_place(actor);
    return 0;
}

// A fault. @return 1 try again; 0 the thread waits
static int serve_fault(struct actor *actor, page_no page, int is_write,
                       uintptr_t instruction)
{
    enum fault_result result;

    if (!is_admitted(actor, page, is_write, instruction)) {
        return 0;
    }
    actor->history.instruction = instruction;
    actor->waiter.wake = end_wait_for_page;
    result = engine_fault(actor->node->engine, page, is_write, &actor->history,
                          &actor->waiter);
    ensure(result == FAULT_ALLOWED || result == FAULT_WAIT);
    if (result == FAULT_WAIT) {
        wait_for_page(actor, page, is_write);
        return 0;
    }
    return 1;
}

enum use_result { USED, PAYS, WAITS };

// One access. Each block's reads, and its writes, are an instruction of their own.
static enum use_result access_page(struct actor *actor, page_no page,
                                   int is_write, uint32_t block)
{
    const uintptr_t instruction = 2 * (uintptr_t)block + (is_write != 0) + 1;

    if (is_usable(actor->node, page, is_write)) {
        return USED;
    }
    if (actor->owed_ns >= 1) {
        pay(actor);
        return PAYS;
    }
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        if (!serve_fault(actor, page, is_write, instruction)) {
            return WAITS;
        }
        if (is_usable(actor->node, page, is_write)) {
            return USED;
        }
    }
    ensure(!"a page that may be used cannot be");
    return WAITS;
}

// Change so many bytes, the lowest of numbers of 8 bytes that lie side by side, as many of
// each as must be. Neighbours that write one page begin at its two ends.
static void change_bytes(const struct actor *actor, const struct play_run *run,
                         page_no page)
{
    const unsigned n = run->diff_bytes;
    const unsigned of_each = n <= TM_PAGE_SIZE / 4 ? 2 : 8;
    uint8_t *bytes = (uint8_t *)space_place(&actor->node->space, page);

    for (unsigned i = 0; i < n; i++) {
        const unsigned at = i / of_each * 8 + i % of_each;

        bytes[actor->index % 2 == 0 ? at
                                    : TM_PAGE_SIZE - 8 - at / 8 * 8 + at % 8]++;
    }
}

// Does the thread write these pages in this phase? What is not known it does in all.
static int is_written_now(const struct actor *actor, const struct play_run *run)
{
    return (run->flags & USE_WRITE) &&
           (run->writes == 0 ||
            (actor->phase < 8 && (run->writes >> actor->phase & 1)));
}

static enum use_result use_page(struct actor *actor, const struct play_run *run)
{
    const page_no page = run->page + actor->at.page;
    enum use_result result = USED;

    if (run->flags & USE_READ) {
        result = access_page(actor, page, 0, run->block);
    }
    if (result == USED && is_written_now(actor, run)) {
        result = access_page(actor, page, 1, run->block);
        if (result == USED) {
            change_bytes(actor, run, page);
        }
    }
    return result;
}

// @return 1 all pages of the phase are used
static int use_pages(struct actor *actor)
{
    const struct play_part *part = part_of(actor);

    while (actor->at.run < part->n_runs) {
        const struct play_run *run = &part->runs[actor->at.run];

        if (use_page(actor, run) != USED) {
            return 0;
        }
        if (++actor->at.page == run->n_pages) {
            actor->at = (struct actor_place){actor->at.run + 1, 0};
        }
        actor->owed_ns += actor->touch_ns;
        if (actor->owed_ns >= QUANTUM_NS) {
            pay(actor);
            return 0;
        }
    }
    if (actor->owed_ns >= 1) {
        pay(actor);
        return 0;
    }
    return 1;
}

// ---- barriers

static void teach_uses(struct lab_node *node, const struct actor *actor,
                       uint32_t round)
{
    size_t n;
    struct page_use *uses =
        play_uses(&node->lab->play, actor->index, round, &n);
    page_no *pages = memory_new(n, sizeof *pages);

    for (size_t k = 0; k < n; k++) {
        pages[k] = uses[k].page;
    }
    pager_learn(node->pager, (uint32_t)actor->number, pages, n);
    free(pages);
    free(uses);
}

// What each thread of the node uses, in order: as if an iteration had been tracked.
static void teach_pager(struct lab_node *node, uint64_t iteration)
{
    const struct lab *lab = node->lab;
    const uint32_t round = (uint32_t)(iteration % lab->play.n_rounds);

    for (uint32_t i = 0; i < lab->simulation->n_threads; i++) {
        const struct actor *actor = &lab->actors[i];

        if (actor->node == node && actor->step != ACTOR_ABSENT) {
            teach_uses(node, actor, round);
        }
    }
    node->is_taught = 1;
}

static void end_round(struct lab_node *node, unsigned worker)
{
    const struct round *round = &node->rounds.of_worker[worker];

    replace_order(pager_replace(node->pager), worker, round->threads, round->n);
    rounds_next(&node->rounds, worker);
    if (worker == 0) {
        pager_end_sweep(node->pager);
    }
}

// As note_arrival() of runtime/paging.c.
static void note_turn(struct actor *actor)
{
    struct lab_node *node = actor->node;

    if (node->pager == NULL || !pager_is_short(node->pager)) {
        return;
    }
    if (rounds_is_over(&node->rounds, actor->worker, &actor->place_in_round)) {
        end_round(node, actor->worker);
    }
    rounds_arrive(&node->rounds, actor->worker, (uint32_t)actor->number,
                  &actor->place_in_round);
    pager_end_turn(node->pager, actor->worker);
    if (!node->is_taught && node->rounds.of_worker[actor->worker].number > 2) {
        teach_pager(node, actor->iteration);
    }
}

static void pass_barrier(struct waiter *waiter)
{
    struct actor *actor = (struct actor *)waiter;

    actor->n_barriers = waiter->count;
    actor->node->n_parked--;
    actor->is_behind_barrier = 1;
    actor_ready(actor);
}

static int is_at_end(const struct actor *actor)
{
    return actor->iteration > 0 &&
           actor->phase + 1 == actor->lab->simulation->script->n_barriers;
}

static void arrive(struct actor *actor)
{
    struct lab *lab = actor->lab;
    const int is_end = is_at_end(actor);

    note_turn(actor);
    if (is_end) {
        actor->n_barriers++;
        report_note(actor);
        if (++lab->n_ended_here == lab->simulation->n_threads) {
            lab_iteration_ends(lab);
        }
    }
    actor->waiter.wake = pass_barrier;
    actor->waiter.thread = actor->number;
    actor->waiter.count = actor->n_barriers;
    actor->node->n_parked++;
    actor->step = ACTOR_PARKED;
    give_worker_back(actor);
    sync_barrier_arrive(actor->node->sync, lab->barrier,
                        is_end ? ARRIVE_ITERATION : ARRIVE_WAIT, TM_SUM, 0,
                        &actor->waiter);
}

// ---- beginning, moving, ending

static unsigned least_worker(const struct lab *lab, const struct lab_node *node)
{
    unsigned counts[WORKERS_MAX] = {0};
    unsigned least = 0;

    for (uint32_t i = 0; i < lab->simulation->n_threads; i++) {
        const struct actor *actor = &lab->actors[i];

        if (actor->node == node && actor->step != ACTOR_ABSENT) {
            counts[actor->worker]++;
        }
    }
    for (unsigned i = 1; i < node->n_workers; i++) {
        least = counts[i] < counts[least] ? i : least;
    }
    return least;
}

void actor_start(struct actor *actor, struct lab_node *node)
{
    actor->worker = least_worker(node->lab, node);
    actor->node = node;
    actor->target = NODE_NONE;
    node->n_actors++;
    if (actor->moves > 0) {
        node->is_taught = 0;
    }
    actor_ready(actor);
}

static void forget_here(struct actor *actor)
{
    struct lab_node *node = actor->node;

    if (node->pager != NULL) {
        rounds_leave(&node->rounds, (uint32_t)actor->number,
                     &actor->place_in_round);
        replace_forget(pager_replace(node->pager), (uint32_t)actor->number);
        pager_release_claims(node->pager, &actor->claims);
    }
    node->n_actors--;
    give_worker_back(actor);
}

static void end(struct actor *actor)
{
    actor->step = ACTOR_ENDED;
    forget_here(actor);
    sync_thread_launch(actor->node->sync, actor->number);
    sync_thread_exit(actor->node->sync, actor->number, 0);
}

// @return 1 it has been sent to another node
static int is_sent_away(struct actor *actor)
{
    static const char stack[LAB_STACK_BYTES];
    struct lab_node *node = actor->node;
    const struct moved_thread moved = {
        .number = actor->number,
        .moves = actor->moves + 1,
        .n_barriers = actor->n_barriers,
        .name = "",
        .packed = {.slot = thread_slot_of(actor->number),
                   .bytes = stack,
                   .size = sizeof stack,
                   .end = sizeof stack},
    };
    const node_id target = actor->target;

    actor->target = NODE_NONE;
    if (target == NODE_NONE || target == node->id ||
        sync_thread_holds(node->sync, actor->number)) {
        return 0;
    }
    engine_order(node->engine, 0, target, ORDER_MOVES);
    migration_send(node->migration, target, &moved);
    lab_note_move(actor->lab, actor, target);
    forget_here(actor);
    actor->step = ACTOR_ABSENT;
    actor->history = (struct fault_history){0};
    return 1;
}

// Behind a barrier. @return 1 the thread goes on here
static int go_on_behind_barrier(struct actor *actor)
{
    const struct simulation *simulation = actor->lab->simulation;

    actor->is_behind_barrier = 0;
    if (actor->iteration == 0) {
        actor->iteration = 1;
        actor->phase = 0;
        begin_phase(actor);
        return 1;
    }
    if (++actor->phase < simulation->script->n_barriers) {
        begin_phase(actor);
        return 1;
    }
    actor->phase = 0;
    actor->iteration++;
    actor->is_beginning = 1;
    if (is_sent_away(actor)) {
        return 0;
    }
    if (actor->iteration > simulation->n_iterations) {
        end(actor);
        return 0;
    }
    return 1;
}

// The thread does what it does until it waits, or time must pass.
static void play_on(struct actor *actor)
{
    if (actor->is_resumed) {
        resume(actor);
    }
    if (actor->is_behind_barrier && !go_on_behind_barrier(actor)) {
        return;
    }
    if (actor->is_beginning) { // perhaps on another node than it was on
        actor->is_beginning = 0;
        if (actor->iteration > actor->lab->simulation->n_iterations) {
            end(actor);
            return;
        }
        begin_phase(actor);
    }
    if (use_pages(actor)) {
        arrive(actor);
    }
}

// The thread that a worker runs goes on.
static void go_on(void *owner, uint64_t argument)
{
    struct lab_worker *worker = owner;
    struct lab_node *node = worker->node;

    (void)argument;
    worker_note(worker);
    play_on(worker->current);
    lab_node_leave(node);
}
