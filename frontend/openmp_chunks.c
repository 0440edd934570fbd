// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks that nobody waits for: of loops without an order and without memory, sections, and what
// is done by a single thread. Nothing that OpenMP says makes them a synchronisation, so whoever
// takes one releases nothing and acquires nothing. Each thread knows the loop; what they share is a
// number in sequential memory, how many of its steps have been taken. The processor's own
// instruction adds to it, on the node that has the page.
//
// Where many chunks take little time a thread takes several at once, and hands them out to
// itself one by one. They are the next ones, in order.
//
// O1  A number is of the construct that is written beside it. A construct that comes RING later
//     takes it over with its first chunk: all threads have left the one before by then, since they
//     have passed a barrier. Else its chunks are shared out under a mutex (openmp_loops.c), by all
//     threads, since they pass constructs and barriers in one order.
#include "openmp_loops.h"

#include <time.h>

/** One at a time is taken if it takes LONG_NS; more and more if they take SHORT_NS, which is
 * several times as long as a page needs to come. At least PARTS times as many times as there are
 * threads, all the same. */
enum { SHORT_NS = 200 * 1000, LONG_NS = 1000 * 1000, PARTS = 4 };

/** 16 bytes that are changed by one instruction. */
union counter {
    struct {
        uint64_t construct;
        uint64_t n_taken; // steps of its loop
    };
    unsigned __int128 both;
};

static union counter *counter_of(const struct member *member)
{
    return &member->team->counters[member->n_shares % RING];
}

// Of all that teams have been in. 0: none.
static uint64_t construct_of(const struct member *member)
{
    return (uint64_t)member->team->n_regions << 32 | (uint64_t)member->n_shares;
}

_Static_assert(sizeof(union counter) * RING <= sizeof(unsigned) * OPENMP_HINTS,
               "counters need one page");

bool openmp_has_chunks(const struct member *member,
                       const struct share *settings)
{
    return member->n > 1 && settings->block_size[FOR_REDUCTIONS] == 0 &&
           settings->block_size[FOR_PROGRAM] == 0 && settings->n_counts == 0 &&
           member->n_shares + 1 - member->n_done <= RING;
}

void openmp_enter_chunks(struct member *member, const struct share *settings)
{
    member->n_shares++;
    member->n_chunks = 0;
    member->chunks = (struct chunks){.loop = *settings, .batch = 1};
    member->share = &member->chunks.loop;
}

bool openmp_is_in_chunks(const struct member *member)
{
    return member->share == &member->chunks.loop;
}

// ---- how many at once

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// What was taken last has been run.
static void choose_batch(struct chunks *chunks)
{
    const uint64_t took_ns = now_ns() - chunks->taken_ns;

    if (chunks->taken_ns != 0 && took_ns < SHORT_NS) {
        chunks->batch *= 2;
    } else if (took_ns > LONG_NS && chunks->batch > 1) {
        chunks->batch /= 2;
    }
}

static unsigned long at_least(unsigned long n, unsigned long least)
{
    return n < least ? least : n;
}

// So many steps of those that are left.
static unsigned long wanted_steps(const struct member *member,
                                  unsigned long left)
{
    const struct chunks *chunks = &member->chunks;
    const unsigned long chunk = at_least(chunks->loop.chunk, 1);
    unsigned long n;

    if (chunks->loop.kind == GUIDED) {
        n = at_least(left / member->n / 2, chunk);
    } else {
        n = left / member->n / PARTS / chunk;
        n = chunk * at_least(n < chunks->batch ? n : chunks->batch, 1);
    }
    return n < left ? n : left;
}

// ---- taking them

// In this order: steps that have been taken of another construct are never seen as of this one.
static union counter read_counter(const union counter *counter)
{
    union counter read;

    read.construct = __atomic_load_n(&counter->construct, __ATOMIC_ACQUIRE);
    read.n_taken = __atomic_load_n(&counter->n_taken, __ATOMIC_RELAXED);
    return read;
}

// The next steps of the construct are the caller's. @return how many, from `from` on
static unsigned long take_steps(const struct member *member, unsigned long all,
                                unsigned long *from)
{
    union counter *counter = counter_of(member);
    union counter before = read_counter(counter);
    union counter after = {.construct = construct_of(member)};
    unsigned __int128 found;
    unsigned long n;

    for (;;) {
        *from = before.construct == after.construct ? before.n_taken : 0;
        n = *from < all ? wanted_steps(member, all - *from) : 0;
        if (n == 0) {
            return 0;
        }
        after.n_taken = *from + n;
        found = __sync_val_compare_and_swap(&counter->both, before.both,
                                            after.both);
        if (found == before.both) {
            return n;
        }
        before.both = found;
    }
}

// What is handed out is a chunk; a guided one is all that was taken.
static bool hand_out(struct member *member, unsigned long *first,
                     unsigned long *end)
{
    struct chunks *chunks = &member->chunks;
    const unsigned long left = chunks->end - chunks->next;
    const unsigned long chunk = at_least(chunks->loop.chunk, 1);
    const unsigned long n =
        chunks->loop.kind == GUIDED || left < chunk ? left : chunk;

    give_steps(&chunks->loop, chunks->next, n, first, end);
    chunks->next += n;
    return true;
}

bool openmp_take_chunk(struct member *member, unsigned long *first,
                       unsigned long *end)
{
    struct chunks *chunks = &member->chunks;
    unsigned long from;
    unsigned long n;

    if (chunks->next == chunks->end) {
        choose_batch(chunks);
        n = take_steps(member, steps_left(&chunks->loop), &from);
        if (n == 0) {
            return false;
        }
        chunks->next = from;
        chunks->end = from + n;
        chunks->taken_ns = now_ns();
    }
    return hand_out(member, first, end);
}
