// SPDX-License-Identifier: BSD-3-Clause
//
// Iterations, this node's part: what its threads did from one to the next.
#include "runtime/runtime.h"

void iteration_at_barrier(void *owner, uint64_t key, enum sync_stage stage)
{
    (void)owner;
    (void)key;
    (void)stage;
}
