// SPDX-License-Identifier: BSD-3-Clause
//
// If a node is lost the launcher says how far the program was, and how many threads were
// there. It is told that a few times a second, with what else --progress shows, and who
// watches the job.
#include "runtime/progress_told.h"

#include "base/clock.h"
#include "runtime/node.h"

/** So old may be what the launcher knows of progress: each time wakes it. */
#define TOLD_AGE_NS UINT64_C(250000000)
#define TOLD_AGAIN_NS                                                          \
    UINT64_C(1000000000) // if nothing is to be seen but what changes always

static int is_same(const struct wire_boot_progress *a,
                   const struct wire_boot_progress *b)
{
    return a->n_iterations == b->n_iterations && a->n_threads == b->n_threads &&
           a->page_ins == b->page_ins && a->n_moved_in == b->n_moved_in &&
           a->is_tracking == b->is_tracking;
}

// What changes all the time.
static void add_numbers(struct node *node, struct wire_boot_progress *progress)
{
    struct tm_node_stats stats = {0};

    stats_collect(node, &stats);
    progress->n_workers = node->n_workers;
    progress->compute_ns = stats.compute_ns;
    progress->wait_ns = stats.fault_ns;
    progress->sync_ns = stats.sync_ns;
    progress->swap_ns = stats.swap_ns;
    progress->bytes_sent = stats.bytes_sent;
    progress->resident = stats.resident;
    progress->memory = stats.memory;
}

// How far this node is, told while all is well: who is lost does not answer.
void progress_tell(struct node *node, int is_urgent)
{
    struct told *told = &node->told;
    struct wire_boot_progress now = {
        .n_iterations = node->iteration.n_ended,
        .n_threads = ult_count(node->ult),
        .page_ins = paging_count_ins(node),
        .n_moved_in = node->n_moved_in,
        .is_tracking = tracking_is_on(&node->tracking) != 0,
    };
    const uint64_t now_ns = clock_now_ns();
    const uint64_t least_ns = is_urgent                        ? 0
                              : is_same(&now, &told->progress) ? TOLD_AGAIN_NS
                                                               : TOLD_AGE_NS;

    if (told->at_ns != 0 && now_ns - told->at_ns < least_ns) {
        return;
    }
    add_numbers(node, &now);
    *told = (struct told){now_ns, now};
    bootstrap_tell_progress(&node->bootstrap, &now);
}
