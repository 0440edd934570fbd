// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_SWAP_SLOTS_H
#define OS_SWAP_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Which slots of a swap file are in use. No system calls; one caller at a time.
 */

/** Slots of a region: what is given back to the file system at once. */
#define SWAP_REGION 64

/** The longest run that can be asked for. */
#define SWAP_MAX_RUN 64

struct swap_slots {
    uint64_t limit; ///< slots that there may be

    // Asked when there shall be more slots. swap_slots_reserve().
    // @return 1, or 0: there are no more than before
    int (*may_grow)(void *owner, uint64_t n_slots);
    void *owner; ///< of may_grow()

    uint64_t n_slots; ///< that there are
    uint64_t n_used;
    uint64_t n_used_max;
    uint64_t n_held; ///< neither used nor free: being punched
    uint64_t n_stale;
    uint64_t cursor; ///< where to look first

    size_t room; ///< regions that the arrays have room for, a multiple of 64
    uint64_t *taken; ///< [room]     a bit for each slot: used, held, or beyond
    uint64_t *open;  ///< [room/64]  a bit for each region: a slot is free
    uint64_t *empty; ///< [room/64]  all slots are free
    uint64_t *touched; ///< [room/64]  reserved from since it was last punched
};

/** No slots; takes no memory yet. @param limit  most slots, at least 1
 * @param may_grow, owner  as in the struct */
void swap_slots_init(struct swap_slots *slots, uint64_t limit,
                     int (*may_grow)(void *owner, uint64_t n_slots),
                     void *owner);
void swap_slots_release(struct swap_slots *slots);

/**
 * Reserve adjacent slots.
 *
 * @param n           1 to SWAP_MAX_RUN
 * @param[out] first  untouched if there is none
 * @return n; fewer if no such run is easily found; 0 if all are used, and there are
 *         no more: no memory for them, or may_grow() said so
 *
 * Context: allocates when the file grows.
 */
unsigned swap_slots_reserve(struct swap_slots *slots, unsigned n,
                            uint64_t *first);

/** Free slots that are in use. @param n  1 to SWAP_MAX_RUN */
void swap_slots_free(struct swap_slots *slots, uint64_t first, unsigned n);

/** Take adjacent stale regions out of use. @param max  most regions, at least 1
 * @param[out] first  the first slot of them; untouched if there is none
 * @return regions, 0 if none is stale */
unsigned swap_slots_hold(struct swap_slots *slots, unsigned max,
                         uint64_t *first);

/** They are free again. @param punched  0: and stale as before */
void swap_slots_unhold(struct swap_slots *slots, uint64_t first,
                       unsigned n_regions, int punched);

/** Context: time proportional to the number of regions. */
int swap_slots_is_valid(const struct swap_slots *slots);

#endif
