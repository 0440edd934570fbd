// SPDX-License-Identifier: BSD-3-Clause
//
// The root makes threads and starts them. Created threads are held in the order
// of creation, in a chain at their creator, until thread_launch says how many
// may start: as many as there were when the creator's node began its release.
// The creator's end starts the rest, for its message comes after a release too.
//
// A batch of K threads goes to N nodes in blocks of neighbours, as equal as can
// be: counted from the last one, the i-th to the node that is i * N / K before the last.
// So where not all have the same number, node 0 has one less than others: main() is
// there, and may well compute too. In particular main() and P - 1 threads are on P nodes.
// If its creator has others that live, from a batch
// before, both together are spread evenly: on a busy machine the 2 ms after which
// threads start are over before all have been created, and 27 and 5 of 32 would
// come to 9, 8, 8, 7. If there are fewer threads than nodes, each goes where the
// fewest threads live. In these cases too neighbours are in the order of the nodes.
//
// Where more is known of the nodes, share_out() of sync_ops says how many each gets.
//
// I1  A chain holds HELD threads of its creator, n_held of them; its creator is
//     LIVE.
#include <string.h>

#include "sync/thread_registry_priv.h"

/* Start a held thread that is in no chain any more. */
static void start_on(struct sync *sync, struct thread_record *thread,
                     node_id node)
{
    struct message message = {.type = MESSAGE_thread_start};

    thread->state = THREAD_LIVE;
    thread->node = thread->has_target &&
                           roster_takes(sync->registry.roster, thread->target)
                       ? thread->target
                       : node;
    thread->has_target = false;
    sync->registry.n_on_node[thread->node]++;
    message.u.thread_start.thread = thread->number;
    message.u.thread_start.start = thread->start;
    message.u.thread_start.arg = thread->arg;
    message.body = thread->name;
    message.body_size = (uint32_t)strlen(thread->name) + 1;
    order_takes(sync, THREAD_OBJECT(thread->creator), thread->node);
    send_to(sync, thread->node, &message);
}

static void place_on(struct sync *sync, struct thread_record *thread,
                     node_id node)
{
    thread->placed = (uint16_t)(node + 1);
    start_on(sync, thread, node);
}

static struct thread_record *unchain(struct thread_registry *registry,
                                     struct thread_record *creator)
{
    struct thread_record *thread = &registry->threads[creator->first_held];

    creator->first_held = thread->next_held;
    creator->n_held--;
    thread->next_held = 0;
    return thread;
}

static void chain(struct thread_registry *registry,
                  struct thread_record *creator, struct thread_record *thread)
{
    uint32_t slot = thread_slot_of(thread->number);

    if (creator->n_held == 0) {
        creator->first_held = slot;
    } else {
        registry->threads[creator->last_held].next_held = slot;
    }
    creator->last_held = slot;
    creator->n_held++;
}

/* Of those with the fewest threads the first, but main()'s node is the last.
 * @param nodes  [n_nodes]
 * @return which of them */
static unsigned least_loaded(const uint32_t *n_on_node, const node_id *nodes,
                             unsigned n_nodes)
{
    unsigned best = 0;

    for (unsigned i = 1; i < n_nodes; i++) {
        uint32_t n = n_on_node[nodes[i]];
        uint32_t least = n_on_node[nodes[best]];

        if (n < least || (n == least && nodes[best] == ROOT)) {
            best = i;
        }
    }
    return best;
}

/* @param counts  [n_nodes] */
static void start_counts(struct sync *sync, struct thread_record *creator,
                         const uint32_t *counts, const node_id *nodes,
                         unsigned n_nodes)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        for (uint32_t k = 0; k < counts[i]; k++) {
            place_on(sync, unchain(&sync->registry, creator), nodes[i]);
        }
    }
}

/* As somebody says who knows more of the nodes. @return 0: nobody does */
static int start_as_known(struct sync *sync, struct thread_record *creator,
                          uint32_t n, const uint32_t *load,
                          const node_id *nodes, unsigned n_nodes)
{
    uint32_t counts[TM_MAX_NODES];

    if (sync->ops.share_out == NULL ||
        !sync->ops.share_out(sync->ops.owner, nodes, n_nodes, load, n,
                             counts)) {
        return 0;
    }
    start_counts(sync, creator, counts, nodes, n_nodes);
    return 1;
}

/* Each goes where the fewest are, and neighbours stay in the order of the nodes.
 * @param load  [TM_MAX_NODES]  threads there, which are added to
 * @param nodes  [n_nodes] */
static void start_evenly(struct sync *sync, struct thread_record *creator,
                         uint32_t n, uint32_t *load, const node_id *nodes,
                         unsigned n_nodes)
{
    uint32_t counts[TM_MAX_NODES] = {0};

    for (uint32_t i = 0; i < n; i++) {
        unsigned best = least_loaded(load, nodes, n_nodes);

        load[nodes[best]]++;
        counts[best]++;
    }
    start_counts(sync, creator, counts, nodes, n_nodes);
}

/* Its living threads, where they were started: they may have been moved since, for
 * a reason that is not ours.
 * @param[out] load  [TM_MAX_NODES]
 * @return how many */
static uint32_t count_placed(const struct thread_registry *registry,
                             const struct thread_record *creator,
                             uint32_t *load)
{
    uint32_t n = 0;

    memset(load, 0, TM_MAX_NODES * sizeof *load);
    for (uint32_t slot = 1; slot < registry->n_threads; slot++) {
        const struct thread_record *thread = &registry->threads[slot];

        if (thread->state == THREAD_LIVE && thread->placed > 0 &&
            thread->creator == creator->number) {
            load[thread->placed - 1]++;
            n++;
        }
    }
    return n;
}

void thread_launch_held(struct sync *sync, struct thread_record *creator,
                        uint32_t n)
{
    struct thread_registry *registry = &sync->registry;
    node_id nodes[TM_MAX_NODES];
    uint64_t n_nodes = roster_open(registry->roster, nodes);
    uint32_t load[TM_MAX_NODES];
    int is_beside = n < n_nodes;

    if (is_beside) {
        memcpy(load, registry->n_on_node, sizeof load);
    } else {
        is_beside = count_placed(registry, creator, load) > 0;
    }
    if (start_as_known(sync, creator, n, load, nodes, (unsigned)n_nodes)) {
        return;
    }
    if (is_beside) {
        start_evenly(sync, creator, n, load, nodes, (unsigned)n_nodes);
    } else {
        for (uint64_t left = n; left > 0; left--) {
            uint64_t before_last = (left - 1) * n_nodes / n;

            place_on(sync, unchain(registry, creator),
                     nodes[n_nodes - 1 - before_last]);
        }
    }
}

/* Where a thread goes that was asked for on a node: elsewhere, if that leaves. */
static node_id wanted_node(const struct thread_registry *registry, node_id node)
{
    node_id nodes[TM_MAX_NODES];
    unsigned n_nodes = roster_open(registry->roster, nodes);

    return roster_takes(registry->roster, node)
               ? node
               : nodes[least_loaded(registry->n_on_node, nodes, n_nodes)];
}

tm_status thread_registry_receive_create(struct sync *sync, node_id from,
                                         const struct message *message)
{
    const struct message_thread_create *fields = &message->u.thread_create;
    struct thread_registry *registry = &sync->registry;
    struct thread_record *thread;
    uint32_t creator_slot = thread_slot_of(fields->creator);

    if (thread_registry_find_live(registry, fields->creator) == NULL ||
        fields->on_node > registry->roster->n_ids ||
        message->body_size > sizeof thread->name) {
        return TM_EWIRE;
    }
    thread = thread_registry_take_slot(registry);
    if (thread == NULL) {
        answer(sync, from, fields->token, TM_ELIMIT, 0);
        return TM_OK;
    }
    thread->state = THREAD_HELD;
    thread->start = fields->start;
    thread->arg = fields->arg;
    thread->creator = fields->creator;
    thread->is_detached = fields->is_detached != 0;
    memcpy(thread->name, message->body, message->body_size);
    registry->n_alive++;
    answer(sync, from, fields->token, TM_OK, thread->number);
    if (fields->on_node > 0 && !registry->holds_all) {
        start_on(sync, thread,
                 wanted_node(registry, (node_id)(fields->on_node - 1)));
    } else {
        chain(registry, &registry->threads[creator_slot], thread);
    }
    return TM_OK;
}

tm_status thread_registry_receive_launch(struct sync *sync, node_id from,
                                         const struct message *message)
{
    struct thread_record *creator = thread_registry_find_live(
        &sync->registry, message->u.thread_launch.creator);
    uint32_t n = message->u.thread_launch.n_threads;

    (void)from;
    if (creator == NULL) {
        return TM_OK; // its end came first and has started them
    }
    if (n > creator->n_held) {
        return TM_EWIRE;
    }
    if (!sync->registry.holds_all) {
        thread_launch_held(sync, creator, n);
    }
    return TM_OK;
}

bool thread_launch_chain_is_valid(const struct thread_registry *registry,
                                  const struct thread_record *creator)
{
    uint32_t slot = creator->first_held;
    uint32_t n = 0;

    if (creator->n_held > 0 && creator->state != THREAD_LIVE) { // I1
        return false;
    }
    for (; n < creator->n_held; n++) {
        const struct thread_record *thread = &registry->threads[slot];

        if (slot == 0 || slot >= registry->n_threads ||
            thread->state != THREAD_HELD ||
            thread->creator != creator->number) { // I1
            return false;
        }
        slot = thread->next_held;
    }
    return slot == 0;
}
