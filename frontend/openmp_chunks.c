// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks that nobody waits for: of loops without an order and without memory, sections, and what
// is done by a single thread. Nothing that OpenMP says makes them a synchronisation, so whoever
// takes one releases nothing and acquires nothing. Each thread knows the loop; what they share is a
// number in sequential memory, how many of its steps have been taken. The processor's own
// instruction adds to it, on the node that has the page.
//
// O1  A number is of the construct that is written beside it. A construct that comes RING later
//     takes it over with its first chunk: all threads have left the one before by then, since they
//     have passed a barrier. Else its chunks are shared out under a mutex (openmp_loops.c), by all
//     threads, since they pass constructs and barriers in one order.
#include "openmp_loops.h"

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
    member->loop = *settings;
    member->share = &member->loop;
}

bool openmp_is_in_chunks(const struct member *member)
{
    return member->share == &member->loop;
}

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
        n = *from < all ? chunk_steps(&member->loop, member->n, all - *from)
                        : 0;
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

bool openmp_take_chunk(struct member *member, unsigned long *first,
                       unsigned long *end)
{
    unsigned long from;
    const unsigned long n =
        take_steps(member, steps_left(&member->loop), &from);

    if (n > 0) {
        give_steps(&member->loop, from, n, first, end);
    }
    return n > 0;
}
