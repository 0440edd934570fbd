// SPDX-License-Identifier: BSD-3-Clause
//
// A node of a simulation: the machines that a node of a run has, with what the runtime puts
// around them, as short as it can be: what is called at the end of all that happens
// (lab_node_leave(), as node_leave()), what is due by time (tick, as of the service thread),
// and who gets which message (deliver, as runtime/receive.c).
#include <string.h>

#include "base/ensure.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "protocol/protocol_calls.h"
#include "protocol/protocol_rows.h"
#include "simulate/lab_priv.h"

#define TICK_NS 1000000u
#define LAZY_TICK_NS 20000000u

/** Pages of the space beside those of blocks. */
#define SPARE_PAGES (4 * (uint64_t)SPACE_BLOCK)

// A message of a node to itself.
struct own_letter {
    struct own_letter *next;
    uint32_t size;
    uint8_t bytes[];
};

// ---- the port

static void send_to_self(struct lab_node *node, const struct message *message)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    const uint32_t head = message_encode_header(message, header);
    struct own_letter *letter =
        malloc(sizeof *letter + head + message->body_size);

    ensure_memory(letter != NULL);
    letter->size = head + message->body_size;
    memcpy(letter->bytes, header, head);
    if (message->body_size > 0) {
        memcpy(letter->bytes + head, message->body, message->body_size);
    }
    list_append(&node->own, letter);
}

static void send_message(void *owner, node_id to, const struct message *message)
{
    struct lab_node *node = owner;
    uint32_t size;

    if (to == node->id) {
        send_to_self(node, message);
        return;
    }
    size = wires_send(node->lab->wires, node->id, to, message);
    node->sent_bytes[to] += size;
    node->result.messages++;
    node->result.bytes += size;
}

static uint64_t port_now_ns(void *owner)
{
    const struct lab_node *node = owner;

    return node->lab->events.now_ns;
}

// ---- what happens

static tm_status deliver(struct lab_node *node, node_id from,
                         const struct message *message)
{
    if (causality_is_acquire(message->type)) {
        engine_acquired(node->engine);
    }
    switch (message_owner(message->type)) {
    case OWNER_pages:
        return engine_receive(node->engine, from, message);
    case OWNER_sync:
        return sync_receive(node->sync, from, message);
    case OWNER_migration:
        return migration_receive(node->migration, from, message);
    case OWNER_balancing:
        return message->type == MESSAGE_iteration
                   ? decider_receive(node->lab, from, message)
               : message->type == MESSAGE_iteration_mode
                   ? TM_OK
                   : migration_pages_receive(node->pages, message);
    default: // deadlocks are not looked for
        return TM_OK;
    }
}

static void deliver_own(struct lab_node *node)
{
    list_take_each (letter, node->own.first) {
        struct message message;

        ensure(message_decode(letter->bytes, letter->size, &message) == TM_OK);
        ensure(deliver(node, node->id, &message) == TM_OK);
        free(letter);
    }
}

static void tick_by_time(void *owner, uint64_t argument);

// What is due by time, as the service thread does it: each millisecond while something is,
// else when a message has woken it, or after LAZY_TICK_NS.
static void tick(struct lab_node *node)
{
    struct events *events = &node->lab->events;
    int is_busy = engine_tick(node->engine);

    if (node->pager != NULL) {
        pager_poll(node->pager);
        is_busy |= pager_is_awaited(node->pager);
    }
    sync_poll(node->sync, 0);
    is_busy |= sync_wants_poll(node->sync);
    node->ticked_ns = events->now_ns;
    node->next_tick_ns = events->now_ns + (is_busy ? TICK_NS : LAZY_TICK_NS);
    events_at(events, node->next_tick_ns, tick_by_time, node, 0);
    node->lab->n_ticks_ahead++;
}

static void tick_by_time(void *owner, uint64_t argument)
{
    struct lab_node *node = owner;

    (void)argument;
    node->lab->n_ticks_ahead--;
    if (!node->lab->is_over && node->lab->events.now_ns == node->next_tick_ns) {
        tick(node);
        lab_node_leave(node);
    }
}

// Who gets messages: a worker with nothing to run, or the service thread?
static int is_service_awake(const struct lab_node *node)
{
    for (unsigned i = 0; i < node->n_workers; i++) {
        if (node->workers[i].current == NULL) {
            return 0;
        }
    }
    return 1;
}

void lab_node_leave(struct lab_node *node)
{
    engine_let_go(node->engine);
    do {
        deliver_own(node);
        engine_finish_batch(node->engine);
        if (node->pager != NULL) {
            pager_settle(node->pager);
        }
    } while (node->own.first != NULL);
}

static void let_go(void *owner, uint64_t argument)
{
    struct lab_node *node = owner;

    (void)argument;
    node->let_go_ns = 0;
    lab_node_leave(node);
    lab_node_let_go_later(node);
}

void lab_node_let_go_later(struct lab_node *node)
{
    struct events *events = &node->lab->events;
    uint64_t due_ns = engine_due_ns(node->engine);

    if (due_ns == UINT64_MAX || node->let_go_ns != 0) {
        return;
    }
    due_ns = due_ns > events->now_ns ? due_ns : events->now_ns + 1;
    node->let_go_ns = due_ns;
    events_at(events, due_ns, let_go, node, 0);
}

void lab_receive(void *owner, node_id to, node_id from,
                 const struct message *message)
{
    struct lab *lab = owner;
    struct lab_node *node = &lab->nodes[to];

    ensure(deliver(node, from, message) == TM_OK);
    if (is_service_awake(node) &&
        lab->events.now_ns - node->ticked_ns >= TICK_NS) {
        tick(node);
    }
    lab_node_leave(node);
    lab_node_let_go_later(node);
}

static void disk_ended(void *owner, uint64_t argument)
{
    struct lab_node *node = owner;

    (void)argument;
    pager_serve_disk(node->pager);
    lab_node_leave(node);
}

// ---- what sync asks

static void op_release(void *owner, node_id next, struct waiter *done)
{
    struct lab_node *node = owner;

    engine_release(node->engine, next, done);
}

static tm_status op_start(void *owner, uint64_t thread, uint64_t start,
                          uint64_t arg, const char *name)
{
    struct lab_node *node = owner;
    struct lab *lab = node->lab;
    struct actor *actor = &lab->actors[arg];

    (void)start;
    (void)name;
    actor->number = thread;
    lab->by_slot[thread_slot_of(thread)] = actor;
    actor_start(actor, node);
    return TM_OK;
}

static int op_set_target(void *owner, uint64_t thread, node_id target)
{
    struct lab_node *node = owner;
    struct actor *actor = node->lab->by_slot[thread_slot_of(thread)];

    if (actor == NULL || actor->node != node || actor->step == ACTOR_ABSENT ||
        actor->step == ACTOR_ENDED) {
        return 0;
    }
    actor->target = target;
    return 1;
}

// main() is the root's, and waits, once it has started all others.
static unsigned op_n_active(void *owner)
{
    const struct lab_node *node = owner;

    return node->n_actors - node->n_parked +
           (node->id == 0 && !node->lab->main_waits);
}

static unsigned op_n_threads(void *owner)
{
    const struct lab_node *node = owner;

    return node->n_actors + (node->id == 0);
}

static void op_describe_place(void *owner, uint64_t place, char *text,
                              size_t size)
{
    (void)owner;
    (void)place;
    text[0] = '\0';
    (void)size;
}

static const enum order_way order_ways[] = {
    [SYNC_GIVES] = ORDER_GIVES,
    [SYNC_TAKES] = ORDER_TAKES,
    [SYNC_PASSES] = ORDER_MOVES,
    [SYNC_RELAYS] = ORDER_PASSES,
};

static void op_order(void *owner, uint64_t object, node_id to,
                     enum sync_order order)
{
    const struct lab_node *node = owner;

    engine_order(node->engine, object, to, order_ways[order]);
}

static void op_order_mutex(void *owner, uint64_t key, node_id to,
                           enum sync_order order)
{
    const struct lab_node *node = owner;

    engine_order_mutex(node->engine, key, to, order_ways[order]);
}

static void op_held(void *owner, uint64_t key, int is_held)
{
    const struct lab_node *node = owner;

    engine_held(node->engine, key, is_held);
}

static void op_program_error(void *owner, const char *text)
{
    const struct lab_node *node = owner;

    log_fatal(EXIT_INTERNAL, "simulated node %u: %s", node->id, text);
}

static void open_sync(struct lab_node *node)
{
    const struct sync_ops ops = {
        .owner = node,
        .release = op_release,
        .start = op_start,
        .set_target = op_set_target,
        .n_active = op_n_active,
        .n_threads = op_n_threads,
        .at_barrier = report_at_barrier,
        .describe_place = op_describe_place,
        .order = op_order,
        .order_mutex = op_order_mutex,
        .held = op_held,
        .share_out = decider_share_out,
        .program_error = op_program_error,
    };

    node->sync = sync_new(&node->port, &ops, node->lab->simulation->n_threads);
    ensure_memory(node->sync != NULL);
}

// ---- threads that come

static tm_status actor_comes(void *owner, const struct moved_thread *moved)
{
    struct lab_node *node = owner;
    struct actor *actor = node->lab->by_slot[thread_slot_of(moved->number)];

    ensure(actor != NULL && actor->step == ACTOR_ABSENT);
    actor->moves = moved->moves;
    actor->n_barriers = moved->n_barriers;
    actor_start(actor, node);
    migration_pages_thread_arrived(node->pages, moved->number);
    sync_thread_arrived(node->sync, moved->number, moved->moves);
    return TM_OK;
}

// ---- opening and closing

static void open_port(struct lab_node *node)
{
    node->port = (struct port){
        .self = node->id,
        .owner = node,
        .send = send_message,
        .now_ns = port_now_ns,
    };
    roster_init(&node->port.roster, node->lab->simulation->n_nodes);
}

static void open_workers(struct lab_node *node)
{
    node->n_workers = lab_node_says(node)->view.n_processors;
    node->workers = memory_new(node->n_workers, sizeof *node->workers);
    for (unsigned i = 0; i < node->n_workers; i++) {
        node->workers[i].node = node;
    }
}

static uint64_t space_pages(const struct profile_script *script)
{
    uint64_t n = SPARE_PAGES;

    for (uint32_t b = 0; b < script->n_blocks; b++) {
        n += script->blocks[b].n_pages + SPACE_BLOCK;
    }
    return n;
}

void lab_node_open(struct lab *lab, node_id id)
{
    const struct simulation *simulation = lab->simulation;
    struct lab_node *node = &lab->nodes[id];

    node->lab = lab;
    node->id = id;
    open_port(node);
    open_workers(node);
    node->sent_bytes =
        memory_new(simulation->n_nodes, sizeof *node->sent_bytes);
    if (space_open(&node->space, NULL, NULL, 0,
                   space_pages(simulation->script) * TM_PAGE_SIZE) != TM_OK) {
        log_fatal(EXIT_MEMORY, "no memory for a simulated node");
    }
    node->engine = engine_new(&node->port, &node->space, &all_protocols,
                              simulation->protocol);
    node->migration = migration_new(&node->port, actor_comes, node);
    ensure_memory(node->engine != NULL && node->migration != NULL);
    node->pages = migration_pages_new(&node->port, node->engine);
    ensure_memory(node->pages != NULL);
    open_sync(node);
    tick(node);
}

void lab_node_open_pager(struct lab_node *node)
{
    const struct simulated_node *says = lab_node_says(node);
    const struct pager_host host = engine_pager_host(node->engine);
    struct swap_settings settings = {0};

    node->disk = disk_new(&node->lab->events, &says->disk, disk_ended, node);
    disk_set(node->disk, &settings);
    if (swap_file_open(&node->swap, &settings) != TM_OK) {
        log_fatal(EXIT_CONFIG, "no swap file for a simulated node in %s",
                  settings.folder);
    }
    node->pager =
        pager_new(&node->space, node->swap, says->view.memory_pages, &host);
    ensure_memory(node->pager != NULL &&
                  rounds_init(&node->rounds, node->n_workers) == TM_OK);
}

void lab_node_close(struct lab_node *node)
{
    list_take_each (letter, node->own.first) {
        free(letter);
    }
    swap_file_close(node->swap);
    if (node->pager != NULL) {
        pager_free(node->pager);
        rounds_release(&node->rounds);
    }
    disk_free(node->disk);
    sync_free(node->sync);
    migration_pages_free(node->pages);
    migration_free(node->migration);
    engine_free(node->engine);
    space_close(&node->space);
    free(node->workers);
    free(node->arrivals);
    free(node->sent_bytes);
}
