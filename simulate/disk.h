// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIMULATE_DISK_H
#define SIMULATE_DISK_H

#include "os/swap_file.h"
#include "simulate/events.h"

/*
 * The disk of a simulated node, as an engine of its swap file: bytes are really written and
 * read, in /dev/shm, but a call ends when a disk of so many bytes a second, with so long a
 * seek, would have done it, one call after the other. It is never full: without room in
 * /dev/shm the process ends.
 */
struct disk;

/** How fast. */
struct disk_speed {
    double
        seek_s; ///< before a call that does not go on where the last one ended
    double bytes_per_s; ///< > 0
};

/** @param ended  called when a call has ended, as an event: the swap file is to be polled
 *  @return it; the process ends if memory is short. Free it after the swap file. */
struct disk *disk_new(struct events *events, const struct disk_speed *speed,
                      event_fn *ended, void *owner);
void disk_free(struct disk *disk);

/** Have a swap file use it: sets its folder and its engine. */
void disk_set(struct disk *disk, struct swap_settings *settings);

/** How long it was busy, ns. */
uint64_t disk_busy_ns(const struct disk *disk);

/** Calls that somebody waited for in place, which cost no time: 0 but for what the pager
 * itself must read at once. */
uint64_t disk_n_hurried(const struct disk *disk);

#endif
