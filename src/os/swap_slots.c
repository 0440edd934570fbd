// SPDX-License-Identifier: BSD-3-Clause
/*
 * The slots of a swap file, 64 of them a region: a word of a bitmap.
 *
 * A run is taken where the last one ended (next fit): what leaves memory together
 * lies together, so that it comes back in one transfer. If the slots there are too
 * few, the next runs are looked at, but only a few of them, so that a reservation
 * costs the same in a file of millions of slots; then the next region that is free
 * as a whole; then the file grows. It does not grow while more than half of it is
 * free: then, and at the limit, the longest of the runs seen has to do.
 *
 * Three bitmaps with a bit for each region let the search skip 64 regions, 16 MiB,
 * with a look at one word.
 *
 * A region is stale if it was used and is free as a whole: the file system may have
 * it back. While that is under way it is held: not free, since a slot that is
 * written meanwhile would lose its contents.
 *
 * I1  Bits of `taken` are set for slots in use, held, and beyond n_slots.
 * I2  A region is open if a bit of it is clear, empty if all are.
 * I3  n_stale is the number of regions that are empty and touched.
 */
#include "os/swap_slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"

/** Runs to look at before a region that is free as a whole is taken. */
#define N_LOOKS 32

/** Regions that the file grows by, at least. */
#define GROWTH 16

struct run {
    uint64_t first;
    unsigned n;
};

static int bit_is_set(const uint64_t *bits, size_t i)
{
    return (int)(bits[i / 64] >> i % 64 & 1);
}

static void bit_assign(uint64_t *bits, size_t i, int value)
{
    uint64_t bit = UINT64_C(1) << i % 64;

    if (value) {
        bits[i / 64] |= bit;
    } else {
        bits[i / 64] &= ~bit;
    }
}

/** @return the first region >= from with a bit set in both, n if there is none */
static size_t next_set(const uint64_t *bits, const uint64_t *others,
                       size_t from, size_t n)
{
    uint64_t mask = ~UINT64_C(0) << from % 64;

    for (size_t i = from / 64; i < (n + 63) / 64; i++) {
        uint64_t word = bits[i] & others[i] & mask;

        if (word != 0) {
            return i * 64 + (size_t)__builtin_ctzll(word);
        }
        mask = ~UINT64_C(0);
    }
    return n;
}

static size_t n_regions_of(const struct swap_slots *slots)
{
    return (slots->n_slots + SWAP_REGION - 1) / SWAP_REGION;
}

static int is_stale(const struct swap_slots *slots, size_t region)
{
    return bit_is_set(slots->empty, region) &&
           bit_is_set(slots->touched, region);
}

/** Change the bits of a region, and what follows from them (I2, I3). */
static void set_region(struct swap_slots *slots, size_t region, uint64_t taken,
                       int touched)
{
    slots->n_stale -= (uint64_t)is_stale(slots, region);
    slots->taken[region] = taken;
    bit_assign(slots->open, region, taken != ~UINT64_C(0));
    bit_assign(slots->empty, region, taken == 0);
    bit_assign(slots->touched, region, touched);
    slots->n_stale += (uint64_t)is_stale(slots, region);
}

/** @return the bits of slots of a region that are in first to first + n - 1 */
static uint64_t bits_of_run(size_t region, uint64_t first, uint64_t n)
{
    uint64_t start = region * SWAP_REGION;
    uint64_t end = first + n;
    uint64_t bits = ~UINT64_C(0);

    if (first > start) {
        bits <<= first - start;
    }
    if (end < start + SWAP_REGION) {
        bits &= (UINT64_C(1) << (end - start)) - 1;
    }
    return bits;
}

void swap_slots_init(struct swap_slots *slots, uint64_t limit,
                     int (*may_grow)(void *owner, uint64_t n_slots),
                     void *owner)
{
    ensure(limit > 0);
    *slots = (struct swap_slots){
        .limit = limit, .may_grow = may_grow, .owner = owner};
}

void swap_slots_release(struct swap_slots *slots)
{
    free(slots->taken);
    free(slots->open);
    free(slots->empty);
    free(slots->touched);
    swap_slots_init(slots, slots->limit, slots->may_grow, slots->owner);
}

static int resize(uint64_t **words, size_t before, size_t n)
{
    uint64_t *grown = realloc(*words, n * sizeof *grown);

    if (grown == NULL) {
        return 0;
    }
    memset(grown + before, 0, (n - before) * sizeof *grown);
    *words = grown;
    return 1;
}

static int make_room(struct swap_slots *slots, size_t n_regions)
{
    size_t before = slots->room;
    size_t room = before > 0 ? before : 64;

    while (room < n_regions) {
        room *= 2;
    }
    if (room > before) {
        if (!resize(&slots->taken, before, room) ||
            !resize(&slots->open, before / 64, room / 64) ||
            !resize(&slots->empty, before / 64, room / 64) ||
            !resize(&slots->touched, before / 64, room / 64)) {
            return 0; // what has been resized is only larger than known
        }
        slots->room = room;
    }
    return 1;
}

/** @return 1 if there are more slots than before */
static int grow(struct swap_slots *slots)
{
    uint64_t before = slots->n_slots;
    uint64_t wanted = before + before / 8 + GROWTH * SWAP_REGION;
    size_t n_regions;

    wanted -= wanted % SWAP_REGION;
    if (wanted > slots->limit) {
        wanted = slots->limit;
    }
    n_regions = (wanted + SWAP_REGION - 1) / SWAP_REGION;
    if (wanted <= before || !make_room(slots, n_regions) ||
        !slots->may_grow(slots->owner, wanted)) {
        return 0;
    }
    slots->n_slots = wanted;
    for (size_t i = before / SWAP_REGION; i < n_regions; i++) {
        uint64_t beyond = (i + 1) * SWAP_REGION;

        set_region(slots, i, beyond > wanted ? ~bits_of_run(i, 0, wanted) : 0,
                   0);
    }
    return 1;
}

/** Free slots from one on that is free, at most `most`. */
static unsigned run_length(const struct swap_slots *slots, uint64_t first,
                           unsigned most)
{
    size_t region = first / SWAP_REGION;
    unsigned skipped = (unsigned)(first % SWAP_REGION);
    uint64_t taken = slots->taken[region] >> skipped;
    unsigned n =
        taken != 0 ? (unsigned)__builtin_ctzll(taken) : SWAP_REGION - skipped;

    if (taken == 0 && n < most && region + 1 < n_regions_of(slots)) {
        taken = slots->taken[region + 1];
        n += taken != 0 ? (unsigned)__builtin_ctzll(taken) : SWAP_REGION;
    }
    return n < most ? n : most;
}

/** The next free slots from a slot on. @return 0 if there are none */
static int next_run(const struct swap_slots *slots, uint64_t from,
                    unsigned most, struct run *run)
{
    size_t n_regions = n_regions_of(slots);
    size_t region = from / SWAP_REGION;
    uint64_t is_free = 0;

    if (region < n_regions) {
        is_free = ~slots->taken[region] & ~UINT64_C(0) << from % SWAP_REGION;
    }
    if (is_free == 0) {
        region = next_set(slots->open, slots->open, region + 1, n_regions);
        if (region >= n_regions) {
            return 0;
        }
        is_free = ~slots->taken[region];
    }
    run->first = region * SWAP_REGION + (uint64_t)__builtin_ctzll(is_free);
    run->n = run_length(slots, run->first, most);
    return 1;
}

/** The first run of n from the cursor on, or the longest of some. */
static struct run look_around(const struct swap_slots *slots, unsigned n)
{
    struct run best = {0};
    struct run run;
    uint64_t from = slots->cursor;
    int wrapped = 0;

    for (int i = 0; i < N_LOOKS && best.n < n; i++) {
        if (!next_run(slots, from, n, &run)) {
            if (wrapped) {
                break;
            }
            wrapped = 1;
            from = 0;
            continue;
        }
        if (wrapped && run.first >= slots->cursor) {
            break;
        }
        if (run.n > best.n) {
            best = run;
        }
        from = run.first + run.n;
    }
    return best;
}

static struct run empty_region(const struct swap_slots *slots, unsigned n)
{
    size_t n_regions = n_regions_of(slots);
    size_t region = next_set(slots->empty, slots->empty,
                             slots->cursor / SWAP_REGION, n_regions);

    if (region >= n_regions) {
        region = next_set(slots->empty, slots->empty, 0, n_regions);
    }
    if (region >= n_regions) {
        return (struct run){0};
    }
    return (struct run){.first = region * SWAP_REGION, .n = n};
}

/** @return the first of the free slots at the end */
static uint64_t last_run(const struct swap_slots *slots)
{
    uint64_t taken;

    if (slots->n_slots == 0) {
        return 0;
    }
    taken = slots->taken[n_regions_of(slots) - 1];
    return slots->n_slots -
           (taken != 0 ? (uint64_t)__builtin_clzll(taken) : SWAP_REGION);
}

static struct run find_run(struct swap_slots *slots, unsigned n)
{
    struct run best = look_around(slots, n);
    struct run other;
    uint64_t last = last_run(slots);

    if (best.n < n) {
        other = empty_region(slots, n);
        best = other.n > 0 ? other : best;
    }
    if (best.n < n && (slots->n_used + slots->n_held) * 2 >= slots->n_slots &&
        grow(slots)) {
        other = (struct run){last, run_length(slots, last, n)};
        best = other.n > best.n ? other : best;
    }
    return best;
}

unsigned swap_slots_reserve(struct swap_slots *slots, unsigned n,
                            uint64_t *first)
{
    struct run run;

    ensure(n > 0 && n <= SWAP_MAX_RUN);
    run = find_run(slots, n);
    if (run.n == 0) {
        return 0;
    }
    for (size_t i = run.first / SWAP_REGION;
         i * SWAP_REGION < run.first + run.n; i++) {
        uint64_t bits = bits_of_run(i, run.first, run.n);

        ensure((slots->taken[i] & bits) == 0);
        set_region(slots, i, slots->taken[i] | bits, 1);
    }
    slots->n_used += run.n;
    if (slots->n_used > slots->n_used_max) {
        slots->n_used_max = slots->n_used;
    }
    slots->cursor = run.first + run.n;
    *first = run.first;
    return run.n;
}

void swap_slots_free(struct swap_slots *slots, uint64_t first, unsigned n)
{
    ensure(n > 0 && n <= SWAP_MAX_RUN && first < slots->n_slots &&
           n <= slots->n_slots - first);
    for (size_t i = first / SWAP_REGION; i * SWAP_REGION < first + n; i++) {
        uint64_t bits = bits_of_run(i, first, n);

        ensure((slots->taken[i] & bits) == bits);
        set_region(slots, i, slots->taken[i] & ~bits, 1);
    }
    slots->n_used -= n;
}

unsigned swap_slots_hold(struct swap_slots *slots, unsigned max,
                         uint64_t *first)
{
    size_t n_regions = n_regions_of(slots);
    size_t region = next_set(slots->empty, slots->touched, 0, n_regions);
    unsigned n = 0;

    if (region >= n_regions) {
        return 0;
    }
    while (n < max && region + n < n_regions && is_stale(slots, region + n)) {
        set_region(slots, region + n, ~UINT64_C(0), 1);
        n++;
    }
    slots->n_held += (uint64_t)n * SWAP_REGION;
    *first = region * SWAP_REGION;
    return n;
}

void swap_slots_unhold(struct swap_slots *slots, uint64_t first,
                       unsigned n_regions, int punched)
{
    size_t region = first / SWAP_REGION;

    for (unsigned i = 0; i < n_regions; i++) {
        ensure(slots->taken[region + i] == ~UINT64_C(0));
        set_region(slots, region + i, 0, !punched);
    }
    slots->n_held -= (uint64_t)n_regions * SWAP_REGION;
}

int swap_slots_is_valid(const struct swap_slots *slots)
{
    uint64_t n_taken = 0;
    uint64_t n_stale = 0;
    size_t n_regions = n_regions_of(slots);

    for (size_t i = 0; i < n_regions; i++) {
        uint64_t taken = slots->taken[i];

        n_taken += (uint64_t)__builtin_popcountll(taken);
        n_stale += (uint64_t)is_stale(slots, i);
        if (bit_is_set(slots->open, i) != (taken != ~UINT64_C(0)) ||
            bit_is_set(slots->empty, i) != (taken == 0)) {
            return 0;
        }
    }
    return slots->n_slots <= slots->limit && n_regions <= slots->room &&
           n_stale == slots->n_stale && slots->n_used <= slots->n_used_max &&
           n_taken == slots->n_used + slots->n_held + n_regions * SWAP_REGION -
                          slots->n_slots;
}
