// SPDX-License-Identifier: BSD-3-Clause
//
// Protocol entry on the real engines and the real locks, over the simulated network: threads
// take mutexes and reader-writer locks, read and write what is bound to them, bind more, and
// let bytes go from one lock to another. An oracle knows each byte. After every few events:
//   - of each lock at most one node has the bytes to pass on (B1);
//   - a page is mapped only where a lock is that has bytes in it (B4);
//   - each step that a page makes on a node is one of tests/steps/entry.def;
//   - engines, pages, locks and pagers say that they are valid.
// The variants: nodes with very little memory; nodes that come and go, for which threads
// move between what they do.
//
//   entry_test entry[/budget][/members] [SEED [N]]
//
// One file, though it is long: what threads do and what the oracle and the checks know is
// one world, and any part of it would need nearly all the others.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/sim_harness.h"
#include "mem/pager.h"
#include "pages/engine.h"
#include "protocol/protocol_calls.h"
#include "reconfig/membership.h"
#include "runtime/registry.h"
#include "steps/rows.h"
#include "sync/sync.h"

enum {
    MAX_NODES = 5,
    MAX_IDS = 9,
    MAX_THREADS = 12,
    N_PAGES = 20,
    N_BYTES = N_PAGES * TM_PAGE_SIZE,
    N_LOCKS = 20,
    N_MUTEXES = 14, // of the locks; the others are reader-writer locks
    N_RANGES = 40,
    HEAP_BYTES = 1 << 22,
    MOST_TRIES = 1000,
    CHECK_EVERY = 4, // messages
};

#define LIMIT_NS (1000ull * 1000 * 1000 * 1000) // of virtual time
#define KEY(lock) (UINT64_C(0x7e9000000000) + 64 * (uint64_t)(lock))
#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fail(#what, __LINE__);                                             \
        }                                                                      \
    } while (0)

enum step { CHOOSE, LOCKING, HOLDING, ACCESS, UNLOCKING, ENDED };

struct world;

struct thread {
    struct waiter waiter; // first: found from it
    struct world *world;
    unsigned number;
    node_id node;
    enum step step;
    unsigned ops_left;
    unsigned accesses_left;
    int wants[2];  // locks, in order; -1: none
    int writes[2]; // not only reads, of each
    unsigned n_held;
    // the access under way
    unsigned at; // in the block
    unsigned length;
    int is_write;
    int is_let_in;
    unsigned n_tries;
    uintptr_t instruction;
    struct pager_claims claims;
};

/** A part of the block. */
struct slice {
    unsigned start;
    unsigned size;
    int lock; // -1: not bound yet
};

struct node {
    struct world *world;
    node_id number;
    struct engine *engine;
    struct sync *sync;
    struct membership *membership;
    struct space space;
    struct swap_file *swap;
    struct pager *pager;
    struct port sim_port;
    int is_frozen;
    uint64_t n_sent;
    uint64_t n_received;
};

struct world {
    struct sim *sim;
    unsigned n_nodes;
    unsigned n_come;
    unsigned n_threads;
    unsigned n_ended;
    unsigned n_changes;
    struct node nodes[MAX_IDS];
    struct thread threads[MAX_THREADS];
    struct slice parts[N_RANGES];
    unsigned n_parts;
    uint64_t block;
    page_no first;
    uint8_t oracle[N_BYTES];
};

static uint64_t seed;
static const char *variant;
static int has_budget;
static int has_changes;
static int n_woken;
static uint64_t n_accesses;
static uint64_t n_moved; // parts, from lock to lock
static uint64_t n_denied;
static uint64_t n_changes;
static uint64_t step_counts[STEP_ROWS_MAX];

static _Noreturn void fail(const char *what, int line)
{
    fprintf(stderr, "%s seed %llu: %s does not hold, line %d\n", variant,
            (unsigned long long)seed, what, line);
    abort();
}

static uint64_t pick(const struct world *world, uint64_t bound)
{
    return sim_random(world->sim, bound);
}

static const struct roster *roster_of(const struct world *world)
{
    return &sim_port(world->sim, 0)->roster;
}

static struct node *node_of(const struct thread *thread)
{
    return &thread->world->nodes[thread->node];
}

static void step(void *owner, uint64_t argument);

static void resume(struct thread *thread)
{
    sim_after(thread->world->sim, 100 + pick(thread->world, 20000), step,
              thread, 0);
}

static void wake(struct waiter *waiter)
{
    struct thread *thread = (struct thread *)waiter;

    thread->is_let_in = thread->step == ACCESS && waiter->result == 1;
    thread->n_held += thread->step == LOCKING && waiter->status == TM_OK;
    resume(thread);
}

// ---- steps of pages

static void judge_step(void *owner, const struct page_step *taken)
{
    const struct step_table *table = step_table_of(TM_ENTRY);
    const struct step_row *row = step_row_of(table, taken);

    (void)owner;
    if (row == NULL) {
        step_explain(stderr, table, taken);
        fail("the page's step is allowed", __LINE__);
    }
    step_counts[row - table->rows]++;
}

static void tell_steps(void)
{
    if (getenv("TELL_STEPS") != NULL) {
        (void)step_report(stdout, step_table_of(TM_ENTRY), step_counts);
    }
}

// ---- what the layers need of each other

static void op_release(void *owner, node_id next, struct waiter *done)
{
    const struct node *node = owner;

    engine_release(node->engine, next, done);
}

static void op_order(void *owner, uint64_t object, node_id to,
                     enum sync_order order)
{
    (void)owner;
    (void)object;
    (void)to;
    (void)order;
}

static void op_held(void *owner, uint64_t key, int is_held)
{
    (void)owner;
    (void)key;
    (void)is_held;
}

static const void *op_lock_leaves(void *owner, uint64_t key, node_id to,
                                  enum sync_carry carry, uint32_t *size)
{
    const struct node *node = owner;

    return engine_lock_leaves(node->engine, key, to, (enum lock_way)carry,
                              size);
}

static tm_status op_lock_comes(void *owner, uint64_t key, node_id from,
                               enum sync_carry carry, const void *bytes,
                               uint32_t size)
{
    const struct node *node = owner;

    return engine_lock_comes(node->engine, key, from, (enum lock_way)carry,
                             bytes, size);
}

static int op_has_data(void *owner, uint64_t key)
{
    const struct node *node = owner;

    return engine_lock_has_data(node->engine, key);
}

static int op_holds(void *owner, uint64_t key, uint64_t thread, int is_write)
{
    const struct node *node = owner;

    return sync_holds(node->sync, key, thread, is_write);
}

static void op_error(void *owner, const char *text)
{
    (void)owner;
    fail(text, __LINE__);
}

// ---- nodes come and go

static void send_counted(void *owner, node_id to, const struct message *message)
{
    struct node *node = owner;

    node->n_sent += !membership_is_aside(message->type);
    node->sim_port.send(node->sim_port.owner, to, message);
}

static uint64_t now_of(void *owner)
{
    const struct node *node = owner;

    return node->sim_port.now_ns(node->sim_port.owner);
}

static void freeze(void *owner, int is_frozen)
{
    struct node *node = owner;

    node->is_frozen = is_frozen;
}

static unsigned n_threads(void *owner)
{
    const struct node *node = owner;
    const struct world *world = node->world;
    unsigned n = 0;

    for (unsigned i = 0; i < world->n_threads; i++) {
        n += world->threads[i].node == node->number &&
             world->threads[i].step != ENDED;
    }
    return n;
}

static void count(void *owner, uint64_t *sent, uint64_t *received)
{
    const struct node *node = owner;

    *sent = node->n_sent;
    *received = node->n_received;
}

static const char *why_not_yet(void *owner)
{
    const struct node *node = owner;

    return pick(node->world, 3) > 0 ? NULL : "it waits";
}

static void move(void *owner, uint64_t thread, node_id to)
{
    (void)owner;
    (void)thread;
    (void)to;
    fail("the list of threads is empty", __LINE__);
}

static double power(void *owner, node_id node)
{
    (void)owner;
    return 1 + node;
}

static void switched(void *owner, const struct roster *before)
{
    (void)owner;
    (void)before;
}

/* It has left: nothing is here any more. */
static void gone(void *owner)
{
    const struct node *node = owner;

    for (unsigned i = 0; i < N_LOCKS; i++) {
        CHECK(!engine_lock_has_data(node->engine, KEY(i)));
    }
    CHECK(n_threads(owner) == 0);
}

static void tell(void *owner, node_id number, int comes,
                 enum membership_report report, const char *why)
{
    struct node *node = owner;

    (void)number;
    (void)comes;
    (void)why;
    node->world->n_changes += report == MEMBERSHIP_DONE;
}

static void ask_for_change(struct world *world)
{
    const struct roster *roster = roster_of(world);
    const node_id node = roster_pick(roster, pick(world, 100));

    if (pick(world, 2) && world->n_come < world->n_nodes) {
        membership_add(world->nodes[0].membership, (node_id)world->n_come++);
    } else if (node != 0) {
        membership_remove(world->nodes[0].membership, node);
    }
}

static int is_changing(const struct world *world)
{
    return has_changes && (membership_is_busy(world->nodes[0].membership) ||
                           world->nodes[0].is_frozen);
}

static void open_membership(struct node *node)
{
    const struct membership_ops ops = {
        .owner = node,
        .freeze = freeze,
        .n_threads = n_threads,
        .count = count,
        .why_not_yet = why_not_yet,
        .move = move,
        .power = power,
        .switched = switched,
        .gone = gone,
        .tell = tell,
    };

    node->membership = membership_new(sim_port(node->world->sim, node->number),
                                      node->engine, node->sync, &ops);
    CHECK(node->membership != NULL);
}

// ---- set-up

static void receive(void *owner, node_id from, const struct message *message)
{
    struct node *node = owner;
    tm_status status;

    if (message->type >= MESSAGE_change_step &&
        message->type <= MESSAGE_leave_ask) {
        CHECK(membership_receive(node->membership, from, message) == TM_OK);
        return;
    }
    node->n_received++;
    status = message_owner(message->type) == OWNER_sync
                 ? sync_receive(node->sync, from, message)
                 : engine_receive(node->engine, from, message);
    if (status != TM_OK) {
        fprintf(stderr, "node %u: %s from node %u\n", node->number,
                message_name(message->type), from);
        fail("no message is refused", __LINE__);
    }
    if (has_budget && pick(node->world, 3) == 0) {
        pager_settle(node->pager);
    }
}

static void tick(void *owner, uint64_t argument)
{
    struct node *node = owner;
    struct world *world = node->world;

    engine_tick(node->engine);
    if (!node->is_frozen) {
        sync_poll(node->sync, 0);
    }
    if (has_budget) {
        pager_poll(node->pager);
    }
    if (has_changes && node->number == 0) {
        if (world->n_ended < world->n_threads && pick(world, 4) == 0) {
            ask_for_change(world);
        }
        membership_tick(node->membership);
    }
    if (world->n_ended < world->n_threads || is_changing(world)) {
        sim_after(world->sim, 1000000, tick, node, argument);
    }
}

static void open_disk(struct node *node)
{
    const struct swap_settings settings = {.folder = "/dev/shm",
                                           .engine = "at once"};
    const struct pager_host host = engine_pager_host(node->engine);

    CHECK(swap_file_open(&node->swap, &settings) == TM_OK);
    node->pager =
        pager_new(&node->space, node->swap, 2 + pick(node->world, 16), &host);
    CHECK(node->pager != NULL);
    engine_keep_copies(node->engine, (int)pick(node->world, 2));
}

static void open_node(struct world *world, unsigned i)
{
    struct node *node = &world->nodes[i];
    struct port *port = sim_port(world->sim, (node_id)i);
    const struct sync_ops ops = {.owner = node,
                                 .release = op_release,
                                 .order = op_order,
                                 .order_mutex = op_order,
                                 .held = op_held,
                                 .lock_leaves = op_lock_leaves,
                                 .lock_comes = op_lock_comes,
                                 .has_data = op_has_data,
                                 .program_error = op_error};
    const struct lock_ops locks = {node, op_holds, op_error};

    node->world = world;
    node->number = (node_id)i;
    node->sim_port = *port;
    port->owner = node;
    port->send = send_counted;
    port->now_ns = now_of;
    CHECK(space_open(&node->space, NULL, NULL, 0, HEAP_BYTES) == TM_OK);
    node->engine =
        engine_new(port, &node->space, &all_protocols, TM_EAGER_RELEASE);
    node->sync = sync_new(port, &ops, 1);
    CHECK(node->engine != NULL && node->sync != NULL);
    CHECK(engine_watch_steps(node->engine, judge_step, NULL) == TM_OK);
    engine_use_locks(node->engine, &locks);
    if (seed % 2) {
        sync_keep_locks(node->sync, 2);
    }
    sim_attach(world->sim, (node_id)i, receive, node);
    sim_after(world->sim, 1000 * i, tick, node, 0);
    if (has_budget) {
        open_disk(node);
    }
    open_membership(node);
}

// ---- checks

/* Which locks a node passes on. */
static unsigned locks_here(const struct node *node)
{
    unsigned here = 0;

    for (unsigned i = 0; i < N_LOCKS; i++) {
        here |= engine_lock_has_data(node->engine, KEY(i)) ? 1u << i : 0;
    }
    return here;
}

/* Pages that bytes of some locks are in. */
static unsigned pages_of(const struct world *world, unsigned locks)
{
    unsigned pages = 0;

    for (unsigned i = 0; i < world->n_parts; i++) {
        const struct slice *part = &world->parts[i];
        const unsigned last = (part->start + part->size - 1) / TM_PAGE_SIZE;

        for (unsigned page = part->start / TM_PAGE_SIZE;
             part->lock >= 0 && locks >> part->lock & 1 && page <= last;
             page++) {
            pages |= 1u << page;
        }
    }
    return pages;
}

/* Which locks threads of a node hold, so that it has their bytes. */
static unsigned locks_held(const struct world *world, const struct node *node)
{
    unsigned held = 0;

    for (unsigned i = 0; i < world->n_threads; i++) {
        const struct thread *thread = &world->threads[i];

        for (unsigned k = 0; thread->node == node->number && k < thread->n_held;
             k++) {
            held |= 1u << thread->wants[k];
        }
    }
    return held;
}

static void check_node(const struct world *world, const struct node *node,
                       unsigned here)
{
    const unsigned pages = pages_of(world, here | locks_held(world, node));

    for (unsigned page = 0; page < N_PAGES && world->block != 0; page++) {
        CHECK((pages >> page & 1) || // B4
              node->space.pages[world->first + page].access == ACCESS_NONE);
        CHECK(engine_page_is_valid(node->engine, world->first + page));
        CHECK(engine_steps_are_told(node->engine, world->first + page));
    }
    CHECK(engine_is_valid(node->engine));
    CHECK(node->is_frozen || sync_is_valid(node->sync));
}

static void check_world(const struct world *world)
{
    unsigned all = 0;

    for (unsigned i = 0; i < world->n_nodes; i++) {
        const unsigned here = locks_here(&world->nodes[i]);

        CHECK((all & here) == 0); // B1
        all |= here;
        check_node(world, &world->nodes[i], here);
    }
}

// ---- accesses

/* A part that is bound to a lock that the thread holds; NULL: there is none.
 * @param[out] may_write  it holds that to write */
static const struct slice *part_of(const struct thread *thread, int *may_write)
{
    const struct world *world = thread->world;
    const unsigned from = (unsigned)pick(world, world->n_parts);

    for (unsigned i = 0; i < world->n_parts; i++) {
        const struct slice *part = &world->parts[(from + i) % world->n_parts];

        for (unsigned k = 0; k < thread->n_held; k++) {
            if (part->lock == thread->wants[k]) {
                *may_write = thread->writes[k];
                return part;
            }
        }
    }
    return NULL;
}

/* @return 1 the page is in memory, or may come; 0 the thread waits */
static int is_admitted(struct thread *thread, page_no page)
{
    const struct node *node = node_of(thread);
    struct pager_toucher toucher = {.thread = thread->number,
                                    .instruction = thread->instruction,
                                    .claims = &thread->claims,
                                    .is_let_in = thread->is_let_in};

    thread->is_let_in = 0;
    if (node->pager == NULL ||
        pager_fault(node->pager, page, thread->is_write, &toucher,
                    &thread->waiter) == PAGER_GO_ON) {
        return 1;
    }
    pager_note_away(node->pager, &thread->claims);
    return 0;
}

/* @return 0 the thread waits */
static int is_reached(struct thread *thread, page_no page)
{
    const struct node *node = node_of(thread);
    const struct page *record = &node->space.pages[page];
    const uint8_t need = thread->is_write ? ACCESS_WRITE : ACCESS_READ;

    CHECK(thread->n_tries++ < MOST_TRIES);
    if (!is_admitted(thread, page)) {
        return 0;
    }
    for (int i = 0; i < 2 && record->access < need; i++) {
        CHECK(engine_fault(node->engine, page, thread->is_write, NULL,
                           &thread->waiter) == FAULT_ALLOWED);
    }
    CHECK(record->access >= need);
    return 1;
}

static void perform(struct thread *thread)
{
    struct world *world = thread->world;
    const struct space *space = &node_of(thread)->space;
    const page_no page = world->first + thread->at / TM_PAGE_SIZE;
    uint8_t *bytes =
        (uint8_t *)space_place(space, page) + thread->at % TM_PAGE_SIZE;

    CHECK(!thread->is_write || space->pages[page].swap_slot == 0);
    for (unsigned i = 0; i < thread->length; i++) {
        if (thread->is_write) {
            bytes[i] = (uint8_t)pick(world, 256);
            world->oracle[thread->at + i] = bytes[i];
        } else {
            CHECK(bytes[i] == world->oracle[thread->at + i]);
        }
    }
    n_accesses++;
}

static void release_claims(struct thread *thread)
{
    if (node_of(thread)->pager != NULL) {
        pager_release_claims(node_of(thread)->pager, &thread->claims);
    }
}

static void try_access(struct thread *thread)
{
    const page_no page = thread->world->first + thread->at / TM_PAGE_SIZE;

    thread->step = ACCESS;
    if (!is_reached(thread, page)) {
        return;
    }
    perform(thread);
    release_claims(thread);
    thread->step = HOLDING;
    resume(thread);
}

static void begin_access(struct thread *thread)
{
    int may_write = 0;
    const struct slice *part = part_of(thread, &may_write);
    unsigned left;

    if (part == NULL) {
        resume(thread);
        return;
    }
    thread->at = part->start + (unsigned)pick(thread->world, part->size);
    left = part->start + part->size - thread->at;
    if (left > TM_PAGE_SIZE - thread->at % TM_PAGE_SIZE) {
        left = TM_PAGE_SIZE - thread->at % TM_PAGE_SIZE;
    }
    thread->length = 1 + (unsigned)pick(thread->world, left < 200 ? left : 200);
    thread->is_write = may_write && pick(thread->world, 2) != 0;
    thread->instruction++;
    thread->n_tries = 0;
    try_access(thread);
}

/* One who holds nothing would use the block: it may not, unless the page is mapped. */
static void trespass(struct thread *thread)
{
    struct world *world = thread->world;
    const page_no page = world->first + pick(world, N_PAGES);
    const int is_write = pick(world, 2) != 0;
    char why[200];

    if (node_of(thread)->space.pages[page].access >=
        (is_write ? ACCESS_WRITE : ACCESS_READ)) {
        return;
    }
    CHECK(engine_fault(node_of(thread)->engine, page, is_write, NULL,
                       &thread->waiter) == FAULT_OUTSIDE);
    engine_explain(node_of(thread)->engine, page,
                   (unsigned)pick(world, TM_PAGE_SIZE), thread->number, why,
                   sizeof why);
    CHECK(strncmp(why, "which is bound to ", 18) == 0);
    n_denied++;
}

// ---- binding

static void bind_part(struct thread *thread, struct slice *part, int lock)
{
    const struct node *node = node_of(thread);
    const enum lock_home home = lock < N_MUTEXES ? HOME_HERE
                                : sync_manages(node->sync, KEY(lock))
                                    ? HOME_HERE_LENT
                                    : HOME_ELSEWHERE;

    CHECK(engine_bind(node->engine, KEY(lock), home,
                      thread->world->first * TM_PAGE_SIZE + part->start,
                      part->size, thread->number) == TM_OK);
    if (lock >= N_MUTEXES) {
        sync_rwlock_bound(node->sync, KEY(lock), thread->number);
    }
    part->lock = lock;
}

/* Does the thread hold it so that it may write? */
static int holds_to_write(const struct thread *thread, int lock)
{
    for (unsigned k = 0; k < thread->n_held; k++) {
        if (thread->wants[k] == lock && thread->writes[k]) {
            return 1;
        }
    }
    return 0;
}

static void bind_some(struct thread *thread)
{
    struct world *world = thread->world;
    struct slice *part = &world->parts[pick(world, world->n_parts)];
    const int lock = thread->wants[pick(world, thread->n_held)];

    if (!holds_to_write(thread, lock)) {
        return;
    }
    if (part->lock < 0 || part->lock == lock) {
        bind_part(thread, part, lock);
    } else if (holds_to_write(thread, part->lock)) {
        bind_part(thread, part, lock);
        n_moved++;
    }
}

// ---- programs

static int is_over(const struct thread *thread)
{
    return thread->ops_left == 0 && thread->n_held == 0;
}

static void choose_locks(struct thread *thread)
{
    const struct world *world = thread->world;
    const int first = (int)pick(world, N_LOCKS);
    const int second = (int)pick(world, N_LOCKS);

    thread->wants[0] = first < second ? first : second;
    thread->wants[1] = -1;
    if (first != second && pick(world, 3) == 0) {
        thread->wants[1] = first < second ? second : first; // in order: no ring
    }
}

static void lock_next(struct thread *thread)
{
    const struct world *world = thread->world;
    const int lock = thread->wants[thread->n_held];
    const int only_try = pick(world, 6) == 0;
    const int is_writer = lock < N_MUTEXES || pick(world, 2);

    thread->step = LOCKING;
    thread->writes[thread->n_held] = is_writer;
    thread->waiter.until_ns =
        !only_try && pick(world, 6) == 0
            ? sim_now_ns(world->sim) + 1 + pick(world, 3000000)
            : 0;
    if (lock < N_MUTEXES) {
        sync_lock(node_of(thread)->sync, KEY(lock), only_try, &thread->waiter);
    } else {
        sync_rwlock(node_of(thread)->sync, KEY(lock),
                    is_writer ? HOLD_TO_WRITE : HOLD_TO_READ, only_try,
                    &thread->waiter);
    }
}

static void unlock_one(struct thread *thread)
{
    const int lock = thread->wants[--thread->n_held];

    thread->step = UNLOCKING;
    if (lock < N_MUTEXES) {
        sync_unlock(node_of(thread)->sync, KEY(lock), &thread->waiter);
    } else {
        sync_rwlock_unlock(node_of(thread)->sync, KEY(lock), &thread->waiter);
    }
}

static void locked(struct thread *thread)
{
    const tm_status status = thread->waiter.status;

    thread->waiter.until_ns = 0;
    thread->step = HOLDING;
    if (status == TM_OK) {
        thread->accesses_left = (unsigned)pick(thread->world, 6);
    } else {
        CHECK(status == TM_EBUSY || status == TM_ETIMEDOUT);
        thread->accesses_left = 0;
        thread->wants[1] = -1;
    }
    resume(thread);
}

static void hold(struct thread *thread)
{
    if (thread->n_held == 1 && thread->wants[1] >= 0 &&
        thread->accesses_left == 0 && pick(thread->world, 2)) {
        lock_next(thread);
        return;
    }
    if (thread->n_held > 0 && thread->accesses_left > 0) {
        thread->accesses_left--;
        if (pick(thread->world, 3) == 0) {
            bind_some(thread);
        }
        begin_access(thread);
        return;
    }
    thread->wants[1] = thread->n_held == 2 ? thread->wants[1] : -1;
    if (thread->n_held > 0) {
        unlock_one(thread);
    } else {
        thread->step = CHOOSE;
        resume(thread);
    }
}

static void go_elsewhere(struct thread *thread)
{
    struct node *node = node_of(thread);
    const struct roster *own =
        &sim_port(thread->world->sim, thread->node)->roster;

    if (own->leaving == thread->node || pick(thread->world, 8) == 0) {
        release_claims(thread);
        thread->node = membership_refuge(node->membership);
    }
}

static void choose(struct thread *thread)
{
    if (is_over(thread)) {
        release_claims(thread);
        thread->step = ENDED;
        thread->world->n_ended++;
        return;
    }
    go_elsewhere(thread);
    if (node_of(thread)->is_frozen) {
        resume(thread);
        return;
    }
    thread->ops_left--;
    if (pick(thread->world, 4) == 0) {
        trespass(thread);
    }
    choose_locks(thread);
    lock_next(thread);
}

static void step(void *owner, uint64_t argument)
{
    struct thread *thread = owner;

    (void)argument;
    if (node_of(thread)->is_frozen) {
        resume(thread);
        return;
    }
    switch (thread->step) {
    case CHOOSE:
        choose(thread);
        break;
    case LOCKING:
        locked(thread);
        break;
    case HOLDING:
        hold(thread);
        break;
    case ACCESS:
        try_access(thread);
        break;
    case UNLOCKING:
        CHECK(thread->waiter.status == TM_OK);
        thread->step = thread->n_held > 0 ? HOLDING : CHOOSE;
        resume(thread);
        break;
    default:
        fail("a thread that has ended does nothing", __LINE__);
    }
}

// ---- the run

static void note_wake(struct waiter *waiter)
{
    (void)waiter;
    n_woken++;
}

static void run_until_woken(struct world *world)
{
    while (n_woken == 0 || world->nodes[0].is_frozen) {
        CHECK(sim_step(world->sim));
    }
    n_woken = 0;
}

static void allocate_block(struct world *world)
{
    struct waiter waiter = {.wake = note_wake};
    const tm_alloc_attr attr = {.name = "bound", .protocol = TM_ENTRY};

    engine_alloc(world->nodes[0].engine, N_BYTES, &attr, "test.c", 1, &waiter);
    run_until_woken(world);
    CHECK(waiter.status == TM_OK);
    world->block = waiter.result;
    CHECK(space_find(&world->nodes[0].space,
                     (const void *)(uintptr_t)world->block, &world->first));
    memset(world->oracle, 0, sizeof world->oracle);
}

static void free_block(struct world *world)
{
    struct waiter waiter = {.wake = note_wake};
    const uint64_t block = world->block;

    world->block = 0;
    engine_release_block(world->nodes[0].engine, block,
                         &(struct heap_origin){.file = "test.c", .line = 2},
                         &waiter);
    run_until_woken(world);
    CHECK(waiter.status == TM_OK);
}

/* Parts of all sizes, one behind the other, with gaps. */
static void cut_block(struct world *world)
{
    unsigned at = 0;

    world->n_parts = 0;
    while (world->n_parts < N_RANGES) {
        struct slice *part = &world->parts[world->n_parts];
        const unsigned most = pick(world, 3) == 0 ? 3 * TM_PAGE_SIZE : 300;

        at += pick(world, 2) ? (unsigned)pick(world, 100) : 0;
        part->size = 1 + (unsigned)pick(world, most);
        part->start = at;
        part->lock = -1;
        at += part->size;
        if (at > N_BYTES) {
            break;
        }
        world->n_parts++;
    }
}

static void start_threads(struct world *world)
{
    world->n_ended = 0;
    for (unsigned i = 0; i < world->n_threads; i++) {
        struct thread *thread = &world->threads[i];

        memset(thread, 0, sizeof *thread);
        thread->world = world;
        thread->number = i + 1;
        thread->waiter.wake = wake;
        thread->waiter.thread = i + 1;
        thread->node = roster_pick(roster_of(world), pick(world, 100));
        thread->ops_left = 25;
        resume(thread);
    }
}

static void live(struct world *world)
{
    allocate_block(world);
    cut_block(world);
    start_threads(world);
    while (world->n_ended < world->n_threads) {
        CHECK(sim_step(world->sim));
        if (sim_n_delivered(world->sim) % CHECK_EVERY == 0) {
            check_world(world);
        }
        CHECK(sim_now_ns(world->sim) < LIMIT_NS);
    }
    while (is_changing(world)) {
        CHECK(sim_step(world->sim));
    }
    free_block(world);
}

static void close_world(struct world *world)
{
    for (unsigned i = 0; i < world->n_nodes; i++) {
        struct node *node = &world->nodes[i];

        membership_free(node->membership);
        sync_free(node->sync);
        swap_file_close(node->swap);
        pager_free(node->pager);
        engine_free(node->engine);
        space_close(&node->space);
    }
    sim_free(world->sim);
    free(world);
}

static uint64_t run(void)
{
    struct world *world = calloc(1, sizeof *world);
    const struct sim_config config = {
        .n_nodes = has_changes ? MAX_IDS : 1 + seed % MAX_NODES,
        .seed = seed,
        .delay_min_ns = 1000,
        .delay_max_ns = seed % 3 == 0   ? 2000
                        : seed % 3 == 1 ? 50000
                                        : 3000000,
        .pause_ppm = seed % 2 ? 5000 : 0,
        .pause_ns = 5000000,
    };
    uint64_t hash;

    CHECK(world != NULL);
    world->sim = sim_new(&config);
    CHECK(world->sim != NULL);
    world->n_nodes = config.n_nodes;
    world->n_threads = 1 + (unsigned)pick(world, MAX_THREADS);
    world->n_come = has_changes ? 1 + seed % 4 : config.n_nodes;
    n_woken = 0;
    for (unsigned i = 0; i < world->n_nodes; i++) {
        roster_init(&sim_port(world->sim, (node_id)i)->roster, world->n_come);
    }
    world->n_ended = 0;
    for (unsigned i = 0; i < world->n_nodes; i++) {
        open_node(world, i);
    }
    live(world);
    world->n_ended = 0;
    for (unsigned i = 0; i < world->n_nodes; i++) {
        sim_after(world->sim, 1000 * i, tick, &world->nodes[i], 0);
    }
    live(world); // the same addresses, the same mutexes
    n_changes += world->n_changes;
    hash = sim_event_hash(world->sim);
    close_world(world);
    return hash;
}

int main(int argc, char **argv)
{
    const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    const uint64_t n = argc > 3   ? strtoull(argv[3], NULL, 0)
                       : argc > 2 ? 1
                                  : 300;

    variant = argc > 1 ? argv[1] : "entry";
    has_budget = strstr(variant, "/budget") != NULL;
    has_changes = strstr(variant, "/members") != NULL;
    for (seed = first; seed < first + n; seed++) {
        const uint64_t hash = run();

        if (seed % 10 == 0) {
            CHECK(run() == hash); // the same seed, the same events
        }
    }
    printf("%s: %llu seeds from %llu passed: %llu accesses, %llu denied, %llu "
           "parts moved, %llu changes of the roster\n",
           variant, (unsigned long long)n, (unsigned long long)first,
           (unsigned long long)n_accesses, (unsigned long long)n_denied,
           (unsigned long long)n_moved, (unsigned long long)n_changes);
    tell_steps();
    return 0;
}
