// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's worksharing: loops, sections, single. Who meets a construct first sets it up: the
// k-th one of a region is the same for all, since all pass them in one order.
//
// Chunks of an ordered loop have numbers: as they are taken, or by the thread if they are
// static. Who has one waits for its turn where its ordered part begins, and at its end at the
// latest; then the turn is the next one's.
//
// A share of the ring is set up anew only when all threads have left the construct that had
// it: who is RING constructs ahead of another waits for that one. A thread has left one when
// there is nothing in it for the thread to do, or when it has passed a barrier since.
#include "openmp_loops.h"

#include <string.h>
#include <sys/types.h>

enum { BLOCK_ALIGNMENT = 64 };

static struct member *self(void)
{
    return openmp_self();
}

// A region of one thread has one share, which is none of a ring's.
static int has_own_share(const struct member *member)
{
    return member->n == 1 && member->share != NULL;
}

// ---- a team's share: its mutex, and what its threads wait for

static long place_of(const struct member *member)
{
    return member->share - member->team->ring.share;
}

void share_lock(const struct member *member)
{
    if (member->n > 1) {
        front_lock(&member->team->ring.mutex[place_of(member)]);
    }
}

void share_unlock(const struct member *member)
{
    if (member->n > 1) {
        front_unlock(&member->team->ring.mutex[place_of(member)]);
    }
}

// REQUIRES(share_lock)
void share_wait(const struct member *member)
{
    struct ring *ring = &member->team->ring;

    FRONT_2(tm_cond_wait, &ring->cond[place_of(member)],
            &ring->mutex[place_of(member)]);
}

// REQUIRES(share_lock)
void share_wake(const struct member *member)
{
    FRONT_1(tm_cond_broadcast, &member->team->ring.cond[place_of(member)]);
}

// ---- constructs

// May the share be set up for another construct? Under its mutex.
static int is_left(const struct share *share, const struct member *member)
{
    return share->number <= member->n_done || share->n_left == member->n;
}

// The caller does nothing more in it. Under its mutex, if there are others.
static void leave_construct(struct member *member)
{
    struct share *share = member->share;

    if (++share->n_left == member->n && share->n_waiting > 0) {
        share_wake(member);
    }
}

static void free_blocks(struct share *share)
{
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        front_free(share->block[i]);
        share->block[i] = NULL;
    }
}

static void set_up_share(struct share *share, const struct share *settings,
                         long number)
{
    free_blocks(share);
    *share = *settings;
    share->number = number;
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        if (settings->block_size[i] > 0) {
            share->block[i] =
                front_new_block(settings->block_size[i], BLOCK_ALIGNMENT);
            if (share->block[i] == NULL) {
                front_fatal("OpenMP: no memory for a loop");
            }
            memset(share->block[i], 0, settings->block_size[i]);
        }
    }
}

static struct share *own_share(struct member *member)
{
    if (!has_own_share(member)) {
        member->share = front_allocate(sizeof *member->share);
        if (member->share == NULL) {
            front_fatal("OpenMP: no memory for a loop");
        }
        *member->share = (struct share){0};
    }
    return member->share;
}

// Which share of the ring this construct has; set up by who comes first. Locked afterwards, if there
// are others.
static struct share *enter_share(struct member *member,
                                 const struct share *settings)
{
    const long number = ++member->n_shares;
    struct share *share;

    member->n_chunks = 0;
    if (member->n == 1) { // of its own: others may be in another region
        set_up_share(own_share(member), settings, number);
        return member->share;
    }
    share = member->share = &member->team->ring.share[number % RING];
    share_lock(member);
    while (share->number != number && !is_left(share, member)) {
        share->n_waiting++;
        share_wait(member);
    }
    if (share->number != number) {
        set_up_share(share, settings, number);
    }
    return share;
}

/** What a static schedule without a chunk gives to one thread. */
struct block {
    unsigned long first;
    unsigned long n;
};

static struct block block_of_thread(unsigned long n_steps, unsigned n_threads,
                                    unsigned long number)
{
    const unsigned long each = n_steps / n_threads;
    const unsigned long more = n_steps % n_threads;

    return (struct block){number * each + (number < more ? number : more),
                          each + (number < more)};
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

// By the thread's number, the same ones in each loop of as many steps. Its first steps are
// never taken away: `next` stays.
static bool take_static(struct member *member, unsigned long *first,
                        unsigned long *end)
{
    const struct share *share = member->share;
    const unsigned long number = openmp_index(member);
    const unsigned long all = steps_left(share);
    unsigned long from;
    unsigned long n;

    if (share->chunk == 0) {
        struct block block = block_of_thread(all, member->n, number);

        member->ticket = (long)number;
        from = block.first;
        n = member->n_chunks > 0 ? 0 : block.n;
    } else {
        member->ticket =
            (long)(number + (unsigned long)member->n_chunks * member->n);
        if ((unsigned long)member->ticket > (all - 1) / share->chunk) {
            return false;
        }
        from = (unsigned long)member->ticket * share->chunk;
        n = share->chunk < all - from ? share->chunk : all - from;
    }
    member->n_chunks++;
    give_steps(share, from, n, first, end);
    return n > 0;
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
    if (share->kind == STATIC) {
        return take_static(member, first, end);
    }
    left = steps_left(share);
    n = chunk_steps(share, member->n, left);
    give_steps(share, 0, n, first, end);
    share->next = n == left ? share->end : *end;
    member->ticket = share->n_taken++;
    return true;
}

static bool take_chunk_or_leave(struct member *member, unsigned long *first,
                                unsigned long *end)
{
    bool has_one = take_chunk(member, first, end);

    if (member->across != NULL) {
        openmp_across_chunk(member, has_one ? *first : 0, has_one ? *end : 0);
    }
    if (!has_one) {
        leave_construct(member);
    }
    return has_one;
}

static bool begin_ordered(const struct share *settings, unsigned long *first,
                          unsigned long *end)
{
    struct member *member = self();
    bool has_one;

    enter_share(member, settings);
    has_one = take_chunk_or_leave(member, first, end);
    share_unlock(member);
    return has_one;
}

// Of a loop that the thread knows itself.
static bool take_own_chunk(struct member *member, unsigned long *first,
                           unsigned long *end)
{
    if (is_over(member->share)) {
        return false;
    }
    return member->share->kind == STATIC
               ? take_static(member, first, end)
               : openmp_take_chunk(member, first, end);
}

static bool begin_loop(const struct share *settings, unsigned long *first,
                       unsigned long *end)
{
    struct member *member = self();

    if (!openmp_has_chunks(member, settings)) {
        return begin_ordered(settings, first, end);
    }
    openmp_enter_chunks(member, settings);
    return take_own_chunk(member, first, end);
}

static bool next_chunk(unsigned long *first, unsigned long *end)
{
    struct member *member = self();
    bool has_one;

    if (openmp_is_in_chunks(member)) {
        return take_own_chunk(member, first, end);
    }
    share_lock(member);
    has_one = take_chunk_or_leave(member, first, end);
    share_unlock(member);
    return has_one;
}

struct share loop_of(unsigned long start, unsigned long end, unsigned long step,
                     enum schedule kind, unsigned long chunk)
{
    return (struct share){.next = start,
                          .end = end,
                          .step = step,
                          .is_down = (long)step < 0,
                          .kind = kind,
                          .chunk = chunk};
}

struct share loop_at_run_time(unsigned long start, unsigned long end,
                              unsigned long step)
{
    const struct icvs *icvs = &self()->icvs;

    return loop_of(start, end, step, icvs->kind, icvs->chunk);
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
    while (member->share->turn != member->ticket) {
        share_wait(member);
    }
}

static bool next_ordered(unsigned long *first, unsigned long *end)
{
    struct member *member = self();
    bool has_one;

    if (member->n == 1) {
        return take_chunk_or_leave(member, first, end);
    }
    share_lock(member);
    wait_for_turn(member);
    member->share->turn++;
    share_wake(member);
    has_one = take_chunk_or_leave(member, first, end);
    share_unlock(member);
    return has_one;
}

void GOMP_ordered_start(void);
void GOMP_ordered_start(void)
{
    struct member *member = self();

    if (member->n > 1) {
        share_lock(member);
        wait_for_turn(member);
        share_unlock(member);
    }
}

NOTHING(GOMP_ordered_end)

// ---- loops, as compilers call them

static void run_loop(region *function, void *data, unsigned n,
                     struct share settings)
{
    openmp_run(function, data, n, &settings, NULL);
}

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

#define BARRIER(name)                                                          \
    void name(void);                                                           \
    void name(void)                                                            \
    {                                                                          \
        openmp_barrier();                                                      \
    }

BARRIER(GOMP_loop_end)

// ---- loops, as compilers call those that have memory: reductions of tasks, or of the
// program's own

enum { AT_RUN_TIME = 0, IS_MONOTONIC = 1u << 31 };

struct share loop_of_kind(struct share loop, unsigned schedule, long chunk)
{
    const unsigned kind = schedule & ~IS_MONOTONIC;

    if (kind == AT_RUN_TIME) {
        loop.kind = self()->icvs.kind;
        loop.chunk = self()->icvs.chunk;
    } else {
        loop.kind = kind == AUTO ? STATIC : (enum schedule)kind;
        loop.chunk = (unsigned long)chunk;
    }
    return loop;
}

// @param memory  holds a size, then an address; or NULL
static void add_memory(struct share *settings, const uintptr_t *reductions,
                       void *const *memory)
{
    if (reductions != NULL && self()->n > 1) {
        settings->block_size[FOR_REDUCTIONS] =
            openmp_reductions_size(reductions, self()->n);
    }
    if (memory != NULL) {
        settings->block_size[FOR_PROGRAM] = (size_t)*memory;
    }
}

// A thread's own share is the next construct's, which may be within this one.
static void *room_of(const struct member *member, const uintptr_t *reductions)
{
    return member->n == 1 ? openmp_reductions_room(reductions, 1)
                          : member->share->block[FOR_REDUCTIONS];
}

static void use_memory(const struct member *member, uintptr_t *reductions,
                       void **memory)
{
    if (reductions != NULL) {
        openmp_enter_reductions(reductions, room_of(member, reductions),
                                member->n);
    }
    if (memory != NULL) {
        *memory = member->share->block[FOR_PROGRAM];
    }
}

bool loop_begin(struct share settings, unsigned long *first, unsigned long *end,
                uintptr_t *reductions, void **memory)
{
    struct member *member = self();
    bool has_one = true;

    add_memory(&settings, reductions, memory);
    enter_share(member, &settings);
    if (first == NULL) {
        leave_construct(member);
    } else {
        has_one = take_chunk_or_leave(member, first, end);
    }
    share_unlock(member);
    use_memory(member, reductions, memory);
    return has_one;
}

#define START_WITH_MEMORY(name, type, up, settings)                            \
    bool name(up() type start, type end, type step, unsigned schedule,         \
              type chunk, type *first, type *last, uintptr_t *reductions,      \
              void **memory);                                                  \
    bool name(up() type start, type end, type step, unsigned schedule,         \
              type chunk, type *first, type *last, uintptr_t *reductions,      \
              void **memory)                                                   \
    {                                                                          \
        return loop_begin(loop_of_kind(settings, schedule, (long)chunk),       \
                          (unsigned long *)first, (unsigned long *)last,       \
                          reductions, memory);                                 \
    }

#define ANY OF(STATIC)
START_WITH_MEMORY(GOMP_loop_start, long, NO_MORE, ANY)
START_WITH_MEMORY(GOMP_loop_ordered_start, long, NO_MORE, ANY)
START_WITH_MEMORY(GOMP_loop_ull_start, ulong, WITH_UP, unsigned_loop(ANY, up))
START_WITH_MEMORY(GOMP_loop_ull_ordered_start, ulong, WITH_UP,
                  unsigned_loop(ANY, up))

void GOMP_scope_start(uintptr_t *reductions);
void GOMP_scope_start(uintptr_t *reductions)
{
    loop_begin(loop_of(0, 0, 1, STATIC, 0), NULL, NULL, reductions, NULL);
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

unsigned GOMP_sections2_start(unsigned n, uintptr_t *reductions, void **memory);
unsigned GOMP_sections2_start(unsigned n, uintptr_t *reductions, void **memory)
{
    unsigned long first;
    unsigned long end;

    return loop_begin(loop_of(1, n + 1ul, 1, DYNAMIC, 1), &first, &end,
                      reductions, memory)
               ? (unsigned)first
               : 0;
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

BARRIER(GOMP_sections_end)

NOTHING(GOMP_sections_end_nowait)

// ---- single: left at once by all. What is copied is there until the barrier at its end.

static bool begin_single(void)
{
    const struct share one = loop_of(0, 1, 1, DYNAMIC, 1);
    struct member *member = self();
    unsigned long first;
    unsigned long end;
    bool is_first;

    enter_share(member, &one);
    is_first = take_chunk(member, &first, &end);
    leave_construct(member);
    share_unlock(member);
    return is_first;
}

bool GOMP_single_start(void);
bool GOMP_single_start(void)
{
    const struct share one = loop_of(0, 1, 1, DYNAMIC, 1);
    struct member *member = self();
    unsigned long first;
    unsigned long end;

    if (!openmp_has_chunks(member, &one)) {
        return begin_single();
    }
    openmp_enter_chunks(member, &one);
    return openmp_take_chunk(member, &first, &end);
}

void *GOMP_single_copy_start(void);
void *GOMP_single_copy_start(void)
{
    if (begin_single()) {
        return NULL;
    }
    openmp_barrier();
    return self()->share->copied;
}

void GOMP_single_copy_end(void *data);
void GOMP_single_copy_end(void *data)
{
    struct member *member = self();

    member->share->copied = data;
    if (member->n > 1) {
        front_lend_locals(&member->copied, data);
        openmp_meet(); // the loan ends at the next one
    }
}

// ---- regions

void openmp_clear_shares(struct team *team)
{
    for (unsigned i = 0; i < RING; i++) {
        struct share *share = &team->ring.share[i];

        if (share->number > 0) {
            free_blocks(share);
            *share = (struct share){0};
        }
    }
}

void openmp_enter_first(const struct share *settings)
{
    struct member *member = self();

    if (openmp_has_chunks(member, settings)) {
        openmp_enter_chunks(member, settings);
        return;
    }
    enter_share(member, settings);
    share_unlock(member);
}

void openmp_leave_shares(struct member *member)
{
    if (has_own_share(member)) {
        free_blocks(member->share);
        front_free(member->share);
        member->share = NULL;
    }
}
