// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of actors, with what the tests know of each: who holds a lock, who
// has arrived, what must be visible afterwards.
#include "sync/sync_world.h"

static void has_locked(struct actor *self, unsigned object)
{
    struct world *world = self->world;

    world_check(world, world->holders[object] == NULL);
    world->holders[object] = self;
    actor_must_see(self, &world->locks[object]);
}

static void will_unlock(struct actor *self, unsigned object)
{
    struct world *world = self->world;

    if (world->holders[object] == self) {
        world->holders[object] = NULL;
        writes_raise(&world->locks[object], &self->must);
    }
}

// @param until_ns  0: as long as it takes
static tm_status lock_until(struct actor *self, unsigned object, int only_try,
                            uint64_t until_ns)
{
    struct sync *sync = actor_begin(self);
    tm_status status;

    self->waiter.until_ns = until_ns;
    sync_lock(sync, KEY(object), only_try, &self->waiter);
    status = actor_finish(self);
    if (status == TM_OK) {
        has_locked(self, object);
    } else if (until_ns > 0) {
        world_check(self->world, sim_now_ns(self->world->sim) >= until_ns);
    }
    return status;
}

tm_status do_lock(struct actor *self, unsigned object)
{
    return lock_until(self, object, 0, 0);
}

tm_status do_trylock(struct actor *self, unsigned object)
{
    return lock_until(self, object, 1, 0);
}

tm_status do_timedlock(struct actor *self, unsigned object, uint64_t ns)
{
    return lock_until(self, object, 0, sim_now_ns(self->world->sim) + ns);
}

tm_status do_set_type(struct actor *self, unsigned object,
                      enum tm_mutex_type type)
{
    return sync_lock_set_type(self->world->nodes[self->node].sync, KEY(object),
                              self->thread, type);
}

tm_status do_unlock(struct actor *self, unsigned object)
{
    will_unlock(self, object);
    sync_unlock(actor_begin(self), KEY(object), &self->waiter);
    return actor_finish(self);
}

tm_status do_unlock_for_another(struct actor *self, unsigned object)
{
    self->world->holders[object] = self;
    return do_unlock(self, object);
}

tm_status do_renew(struct actor *self, unsigned object)
{
    self->world->holders[object] = NULL;
    sync_lock_renew(actor_begin(self), KEY(object), &self->waiter);
    return actor_finish(self);
}

static tm_status wait_until(struct actor *self, unsigned cond, unsigned lock,
                            uint64_t until_ns)
{
    bool is_held = self->world->holders[lock] == self;
    tm_status status;

    will_unlock(self, lock);
    actor_begin(self);
    self->waiter.until_ns = until_ns;
    sync_cond_wait(self->world->nodes[self->node].sync, KEY(cond), KEY(lock),
                   &self->waiter);
    status = actor_finish(self);
    if (status == TM_ETIMEDOUT) {
        world_check(self->world, until_ns > 0 && is_held &&
                                     sim_now_ns(self->world->sim) >= until_ns);
    } else {
        world_check(self->world, status == (is_held ? TM_OK : TM_EPERM));
    }
    if (is_held) {
        has_locked(self, lock);
    }
    return status;
}

tm_status do_cond_wait(struct actor *self, unsigned cond, unsigned lock)
{
    return wait_until(self, cond, lock, 0);
}

tm_status do_cond_timedwait(struct actor *self, unsigned cond, unsigned lock,
                            uint64_t ns)
{
    return wait_until(self, cond, lock, sim_now_ns(self->world->sim) + ns);
}

tm_status do_cond_signal(struct actor *self, unsigned cond, int all)
{
    sync_cond_signal(actor_begin(self), KEY(cond), all, &self->waiter);
    return actor_finish(self);
}

tm_status do_sem_init(struct actor *self, unsigned object, uint32_t value)
{
    sync_sem_init(actor_begin(self), KEY(object), value, &self->waiter);
    return actor_finish(self);
}

// @param until_ns  0: as long as it takes
static tm_status sem_wait_until(struct actor *self, unsigned object,
                                int only_try, uint64_t until_ns)
{
    struct sync *sync = actor_begin(self);
    tm_status status;

    self->waiter.until_ns = until_ns;
    sync_sem_wait(sync, KEY(object), only_try, &self->waiter);
    status = actor_finish(self);
    world_check(self->world, status != TM_ETIMEDOUT ||
                                 sim_now_ns(self->world->sim) >= until_ns);
    return status;
}

tm_status do_sem_wait(struct actor *self, unsigned object)
{
    return sem_wait_until(self, object, 0, 0);
}

tm_status do_sem_trywait(struct actor *self, unsigned object)
{
    return sem_wait_until(self, object, 1, 0);
}

tm_status do_sem_timedwait(struct actor *self, unsigned object, uint64_t ns)
{
    return sem_wait_until(self, object, 0, sim_now_ns(self->world->sim) + ns);
}

tm_status do_sem_wait_or_interrupt(struct actor *self, unsigned object,
                                   uint64_t ns)
{
    struct sync *sync = actor_begin(self);
    tm_status status;

    self->waiter.until_ns = ns == 0 ? 0 : sim_now_ns(self->world->sim) + ns;
    self->waiter.may_interrupt = 1;
    sync_sem_wait(sync, KEY(object), 0, &self->waiter);
    status = actor_finish(self);
    self->waiter.may_interrupt = 0;
    return status;
}

void do_interrupt(struct actor *self, uint64_t thread)
{
    sync_interrupt(self->world->nodes[self->node].sync, thread);
}

tm_status do_sem_ask(struct actor *self, unsigned object, uint64_t *value)
{
    tm_status status;

    sync_sem_ask(actor_begin(self), KEY(object), &self->waiter);
    status = actor_finish(self);
    *value = self->waiter.result;
    return status;
}

tm_status do_sem_post(struct actor *self, unsigned object)
{
    sync_sem_post(actor_begin(self), KEY(object), &self->waiter);
    return actor_finish(self);
}

tm_status do_rwlock(struct actor *self, unsigned object, enum sync_hold hold,
                    uint64_t ns)
{
    struct world_rwlock *lock = &self->world->rwlocks[object];
    uint64_t until_ns = sim_now_ns(self->world->sim) + ns;
    struct writes over = lock->over;
    tm_status status;

    actor_begin(self);
    self->waiter.until_ns = ns > 0 && ns < UINT64_MAX ? until_ns : 0;
    sync_rwlock(self->world->nodes[self->node].sync, KEY(object), hold, ns == 0,
                &self->waiter);
    status = actor_finish(self);
    if (status == TM_OK) {
        world_check(self->world,
                    lock->writer == NULL &&
                        (hold == HOLD_TO_READ || lock->n_readers == 0));
        lock->n_readers += hold == HOLD_TO_READ;
        lock->writer = hold == HOLD_TO_WRITE ? self : NULL;
        actor_must_see(self, &lock->written);
        actor_must_see(self, hold == HOLD_TO_WRITE ? &lock->read : &over);
    }
    world_check(self->world, status != TM_ETIMEDOUT ||
                                 (ns > 0 && ns < UINT64_MAX &&
                                  sim_now_ns(self->world->sim) >= until_ns));
    world_check(self->world, status != TM_EBUSY || ns == 0);
    return status;
}

tm_status do_rwlock_unlock(struct actor *self, unsigned object)
{
    struct world_rwlock *lock = &self->world->rwlocks[object];
    bool is_writer = lock->writer == self;
    struct writes must = self->must;
    tm_status status;

    writes_raise(is_writer ? &lock->written : &lock->read, &must);
    lock->n_readers -= !is_writer && lock->n_readers > 0;
    lock->writer = is_writer ? NULL : lock->writer;
    sync_rwlock_unlock(actor_begin(self), KEY(object), &self->waiter);
    status = actor_finish(self);
    world_check(self->world, !is_writer || status == TM_OK);
    writes_raise(&lock->over, &must);
    return status;
}

tm_status do_once(struct actor *self, unsigned object, uint64_t ns)
{
    struct world *world = self->world;
    tm_status status;

    sync_once_begin(actor_begin(self), KEY(object), &self->waiter);
    status = actor_finish(self);
    if (status != TM_OK) {
        return status;
    }
    if (self->waiter.result == 0) {
        do_write(self);
        do_compute(self, ns);
        world_check(world, world->n_done[object]++ == 0);
        world->onces[object] = self->must;
        sync_once_end(actor_begin(self), KEY(object), &self->waiter);
        return actor_finish(self);
    }
    world_check(world, world->n_done[object] == 1);
    actor_must_see(self, &world->onces[object]);
    sync_once_know(world->nodes[self->node].sync, KEY(object));
    return TM_OK;
}

tm_status do_barrier_init(struct actor *self, unsigned object, uint32_t count)
{
    tm_status status;

    sync_barrier_init(actor_begin(self), KEY(object), count, &self->waiter);
    status = actor_finish(self);
    if (status == TM_OK) {
        self->world->barriers[object].count = count;
    }
    return status;
}

uint64_t do_arrive(struct actor *self, unsigned object, enum sync_arrival kind,
                   tm_op op, uint64_t value)
{
    struct world_barrier *barrier = &self->world->barriers[object];
    uint64_t place = barrier->n_arrivals++;
    uint32_t count = barrier->count == 0 ? 1 : barrier->count;
    uint64_t episode = place / count;
    struct writes *must = &barrier->episodes[episode % 2].must;
    struct sync *sync;

    world_check(self->world, count <= WORLD_COUNT);
    barrier->episodes[episode % 2].threads[place % count] = self->thread;
    barrier->episodes[episode % 2].values[place % count] = value;
    writes_raise(must, &self->must);
    sync = actor_begin(self);
    self->waiter.count = ++self->counted;
    sync_barrier_arrive(sync, KEY(object), kind, op, value, &self->waiter);
    world_check(self->world, actor_finish(self) == TM_OK);
    world_check(self->world, barrier->n_arrivals >= (episode + 1) * count);
    self->counted = self->waiter.count;
    actor_must_see(self, must);
    return self->waiter.result;
}

tm_status do_create(struct actor *self, actor_fn *body, uint64_t arg,
                    int on_node, uint64_t *thread)
{
    struct world *world = self->world;
    unsigned number = world->n_created++;
    tm_status status;
    char name[16];
    const tm_thread_attr attr = {
        .name = name,
        .placement = on_node > 0 ? TM_ON_NODE : TM_ANYWHERE,
        .node = on_node > 0 ? (unsigned)on_node - 1 : 0,
    };

    world_check(world, number < sizeof world->created / sizeof *world->created);
    world->created[number] = self->must;
    snprintf(name, sizeof name, "%u", number);
    sync_thread_create(actor_begin(self), (uint64_t)(uintptr_t)body, arg, &attr,
                       &self->waiter);
    status = actor_finish(self);
    if (status == TM_OK) {
        *thread = self->waiter.result;
    }
    return status;
}

tm_status do_join(struct actor *self, uint64_t thread, uint64_t *result)
{
    tm_status status;

    sync_thread_join(actor_begin(self), thread, &self->waiter);
    status = actor_finish(self);
    if (status == TM_OK) {
        *result = self->waiter.result;
        actor_must_see(self, world_ended_of(self->world, thread));
    }
    return status;
}

tm_status do_detach(struct actor *self, uint64_t thread)
{
    sync_thread_detach(actor_begin(self), thread, &self->waiter);
    return actor_finish(self);
}

tm_status do_migrate(struct actor *self, uint64_t thread, node_id node)
{
    sync_thread_migrate(actor_begin(self), thread, node, &self->waiter);
    return actor_finish(self);
}

void do_launch(struct actor *self)
{
    sync_thread_launch(actor_begin(self), self->thread);
}

void do_move(struct actor *self, node_id node)
{
    struct world *world = self->world;

    world_check(
        world, !sync_thread_holds(world->nodes[self->node].sync, self->thread));
    self->target = -1;
    self->is_present = false;
    world_travel(self, node);
    self->node = node;
    self->moves++;
    self->is_present = true;
    sync_thread_arrived(world->nodes[node].sync, self->thread, self->moves);
    do_check(self);
}

/* ---- for short tests ---- */

struct world_config world_config_of(unsigned n_nodes)
{
    return (struct world_config){
        .sim = {.n_nodes = n_nodes,
                .seed = 11,
                .delay_min_ns = 5000,
                .delay_max_ns = 50000},
        .release_max_ns = 20000,
        .max_threads = 64,
    };
}

void world_run_program(struct world_config config, actor_fn *body)
{
    struct world *world = world_new(&config);

    world_check(world, world_run(world, body, 0));
    world_check(world, world->config.expects_errors || world->n_errors == 0);
    world_free(world);
}

uint64_t must_create(struct actor *self, actor_fn *body, uint64_t arg,
                     int on_node)
{
    uint64_t thread = 0;

    world_check(self->world,
                do_create(self, body, arg, on_node, &thread) == TM_OK);
    return thread;
}

uint64_t must_join(struct actor *self, uint64_t thread)
{
    uint64_t result = 0;

    world_check(self->world, do_join(self, thread, &result) == TM_OK);
    return result;
}

uint64_t must_run_on(struct actor *self, actor_fn *body, uint64_t arg,
                     int on_node)
{
    return must_join(self, must_create(self, body, arg, on_node));
}
