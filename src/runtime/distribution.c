// SPDX-License-Identifier: BSD-3-Clause
//
// The workload distribution scheme (reconfig/scheme.h) in a running node: on the
// root, fed with the reports of all nodes; what it asks for is done here.
#include "base/ensure.h"
#include "base/log.h"
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void track(void *owner)
{
    (void)owner;
    scheme_tracked(runtime.scheme, 0);
}

static void *think_in_thread(void *argument)
{
    (void)argument;
    scheme_think(runtime.scheme);
    node_enter();
    scheme_thought(runtime.scheme);
    node_leave();
    return NULL;
}

static void think(void *owner)
{
    pthread_t thread;

    (void)owner;
    ensure(pthread_create(&thread, NULL, think_in_thread, NULL) == 0);
    pthread_detach(thread);
}

static const struct page_use *uses(void *owner, uint64_t thread, size_t *n)
{
    (void)owner;
    (void)thread;
    *n = 0;
    return NULL;
}

static void noted(struct waiter *waiter)
{
    free(waiter);
}

static void move(void *owner, uint64_t thread, node_id node)
{
    struct waiter *waiter = calloc(1, sizeof *waiter);
    size_t n;
    const struct page_use *pages = uses(owner, thread, &n);

    ensure(waiter != NULL);
    waiter->wake = noted;
    pages_announce(runtime.pages, node, thread, pages, n);
    sync_thread_migrate(runtime.sync, thread, node, waiter);
}

static void set_period(void *owner, uint64_t period, uint64_t phase)
{
    const struct message message = {
        .type = MESSAGE_iteration_mode,
        .u.iteration_mode = {.period = period, .phase = phase},
    };

    (void)owner;
    for (unsigned i = 0; i < runtime.n_nodes; i++) {
        port_send(&runtime.port, (node_id)i, &message);
    }
}

static void moved(void *owner, const struct plan *plan)
{
    (void)owner;
    pages_withdraw(runtime.pages, plan);
}

// Each line with the speaker in front, as a message of the runtime.
static void explain(void *owner, const char *text)
{
    (void)owner;
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");

        fprintf(stderr, "teamster: %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void describe_nodes(struct node_view *nodes)
{
    for (unsigned i = 0; i < runtime.n_nodes; i++) {
        nodes[i] = (struct node_view){
            .power = 1.0,
            .n_processors = runtime.n_workers,
            .memory_pages = 1u << 20,
            .free_pages = 1u << 20,
            .total_pages = 1u << 20,
            .swap_in_s = 100e-6,
            .swap_out_s = 100e-6,
            .fetch_s = 20e-6,
            .packet_s = 10e-6,
            .packet_bytes = 8192,
        };
        snprintf(nodes[i].name, sizeof nodes[i].name, "n%u", i);
    }
}

static int is_policy_wanted(void)
{
    return strcmp(runtime.options.policy, "none") != 0 &&
           strcmp(runtime.options.policy, "initial") != 0;
}

static int is_wanted(void)
{
    return runtime.n_nodes > 1 && runtime.options.shuffle == 0 &&
           (runtime.options.counts.n > 0 || is_policy_wanted());
}

void distribution_start(void)
{
    const struct scheme_ops ops = {
        .track = track,
        .think = think,
        .move = move,
        .set_period = set_period,
        .moved = moved,
        .uses = uses,
        .explain = explain,
    };
    struct scheme_config config = {
        .policy = policy_find(runtime.options.policy),
        .n_nodes = runtime.n_nodes,
        .explains = runtime.options.explain,
    };
    struct node_view nodes[TM_MAX_NODES];

    if (!is_wanted()) {
        return;
    }
    iteration_start();
    if (runtime.self != 0) {
        return;
    }
    if (runtime.options.counts.n > 0) {
        if (runtime.options.counts.n != runtime.n_nodes) {
            log_fatal(EXIT_CONFIG, "--counts names %u nodes, there are %u",
                      runtime.options.counts.n, runtime.n_nodes);
        }
        config.counts = runtime.options.counts.of_node;
        config.policy = policy_find(NULL);
    }
    ensure(config.policy != NULL);
    describe_nodes(nodes);
    config.nodes = nodes;
    runtime.scheme = scheme_new(&config, &ops);
    if (runtime.scheme == NULL) {
        log_fatal(EXIT_MEMORY, "no memory for the distribution of threads");
    }
}

tm_status distribution_receive(node_id from, const struct message *message)
{
    if (runtime.scheme == NULL) {
        return TM_OK;
    }
    return scheme_receive(runtime.scheme, from, message,
                          runtime.port.now_ns(runtime.port.owner));
}

void distribution_print(void)
{
    struct scheme_stats stats;
    char text[512];

    if (runtime.scheme == NULL || !runtime.options.explain) {
        return;
    }
    scheme_stats(runtime.scheme, &stats);
    snprintf(
        text, sizeof text,
        "%llu iterations; %u tracked, %u plans in %.1f ms, %u carried out, "
        "%u taken back, %llu threads moved\n"
        "prediction off by %.1f %% on average over %llu iterations",
        (unsigned long long)stats.n_iterations, stats.n_tracked, stats.n_plans,
        stats.thinking_s * 1e3, stats.n_remaps, stats.n_undone,
        (unsigned long long)stats.n_moves,
        stats.n_judged == 0 ? 0
                            : 100 * stats.error_sum / (double)stats.n_judged,
        (unsigned long long)stats.n_judged);
    explain(NULL, text);
}
