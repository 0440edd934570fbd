// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_DEADLOCK_H
#define RUNTIME_DEADLOCK_H

#include "net/message.h"

/** What the root has found out: deadlock.c. Guarded by the node lock. */
struct deadlock {
    enum { DEADLOCK_QUIET, DEADLOCK_ASKING, DEADLOCK_TELLING } step;
    uint64_t round;
    uint64_t asked_ns;
    uint64_t since_ns; ///< all wait and nothing happened since; 0: not so
    uint64_t last_sum;
    uint64_t sum;
    unsigned n_answers;
    unsigned n_blocked;
    int has_warned;
};

#endif
