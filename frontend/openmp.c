// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP as GCC compiles it: calls of libgomp, whose ABI this is.
//
// A team is made of threads that stay: each waits at `dock` for the next region, runs its
// part, and comes back there. Who meets a worksharing construct first sets it up: the k-th one
// of a region is the same for all, since all pass them in one order. A region within a region
// is run by who comes to it, alone. Tasks are run at once by who makes them, which the
// standard allows. omp_*(): openmp_calls.c.
//
// Chunks of an ordered loop are numbered as they are taken. Who has one waits for its turn
// where its ordered part begins, and at its end at the latest; then the turn is the next one's.
//
// A share of the ring is set up anew only when all threads have left the construct that had
// it: who is RING constructs ahead of another waits for that one. A thread has left one when
// there is nothing in it for the thread to do.
//
// There is one team. A thread of the program's that begins a region while another's is being
// run by the team runs it alone.
#include "openmp.h"

#include "front.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RING = 64 };

typedef void region(void *data);

/** A loop, sections or a single that threads share out. */
struct share {
    long number; // of the construct
    unsigned long next;
    unsigned long end;
    unsigned long step; // of the loop's variable; may be a negative number
    unsigned long chunk;
    enum schedule kind;
    int is_down;
    int is_unsigned;    // its variable
    long n_taken;       // chunks of it, if it is ordered
    long turn;          // which of them is in order now
    unsigned n_left;    // threads that have left it
    unsigned n_waiting; // threads that want its place
    void *copied;
};

static TM_SHARED struct {
    region *function;
    void *data;
    unsigned n;         // that take part in the region
    unsigned n_pool;    // threads that there are; 0: not yet
    unsigned dock;      // where they wait
    unsigned wanted;    // omp_set_num_threads(); 0: nothing was said
    struct share first; // of GOMP_parallel_loop_*()
    enum schedule kind; // OMP_SCHEDULE
    unsigned long chunk;
    size_t stack_size; // OMP_STACKSIZE; 0: the default
    int has_settings;
} team;

static TM_SHARED struct share ring[RING];
static tm_mutex ring_mutex[RING];
static tm_cond ring_cond[RING];
static tm_mutex critical_mutex;
static tm_mutex atomic_mutex;
static tm_mutex team_mutex;
static tm_mutex pool_mutex; // whose region the team runs
static tm_barrier docks[2];
static tm_barrier inner;

extern __typeof__(sysconf) tmf_sysconf;
extern __typeof__(pthread_create) tmf_pthread_create;

static long try_lock(void *mutex)
{
    return tm_mutex_trylock(mutex) == TM_OK;
}

static void meet(tm_barrier *barrier)
{
    FRONT_1(tm_barrier_wait, barrier);
}

// ---- members: of a thread that is in no team, one that is made now

struct member *openmp_self(void)
{
    struct front_thread *thread = front_thread();

    if (thread->member == NULL) {
        thread->member = front_allocate(sizeof *thread->member);
        if (thread->member == NULL) {
            front_fatal("no memory for a thread of OpenMP");
        }
        *thread->member = (struct member){.n = 1};
    }
    return thread->member;
}

static struct member *self(void)
{
    return openmp_self();
}

static void read_schedule(void)
{
    const char *text = getenv("OMP_SCHEDULE");
    const char *comma = text == NULL ? NULL : strchr(text, ',');
    const char *kind = text == NULL ? "dynamic" : text;

    kind = strncmp(kind, "nonmonotonic:", 13) == 0 ? kind + 13 : kind;
    kind = strncmp(kind, "monotonic:", 10) == 0 ? kind + 10 : kind;
    team.kind = strncasecmp(kind, "static", 6) == 0   ? STATIC
                : strncasecmp(kind, "guided", 6) == 0 ? GUIDED
                : strncasecmp(kind, "auto", 4) == 0   ? STATIC
                                                      : DYNAMIC;
    team.chunk = comma == NULL ? 0 : strtoul(comma + 1, NULL, 10);
}

// In KiB, if nothing else is said.
static void read_stack_size(void)
{
    static const char units[] = "bkmg";
    const char *text = getenv("OMP_STACKSIZE");
    const char *unit = &units[1];
    unsigned long size;
    char *end;

    if (text == NULL) {
        return;
    }
    size = strtoul(text, &end, 10);
    end += strspn(end, " ");
    if (*end != '\0' && strchr(units, tolower(*end)) != NULL) {
        unit = strchr(units, tolower(*end));
    }
    team.stack_size = size << 10 * (unit - units);
}

static long read_settings(void)
{
    const char *text = getenv("OMP_NUM_THREADS");

    (void)!tm_mutex_lock(&team_mutex);
    if (!team.has_settings) {
        read_schedule();
        read_stack_size();
        if (text != NULL && atoi(text) > 0 && team.wanted == 0) {
            team.wanted = (unsigned)atoi(text);
        }
        team.has_settings = 1;
    }
    (void)!tm_mutex_unlock(&team_mutex);
    return 0;
}

unsigned openmp_wanted(void)
{
    FRONT_1(read_settings, 0);
    return team.wanted > 0 ? team.wanted
                           : (unsigned)tmf_sysconf(_SC_NPROCESSORS_ONLN);
}

void openmp_want(unsigned n)
{
    FRONT_1(read_settings, 0);
    team.wanted = n > 0 ? n : team.wanted;
}

void openmp_set_schedule(enum schedule kind, unsigned long chunk)
{
    FRONT_1(read_settings, 0);
    team.kind = kind == AUTO ? STATIC : kind;
    team.chunk = chunk;
}

enum schedule openmp_schedule(unsigned long *chunk)
{
    FRONT_1(read_settings, 0);
    *chunk = team.chunk;
    return team.kind;
}

static void run_part(struct member *member, region *function, void *data)
{
    const struct member before = *member;

    member->n = team.n;
    member->n_region = team.n;
    member->level = 1;
    member->n_shares = 0;
    function(data);
    *member = before;
}

static void *work(void *argument)
{
    struct member *member = self();
    unsigned dock = team.dock;

    member->number = (unsigned)(long)argument;
    for (;;) {
        meet(&docks[dock]);
        if (team.dock != dock) { // there are to be more threads
            dock = team.dock;
            continue;
        }
        if (member->number < team.n) {
            run_part(member, team.function, team.data);
        }
        meet(&docks[dock]);
    }
    return NULL;
}

static void create_worker(unsigned number)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    if (team.stack_size > 0) {
        (void)!pthread_attr_setstacksize(&attr, team.stack_size);
    }
    if (tmf_pthread_create(&thread, &attr, work, (void *)(long)number) != 0) {
        front_fatal("OpenMP: no thread is left");
    }
    pthread_attr_destroy(&attr);
}

// All wait for the other dock then, which has room for the new ones.
static void widen_pool(unsigned n)
{
    const unsigned before = team.dock;

    if (n <= team.n_pool) {
        return;
    }
    FRONT_1(read_settings, 0);
    FRONT_2(tm_barrier_init, &docks[1 - before], n);
    team.dock = 1 - before;
    if (team.n_pool > 1) {
        meet(&docks[before]);
    }
    for (unsigned i = team.n_pool == 0 ? 1 : team.n_pool; i < n; i++) {
        create_worker(i);
    }
    team.n_pool = n;
}

// ---- regions

static struct share *enter_share(struct member *member,
                                 const struct share *settings);

static int has_own_share(const struct member *member)
{
    return member->share != NULL &&
           (member->share < ring || member->share >= ring + RING);
}

// @param settings  of the loop that the region begins with, or NULL
static void run_alone(region *function, void *data,
                      const struct share *settings)
{
    struct member *member = self();
    const struct member before = *member;

    *member = (struct member){.number = before.number,
                              .n = 1,
                              .n_region = before.n_region,
                              .level = before.level + 1};
    if (settings != NULL) {
        enter_share(member, settings);
    }
    function(data);
    if (has_own_share(member)) {
        front_free(member->share);
    }
    *member = before;
}

// By the holder of pool_mutex, which is given back.
static void run_team(region *function, void *data, unsigned n)
{
    struct front_locals_loan loan;

    widen_pool(n);
    team.n = n;
    team.function = function;
    team.data = data;
    memset(ring, 0, sizeof ring);
    FRONT_2(tm_barrier_init, &inner, n);
    front_lend_locals(&loan, team.data);
    meet(&docks[team.dock]);
    run_part(self(), function, data);
    meet(&docks[team.dock]);
    front_end_locals(&loan);
    front_unlock(&pool_mutex);
}

static int gets_team(unsigned n)
{
    return self()->n_region == 0 && n > 1 && FRONT_1(try_lock, &pool_mutex);
}

void GOMP_parallel(region *function, void *data, unsigned n, unsigned flags);
void GOMP_parallel(region *function, void *data, unsigned n, unsigned flags)
{
    (void)flags;
    n = n == 0 ? openmp_wanted() : n;
    if (gets_team(n)) {
        run_team(function, data, n);
    } else {
        run_alone(function, data, NULL);
    }
}

void GOMP_barrier(void);
void GOMP_barrier(void)
{
    struct member *member = self();

    if (member->n > 1) {
        meet(&inner);
    }
    front_end_locals(&member->copied);
}

// ---- mutual exclusion

#define PAIR(name, parameters, mutex)                                          \
    void name##_start parameters;                                              \
    void name##_start parameters                                               \
    {                                                                          \
        front_lock(mutex);                                                     \
    }                                                                          \
    void name##_end parameters;                                                \
    void name##_end parameters                                                 \
    {                                                                          \
        front_unlock(mutex);                                                   \
    }

PAIR(GOMP_critical, (void), &critical_mutex)
PAIR(GOMP_atomic, (void), &atomic_mutex)
PAIR(GOMP_critical_name, (void **name), name)

#define NOTHING(name)                                                          \
    void name(void);                                                           \
    void name(void)                                                            \
    {                                                                          \
    }

// ---- worksharing

// May the share be set up for another construct? Under its mutex.
static int is_left(const struct share *share, unsigned n_threads)
{
    return share->number == 0 || share->n_left == n_threads;
}

// The caller does nothing more in it. Under its mutex, if there are others.
static void leave_construct(struct member *member)
{
    struct share *share = member->share;

    if (++share->n_left == member->n && share->n_waiting > 0) {
        FRONT_1(tm_cond_broadcast, &ring_cond[share - ring]);
    }
}

// Which share this construct has; set up by who comes first. Locked afterwards, if there
// are others.
static struct share *enter_share(struct member *member,
                                 const struct share *settings)
{
    const long number = ++member->n_shares;
    struct share *share;

    if (member->n == 1) { // of its own: others may be in another region
        if (!has_own_share(member)) {
            member->share = front_allocate(sizeof *share);
        }
        *member->share = *settings;
        return member->share;
    }
    share = &ring[number % RING];
    front_lock(&ring_mutex[number % RING]);
    while (share->number != number && !is_left(share, member->n)) {
        share->n_waiting++;
        FRONT_2(tm_cond_wait, &ring_cond[number % RING],
                &ring_mutex[number % RING]);
    }
    if (share->number != number) {
        *share = *settings;
        share->number = number;
    }
    return member->share = share;
}

static void unlock_share(struct member *member)
{
    if (member->n > 1) {
        front_unlock(&ring_mutex[member->share - ring]);
    }
}

static unsigned long steps_left(const struct share *share)
{
    unsigned long distance =
        share->is_down ? share->next - share->end : share->end - share->next;
    unsigned long step = share->is_down ? 0 - share->step : share->step;

    return (distance - 1) / step + 1;
}

static int is_over(const struct share *share)
{
    if (share->is_unsigned) {
        return share->is_down ? share->next <= share->end
                              : share->next >= share->end;
    }
    return share->is_down ? (long)share->next <= (long)share->end
                          : (long)share->next >= (long)share->end;
}

static bool take_chunk(struct member *member, unsigned long *first,
                       unsigned long *end)
{
    struct share *share = member->share;
    unsigned long left;
    unsigned long n;

    if (is_over(share)) {
        return false;
    }
    left = steps_left(share);
    n = share->chunk == 0 ? 1 : share->chunk;
    if (share->kind == GUIDED && left / member->n / 2 > n) {
        n = left / member->n / 2;
    }
    if (share->kind == STATIC && share->chunk == 0) {
        n = (left + member->n - 1) / member->n;
    }
    n = n > left ? left : n;
    *first = share->next;
    *end = n == left ? share->end : share->next + n * share->step;
    share->next += n * share->step;
    if (n == left) {
        share->next = share->end;
    }
    return true;
}

static bool take_chunk_or_leave(struct member *member, unsigned long *first,
                                unsigned long *end)
{
    bool has_one = take_chunk(member, first, end);

    if (!has_one) {
        leave_construct(member);
    }
    return has_one;
}

static bool begin_by(const struct share *settings,
                     bool (*take)(struct member *member, unsigned long *first,
                                  unsigned long *end),
                     unsigned long *first, unsigned long *end)
{
    struct member *member = self();
    bool has_one;

    enter_share(member, settings);
    has_one = take(member, first, end);
    unlock_share(member);
    return has_one;
}

static bool begin_loop(const struct share *settings, unsigned long *first,
                       unsigned long *end)
{
    return begin_by(settings, take_chunk_or_leave, first, end);
}

static bool next_chunk(unsigned long *first, unsigned long *end)
{
    struct member *member = self();
    bool has_one;

    if (member->n > 1) {
        front_lock(&ring_mutex[member->share - ring]);
    }
    has_one = take_chunk_or_leave(member, first, end);
    unlock_share(member);
    return has_one;
}

static struct share loop_of(unsigned long start, unsigned long end,
                            unsigned long step, enum schedule kind,
                            unsigned long chunk)
{
    return (struct share){.next = start,
                          .end = end,
                          .step = step,
                          .is_down = (long)step < 0,
                          .kind = kind,
                          .chunk = chunk};
}

static struct share loop_at_run_time(unsigned long start, unsigned long end,
                                     unsigned long step)
{
    FRONT_1(read_settings, 0);
    return loop_of(start, end, step, team.kind, team.chunk);
}

static struct share unsigned_loop(struct share loop, bool is_up)
{
    loop.is_unsigned = 1;
    loop.is_down = !is_up;
    return loop;
}

// ---- ordered

static void wait_for_turn(const struct member *member)
{
    struct share *share = member->share;

    while (share->turn != member->ticket) {
        FRONT_2(tm_cond_wait, &ring_cond[share - ring],
                &ring_mutex[share - ring]);
    }
}

// With the loop's lock. A thread that has no chunk has no ticket.
static bool take_ordered(struct member *member, unsigned long *first,
                         unsigned long *end)
{
    bool has_one = take_chunk_or_leave(member, first, end);

    member->ticket = member->share->n_taken;
    member->share->n_taken += has_one;
    return has_one;
}

static bool begin_ordered(const struct share *settings, unsigned long *first,
                          unsigned long *end)
{
    return begin_by(settings, take_ordered, first, end);
}

static bool next_ordered(unsigned long *first, unsigned long *end)
{
    struct member *member = self();
    bool has_one;

    if (member->n == 1) {
        return take_chunk_or_leave(member, first, end);
    }
    front_lock(&ring_mutex[member->share - ring]);
    wait_for_turn(member);
    member->share->turn++;
    FRONT_1(tm_cond_broadcast, &ring_cond[member->share - ring]);
    has_one = take_ordered(member, first, end);
    unlock_share(member);
    return has_one;
}

void GOMP_ordered_start(void);
void GOMP_ordered_start(void)
{
    struct member *member = self();

    if (member->n > 1) {
        front_lock(&ring_mutex[member->share - ring]);
        wait_for_turn(member);
        unlock_share(member);
    }
}

NOTHING(GOMP_ordered_end)

// ---- loops, as compilers call them

// GOMP_parallel_loop_*(): the region begins with the loop's next chunk.
static void enter_first_loop(void *data)
{
    struct member *member = self();

    (void)data;
    enter_share(member, &team.first);
    unlock_share(member);
    ((region *)team.first.copied)(team.data);
}

static void run_loop(region *function, void *data, unsigned n,
                     struct share settings)
{
    n = n == 0 ? openmp_wanted() : n;
    if (!gets_team(n)) {
        run_alone(function, data, &settings);
        return;
    }
    team.first = settings;
    team.first.copied = (void *)function;
    run_team(enter_first_loop, data, n);
}

// Parameters that not all of them have.
#define NO_MORE()
#define WITH_UP() bool up,
#define WITH_CHUNK() , long chunk

// Of a loop over numbers of a type: what begins it, and what goes on.
#define START_AND_NEXT(prefix, name, type, up, extra, begin, go_on, settings)  \
    bool prefix##name##_start(up() type start, type end, type step extra(),    \
                              type *first, type *last);                        \
    bool prefix##name##_start(up() type start, type end, type step extra(),    \
                              type *first, type *last)                         \
    {                                                                          \
        const struct share share = settings;                                   \
        return begin(&share, (unsigned long *)first, (unsigned long *)last);   \
    }                                                                          \
    bool prefix##name##_next(type *first, type *last);                         \
    bool prefix##name##_next(type *first, type *last)                          \
    {                                                                          \
        return go_on((unsigned long *)first, (unsigned long *)last);           \
    }

#define LOOP_FUNCTIONS(name, extra, settings)                                  \
    START_AND_NEXT(GOMP_loop_, name, long, NO_MORE, extra, begin_loop,         \
                   next_chunk, settings)                                       \
    START_AND_NEXT(GOMP_loop_ull_, name, ulong, WITH_UP, extra, begin_loop,    \
                   next_chunk, unsigned_loop(settings, up))                    \
    void GOMP_parallel_loop_##name(region *function, void *data, unsigned n,   \
                                   long start, long end, long step extra(),    \
                                   unsigned flags);                            \
    void GOMP_parallel_loop_##name(region *function, void *data, unsigned n,   \
                                   long start, long end, long step extra(),    \
                                   unsigned flags)                             \
    {                                                                          \
        (void)flags;                                                           \
        run_loop(function, data, n, settings);                                 \
    }

#define ORDERED_FUNCTIONS(name, extra, settings)                               \
    START_AND_NEXT(GOMP_loop_ordered_, name, long, NO_MORE, extra,             \
                   begin_ordered, next_ordered, settings)                      \
    START_AND_NEXT(GOMP_loop_ull_ordered_, name, ulong, WITH_UP, extra,        \
                   begin_ordered, next_ordered, unsigned_loop(settings, up))

#define OF(kind)                                                               \
    loop_of((unsigned long)start, (unsigned long)end, (unsigned long)step,     \
            kind, (unsigned long)chunk)
#define OF_RUN_TIME                                                            \
    loop_at_run_time((unsigned long)start, (unsigned long)end,                 \
                     (unsigned long)step)

LOOP_FUNCTIONS(static, WITH_CHUNK, OF(STATIC))
LOOP_FUNCTIONS(dynamic, WITH_CHUNK, OF(DYNAMIC))
LOOP_FUNCTIONS(guided, WITH_CHUNK, OF(GUIDED))
LOOP_FUNCTIONS(nonmonotonic_dynamic, WITH_CHUNK, OF(DYNAMIC))
LOOP_FUNCTIONS(nonmonotonic_guided, WITH_CHUNK, OF(GUIDED))
LOOP_FUNCTIONS(runtime, NO_MORE, OF_RUN_TIME)
LOOP_FUNCTIONS(nonmonotonic_runtime, NO_MORE, OF_RUN_TIME)
LOOP_FUNCTIONS(maybe_nonmonotonic_runtime, NO_MORE, OF_RUN_TIME)
ORDERED_FUNCTIONS(static, WITH_CHUNK, OF(STATIC))
ORDERED_FUNCTIONS(dynamic, WITH_CHUNK, OF(DYNAMIC))
ORDERED_FUNCTIONS(guided, WITH_CHUNK, OF(GUIDED))
ORDERED_FUNCTIONS(runtime, NO_MORE, OF_RUN_TIME)

// A share of a thread's own is used again by its next construct.
NOTHING(GOMP_loop_end_nowait)

void GOMP_loop_end(void);
void GOMP_loop_end(void)
{
    GOMP_barrier();
}

// ---- sections: a loop from 1

unsigned GOMP_sections_start(unsigned n);
unsigned GOMP_sections_start(unsigned n)
{
    const struct share share = loop_of(1, n + 1ul, 1, DYNAMIC, 1);
    unsigned long first;
    unsigned long end;

    return begin_loop(&share, &first, &end) ? (unsigned)first : 0;
}

unsigned GOMP_sections_next(void);
unsigned GOMP_sections_next(void)
{
    unsigned long first;
    unsigned long end;

    return next_chunk(&first, &end) ? (unsigned)first : 0;
}

void GOMP_parallel_sections(region *function, void *data, unsigned n,
                            unsigned count, unsigned flags);
void GOMP_parallel_sections(region *function, void *data, unsigned n,
                            unsigned count, unsigned flags)
{
    (void)flags;
    run_loop(function, data, n, loop_of(1, count + 1ul, 1, DYNAMIC, 1));
}

void GOMP_sections_end(void);
void GOMP_sections_end(void)
{
    GOMP_barrier();
}

NOTHING(GOMP_sections_end_nowait)

// ---- single: left at once by all. What is copied is there until the barrier at its end.

bool GOMP_single_start(void);
bool GOMP_single_start(void)
{
    const struct share one = loop_of(0, 1, 1, DYNAMIC, 1);
    struct member *member = self();
    unsigned long first;
    unsigned long end;
    bool is_first;

    enter_share(member, &one);
    is_first = take_chunk(member, &first, &end);
    leave_construct(member);
    unlock_share(member);
    return is_first;
}

void *GOMP_single_copy_start(void);
void *GOMP_single_copy_start(void)
{
    if (GOMP_single_start()) {
        return NULL;
    }
    GOMP_barrier();
    return self()->share->copied;
}

void GOMP_single_copy_end(void *data);
void GOMP_single_copy_end(void *data)
{
    struct member *member = self();

    member->share->copied = data;
    if (member->n > 1) {
        front_lend_locals(&member->copied, data);
        meet(&inner); // the loan ends at the next one
    }
}

// ---- tasks

typedef void copy_function(void *to, void *from);

static void run_task(region *function, void *data, copy_function *copy,
                     long size, long alignment)
{
    char room[size + alignment];
    const uintptr_t align = (uintptr_t)alignment;
    char *own = &room[(align - (uintptr_t)&room[0] % align) % align];

    if (copy != NULL) {
        copy(own, data);
    } else {
        memcpy(own, data, (size_t)size);
    }
    function(own);
}

void GOMP_task(region *function, void *data, copy_function *copy, long size,
               long alignment, bool is_deferred, unsigned flags, void **depend,
               int priority, void *detach);
void GOMP_task(region *function, void *data, copy_function *copy, long size,
               long alignment, bool is_deferred, unsigned flags, void **depend,
               int priority, void *detach)
{
    (void)is_deferred;
    (void)flags;
    (void)depend;
    (void)priority;
    (void)detach;
    if (copy != NULL) {
        run_task(function, data, copy, size, alignment);
    } else {
        function(data);
    }
}

enum { TASKS_GO_UP = 1 << 8, TASKS_HAVE_SIZE = 1 << 9 };

/** What a task of a loop is given begins with this. */
struct task_range {
    unsigned long first;
    unsigned long end;
};

// So many tasks of so many steps each, the first `more` of one more.
static void run_tasks(region *function, struct task_range *given,
                      copy_function *copy, long size, long alignment,
                      unsigned long step, unsigned long n_steps,
                      unsigned long n_tasks)
{
    const unsigned long more = n_steps % n_tasks;
    const struct task_range before = *given;
    unsigned long first = before.first;

    for (unsigned long i = 0; i < n_tasks; i++) {
        unsigned long n = n_steps / n_tasks + (i < more);

        *given = (struct task_range){first, first + n * step};
        run_task(function, given, copy, size, alignment);
        first += n * step;
    }
    *given = before;
}

static unsigned long count_tasks(unsigned flags, unsigned long wanted,
                                 unsigned long n_steps)
{
    unsigned long n = wanted;

    if ((flags & TASKS_HAVE_SIZE) != 0) {
        n = n_steps / wanted;
    } else if (wanted == 0) {
        n = self()->n;
    }
    return n == 0 ? 1 : n > n_steps ? n_steps : n;
}

#define TASKLOOP(name, type, is_up)                                            \
    void name(region *function, void *data, copy_function *copy, long size,    \
              long alignment, unsigned flags, unsigned long wanted,            \
              int priority, type start, type end, type step);                  \
    void name(region *function, void *data, copy_function *copy, long size,    \
              long alignment, unsigned flags, unsigned long wanted,            \
              int priority, type start, type end, type step)                   \
    {                                                                          \
        struct task_range *given = data;                                       \
        unsigned long n;                                                       \
                                                                               \
        (void)priority;                                                        \
        if (is_up ? start >= end : start <= end) {                             \
            return;                                                            \
        }                                                                      \
        n = is_up ? ((ulong)end - (ulong)start - 1) / (ulong)step + 1          \
                  : ((ulong)start - (ulong)end - 1) / (0 - (ulong)step) + 1;   \
        given->first = (ulong)start;                                           \
        run_tasks(function, given, copy, size, alignment, (ulong)step, n,      \
                  count_tasks(flags, wanted, n));                              \
    }

TASKLOOP(GOMP_taskloop, long, step > 0)
TASKLOOP(GOMP_taskloop_ull, ulong, (flags & TASKS_GO_UP) != 0)

NOTHING(GOMP_taskwait)
NOTHING(GOMP_taskyield)
NOTHING(GOMP_taskgroup_start)
NOTHING(GOMP_taskgroup_end)

// ---- teams of the host: one

void GOMP_teams_reg(region *function, void *data, unsigned n, unsigned limit,
                    unsigned flags);
void GOMP_teams_reg(region *function, void *data, unsigned n, unsigned limit,
                    unsigned flags)
{
    (void)n;
    (void)limit;
    (void)flags;
    function(data);
}
