// SPDX-License-Identifier: BSD-3-Clause
//
// The root's scheme (reconfig/scheme.h) in a simulation: what runtime/balancing.c and
// runtime/starting_threads.c put around it. Tracking finds what the script says of the
// iteration that would have been tracked, which is the one that begins after the next, and
// costs neither time nor messages; thinking takes THINK_NS.
#include <string.h>

#include "base/ensure.h"
#include "base/list.h"
#include "base/memory.h"
#include "place/first_mapping.h"
#include "simulate/lab_priv.h"

#define THINK_NS 1000000u

/** What a run takes tracking to cost, seconds, as runtime/balancing.c: it decides by it. */
#define TRACKING_S 1e-3
#define TRACKED_PAGE_S 8e-6

/** Iterations from the request to the end of the one that is tracked. */
enum { TRACK_PASSES = 2 };

struct used {
    struct page_use *pages;
    size_t n;
};

// A thread is to move; until its old node knows, or the run is over.
struct sent_target {
    struct waiter waiter; // first: found from it
    struct decider *decider;
    struct sent_target *next;
};

struct decider {
    struct lab *lab;
    struct scheme *scheme;
    unsigned passes_left; ///< until an iteration has been tracked; 0: none is
    uint64_t passed; ///< iterations that had ended when the root last passed
    int has_tracked;
    struct used *used; ///< [n_threads] found by tracking
    struct sent_target *sent;
};

static struct lab_node *root(struct decider *decider)
{
    return &decider->lab->nodes[0];
}

static void track(void *owner)
{
    struct decider *decider = owner;

    decider->passes_left = TRACK_PASSES;
}

static double tracking_s(void *owner)
{
    struct decider *decider = owner;

    return TRACKING_S + TRACKED_PAGE_S * (double)decider->lab->play.n_pages /
                            decider->lab->simulation->n_nodes;
}

static void think_now(void *owner, uint64_t argument)
{
    struct decider *decider = owner;

    (void)argument;
    scheme_think(decider->scheme);
    scheme_thought(decider->scheme, THINK_NS * 1e-9);
    lab_node_leave(root(decider));
}

static void think(void *owner)
{
    struct decider *decider = owner;
    struct events *events = &decider->lab->events;

    events_at(events, events->now_ns + THINK_NS, think_now, decider, 0);
}

static const struct page_use *uses(void *owner, uint64_t thread, size_t *n)
{
    const struct decider *decider = owner;
    const struct actor *actor = decider->lab->by_slot[thread_slot_of(thread)];

    *n = 0;
    if (!decider->has_tracked || actor == NULL) {
        return NULL;
    }
    *n = decider->used[actor->index].n;
    return decider->used[actor->index].pages;
}

static void forget(struct waiter *waiter)
{
    struct sent_target *target = (struct sent_target *)waiter;

    list_remove(target->decider->sent, target);
    free(target);
}

static void move(void *owner, uint64_t thread, node_id node)
{
    struct decider *decider = owner;
    struct sent_target *target = memory_new(1, sizeof *target);
    size_t n;
    const struct page_use *pages = uses(owner, thread, &n);

    target->waiter.wake = forget;
    target->decider = decider;
    list_push(decider->sent, target);
    migration_pages_announce(root(decider)->pages, node, thread, pages, n);
    sync_thread_migrate(root(decider)->sync, thread, node, &target->waiter);
}

static void set_period(void *owner, uint64_t period, uint64_t phase)
{
    (void)owner; // the program says where iterations end
    (void)period;
    (void)phase;
}

static void leave(void *owner, const struct remap *plan, const uint32_t *from,
                  const uint32_t *to, int has_moved)
{
    struct decider *decider = owner;

    migration_pages_withdraw(root(decider)->pages, plan, from, to,
                             has_moved ? PAGES_HAVE_LEFT : PAGES_WILL_LEAVE);
}

static void describe(void *owner, unsigned node, struct node_view *view)
{
    const struct decider *decider = owner;

    *view = decider->lab->simulation->nodes[node].view;
}

static void explain(void *owner, const char *text)
{
    (void)owner;
    (void)text;
}

int simulation_use_model(struct simulation *simulation, const char *name)
{
    return cost_model_find(name, &simulation->model);
}

void decider_open(struct lab *lab)
{
    const struct simulation *simulation = lab->simulation;
    struct decider *decider;
    const struct scheme_config config = {
        .policy =
            simulation->counts != NULL ? policy_find(NULL) : simulation->policy,
        .model = simulation->model,
        .n_nodes = simulation->n_nodes,
        .counts = simulation->counts,
    };
    struct scheme_ops ops = {
        .track = track,
        .tracking_s = tracking_s,
        .think = think,
        .move = move,
        .set_period = set_period,
        .leave = leave,
        .describe = describe,
        .uses = uses,
        .explain = explain,
    };

    if (config.policy == NULL || simulation->n_nodes == 1) {
        return;
    }
    decider = memory_new(1, sizeof *decider);
    ops.owner = decider;
    decider->lab = lab;
    decider->used = memory_new(simulation->n_threads, sizeof *decider->used);
    decider->scheme = scheme_new(&config, &ops);
    lab->decider = decider;
}

static void forget_used(struct decider *decider)
{
    for (uint32_t i = 0; i < decider->lab->simulation->n_threads; i++) {
        free(decider->used[i].pages);
    }
}

void decider_close(struct lab *lab)
{
    struct decider *decider = lab->decider;
    struct scheme_stats stats;

    if (decider == NULL) {
        return;
    }
    scheme_stats(decider->scheme, &stats);
    lab->result->n_plans = stats.n_plans;
    lab->result->n_remaps = stats.n_remaps;
    lab->result->n_undone = stats.n_undone;
    scheme_free(decider->scheme);
    list_take_each (target, decider->sent) {
        free(target);
    }
    forget_used(decider);
    free(decider->used);
    free(decider);
    lab->decider = NULL;
}

tm_status decider_receive(struct lab *lab, node_id from,
                          const struct message *message)
{
    return lab->decider == NULL ? TM_OK
                                : scheme_receive(lab->decider->scheme, from,
                                                 message, lab->events.now_ns);
}

static void take_uses(struct decider *decider)
{
    struct lab *lab = decider->lab;
    const uint32_t round = (uint32_t)(lab->iteration % lab->play.n_rounds);

    forget_used(decider);
    for (uint32_t i = 0; i < lab->simulation->n_threads; i++) {
        decider->used[i].pages =
            play_uses(&lab->play, i, round, &decider->used[i].n);
    }
    decider->has_tracked = 1;
}

void decider_passes(struct lab *lab)
{
    struct decider *decider = lab->decider;

    if (decider == NULL || lab->iteration == decider->passed) {
        return;
    }
    decider->passed = lab->iteration;
    if (decider->passes_left == 0 || --decider->passes_left > 0) {
        return;
    }
    take_uses(decider);
    scheme_tracked(decider->scheme, 1);
}

// ---- where threads start

int decider_share_out(void *owner, const node_id *ids, unsigned n_nodes,
                      const uint32_t *load, uint32_t n, uint32_t *counts)
{
    const struct lab_node *asking = owner;
    const struct simulation *simulation = asking->lab->simulation;
    const struct policy *policy = simulation->policy;
    struct first_node nodes[TM_MAX_NODES];
    uint32_t n_all = n;

    if (policy == NULL || simulation->counts != NULL ||
        simulation->begins_equal || n == 0) {
        return 0;
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        const struct node_view *view = &simulation->nodes[ids[i]].view;

        n_all += load[ids[i]];
        nodes[i] = (struct first_node){
            .power = policy->ignores_power ? 1 : view->power,
            .n_processors = view->n_processors,
            .n_threads = load[ids[i]],
            .memory_pages =
                policy->uses_memory ? view->memory_pages : UINT64_MAX,
        };
    }
    first_mapping_level(nodes, n_nodes);
    first_mapping_share_out(nodes, n_nodes, n,
                            (double)engine_n_pages(asking->engine) / n_all,
                            counts);
    return 1;
}
