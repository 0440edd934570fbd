// SPDX-License-Identifier: BSD-3-Clause
//
// Tasks of OpenMP that wait to be run, and threads that wait for tasks.
//
// Each thread of the team has a queue, in pages of its own: it puts tasks at one end and takes
// them there; others take the oldest, at the other end. Which tasks a thread may take is
// OpenMP's rule for those that are tied: in the middle of a task that waits, only what is
// within the one that it waits for; at a barrier, anything. All lies in shared memory, so
// tasks go from node to node as any data does that a mutex guards.
//
// A thread that finds none notes that it will sleep, looks once more, and sleeps. Who puts a task
// wakes all that wait for something around it, and one of those at a barrier: that one
// takes up to half of a queue, puts it into its own, and so wakes another. What is looked at
// without a mutex, by threads of other nodes too, are two kinds of hints, in
// sequential memory: whether a queue may have tasks, and how many are to sleep.
//
// Q1  A queue with tasks has its hint set; who finds it empty clears it. Both hold the
//     queue's mutex.
// Q2  A sleeper that accepts a task which is in a queue is woken, or has not
//     looked yet. It is counted first and then reads the queues' hints; who
//     puts a task sets the hint first and then reads how many are to sleep.
// Q3  Of those at a barrier one is enough: the thread that has put the task runs it itself, at
//     the latest when its parent ends.
// Q4  A thread that is counted at the barrier runs nothing that has a parent of its own
//     there. So when all are counted all tasks have ended.
//
// The pool's mutex is taken last, after one of a queue.
#include "openmp_tasks.h"

#include <string.h>

enum { PAGE = 4096, SLOT = 512, SLOTS = 32, FULL = 64, TAKEN_MAX = 8 };

/** Of a thread of the team. */
struct queue {
    tm_mutex mutex;
    struct task *oldest;
    struct task *newest;
    unsigned n;
    struct task *returned; // records, by other threads
    struct task *free;     // records; the thread's own
    struct task whole;
};

enum acceptance { NOTHING, WITHIN, ANYTHING };

struct sleeper {
    enum acceptance accepts;
    const struct task *of;
    unsigned depth; // of it
    bool is_woken;
    tm_cond cond;
};

/** Of the pool's mutex. */
struct hall {
    unsigned n_arrived;
    long phase;
    struct sleeper sleepers[];
};

/** What one thread has in memory, and others look for. */
struct place {
    struct queue *queue;
    unsigned *has_tasks; // a hint, in a page of its own
};

/** Of a team. */
struct task_pool {
    unsigned n;
    struct place *places;
    struct hall *hall;
    unsigned *n_sleepers; // a hint
    tm_mutex mutex;
};

// ---- memory

static void *allocate(size_t size)
{
    void *block = front_new_block(size, PAGE);

    if (block == NULL) {
        front_fatal("OpenMP: no memory for tasks");
    }
    return memset(block, 0, size);
}

static void widen_pool(struct task_pool *pool, unsigned n)
{
    struct place *places = allocate(n * sizeof *places);

    for (unsigned i = 0; i < n; i++) {
        places[i] = i < pool->n ? pool->places[i]
                                : (struct place){allocate(sizeof(struct queue)),
                                                 openmp_new_hints()};
    }
    front_free(pool->places);
    front_free(pool->hall);
    pool->places = places;
    pool->hall = allocate(sizeof *pool->hall + n * sizeof(struct sleeper));
    pool->n_sleepers = pool->n == 0 ? openmp_new_hints() : pool->n_sleepers;
    pool->n = n;
}

void openmp_begin_tasks(struct team *team)
{
    if (team->pool == NULL) {
        team->pool = allocate(sizeof *team->pool);
    }
    if (team->n > team->pool->n) {
        widen_pool(team->pool, team->n);
    }
    team->pool->hall->n_arrived = 0; // a region that is cancelled leaves some
}

// ---- threads that sleep, or are about to

bool task_is_within(const struct task *task, const struct task *of,
                    unsigned depth)
{
    const struct task *at = task->parent;

    while (at != NULL && at != of && at->depth > depth) {
        at = at->parent;
    }
    return at == of;
}

// REQUIRES(pool->mutex)
static void forget_sleeper(struct task_pool *pool, struct sleeper *sleeper)
{
    if (sleeper->accepts != NOTHING) {
        sleeper->accepts = NOTHING;
        openmp_set_hint(pool->n_sleepers,
                        openmp_read_hint(pool->n_sleepers) - 1);
    }
}

// REQUIRES(pool->mutex)
static void wake_sleeper(struct task_pool *pool, struct sleeper *sleeper)
{
    forget_sleeper(pool, sleeper);
    sleeper->is_woken = true;
    FRONT_1(tm_cond_signal, &sleeper->cond);
}

static struct sleeper *lock_sleeper(struct task_pool *pool, unsigned index)
{
    front_lock(&pool->mutex);
    return &pool->hall->sleepers[index];
}

void sleeper_enter(struct task_pool *pool, unsigned index,
                   const struct task *of)
{
    struct sleeper *sleeper = lock_sleeper(pool, index);

    sleeper->accepts = of == NULL ? ANYTHING : WITHIN;
    sleeper->of = of;
    sleeper->depth = of == NULL ? 0 : of->depth;
    sleeper->is_woken = false;
    openmp_set_hint(pool->n_sleepers, openmp_read_hint(pool->n_sleepers) + 1);
    front_unlock(&pool->mutex);
}

void sleeper_leave(struct task_pool *pool, unsigned index)
{
    forget_sleeper(pool, lock_sleeper(pool, index));
    front_unlock(&pool->mutex);
}

void sleeper_sleep(struct task_pool *pool, unsigned index)
{
    struct sleeper *sleeper = lock_sleeper(pool, index);

    while (!sleeper->is_woken) {
        FRONT_2(tm_cond_wait, &sleeper->cond, &pool->mutex);
    }
    front_unlock(&pool->mutex);
}

void sleeper_wake(struct task_pool *pool, unsigned index)
{
    wake_sleeper(pool, lock_sleeper(pool, index));
    front_unlock(&pool->mutex);
}

// REQUIRES(pool->mutex)
static void wake_hall(struct task_pool *pool)
{
    for (unsigned i = 0; i < pool->n; i++) {
        if (pool->hall->sleepers[i].accepts != NOTHING) {
            wake_sleeper(pool, &pool->hall->sleepers[i]);
        }
    }
}

void openmp_wake_all(const struct team *team)
{
    struct task_pool *pool = team->pool;

    front_lock(&pool->mutex);
    wake_hall(pool);
    front_unlock(&pool->mutex);
}

// Q2, Q3. The task cannot end meanwhile: its queue's mutex is held.
static void wake_for(struct task_pool *pool, const struct task *task)
{
    bool has_one = false;

    front_lock(&pool->mutex);
    for (unsigned i = 0; i < pool->n; i++) {
        struct sleeper *sleeper = &pool->hall->sleepers[i];

        if (sleeper->accepts == ANYTHING && !has_one) {
            has_one = true;
            wake_sleeper(pool, sleeper);
        } else if (sleeper->accepts == WITHIN &&
                   task_is_within(task, sleeper->of, sleeper->depth)) {
            wake_sleeper(pool, sleeper);
        }
    }
    front_unlock(&pool->mutex);
}

// ---- barriers

long phase_arrive(struct task_pool *pool, unsigned n)
{
    long phase;

    front_lock(&pool->mutex);
    phase = pool->hall->phase;
    if (++pool->hall->n_arrived == n) {
        pool->hall->n_arrived = 0;
        pool->hall->phase++;
        wake_hall(pool);
    }
    front_unlock(&pool->mutex);
    return phase;
}

bool phase_is_over(struct task_pool *pool, long phase)
{
    bool is_over;

    front_lock(&pool->mutex);
    is_over = pool->hall->phase != phase;
    front_unlock(&pool->mutex);
    return is_over;
}

// ---- queues

static struct queue *queue_of(struct task_pool *pool, unsigned index)
{
    return pool->places[index].queue;
}

void queue_lock(struct task_pool *pool, unsigned index)
{
    front_lock(&queue_of(pool, index)->mutex);
}

void queue_unlock(struct task_pool *pool, unsigned index)
{
    front_unlock(&queue_of(pool, index)->mutex);
}

struct task *queue_whole(struct task_pool *pool, unsigned index)
{
    return &queue_of(pool, index)->whole;
}

void queue_put(struct task_pool *pool, unsigned index, struct task *task)
{
    struct queue *queue = queue_of(pool, index);

    task->older = queue->newest;
    task->newer = NULL;
    if (queue->newest != NULL) {
        queue->newest->newer = task;
    } else {
        queue->oldest = task;
    }
    queue->newest = task;
    if (queue->n++ == 0 && !openmp_read_hint(pool->places[index].has_tasks)) {
        openmp_set_hint(pool->places[index].has_tasks, 1);
    }
    if (openmp_read_hint(pool->n_sleepers) > 0) {
        wake_for(pool, task);
    }
}

static void take_out(struct queue *queue, struct task *task)
{
    if (task->older != NULL) {
        task->older->newer = task->newer;
    } else {
        queue->oldest = task->newer;
    }
    if (task->newer != NULL) {
        task->newer->older = task->older;
    } else {
        queue->newest = task->older;
    }
    queue->n--;
}

static bool is_taken(const struct task *task, const struct task *of)
{
    return of == NULL || task_is_within(task, of, of->depth);
}

// What is the queue's own thread's to read without the mutex can only have become less.
static struct task *take_newest(struct task_pool *pool, unsigned index,
                                const struct task *of)
{
    struct queue *queue = queue_of(pool, index);
    struct task *task;

    if (queue->n == 0) {
        return NULL;
    }
    front_lock(&queue->mutex);
    for (task = queue->newest; task != NULL && !is_taken(task, of);
         task = task->older) {
    }
    if (task != NULL) {
        take_out(queue, task);
    }
    front_unlock(&queue->mutex);
    return task;
}

// @return up to so many, each the `newer` of the one before it
static struct task *take_oldest(struct task_pool *pool, unsigned index,
                                const struct task *of, unsigned n)
{
    struct queue *queue = queue_of(pool, index);
    struct task *first = NULL;
    struct task **end = &first;

    for (struct task *task = queue->oldest, *newer; task != NULL && n > 0;
         task = newer) {
        newer = task->newer;
        if (is_taken(task, of)) {
            take_out(queue, task);
            *end = task;
            end = &task->newer;
            n--;
        }
    }
    *end = NULL;
    return first;
}

static struct task *steal_of(struct task_pool *pool, unsigned index,
                             const struct task *of)
{
    struct queue *queue = queue_of(pool, index);
    struct task *first;
    unsigned n = 1;

    front_lock(&queue->mutex);
    if (of == NULL && queue->n > 2) {
        n = queue->n / 2 < TAKEN_MAX ? queue->n / 2 : TAKEN_MAX;
    }
    first = take_oldest(pool, index, of, n);
    if (queue->n == 0) {
        openmp_set_hint(pool->places[index].has_tasks, 0);
    }
    front_unlock(&queue->mutex);
    return first;
}

static void put_all(struct task_pool *pool, unsigned index, struct task *first)
{
    if (first == NULL) {
        return;
    }
    queue_lock(pool, index);
    for (struct task *task = first, *next; task != NULL; task = next) {
        next = task->newer;
        queue_put(pool, index, task);
    }
    queue_unlock(pool, index);
}

static struct task *steal(struct task_pool *pool, unsigned index, unsigned n,
                          const struct task *of)
{
    struct task *first = NULL;

    for (unsigned i = 1; i < n && first == NULL; i++) {
        const unsigned other = (index + i) % n;

        if (openmp_read_hint(pool->places[other].has_tasks)) {
            first = steal_of(pool, other, of);
        }
    }
    if (first != NULL) {
        put_all(pool, index, first->newer);
    }
    return first;
}

struct task *queue_take(struct task_pool *pool, unsigned index, unsigned n,
                        const struct task *of)
{
    struct task *task = take_newest(pool, index, of);

    return task != NULL ? task : steal(pool, index, n, of);
}

bool queue_is_full(struct task_pool *pool, unsigned index)
{
    struct queue *queue = queue_of(pool, index);
    bool is_full = queue->n >= FULL;

    if (is_full) { // others may have taken some
        front_lock(&queue->mutex);
        is_full = queue->n >= FULL;
        front_unlock(&queue->mutex);
    }
    return is_full;
}

// ---- records: those of usual size are used again by who has made them

static void cut_slots(struct queue *queue)
{
    char *slots = allocate((size_t)SLOT * SLOTS);

    for (int i = 0; i < SLOTS; i++) {
        struct task *task = (struct task *)(void *)(slots + i * SLOT);

        task->older = queue->free;
        queue->free = task;
    }
}

static struct task *take_slot(struct queue *queue)
{
    struct task *task;

    if (queue->free == NULL) {
        front_lock(&queue->mutex);
        queue->free = queue->returned;
        queue->returned = NULL;
        front_unlock(&queue->mutex);
    }
    if (queue->free == NULL) {
        cut_slots(queue);
    }
    task = queue->free;
    queue->free = task->older;
    return task;
}

struct task *queue_new(struct task_pool *pool, unsigned index, size_t size,
                       size_t alignment)
{
    const size_t whole = sizeof(struct task) + alignment + size;
    const bool is_large = whole > SLOT;
    struct task *task =
        is_large ? front_allocate(whole) : take_slot(queue_of(pool, index));
    uintptr_t data = (uintptr_t)(task + 1);

    if (task == NULL) {
        front_fatal("OpenMP: no memory for a task of %zu bytes", size);
    }
    data += (alignment - data % alignment) % alignment;
    *task = (struct task){.is_large = is_large, .data = (void *)data};
    return task;
}

static void free_record(struct task **list, struct task *task)
{
    if (task->is_large) {
        front_free(task);
    } else {
        task->older = *list;
        *list = task;
    }
}

void queue_keep(struct task_pool *pool, unsigned index, struct task *task)
{
    free_record(&queue_of(pool, index)->free, task);
}

void queue_give_back(struct task_pool *pool, unsigned home, struct task *task)
{
    free_record(&queue_of(pool, home)->returned, task);
}
