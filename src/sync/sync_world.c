// SPDX-License-Identifier: BSD-3-Clause
#include "sync/sync_world.h"

#include <string.h>
#include <ucontext.h>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#else
static void *__tsan_get_current_fiber(void)
{
    return NULL;
}
static void *__tsan_create_fiber(unsigned flags)
{
    (void)flags;
    return NULL;
}
static void __tsan_switch_to_fiber(void *fiber, unsigned flags)
{
    (void)fiber;
    (void)flags;
}
static void __tsan_destroy_fiber(void *fiber)
{
    (void)fiber;
}
#endif

enum { STACK_SIZE = 128 * 1024 };

#define POLL_NS 1000000u
#define END_OF_TIME_NS 10000000000u

struct coroutine {
    ucontext_t context;
    ucontext_t back;
    void *fiber;
    void *back_fiber;
    char stack[STACK_SIZE];
};

/* ---- failing ---- */

void world_fail(struct world *world, const char *what, const char *file,
                int line)
{
    fprintf(stderr, "%s:%d: %s does not hold; seed %llu, %u nodes, %llu ns\n%s",
            file, line, what, (unsigned long long)world->config.sim.seed,
            world->config.sim.n_nodes,
            (unsigned long long)sim_now_ns(world->sim), world_waits(world));
    exit(1);
}

const char *world_waits(struct world *world)
{
    static char text[65536];
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < world->config.sim.n_nodes; i++) {
        uint64_t cursor = 0;
        char line[128];

        while (
            sync_next_wait(world->nodes[i].sync, &cursor, line, sizeof line) &&
            used + sizeof line + 16 < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "n%u: %s\n", i, line);
        }
    }
    return text;
}

uint64_t world_random(struct world *world, uint64_t bound)
{
    return sim_random(world->sim, bound);
}

/* ---- who must see what ---- */

void writes_raise(struct writes *writes, const struct writes *other)
{
    for (int i = 0; i < WORLD_NODES; i++) {
        if (writes->of[i] < other->of[i]) {
            writes->of[i] = other->of[i];
        }
    }
}

void do_write(struct actor *self)
{
    uint64_t *n = &self->world->nodes[self->node].seen.of[self->node];

    self->must.of[self->node] = ++*n;
}

void do_check(struct actor *self)
{
    const struct writes *seen = &self->world->nodes[self->node].seen;

    for (int i = 0; i < WORLD_NODES; i++) {
        world_check(self->world, seen->of[i] >= self->must.of[i]);
    }
}

void actor_must_see(struct actor *self, const struct writes *writes)
{
    writes_raise(&self->must, writes);
    do_check(self);
}

/* ---- the layer above sync ---- */

/* Says in a message that writes have arrived; of those that are not sync's. */
#define WRITES_COME MESSAGE_update_ack

struct release {
    struct world_node *node;
    node_id next; // has the writes only behind the message; NODE_NONE
    struct waiter *done;
    uint64_t n_writes;
};

static void see(struct world_node *node, node_id writer, uint64_t n_writes)
{
    uint64_t *seen = &node->seen.of[writer];

    if (*seen < n_writes) {
        *seen = n_writes;
    }
}

static void release_ends(void *owner, uint64_t argument)
{
    struct release *release = owner;
    struct world_node *node = release->node;
    struct world *world = node->world;
    struct message message = {.type = WRITES_COME};

    (void)argument;
    for (unsigned i = 0; i < world->config.sim.n_nodes; i++) {
        if (i != release->next) {
            see(&world->nodes[i], node->id, release->n_writes);
        }
    }
    if (release->next != NODE_NONE &&
        world->nodes[release->next].seen.of[node->id] < release->n_writes) {
        message.u.update_ack.batch = release->n_writes;
        port_send(sim_port(world->sim, node->id), release->next, &message);
    }
    world->n_releases--;
    waiter_wake(release->done, TM_OK, 0);
    free(release);
}

static void op_release(void *owner, node_id next, struct waiter *done)
{
    struct world_node *node = owner;
    struct world *world = node->world;
    struct release *release = malloc(sizeof *release);

    world_check(world, release != NULL);
    world->n_releases++;
    *release =
        (struct release){.node = node,
                         .next = world_random(world, 4) == 0 ? NODE_NONE : next,
                         .done = done,
                         .n_writes = node->seen.of[node->id]};
    if (world->config.release_max_ns == 0 || world_random(world, 4) == 0) {
        release_ends(release, 0);
    } else {
        sim_after(world->sim, world_random(world, world->config.release_max_ns),
                  release_ends, release, 0);
    }
}

static void resume(void *owner, uint64_t argument);

static struct actor *new_actor(struct world *world, node_id node,
                               uint64_t thread, actor_fn *body, uint64_t arg);

static tm_status op_start(void *owner, uint64_t thread, uint64_t start,
                          uint64_t arg, const char *name)
{
    struct world_node *node = owner;
    struct world *world = node->world;
    struct actor *actor =
        new_actor(world, node->id, thread, (actor_fn *)(uintptr_t)start, arg);

    world_check(world, strlen(name) < sizeof actor->name);
    memcpy(actor->name, name, strlen(name) + 1);
    world->n_starts[node->id]++;
    if (world->n_started < WORLD_ACTORS) {
        world->start_order[world->n_started++] = thread;
    }
    actor_must_see(actor, &world->created[atoi(actor->name)]);
    return TM_OK;
}

static int op_set_target(void *owner, uint64_t thread, node_id target)
{
    struct world_node *node = owner;

    for (int i = 0; i < WORLD_ACTORS; i++) {
        struct actor *actor = &node->world->actors[i];

        if (actor->is_used && !actor->is_ended && actor->is_present &&
            actor->node == node->id && actor->thread == thread) {
            actor->target = target;
            return 1;
        }
    }
    return 0;
}

static unsigned count_actors(const struct world_node *node, bool only_active)
{
    unsigned n = 0;

    for (int i = 0; i < WORLD_ACTORS; i++) {
        const struct actor *actor = &node->world->actors[i];

        n += actor->is_used && !actor->is_ended && actor->is_present &&
             actor->node == node->id && (!only_active || !actor->is_blocked);
    }
    return n;
}

static unsigned op_n_active(void *owner)
{
    return count_actors(owner, true);
}

static unsigned op_n_threads(void *owner)
{
    return count_actors(owner, false);
}

static void op_at_barrier(void *owner, uint64_t key, enum sync_stage stage)
{
    (void)owner;
    (void)key;
    (void)stage;
}

static void op_describe_place(void *owner, uint64_t place, char *text,
                              size_t size)
{
    (void)owner;
    snprintf(text, size, "place %llu", (unsigned long long)place);
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
    struct world_node *node = owner;

    world_check(node->world, (map_find(&node->held, key) != NULL) != is_held);
    if (is_held) {
        map_add(&node->held, key, node);
    } else {
        (void)map_take(&node->held, key);
    }
}

static int op_has_data(void *owner, uint64_t key)
{
    const struct world_node *node = owner;

    (void)key;
    return node->world->config.has_data;
}

static void op_program_error(void *owner, const char *text)
{
    struct world_node *node = owner;

    node->world->n_errors++;
    snprintf(node->world->error, sizeof node->world->error, "%s", text);
    world_check(node->world, node->world->config.expects_errors);
}

static void receive(void *owner, node_id from, const struct message *message)
{
    struct world_node *node = owner;

    node->world->n_in_flight--;
    if (message->type == WRITES_COME) {
        see(node, from, message->u.update_ack.batch);
        return;
    }
    if (message->type == MESSAGE_thread_move) {
        resume(&node->world->actors[message->u.thread_move.thread], 0);
        return;
    }
    if (sync_receive(node->sync, from, message) != TM_OK) {
        fprintf(stderr, "node %u refuses %s of node %u\n", node->id,
                message_name(message->type), from);
        world_check(node->world, false);
    }
}

/* ---- actors ---- */

static void run_body(unsigned high, unsigned low)
{
    struct actor *self =
        (struct actor *)(((uintptr_t)high << 16 << 16) | (uintptr_t)low);

    self->body(self, self->arg);
    self->is_ended = true;
    __tsan_switch_to_fiber(self->coroutine->back_fiber, 0);
    setcontext(&self->coroutine->back);
}

static struct actor *new_actor(struct world *world, node_id node,
                               uint64_t thread, actor_fn *body, uint64_t arg)
{
    struct actor *actor = NULL;
    struct coroutine *coroutine = malloc(sizeof *coroutine);

    for (int i = 0; i < WORLD_ACTORS && actor == NULL; i++) {
        actor = world->actors[i].is_used ? NULL : &world->actors[i];
    }
    world_check(world, actor != NULL && coroutine != NULL);
    *actor = (struct actor){.world = world,
                            .is_used = true,
                            .is_present = true,
                            .thread = thread,
                            .node = node,
                            .target = -1,
                            .body = body,
                            .arg = arg,
                            .coroutine = coroutine};
    getcontext(&coroutine->context);
    coroutine->context.uc_stack.ss_sp = coroutine->stack;
    coroutine->context.uc_stack.ss_size = sizeof coroutine->stack;
    coroutine->context.uc_link = NULL;
    makecontext(&coroutine->context, (void (*)(void))run_body, 2,
                (unsigned)((uintptr_t)actor >> 16 >> 16),
                (unsigned)(uintptr_t)actor);
    coroutine->fiber = __tsan_create_fiber(0);
    world->n_alive++;
    sim_after(world->sim, world_random(world, 2000), resume, actor, 0);
    return actor;
}

struct writes *world_ended_of(struct world *world, uint64_t thread)
{
    return &world->ended[(thread + (thread >> 32) * 97) % 4096];
}

static void end_actor(struct actor *actor)
{
    struct world *world = actor->world;

    __tsan_destroy_fiber(actor->coroutine->fiber);
    free(actor->coroutine);
    actor->is_used = false;
    world->n_alive--;
    if (actor->thread != 0) {
        *world_ended_of(world, actor->thread) = actor->must;
        sync_thread_exit(world->nodes[actor->node].sync, actor->thread,
                         actor->result);
    }
}

static void poll_idle(void *owner, uint64_t argument)
{
    struct world_node *node = owner;

    (void)argument;
    if (op_n_active(node) == 0 && !node->world->is_changing) {
        sync_poll(node->sync, 1);
    }
}

static void resume(void *owner, uint64_t argument)
{
    struct actor *actor = owner;
    struct coroutine *coroutine = actor->coroutine;
    struct world *world = actor->world;

    (void)argument;
    if (world->is_changing) {
        sim_after(world->sim, 1000, resume, actor, 0);
        return;
    }
    world->running = actor;
    coroutine->back_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(coroutine->fiber, 0);
    swapcontext(&coroutine->back, &coroutine->context);
    world->running = NULL;
    if (actor->is_ended) {
        end_actor(actor);
    }
    if (world->config.polls_when_idle && !world->config.no_polls) {
        sim_after(world->sim, 0, poll_idle, &world->nodes[actor->node], 0);
    }
}

static void leave(struct actor *self)
{
    __tsan_switch_to_fiber(self->coroutine->back_fiber, 0);
    swapcontext(&self->coroutine->context, &self->coroutine->back);
}

static void actor_wakes(struct waiter *waiter)
{
    struct actor *actor =
        (struct actor *)((char *)waiter - offsetof(struct actor, waiter));
    struct world *world = actor->world;

    world_check(world, !actor->is_woken);
    actor->is_woken = true;
    if (actor->is_blocked) {
        actor->is_blocked = false;
        sim_after(world->sim, world_random(world, 2000), resume, actor, 0);
    }
}

struct sync *actor_begin(struct actor *self)
{
    self->is_woken = false;
    self->waiter = (struct waiter){.wake = actor_wakes,
                                   .thread = self->thread,
                                   .place = ++self->world->n_calls};
    return self->world->nodes[self->node].sync;
}

tm_status actor_finish(struct actor *self)
{
    if (!self->is_woken) {
        self->is_blocked = true;
        leave(self);
    }
    world_check(self->world, self->is_woken);
    return self->waiter.status;
}

void do_compute(struct actor *self, uint64_t ns)
{
    sim_after(self->world->sim, ns, resume, self, 0);
    leave(self);
}

void world_travel(struct actor *self, node_id node)
{
    struct world *world = self->world;
    struct message message = {
        .type = MESSAGE_thread_move, .body = "", .body_size = 1};

    message.u.thread_move.thread = (uint64_t)(self - world->actors);
    port_send(sim_port(world->sim, self->node), node, &message);
    leave(self);
}

/* ---- the world ---- */

static void poll_now_and_then(void *owner, uint64_t argument)
{
    struct world_node *node = owner;

    if (!node->world->is_changing) {
        sync_poll(node->sync, 0);
    }
    if (node->world->n_alive > 0 &&
        sim_now_ns(node->world->sim) < END_OF_TIME_NS) {
        sim_after(node->world->sim, POLL_NS, poll_now_and_then, owner,
                  argument);
    }
}

/* ---- managers change ----
 *
 * As when nodes come or go, but that all stay: the order of the live nodes changes,
 * and with it the manager of nearly every object. It begins when nothing is on its way,
 * and actors go on when the parts have come. */

static void send_counted(void *owner, node_id to, const struct message *message)
{
    struct world_node *node = owner;

    node->world->n_in_flight++;
    node->world->n_sent += to != node->id;
    node->sim_port.send(node->sim_port.owner, to, message);
}

static uint64_t now_of(void *owner)
{
    struct world_node *node = owner;

    return node->sim_port.now_ns(node->sim_port.owner);
}

static void count_messages(struct world_node *node)
{
    struct port *port = sim_port(node->world->sim, node->id);

    node->sim_port = *port;
    port->owner = node;
    port->send = send_counted;
    port->now_ns = now_of;
}

static void change_managers(struct world *world)
{
    struct roster before = sim_port(world->sim, 0)->roster;
    struct roster now = before;
    unsigned n_turns = 1 + (unsigned)world_random(world, before.n_live);

    world->is_changing = true;
    world->n_changes++;
    now.epoch++;
    for (unsigned i = 0; i < now.n_live; i++) {
        now.live[i] = before.live[(i + n_turns) % now.n_live];
    }
    for (unsigned i = 0; i < world->config.sim.n_nodes; i++) {
        sim_port(world->sim, (node_id)i)->roster = now;
        sync_freeze(world->nodes[i].sync, 1);
        sync_roster_changed(world->nodes[i].sync, &before);
    }
    for (unsigned i = 0; i < world->config.sim.n_nodes; i++) {
        sync_spread(world->nodes[i].sync);
    }
}

static void change_or_go_on(struct world *world)
{
    if (!world->config.changes_managers || world->n_in_flight > 0 ||
        world->n_releases > 0) {
        return;
    }
    if (!world->is_changing) {
        if (world_random(world, 2) == 0) {
            change_managers(world);
        }
        return;
    }
    world->is_changing = false;
    for (unsigned i = 0; i < world->config.sim.n_nodes; i++) {
        sync_freeze(world->nodes[i].sync, 0);
    }
}

struct world *world_new(const struct world_config *config)
{
    struct world *world = calloc(1, sizeof *world);

    if (world == NULL) {
        exit(1);
    }
    world->config = *config;
    world->sim = sim_new(&config->sim);
    for (unsigned i = 0; i < config->sim.n_nodes; i++) {
        struct world_node *node = &world->nodes[i];
        struct sync_ops ops = {.owner = node,
                               .release = op_release,
                               .start = op_start,
                               .set_target = op_set_target,
                               .n_active = op_n_active,
                               .n_threads = op_n_threads,
                               .at_barrier = op_at_barrier,
                               .describe_place = op_describe_place,
                               .order = op_order,
                               .order_mutex = op_order,
                               .held = op_held,
                               .has_data = op_has_data,
                               .program_error = op_program_error};

        node->world = world;
        node->id = (node_id)i;
        node->sync = sync_new(sim_port(world->sim, (node_id)i), &ops,
                              config->max_threads);
        world_check(world, node->sync != NULL);
        if (config->n_locks_kept > 0) {
            sync_keep_locks(node->sync, config->n_locks_kept);
        }
        if (config->anyone_unlocks) {
            sync_let_anyone_unlock(node->sync);
        }
        count_messages(node);
        sim_attach(world->sim, (node_id)i, receive, node);
    }
    return world;
}

int world_run(struct world *world, actor_fn *body, uint64_t arg)
{
    new_actor(world, 0, 0, body, arg);
    if (!world->config.no_polls) {
        for (unsigned i = 0; i < world->config.sim.n_nodes; i++) {
            sim_after(world->sim, world_random(world, POLL_NS),
                      poll_now_and_then, &world->nodes[i], 0);
        }
    }
    while (sim_step(world->sim)) {
        world->n_steps++;
        change_or_go_on(world);
        for (unsigned i = 0; i < world->config.sim.n_nodes; i++) {
            world_check(world, sync_is_valid(world->nodes[i].sync));
        }
    }
    return world->n_alive == 0;
}

void world_free(struct world *world)
{
    for (unsigned i = 0; i < world->config.sim.n_nodes; i++) {
        sync_free(world->nodes[i].sync);
        map_release(&world->nodes[i].held);
    }
    for (int i = 0; i < WORLD_ACTORS; i++) {
        if (world->actors[i].is_used) {
            free(world->actors[i].coroutine);
        }
    }
    sim_free(world->sim);
    free(world);
}
