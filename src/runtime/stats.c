// SPDX-License-Identifier: BSD-3-Clause
// The numbers of each node: collected on request, by the public function and for
// the table that --stats prints at the end.
#include "runtime/stats.h"
#include "base/log.h"
#include "runtime/paging.h"
#include "runtime/parts.h"
#include "runtime/rows.h"
#include "runtime/runtime.h"
#include "runtime/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_NUMBERS (sizeof(struct tm_node_stats) / sizeof(uint64_t))

static uint64_t n_strangers(const struct net_counters *counters)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < NET_N_REFUSALS; i++) {
        n += counters->refused[i];
    }
    return n;
}

void stats_collect(struct tm_node_stats *stats)
{
    struct net_counters counters;
    unsigned n_threads;
    unsigned n_parked;

    engine_stats(runtime.engine, stats);
    runtime.transport->counters(runtime.net, &counters);
    ult_census(runtime.ult, &n_threads, &n_parked);
    stats->n_threads = n_threads;
    stats->speed_ppm = (uint64_t)(runtime.options.share * 1e6 + 0.5);
    stats->compute_ns = ult_total_time_ns(runtime.ult);
    parts_stats(stats);
    stats->barriers = sync_n_barriers(runtime.sync);
    stats->messages_sent = counters.messages_sent;
    stats->bytes_sent = counters.bytes_sent;
    stats->bad_messages += counters.bad_frames + runtime.n_refused;
    stats->strangers = n_strangers(&counters);
    stats->threads_in = runtime.n_moved_in;
    stats->threads_out = runtime.n_moved_out;
    stats->fault_ns =
        atomic_load_explicit(&runtime.fault_ns, memory_order_relaxed);
    stats->sync_ns =
        atomic_load_explicit(&runtime.sync_ns, memory_order_relaxed);
}

static void answer(node_id to, uint32_t token)
{
    struct tm_node_stats stats;
    uint64_t numbers[N_NUMBERS];
    uint8_t body[sizeof stats];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_stats_are,
        .u.stats_are = {.token = token},
        .body = body,
        .body_size = sizeof body,
    };

    stats_collect(&stats);
    memcpy(numbers, &stats, sizeof numbers);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        wire_put_u64(&writer, numbers[i]);
    }
    port_send(&runtime.port, to, &message);
}

struct stats_wait {
    struct wait wait;
    struct tm_node_stats *stats;
};

static void accept(const struct message *message)
{
    struct stats_wait *wait =
        tokens_take(&runtime.calls, message->u.stats_are.token);
    struct wire_reader reader = wire_read_body(message);
    uint64_t numbers[N_NUMBERS];

    if (wait == NULL) {
        return;
    }
    for (size_t i = 0; i < N_NUMBERS; i++) {
        numbers[i] = wire_get_u64(&reader);
    }
    memcpy(wait->stats, numbers, sizeof numbers);
    waiter_wake(&wait->wait.waiter, reader.failed ? TM_EWIRE : TM_OK, 0);
}

static tm_status receive(node_id from, const struct message *message)
{
    if (message->type == MESSAGE_stats_ask) {
        answer(from, message->u.stats_ask.token);
    } else {
        accept(message);
    }
    return TM_OK;
}

tm_status tm_stats(unsigned node, struct tm_node_stats *stats)
{
    struct message message = {.type = MESSAGE_stats_ask};
    tm_status status = CHECK_CALL("tm_stats");
    struct tm_node_stats copy; // the program's may lie in shared memory
    struct stats_wait wait = {.stats = &copy};

    if (status != TM_OK) {
        return status;
    }
    wait_init(&wait.wait);
    if (!node_enter_to_ask(node)) {
        return TM_EINVAL;
    }
    message.u.stats_ask.token = tokens_give(&runtime.calls, &wait);
    port_send(&runtime.port, (node_id)node, &message);
    node_leave();
    wait_for(&wait.wait, 1);
    *stats = copy;
    return wait.wait.waiter.status;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void print_row(unsigned node, const struct tm_node_stats *stats)
{
    fprintf(
        stderr,
        "%4u %5.3f %7llu %10.3f %8llu %8llu %9llu %9llu %9llu %9llu %10.2f\n",
        node, (double)stats->speed_ppm * 1e-6,
        (unsigned long long)stats->n_threads, (double)stats->compute_ns * 1e-9,
        (unsigned long long)stats->read_faults,
        (unsigned long long)stats->write_faults,
        (unsigned long long)stats->pages_fetched,
        (unsigned long long)stats->pages_served,
        (unsigned long long)stats->updates_sent,
        (unsigned long long)stats->messages_sent, mib(stats->bytes_sent));
}

static void print_memory_row(unsigned node, const struct tm_node_stats *stats)
{
    fprintf(stderr,
            "%4u %10.1f %8.1f %8.1f %10llu %10llu %10llu %10.3f %10.3f\n", node,
            mib(stats->memory), mib(stats->resident), mib(stats->lack),
            (unsigned long long)stats->page_ins,
            (unsigned long long)stats->page_outs,
            (unsigned long long)stats->copies_forgotten,
            (double)stats->swap_ns * 1e-9, (double)stats->swap_out_ns * 1e-9);
}

// Of the nodes that have a budget, if there are such.
static void print_memory(const struct tm_node_stats *stats, unsigned n_nodes)
{
    int is_first = 1;

    for (unsigned i = 0; i < n_nodes; i++) {
        if (stats[i].memory == 0) {
            continue; // or it has left
        }
        if (is_first) {
            fprintf(stderr, "%4s %10s %8s %8s %10s %10s %10s %10s %10s\n",
                    "node", "memory MiB", "resident", "lack", "pages in",
                    "pages out", "given up", "waited s", "for room");
            is_first = 0;
        }
        print_memory_row(i, &stats[i]);
    }
}

// Of the nodes that have refused something.
static void print_refused(const struct tm_node_stats *stats, unsigned n_nodes)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        if (stats[i].bad_messages > 0 || stats[i].strangers > 0) {
            fprintf(stderr,
                    "node %u refused %llu messages and %llu connections\n", i,
                    (unsigned long long)stats[i].bad_messages,
                    (unsigned long long)stats[i].strangers);
        }
    }
}

static void print_table(void)
{
    unsigned n_nodes = runtime.n_nodes; // more may come meanwhile
    struct tm_node_stats *stats = calloc(n_nodes, sizeof *stats);

    if (stats == NULL) {
        log_error("no memory for the table of --stats");
        return;
    }
    fprintf(stderr, "%4s %5s %7s %10s %8s %8s %9s %9s %9s %9s %10s\n", "node",
            "speed", "threads", "compute s", "reads", "writes", "fetched",
            "served", "updates", "messages", "MiB sent");
    for (unsigned i = 0; i < n_nodes; i++) {
        if (tm_stats(i, &stats[i]) == TM_OK) {
            print_row(i, &stats[i]);
        }
    }
    print_memory(stats, n_nodes);
    thread_paging_print();
    print_refused(stats, n_nodes);
    free(stats);
}

// Nodes are asked, which a thread only can do.
static void finish(void)
{
    const struct thread *thread = thread_self();

    if (runtime.options.stats && thread != NULL && thread->number == 0) {
        print_table();
    }
}

const struct part part_numbers = {
    .name = "numbers",
    .open = part_no_step,
    .start = part_no_step,
    .tick = part_no_tick,
    .messages = {MESSAGE_stats_ask, MESSAGE_stats_are},
    .receive = receive,
    .thread_arrived = part_no_thread,
    .thread_left = part_no_thread,
    .roster_changed = part_no_roster,
    .stats = part_no_stats,
    .finish = finish,
    .close = part_no_step,
};
