// SPDX-License-Identifier: BSD-3-Clause
//
// The workload distribution scheme (reconfig/scheme.h) in a running node: on the
// root, fed with the reports of all nodes; what it asks for is done here.
#include "runtime/distribution.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "runtime/iteration.h"
#include "runtime/observer.h"
#include "runtime/rows.h"
#include "runtime/runtime.h"
#include "runtime/statics.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A round of tracking is over.
static void tracked(struct access_sets *sets)
{
    int is_whole =
        access_sets_is_whole(sets) && access_sets_expand(sets) == TM_OK;

    if (is_whole) {
        access_sets_free(runtime.access_sets);
        runtime.access_sets = sets;
    } else {
        access_sets_free(sets);
    }
    scheme_tracked(runtime.scheme, is_whole);
}

static void track(void *owner)
{
    (void)owner;
    if (!tracking_ask(TRACKING_FOR_SCHEME, tracked)) {
        scheme_tracked(runtime.scheme, 0); // members change
    }
}

// A job of the observer.
static void think_aside(void *owner)
{
    (void)owner;
    scheme_think(runtime.scheme);
    node_enter();
    scheme_thought(runtime.scheme);
    node_leave();
}

static void think(void *owner)
{
    (void)owner;
    if (observer_run(think_aside, NULL) != TM_OK) {
        log_debug("the run ends before a new mapping was found");
    }
}

static const struct page_use *uses(void *owner, uint64_t thread, size_t *n)
{
    (void)owner;
    *n = 0;
    if (runtime.access_sets == NULL) {
        return NULL;
    }
    return access_sets_find(runtime.access_sets, thread, n);
}

static void move(void *owner, uint64_t thread, node_id index)
{
    node_id node = runtime.port.roster.live[index];
    size_t n;
    const struct page_use *pages = uses(owner, thread, &n);

    pages_announce(runtime.pages, node, thread, pages, n);
    threads_send(thread, node);
}

static void set_period(void *owner, uint64_t period, uint64_t phase)
{
    const struct message message = {
        .type = MESSAGE_iteration_mode,
        .u.iteration_mode = {.period = period, .phase = phase},
    };

    (void)owner;
    if (runtime.options.move_at == MOVE_AT_BARRIERS) {
        iteration_receive_mode(&message); // who joins is told by this node's
        port_send_all(&runtime.port, &message);
    }
}

static void leave(void *owner, const struct remap *plan, const uint32_t *from,
                  const uint32_t *to, int has_moved)
{
    (void)owner;
    pages_withdraw(runtime.pages, plan, from, to,
                   has_moved ? PAGES_HAVE_LEFT : PAGES_WILL_LEAVE);
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

// Seconds, what is usual while it is not known.
static double seconds(uint64_t ns, double usual_s)
{
    return ns == 0 ? usual_s : (double)ns * 1e-9;
}

/** A page that is written here and held elsewhere costs a fault, a twin, a
 * comparison, and its part of a message and its answer. A guess to begin with, which
 * the scheme corrects by what it measures. */
#define UPDATE_NS 20000

/** What the processor does for a page that goes, or comes back, beside the disk:
 * faults, searching, mapping. The same kind of guess. */
#define PAGE_NS 10000

// What takes the root, the first, so long takes a node of another power.
static double handling_s(uint64_t ns, const double *power, unsigned i)
{
    return (double)node_slowed_ns(ns) * 1e-9 * power[0] / power[i];
}

// The scheme numbers the live nodes from 0 on, in their order.
static node_id id_of(unsigned i)
{
    return runtime.port.roster.live[i];
}

// What the live nodes have to offer, in a row. @param[out] nodes  [TM_MAX_NODES]
static void gather_statics(struct node_statics *nodes)
{
    for (unsigned i = 0; i < runtime.port.roster.n_live; i++) {
        nodes[i] = *cluster_statics(id_of(i));
    }
}

static struct node_statics *new_statics(void)
{
    struct node_statics *nodes = calloc(TM_MAX_NODES, sizeof *nodes);

    ensure_memory(nodes != NULL);
    gather_statics(nodes);
    return nodes;
}

double cluster_power(node_id node)
{
    struct node_statics *nodes = new_statics();
    double power[TM_MAX_NODES];
    double found = 1;

    statics_powers(nodes, runtime.port.roster.n_live, power);
    for (unsigned i = 0; i < runtime.port.roster.n_live; i++) {
        found = id_of(i) == node ? power[i] : found;
    }
    free(nodes);
    return found;
}

static void describe_node(void *owner, unsigned i, struct node_view *node)
{
    const struct node_statics *statics = cluster_statics(id_of(i));
    const struct node_costs *costs = cluster_costs(id_of(i));
    const unsigned n_live = runtime.port.roster.n_live;
    struct node_statics *nodes = new_statics();
    double power[TM_MAX_NODES];
    double page_s;

    (void)owner;
    statics_powers(nodes, n_live, power);
    page_s = handling_s(PAGE_NS, power, i);
    *node = (struct node_view){
        .power = power[i],
        .n_processors = statics->n_workers,
        .memory_pages = statics_memory(nodes, n_live, i) / TM_PAGE_SIZE,
        .free_pages = statics->memory_free / TM_PAGE_SIZE,
        .total_pages = statics->memory_total / TM_PAGE_SIZE,
        .swap_in_s = seconds(costs->swap_in_ns, 100e-6) + page_s,
        .swap_out_s = seconds(costs->swap_out_ns, 100e-6) + page_s,
        .fetch_s = seconds(costs->fetch_ns, 20e-6),
        .packet_s = seconds(costs->packet_ns, 5e-6),
        .update_s = handling_s(UPDATE_NS, power, i),
        .packet_bytes = costs->packet_bytes > 0 ? costs->packet_bytes : 8192,
    };
    statics_name(nodes, n_live, i, id_of(i), node->name, sizeof node->name);
    free(nodes);
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

static struct scheme *new_scheme(void)
{
    const struct scheme_ops ops = {
        .track = track,
        .think = think,
        .move = move,
        .set_period = set_period,
        .leave = leave,
        .describe = describe_node,
        .uses = uses,
        .explain = explain,
    };
    struct scheme_config config = {
        .policy = policy_find(runtime.options.policy),
        .n_nodes = runtime.port.roster.n_live,
        .explains = runtime.options.explain,
    };
    struct node_statics *nodes = new_statics();
    uint32_t crowds[TM_MAX_NODES];
    struct scheme *scheme;

    if (runtime.options.counts.n > 0) {
        config.counts = runtime.options.counts.of_node;
        config.policy = policy_find(NULL);
    }
    ensure(config.policy != NULL);
    statics_crowds(nodes, config.n_nodes, crowds);
    free(nodes);
    config.crowds = crowds;
    scheme = scheme_new(&config, &ops);
    if (scheme == NULL) {
        log_fatal(EXIT_MEMORY, "no memory for the distribution of threads");
    }
    return scheme;
}

static void start(void)
{
    if (!is_wanted()) {
        return;
    }
    iteration_start();
    if (runtime.self != 0) {
        return;
    }
    if (runtime.options.counts.n > 0 &&
        runtime.options.counts.n != runtime.n_nodes) {
        log_fatal(EXIT_CONFIG, "--counts names %u nodes, there are %u",
                  runtime.options.counts.n, runtime.n_nodes);
    }
    runtime.scheme = new_scheme();
}

// A node that has been alone until now is the root.
static void start_late(void)
{
    if (is_wanted() && runtime.self == 0 && runtime.options.counts.n == 0) {
        iteration_start();
        runtime.scheme = new_scheme();
    }
}

int distribution_is_busy(void)
{
    return runtime.scheme != NULL && scheme_is_busy(runtime.scheme);
}

int distribution_decides(void)
{
    return runtime.scheme != NULL;
}

// The threads have no iterations that the scheme knows of.
static void print_none(void)
{
    if (runtime.options.move_at == MOVE_AT_BARRIERS) {
        explain(NULL, "no regularity was found in the program's barriers: "
                      "threads stayed where they were");
    } else if (runtime.options.explain) {
        explain(NULL, "the program never called tm_iteration_end(): threads "
                      "stayed where they were; --move-at=barriers looks for a "
                      "period in its barriers");
    }
}

static void print_error(const struct scheme_stats *stats)
{
    char text[128];

    if (stats->n_judged == 0) {
        explain(NULL, "no prediction was there to be compared with what was "
                      "measured");
        return;
    }
    snprintf(text, sizeof text,
             "prediction off by %.1f %% on average in %llu looks",
             100 * stats->error_sum / (double)stats->n_judged,
             (unsigned long long)stats->n_judged);
    explain(NULL, text);
}

static void print(void)
{
    const struct iteration *iteration = &runtime.iteration;
    uint64_t run_ns = clock_now_ns() - iteration->started_ns;
    struct scheme_stats stats;
    char text[512];

    if (runtime.scheme == NULL) {
        return;
    }
    scheme_stats(runtime.scheme, &stats);
    if (stats.n_iterations == 0) {
        print_none();
        return;
    }
    if (!runtime.options.explain) {
        return;
    }
    snprintf(
        text, sizeof text,
        "%llu iterations; %u tracked, %u plans in %.1f ms, %u carried out, "
        "%u taken back, %llu threads moved\n"
        "collecting took %.2f ms on the root, %.3f %% of the run; tracking and "
        "moving %.3f s",
        (unsigned long long)stats.n_iterations, stats.n_tracked, stats.n_plans,
        stats.thinking_s * 1e3, stats.n_remaps, stats.n_undone,
        (unsigned long long)stats.n_moves, (double)iteration->spent_ns * 1e-6,
        100 * (double)iteration->spent_ns / (double)run_ns, stats.overhead_s);
    explain(NULL, text);
    scheme_explain_collected(runtime.scheme);
    print_error(&stats);
}

// What was measured of other nodes is of no use. Threads by hand were for those.
static void roster_changed(int is_first)
{
    if (is_first) {
        start_late();
        return;
    }
    if (runtime.scheme == NULL) {
        return;
    }
    print();
    scheme_free(runtime.scheme);
    access_sets_free(runtime.access_sets);
    runtime.access_sets = NULL;
    runtime.scheme = runtime.options.counts.n > 0 ? NULL : new_scheme();
    set_period(NULL, 0, PERIOD_SEARCH); // the new one knows of none
}

// @return where a live node is in their row, n_live if it is none
static unsigned index_of(node_id node)
{
    const struct roster *roster = &runtime.port.roster;
    unsigned i = 0;

    while (i < roster->n_live && roster->live[i] != node) {
        i++;
    }
    return i;
}

static tm_status receive_report(node_id from, const struct message *message)
{
    unsigned index = index_of(from);
    uint64_t probe;
    tm_status status;

    if (runtime.scheme == NULL || index == runtime.port.roster.n_live ||
        node_is_changing()) {
        return TM_OK; // times tell nothing
    }
    probe = iteration_probe();
    status = scheme_receive(runtime.scheme, (node_id)index, message,
                            runtime.port.now_ns(runtime.port.owner));
    iteration_probe_end(probe);
    return status;
}

static tm_status receive(node_id from, const struct message *message)
{
    switch (message->type) {
    case MESSAGE_iteration:
        return receive_report(from, message);
    case MESSAGE_iteration_mode:
        iteration_receive_mode(message);
        return TM_OK;
    default:
        return pages_receive(runtime.pages, message);
    }
}

// Reports still come, and plans are made, until the cluster is left.
static void finish(void)
{
    node_enter();
    print();
    profile_save();
    node_leave();
}

const struct part part_balancing = {
    .name = "balancing",
    .open = part_no_step,
    .start = start,
    .tick = part_no_tick,
    .messages = {MESSAGE_iteration, MESSAGE_iteration_mode, MESSAGE_pages_soon,
                 MESSAGE_pages_unused},
    .receive = receive,
    .thread_arrived = part_no_thread,
    .thread_left = part_no_thread,
    .roster_changed = roster_changed,
    .stats = part_no_stats,
    .finish = finish,
    .close = part_no_step,
};
