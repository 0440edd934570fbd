// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_OPENMP_LOOPS_H
#define FRONTEND_OPENMP_LOOPS_H

#include "openmp.h"

#include <sys/types.h>

/* What the files of loops share: those whose chunks are independent or in one order
 * (openmp_loops.c), and those whose iterations wait for others (openmp_across.c). */

// ---- openmp_loops.c

/** The mutex of the share that a member is in, if it has others; what its threads wait
 * for. REQUIRES(share_lock) of the last two */
void share_lock(const struct member *member);
void share_unlock(const struct member *member);
void share_wait(const struct member *member);
void share_wake(const struct member *member);

/** Descriptions of a loop. */
struct share loop_of(unsigned long start, unsigned long end, unsigned long step,
                     enum schedule kind, unsigned long chunk);
struct share loop_at_run_time(unsigned long start, unsigned long end,
                              unsigned long step);

/** With a schedule as the compiler numbers it. */
struct share loop_of_kind(struct share loop, unsigned schedule, long chunk);

/** A loop with memory begins.
 * @param first  NULL: the compiler shares out the steps itself
 * @param reductions  of tasks, or NULL
 * @param memory  holds a size, then an address; or NULL
 * @return has the caller a chunk? */
bool loop_begin(struct share settings, unsigned long *first, unsigned long *end,
                uintptr_t *reductions, void **memory);

/** How many steps are left of a loop that is not over. */
static inline unsigned long steps_left(const struct share *share)
{
    unsigned long distance =
        share->is_down ? share->next - share->end : share->end - share->next;
    unsigned long step = share->is_down ? 0 - share->step : share->step;

    return (distance - 1) / step + 1;
}

/** How many steps the next chunk has, of those that are left: at least one. */
static inline unsigned long chunk_steps(const struct share *share,
                                        unsigned n_threads, unsigned long left)
{
    unsigned long n = share->chunk == 0 ? 1 : share->chunk;

    if (share->kind == GUIDED && left / n_threads / 2 > n) {
        n = left / n_threads / 2;
    }
    return n < left ? n : left;
}

/** So many steps from this one on are the caller's. */
static inline void give_steps(const struct share *share, unsigned long from,
                              unsigned long n, unsigned long *first,
                              unsigned long *end)
{
    *first = share->next + from * share->step;
    *end =
        from + n == steps_left(share) ? share->end : *first + n * share->step;
}

// Parameters that not all of them have.
#define NO_MORE()
#define WITH_UP() bool up,
#define WITH_CHUNK() , long chunk

#define OF(kind)                                                               \
    loop_of((unsigned long)start, (unsigned long)end, (unsigned long)step,     \
            kind, (unsigned long)chunk)
#define OF_RUN_TIME                                                            \
    loop_at_run_time((unsigned long)start, (unsigned long)end,                 \
                     (unsigned long)step)

// ---- openmp_chunks.c

/** May the next construct of a thread's be such a loop? The same for all of a team. */
bool openmp_has_chunks(const struct member *member,
                       const struct share *settings);

/** The thread comes to it. REQUIRES(openmp_has_chunks) */
void openmp_enter_chunks(struct member *member, const struct share *settings);

/** Is it the construct that the thread came to last? */
bool openmp_is_in_chunks(const struct member *member);

/** The next chunk, if it is dynamic or guided, and not over from the start. */
bool openmp_take_chunk(struct member *member, unsigned long *first,
                       unsigned long *end);

// ---- openmp_across.c

/** The caller of such a loop has come to the end of its chunk, and has this one now; it has
 * left the loop if that is empty. REQUIRES(share_lock) */
void openmp_across_chunk(struct member *member, unsigned long first,
                         unsigned long end) __attribute__((weak));

#endif
