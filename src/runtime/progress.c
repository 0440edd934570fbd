// SPDX-License-Identifier: BSD-3-Clause
//
// What the launcher says if a node is lost: how far the program was, and how many
// threads were there. It is told while all is well, by each node of itself, because
// who is lost does not answer.
#include "base/clock.h"
#include "runtime/liveness.h"
#include "runtime/node.h"

/** So old may it be: each time wakes the launcher. */
#define AGE_NS UINT64_C(250000000)

void progress_tick(struct node *node)
{
    struct told *told = &node->told;
    unsigned n_threads = ult_count(node->ult);
    uint64_t n_iterations = node->iteration.n_ended;
    uint64_t now_ns;

    if (n_threads == told->n_threads && n_iterations == told->n_iterations) {
        return;
    }
    now_ns = clock_now_ns();
    if (told->at_ns != 0 && now_ns - told->at_ns < AGE_NS) {
        return;
    }
    *told = (struct told){now_ns, n_iterations, n_threads};
    bootstrap_tell_progress(&node->bootstrap, n_iterations, n_threads);
}
