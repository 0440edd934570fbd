// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_PAGING_H
#define APPS_PAGING_H
/*
 * What --report says about memory that is short.
 */

#include <stdbool.h>

/**
 * Note the end of an iteration. Every eighth one, if nodes have a limit of memory,
 * prints a line: how many pages each node has read from its swap file and written
 * to it since the last.
 *
 * @param iteration  counted from 1
 * @param report     print the line; else this does nothing
 *
 * Context: one application thread; blocks for a round trip to each node.
 */
void paging_note(unsigned iteration, bool report);

#endif
