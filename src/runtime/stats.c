// SPDX-License-Identifier: BSD-3-Clause
// The numbers of each node, on request: by the public function, for the table that --stats
// prints at the end, and for who looks at the job then.
#include "base/log.h"
#include "runtime/node.h"
#include "runtime/paging.h"
#include "runtime/parts.h"
#include "runtime/showing.h"
#include "runtime/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_NUMBERS (sizeof(struct tm_node_stats) / sizeof(uint64_t))

static void answer(struct node *node, node_id to,
                   const struct message_stats_ask *ask)
{
    struct tm_node_stats stats;
    uint64_t numbers[N_NUMBERS];
    uint8_t body[sizeof stats];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_stats_are,
        .u.stats_are = {.token = ask->token},
        .body = body,
        .body_size = sizeof body,
    };

    if (ask->at_end) {
        showing_tell_now(node); // the same numbers
    }
    stats_collect(node, &stats);
    memcpy(numbers, &stats, sizeof numbers);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        wire_put_u64(&writer, numbers[i]);
    }
    port_send(&node->port, to, &message);
}

struct stats_wait {
    struct wait wait;
    struct tm_node_stats *stats;
};

static void accept(struct node *node, const struct message *message)
{
    struct stats_wait *wait =
        tokens_take(&node->calls, message->u.stats_are.token);
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

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    if (message->type == MESSAGE_stats_ask) {
        answer(node, from, &message->u.stats_ask);
    } else {
        accept(node, message);
    }
    return TM_OK;
}

static tm_status ask(struct node *node, unsigned id, int at_end,
                     struct tm_node_stats *stats)
{
    struct message message = {.type = MESSAGE_stats_ask,
                              .u.stats_ask = {.at_end = at_end != 0}};
    struct tm_node_stats copy; // the program's may lie in shared memory
    struct stats_wait wait = {.stats = &copy};
    tm_status status;

    wait_init(&wait.wait);
    if (!node_enter_to_ask(node, id)) {
        return TM_EINVAL;
    }
    message.u.stats_ask.token = tokens_give(&node->calls, &wait);
    port_send(&node->port, (node_id)id, &message);
    status = wait_end(node, &wait.wait);
    *stats = copy;
    return status;
}

tm_status tm_stats(unsigned id, struct tm_node_stats *stats)
{
    const tm_status status = CHECK_CALL("tm_stats");

    return status == TM_OK ? ask(&this_node, id, 0, stats) : status;
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

static void print_table(struct node *node, const struct tm_node_stats *stats,
                        unsigned n_nodes)
{
    fprintf(stderr, "%4s %5s %7s %10s %8s %8s %9s %9s %9s %9s %10s\n", "node",
            "speed", "threads", "compute s", "reads", "writes", "fetched",
            "served", "updates", "messages", "MiB sent");
    for (unsigned i = 0; i < n_nodes; i++) {
        if (stats[i].speed_ppm > 0) { // it has answered
            print_row(i, &stats[i]);
        }
    }
    print_memory(stats, n_nodes);
    thread_paging_print(node);
    print_refused(stats, n_nodes);
}

static void ask_all(struct node *node)
{
    unsigned n_nodes = node->n_nodes; // more may come meanwhile
    struct tm_node_stats *stats = calloc(n_nodes, sizeof *stats);

    if (stats == NULL) {
        log_error("no memory for the table of --stats");
        return;
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        if (ask(node, i, 1, &stats[i]) != TM_OK) {
            stats[i] = (struct tm_node_stats){0};
        }
    }
    if (node->options.stats) {
        print_table(node, stats, n_nodes);
    }
    free(stats);
}

static int is_wanted(struct node *node)
{
    int is_on;

    node_enter(node);
    is_on = showing_is_on(node);
    node_leave(node);
    return is_on || node->options.stats;
}

// Nodes are asked, which a thread only can do.
static void finish(struct node *node)
{
    const struct thread *thread = thread_self();

    if (thread != NULL && thread->number == 0 && is_wanted(node)) {
        ask_all(node);
    }
}

const struct part part_stats = {
    .owns = OWNER_stats,
    .receive = receive,
    .save = parts_save_nothing,
    .finish = finish,
};
