// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_WATCHERS_H
#define CLI_WATCHERS_H

#include <stdint.h>

struct job;

/*
 * How a job stands, told each second to who watches it by its control socket: a line of JSON
 *
 *   seconds       since the start
 *   program       its name
 *   running       whether it has begun
 *   iterations    that have ended; 0: none, or the program has none
 *   nodes         of each that takes part: number, name, host, threads, workers, page_ins,
 *                 moved_in, tracking, compute_s, wait_s, sync_s, swap_s, sent, resident,
 *                 memory, as of struct wire_boot_progress; sums since the start
 *
 * Nodes tell the launcher these numbers anyway, for --progress.
 */

/** Tell them, if it is time. */
void watchers_poll(struct job *job, uint64_t now_ns);

/** When it is time; 0: nobody watches. */
uint64_t watchers_due_ns(const struct job *job);

#endif
