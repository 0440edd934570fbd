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
 * Nodes tell the launcher these numbers anyway, for --progress. Who watches closely is told
 * more, which nodes tell then only (shown.h); and once more at the end:
 *
 *   nodes         also here, ranges of its threads' numbers, each [first, how many];
 *                 predicted_s, measured_s: how long it is busy in an iteration; 0: not known
 *   predicted_s, measured_s   of the iteration
 *   blocks        by line that allocates: name, file, line, pages at most at one time, nodes:
 *                 for each [number, reads, writes, fetches, diffs]; heat: these of all nodes,
 *                 by part of the block, 32 of equal length; those with most events
 *   n_blocks      how many there are
 *   decisions     the latest: number, seconds, text
 *   exit_code     in the last line only
 */

/** Tell them, if it is time. */
void watchers_poll(struct job *job, uint64_t now_ns);

/** The run is over: who watches closely gets the last numbers. */
void watchers_tell_end(struct job *job);

/** When it is time; 0: nobody watches. */
uint64_t watchers_due_ns(const struct job *job);

#endif
