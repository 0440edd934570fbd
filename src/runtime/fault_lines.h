// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_FAULT_LINES_H
#define RUNTIME_FAULT_LINES_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Which instructions of the program fault, for --report: counted by address, which is the same
 * on all nodes. A table of fixed size; what finds no place in it is counted as one, address 0.
 */

enum {
    FAULT_LINES_MAX = 1024, ///< instructions of a node
    FAULT_LINES_TOLD =
        64, ///< of a node, to the root: those that waited longest
};

struct fault_line {
    uint64_t pc; ///< 0: of all others
    uint64_t reads;
    uint64_t writes;
    _Atomic uint64_t wait_ns; ///< of threads, for pages of other nodes
};

struct fault_lines; // under the node lock, but for wait_ns

/** @return NULL: there is no memory */
struct fault_lines *fault_lines_new(void);
void fault_lines_free(struct fault_lines *lines);

/** An instruction faults. @return to add a wait to; stays where it is */
struct fault_line *fault_lines_note(struct fault_lines *lines, uint64_t pc,
                                    int is_write);

/** Context: any, without a lock. */
static inline void fault_line_waited(struct fault_line *line, uint64_t ns)
{
    atomic_fetch_add_explicit(&line->wait_ns, ns, memory_order_relaxed);
}

static inline uint64_t fault_line_wait_ns(const struct fault_line *line)
{
    return atomic_load_explicit(&line->wait_ns, memory_order_relaxed);
}

/** Add counts of other nodes. */
void fault_lines_add(struct fault_lines *lines, const struct fault_line *line);

/**
 * Those that waited longest come first, then those with most faults.
 * @param[out] sorted  [n]
 * @return how many there are, <= n; the last is of all that have no room, if it is full
 */
unsigned fault_lines_sorted(const struct fault_lines *lines,
                            struct fault_line *sorted, unsigned n);

#endif
