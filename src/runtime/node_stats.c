// SPDX-License-Identifier: BSD-3-Clause
// The numbers of this node, as tm_stats() and the launcher are told them.
#include "runtime/node.h"
#include "runtime/parts.h"

static uint64_t n_strangers(const struct net_counters *counters)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < NET_N_REFUSALS; i++) {
        n += counters->refused[i];
    }
    return n;
}

void stats_collect(struct node *node, struct tm_node_stats *stats)
{
    struct net_counters counters;

    engine_stats(node->engine, stats);
    node->transport->counters(node->net, &counters);
    stats->n_threads = ult_count(node->ult);
    stats->speed_ppm = (uint64_t)(node->options.share * 1e6 + 0.5);
    stats->compute_ns = ult_total_time_ns(node->ult);
    parts_stats(node, stats);
    stats->barriers = sync_n_barriers(node->sync);
    stats->messages_sent = counters.messages_sent;
    stats->bytes_sent = counters.bytes_sent;
    stats->bad_messages += counters.bad_frames + node->n_refused;
    stats->strangers = n_strangers(&counters);
    stats->threads_in = node->n_moved_in;
    stats->threads_out = node->n_moved_out;
    stats->fault_ns =
        atomic_load_explicit(&node->meter.wait_ns, memory_order_relaxed);
    stats->sync_ns = atomic_load_explicit(&node->sync_ns, memory_order_relaxed);
}
