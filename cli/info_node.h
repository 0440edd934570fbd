// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_INFO_NODE_H
#define CLI_INFO_NODE_H

#include "base/options.h"
#include "os/memory.h"

/** `teamster info --node`: measure what this machine would offer as a node, and
 * print a line for each thing. Takes some hundredths of a second. */
void info_print_node(const struct options *options);

// ---- info.c, for both

/** A line: a name, and what a format makes. */
__attribute__((format(printf, 2, 3))) void info_row(const char *name,
                                                    const char *format, ...);

/** A line with an amount of memory, and what says so. */
void info_bound_row(const char *name, const struct memory_bound *bound);

/** Is real-time priority permitted? Asks for it, and gives it back. */
int info_has_real_time(void);

/** The name of the fault source that a run would use, or NULL. */
const char *info_fault_source(const struct options *options);

#endif
