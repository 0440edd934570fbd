// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_SAMPLE_H
#define OBSERVE_SAMPLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "os/memory_watch.h"

/** The latest that is known of a node's memory. One kernel thread takes samples,
 * all others may read single numbers at any time, relaxed: they need not be of one
 * sample. */
struct node_sample {
    _Atomic uint64_t n_samples; ///< 0: the others mean nothing yet
    _Atomic uint64_t taken_ns;  ///< clock_now_ns()
    _Atomic uint64_t total;     ///< bytes; what the node could get at most
    _Atomic uint64_t available; ///< bytes; what it can get without swapping
    _Atomic uint64_t
        shared; ///< bytes; shared memory in the group, see os/memory_watch.h
    _Atomic uint64_t swap_free; ///< bytes of the kernel's swap
    _Atomic uint64_t stall_us; ///< PSI memory "some" since the machine's start;
                               ///< 0 if the kernel does not say
    _Atomic uint64_t major_faults; ///< of this process since its start
};

/** Read what there is now. Context: one kernel thread; reads some ten small files.
 */
void sample_take(struct node_sample *sample, const struct memory_watch *watch);

/** Read one number of the latest sample. Context: any; does not block. */
static inline uint64_t sample_get(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

#endif
