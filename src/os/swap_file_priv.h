// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_SWAP_FILE_PRIV_H
#define OS_SWAP_FILE_PRIV_H

/*
 * A swap file from inside: for swap_file.c, swap_open.c and swap_work.c.
 */

#include "os/swap_engine.h"
#include "os/swap_file.h"
#include "os/swap_slots.h"

struct transfer_list {
    struct swap_transfer *first;
    struct swap_transfer **last;
};

/** A job, and whose it is. */
struct work {
    struct swap_job job; // first: a job is found in its work by a cast
    struct swap_transfer *transfer; ///< NULL: regions are given back
    struct work *next_free;
};

struct swap_file {
    int fd;
    int is_direct;
    int is_in_memory;
    char *folder;
    uint64_t rate;
    const struct swap_probe *probe;
    const struct swap_engine *engine;
    struct swap_engine_state *engine_state;

    int wake;  ///< eventfd that the engine writes to
    int timer; ///< -1 without a rate
    int watch; ///< epoll of both, -1 without a rate

    struct swap_slots slots;
    uint32_t *sums;      ///< [n_sums]
    uint64_t n_sums;     ///< at least slots.n_slots
    uint64_t length;     ///< of the file, bytes
    uint64_t refused_ns; ///< when it last could not grow; 0: it could

    struct work works[SWAP_MAX_JOBS];
    struct work *free_works;
    unsigned n_jobs; ///< submitted, not reaped

    struct transfer_list queue;
    struct swap_transfer *ended; ///< by due_ns
    uint64_t rate_ns;            ///< when the last one started may end
    const struct swap_transfer *awaited;
    int is_delivering;

    int can_punch;
    int is_shrinking;
    unsigned n_punching; ///< regions
    uint64_t first_punching;

    uint64_t busy_since_ns;
    struct swap_stats stats;
    int logged_errno[2]; ///< [swap_op] the last one that was told
};

// ---- swap_file.c

/** For struct swap_slots: let there be as many slots. @param owner  the file */
int swap_file_may_grow(void *owner, uint64_t n_slots);

// ---- swap_work.c

/** Let jobs of a transfer be submitted, now or when there is room. */
void swap_work_start(struct swap_file *file, struct swap_transfer *transfer);

/** See what jobs have ended; transfers that have go to the list of ended ones. */
void swap_work_collect(struct swap_file *file);

/** Wait until a job may have ended. Context: blocks for the disk. */
void swap_work_await(struct swap_file *file);

/** Give regions back if there are many. */
void swap_work_shrink(struct swap_file *file);

/** Forget what was written to slots. */
void swap_work_forget(struct swap_file *file, uint64_t slot, unsigned n);

/** Make the eventfd readable, and unreadable. */
void swap_work_ring(const struct swap_file *file);
void swap_work_drain(const struct swap_file *file);

/** Block until a descriptor is readable. */
void swap_work_sleep(int fd);

#endif
