// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_POWER_H
#define OBSERVE_POWER_H

#include <stdint.h>

#include "base/status.h"

/** The power of a processor. */
struct power {
    double mflops; ///< of the best run
    double spread; ///< the median run beside the best: 0.02 is 2 % slower
    unsigned n_runs;
    uint64_t cpu_ns; ///< that all of it took
};

/**
 * Measure the processor that we are on.
 *
 * @return TM_OK
 * @return TM_ENOMEM  nothing is measured (logged)
 *
 * Context: any kernel thread; computes for 1 to 5 ms.
 */
TM_CHECKED tm_status power_measure(struct power *power);

#endif
