// SPDX-License-Identifier: BSD-3-Clause
//
// The workload distribution scheme (reconfig/scheme.h) in a running node: on the
// root, fed with the reports of all nodes; what it asks for is done here.
#include "runtime/balancing.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "runtime/cluster_capacity.h"
#include "runtime/findings.h"
#include "runtime/iteration.h"
#include "runtime/node.h"
#include "runtime/observer.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What tracking an iteration costs, seconds: what is asked and told, and a fault for each
 * page and thread. A guess: it is measured when it has been done. */
#define TRACKING_S 1e-3
#define TRACKED_PAGE_S 8e-6

// A round of tracking is over.
static void tracked(struct node *node, struct access_sets *sets)
{
    int is_whole =
        access_sets_is_whole(sets) && access_sets_expand(sets) == TM_OK;

    if (is_whole) {
        access_sets_free(node->access_sets);
        node->access_sets = sets;
    } else {
        access_sets_free(sets);
    }
    scheme_tracked(node->scheme, is_whole);
}

static void track(void *owner)
{
    struct node *node = owner;

    if (!tracking_ask(node, TRACKING_FOR_SCHEME, tracked)) {
        scheme_tracked(node->scheme, 0); // members change
        return;
    }
    findings_note_tracking(node);
}

// Each page is touched once more by each of its threads, on all nodes at the same time.
double balancing_tracking_s(struct node *node)
{
    return TRACKING_S + TRACKED_PAGE_S * (double)engine_n_pages(node->engine) /
                            node->port.roster.n_live;
}

static double tracking_s(void *owner)
{
    return balancing_tracking_s(owner);
}

// A job of the observer.
static void think_aside(void *owner)
{
    struct node *node = owner;
    const uint64_t began_ns = clock_now_ns();
    double seconds;

    scheme_think(node->scheme);
    seconds = (double)(clock_now_ns() - began_ns) * 1e-9;
    node_enter(node);
    scheme_thought(node->scheme, seconds);
    node_leave(node);
}

static void think(void *owner)
{
    struct node *node = owner;

    if (observer_run(node, think_aside, node) != TM_OK) {
        log_debug("the run ends before a new mapping was found");
    }
}

static const struct page_use *uses(void *owner, uint64_t thread, size_t *n)
{
    struct node *node = owner;

    *n = 0;
    if (node->access_sets == NULL) {
        return NULL;
    }
    return access_sets_find(node->access_sets, thread, n);
}

static void move(void *owner, uint64_t thread, node_id index)
{
    struct node *node = owner;
    node_id id = node->port.roster.live[index];
    size_t n;
    const struct page_use *pages = uses(owner, thread, &n);

    migration_pages_announce(node->pages, id, thread, pages, n);
    threads_send(node, thread, id);
    findings_note_move(node);
}

static void set_period(void *owner, uint64_t period, uint64_t phase)
{
    struct node *node = owner;
    const struct message message = {
        .type = MESSAGE_iteration_mode,
        .u.iteration_mode = {.period = period, .phase = phase},
    };

    if (node->options.move_at == MOVE_AT_BARRIERS) {
        iteration_receive_mode(node,
                               &message); // who joins is told by this node's
        port_send_all(&node->port, &message);
    }
}

static void leave(void *owner, const struct remap *plan, const uint32_t *from,
                  const uint32_t *to, int has_moved)
{
    struct node *node = owner;

    migration_pages_withdraw(node->pages, plan, from, to,
                             has_moved ? PAGES_HAVE_LEFT : PAGES_WILL_LEAVE);
}

// Each line with the speaker in front, as a message of the runtime.
static void print_lines(const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");

        fprintf(stderr, "teamster: %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

// Single lines that say when: what is decided. Tables are for --explain.
// @return its length, 0: it is none
static size_t decision_in(const char *text)
{
    static const char when[] = "iteration ";
    static const char which[] = "loop ";
    const size_t n = strcspn(text, "\n");

    return (strncmp(text, when, sizeof when - 1) == 0 ||
            strncmp(text, which, sizeof which - 1) == 0) &&
                   (text[n] == '\0' || text[n + 1] == '\0')
               ? n
               : 0;
}

void balancing_explain(struct node *node, const char *text)
{
    const size_t n = decision_in(text);

    if (node->options.explain) {
        print_lines(text);
    }
    if (n > 0) {
        findings_note_words(node, text, n);
        showing_note_words(node, text, n);
    }
}

static void explain(void *owner, const char *text)
{
    balancing_explain(owner, text);
}

static int is_explained(const struct node *node)
{
    return node->options.explain || findings_is_wanted(node) ||
           showing_is_on(node);
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
static double handling_s(struct node *node, uint64_t ns, const double *power,
                         unsigned i)
{
    return (double)node_slowed_ns(node, ns) * 1e-9 * power[0] / power[i];
}

// The scheme numbers the live nodes from 0 on, in their order.
static node_id id_of(struct node *node, unsigned i)
{
    return node->port.roster.live[i];
}

// What the live nodes have to offer, in a row. @param[out] nodes  [TM_MAX_NODES]
static void gather_capacity(struct node *node, struct node_capacity *nodes)
{
    for (unsigned i = 0; i < node->port.roster.n_live; i++) {
        nodes[i] = *capacity_of(node, id_of(node, i));
    }
}

static struct node_capacity *new_capacity(struct node *node)
{
    struct node_capacity *nodes = calloc(TM_MAX_NODES, sizeof *nodes);

    ensure_memory(nodes != NULL);
    gather_capacity(node, nodes);
    return nodes;
}

double cluster_power(struct node *node, node_id id)
{
    struct node_capacity *nodes = new_capacity(node);
    double power[TM_MAX_NODES];
    double found = 1;

    capacity_powers(nodes, node->port.roster.n_live, power);
    for (unsigned i = 0; i < node->port.roster.n_live; i++) {
        found = id_of(node, i) == id ? power[i] : found;
    }
    free(nodes);
    return found;
}

static void describe_node(void *owner, unsigned i, struct node_view *view)
{
    struct node *node = owner;
    const struct node_capacity *capacity = capacity_of(node, id_of(node, i));
    const struct node_costs *costs = cluster_costs(node, id_of(node, i));
    const unsigned n_live = node->port.roster.n_live;
    struct node_capacity *nodes = new_capacity(node);
    double power[TM_MAX_NODES];
    double page_s;

    capacity_powers(nodes, n_live, power);
    page_s = handling_s(node, PAGE_NS, power, i);
    *view = (struct node_view){
        .power = power[i],
        .n_processors = capacity->n_workers,
        .memory_pages = capacity_memory(nodes, n_live, i) / TM_PAGE_SIZE,
        .free_pages = capacity->memory_free / TM_PAGE_SIZE,
        .total_pages = capacity->memory_total / TM_PAGE_SIZE,
        .swap_in_s = seconds(costs->swap_in_ns, 100e-6) + page_s,
        .swap_out_s = seconds(costs->swap_out_ns, 100e-6) + page_s,
        .fetch_s = seconds(costs->fetch_ns, 20e-6),
        .packet_s = seconds(costs->packet_ns, 5e-6),
        .update_s = handling_s(node, UPDATE_NS, power, i),
        .packet_bytes = costs->packet_bytes > 0 ? costs->packet_bytes : 8192,
    };
    capacity_name(nodes, n_live, i, id_of(node, i), view->name,
                  sizeof view->name);
    free(nodes);
}

void balancing_describe(struct node *node, node_id id, struct node_view *view)
{
    describe_node(node, roster_place(&node->port.roster, id), view);
}

static int is_policy_wanted(const struct node *node)
{
    return strcmp(node->options.policy, "none") != 0 &&
           strcmp(node->options.policy, "initial") != 0;
}

// Or do threads stay, and the scheme just looks, for a report?
static int is_deciding(struct node *node)
{
    return node->options.counts.n > 0 || is_policy_wanted(node);
}

int balancing_places_loops(const struct node *node)
{
    return node->self == 0 && node->options.shuffle == 0 &&
           node->options.counts.n == 0 && is_policy_wanted(node) &&
           policy_find(node->options.policy)->uses_memory;
}

void balancing_configure_loop(struct node *node, const node_id *ids, unsigned n,
                              uint32_t *crowds, struct scheme_config *config)
{
    struct node_capacity *nodes = calloc(n, sizeof *nodes);

    ensure_memory(nodes != NULL);
    for (unsigned i = 0; i < n; i++) {
        nodes[i] = *capacity_of(node, ids[i]);
    }
    capacity_crowds(nodes, n, crowds);
    free(nodes);
    *config = (struct scheme_config){
        .policy = policy_find(node->options.policy),
        .n_nodes = n,
        .explains = is_explained(node),
        .is_marked = 1,
        .crowds = crowds,
    };
    ensure(cost_model_find(node->options.model, &config->model));
}

// Checkpoints are made where iterations end, and nobody says where that is.
static int is_search_wanted(const struct node *node)
{
    return checkpoint_is_wanted(node) &&
           node->options.move_at == MOVE_AT_BARRIERS;
}

static int is_wanted(struct node *node)
{
    return node->options.shuffle == 0 &&
           (is_search_wanted(node) ||
            (node->n_nodes > 1 &&
             (is_deciding(node) || findings_is_wanted(node))));
}

// What this scheme is told is to be in the report, too.
static void follow(struct node *node, struct scheme *scheme)
{
    const struct roster *roster = &node->port.roster;

    if (node->chronicle == NULL) {
        return;
    }
    chronicle_begin(node->chronicle);
    for (unsigned i = 0; i < roster->n_live; i++) {
        chronicle_add_node(node->chronicle, roster->live[i],
                           cluster_power(node, roster->live[i]),
                           capacity_of(node, roster->live[i])->n_workers);
    }
    history_watch(scheme_history(scheme), chronicle_take, node->chronicle);
}

static struct scheme *new_scheme(struct node *node)
{
    const struct scheme_ops ops = {
        .owner = node,
        .track = track,
        .tracking_s = tracking_s,
        .think = think,
        .move = move,
        .set_period = set_period,
        .leave = leave,
        .describe = describe_node,
        .uses = uses,
        .explain = explain,
    };
    struct scheme_config config = {
        .policy = policy_find(is_policy_wanted(node) ? node->options.policy
                                                     : "initial"),
        .n_nodes = node->port.roster.n_live,
        .explains = is_explained(node),
        .only_watches = !is_deciding(node) || node->port.roster.n_live == 1,
    };
    struct node_capacity *nodes = new_capacity(node);
    uint32_t crowds[TM_MAX_NODES];
    struct scheme *scheme;

    if (node->options.counts.n > 0) {
        config.counts = node->options.counts.of_node;
        config.policy = policy_find(NULL);
    }
    ensure(config.policy != NULL &&
           cost_model_find(node->options.model, &config.model));
    capacity_crowds(nodes, config.n_nodes, crowds);
    free(nodes);
    config.crowds = crowds;
    scheme = scheme_new(&config, &ops);
    follow(node, scheme);
    return scheme;
}

static void start(struct node *node)
{
    if (!is_wanted(node)) {
        return;
    }
    iteration_start(node);
    if (node->self != 0) {
        return;
    }
    if (node->options.counts.n > 0 && node->options.counts.n != node->n_nodes) {
        log_fatal(EXIT_CONFIG, "--counts names %u nodes, there are %u",
                  node->options.counts.n, node->n_nodes);
    }
    node->scheme = new_scheme(node);
}

// A node that has been alone until now is the root.
static void start_late(struct node *node)
{
    if (is_wanted(node) && node->self == 0 && node->options.counts.n == 0) {
        iteration_start(node);
        node->scheme = new_scheme(node);
    }
}

int balancing_is_busy(struct node *node)
{
    return node->scheme != NULL && scheme_is_busy(node->scheme);
}

int balancing_is_unsettled(struct node *node)
{
    return balancing_is_busy(node) ||
           (node->scheme != NULL && scheme_is_settling(node->scheme));
}

int balancing_decides(struct node *node)
{
    return node->scheme != NULL && is_deciding(node);
}

// The threads have no iterations that the scheme knows of.
static void print_none(struct node *node)
{
    // Of an unchanged program nobody expects any.
    if (node->options.move_at == MOVE_AT_BARRIERS &&
        (node->unchanged == NULL || node->options.explain)) {
        print_lines("no regularity was found in the program's barriers: "
                    "threads stayed where they were");
    } else if (node->options.explain) {
        print_lines("the program never called tm_iteration_end(): threads "
                    "stayed where they were; --move-at=barriers looks for a "
                    "period in its barriers");
    }
}

static void print_error(const struct scheme_stats *stats)
{
    char text[128];

    if (stats->n_judged == 0) {
        print_lines("no prediction was there to be compared with what was "
                    "measured");
        return;
    }
    snprintf(text, sizeof text,
             "prediction off by %.1f %% on average in %llu looks",
             100 * stats->error_sum / (double)stats->n_judged,
             (unsigned long long)stats->n_judged);
    print_lines(text);
}

static void print(struct node *node, int is_end)
{
    const struct iteration *iteration = &node->iteration;
    uint64_t run_ns = clock_now_ns() - iteration->started_ns;
    struct scheme_stats stats;
    char text[512];

    if (node->scheme == NULL) {
        return;
    }
    scheme_stats(node->scheme, &stats);
    if (stats.n_iterations == 0 && is_end) {
        print_none(node);
    }
    if (stats.n_iterations == 0 || !node->options.explain) {
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
    print_lines(text);
    scheme_explain_collected(node->scheme);
    print_error(&stats);
}

// What was measured of other nodes is of no use. Threads by hand were for those.
static void roster_changed(struct node *node, int is_first)
{
    if (node->scheme == NULL) {
        if (is_first) {
            start_late(node);
        }
        return;
    }
    print(node, 0);
    findings_leave(node);
    scheme_free(node->scheme);
    access_sets_free(node->access_sets);
    node->access_sets = NULL;
    node->scheme = node->options.counts.n > 0 ? NULL : new_scheme(node);
    set_period(node, 0, PERIOD_SEARCH); // the new one knows of none
}

// While nodes come or go times tell nothing. But where iterations end must be found out:
// it is there that they go.
static int is_of_no_use(struct node *node, const struct message *report)
{
    return node_is_changing(node) && report->u.iteration.marked != MARKED_NOT;
}

static tm_status receive_report(struct node *node, node_id from,
                                const struct message *message)
{
    unsigned index = roster_place(&node->port.roster, from);
    uint64_t probe;
    tm_status status;

    if (node->scheme == NULL || index == node->port.roster.n_live ||
        is_of_no_use(node, message)) {
        return TM_OK;
    }
    probe = iteration_probe(node);
    status = scheme_receive(node->scheme, (node_id)index, message,
                            node->port.now_ns(node->port.owner));
    iteration_probe_end(node, probe);
    return status;
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    switch (message->type) {
    case MESSAGE_iteration:
        return receive_report(node, from, message);
    case MESSAGE_iteration_mode:
        iteration_receive_mode(node, message);
        return TM_OK;
    default:
        return migration_pages_receive(node->pages, message);
    }
}

// Reports still come, and plans are made, until the cluster is left.
static void finish(struct node *node)
{
    node_enter(node);
    print(node, 1);
    profile_save(node);
    node_leave(node);
}

const struct part part_balancing = {
    .start = start,
    .owns = OWNER_balancing,
    .receive = receive,
    .roster_changed = roster_changed,
    .save = parts_save_nothing,
    .finish = finish,
};
