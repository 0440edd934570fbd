// SPDX-License-Identifier: BSD-3-Clause
//
// Barriers, the manager's part: counts the arrivals of all nodes; when as many
// have come as the barrier counts, tells each node how many of its threads
// pass, with the result of the reduction. One message a node, its own last; or one for
// all nodes that another one leads (barrier_relay.c), and who that is from now on.
//
// I1  Between two messages fewer have arrived than the barrier counts.
// I2  n_of_node sums up to n_arrived; in a reduction there are as many values.
// I3  All arrivals of an episode are of one kind and one operation; otherwise
//     the program is wrong, and says so.
// I4  A barrier at which threads have arrived is watched.
// I5  A leader is in its own group, and leads it only if the group is told so.
//
// A barrier that counts more threads than are left. While threads wait, the
// manager asks the root every 100 ms (barrier_check). If those that have
// arrived and those that wait for the end of other threads are all that live,
// then nobody is left who could arrive, or make a thread that could:
// barrier_starved. The root's knowledge may be late, so the manager believes it
// only if the episode and the number of arrivals are still those that it asked
// about.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vector.h"
#include "sync/barrier_priv.h"

#define CHECK_NS 100000000u

typedef unsigned long long number;

static const char *const kind_names[] = {
    [ARRIVE_WAIT] = "tm_barrier_wait",
    [ARRIVE_ITERATION] = "tm_iteration_end",
    [ARRIVE_DOUBLE] = "tm_reduce_double",
    [ARRIVE_INT64] = "tm_reduce_int64",
};

static const char *const op_names[] = {
    [TM_SUM] = "TM_SUM",
    [TM_PRODUCT] = "TM_PRODUCT",
    [TM_MIN] = "TM_MIN",
    [TM_MAX] = "TM_MAX",
};

void sync_barrier_init(struct sync *sync, uint64_t key, uint32_t count,
                       struct waiter *waiter)
{
    struct call *call = call_manager(sync, CALL_BARRIER_INIT, key, waiter);

    call->message.u.barrier_init.key = key;
    call->message.u.barrier_init.token = call->token;
    call->message.u.barrier_init.count = count;
    call->message.u.barrier_init.thread = waiter->thread;
    call->message.u.barrier_init.place = waiter->place;
    call_send(call, 0);
}

/* The caller gets a status as well; the places help to find both calls. */
static void log_other_count(const struct barrier *barrier,
                            const struct message_barrier_init *init)
{
    char here[PLACE_SIZE];
    char there[PLACE_SIZE];

    log_error(
        "thread %llu gives the barrier at 0x%llx the count %u%s, while "
        "threads wait there under the count %u%s",
        (number)init->thread, (number)init->key, init->count,
        place_text(barrier->sync, ", in ", init->place, here), barrier->count,
        place_text(barrier->sync, ", given in ", barrier->count_place, there));
}

tm_status barrier_receive_init(struct sync *sync, node_id from,
                               const struct message *message)
{
    uint64_t key = message->u.barrier_init.key;
    uint32_t count = message->u.barrier_init.count;
    tm_status status = TM_OK;
    struct barrier *barrier;

    if (!is_manager(sync, key)) {
        return TM_EWIRE;
    }
    barrier = barrier_of(sync, key);
    if (count == 0) {
        status = TM_EINVAL;
    } else if (barrier->n_arrived > 0 && barrier->count != count) {
        log_other_count(barrier, &message->u.barrier_init);
        status = TM_ECOUNT;
    } else {
        barrier->count = count;
        barrier->count_place = message->u.barrier_init.place;
    }
    answer(sync, from, message->u.barrier_init.token, status, 0);
    return TM_OK;
}

/* ---- the end of an episode ---- */

/* Who passes, this node last; their counts begin anew. @return how many nodes */
static unsigned list_passings(struct barrier *barrier,
                              struct wire_passing *passings)
{
    const struct roster *roster = &barrier->sync->port->roster;
    const node_id own = barrier->sync->port->self;
    unsigned n = 0;

    for (unsigned i = 0; i <= roster->n_live; i++) {
        const node_id node = i < roster->n_live ? roster->live[i] : own;

        if (barrier->n_of_node[node] > 0 &&
            (node != own || i == roster->n_live)) {
            passings[n++] =
                (struct wire_passing){.node = node,
                                      .n_threads = barrier->n_of_node[node],
                                      .via = own};
            barrier->n_of_node[node] = 0;
        }
    }
    return n;
}

/* The root of n, or a little more. */
static unsigned root_of(unsigned n)
{
    unsigned root = 1;

    while (root * root < n) {
        root++;
    }
    return root;
}

/* Who leads whom from now on: the first of each group. I5 */
static void choose_leaders(const struct barrier *barrier,
                           struct wire_passing *passings, unsigned n)
{
    const unsigned n_others =
        n - (passings[n - 1].node == barrier->sync->port->self);
    const unsigned n_group = root_of(n_others);

    for (unsigned i = 0; i < n_others; i++) {
        struct wire_passing *leader = &passings[i - i % n_group];

        passings[i].via = leader->node;
        leader->n_group += passings[i].n_threads;
    }
}

static void let_node_pass(struct barrier *barrier,
                          const struct wire_passing *passing,
                          struct message *message)
{
    message->u.barrier_leave.n_threads = passing->n_threads;
    message->u.barrier_leave.via = passing->via;
    message->u.barrier_leave.n_group = passing->n_group;
    order_takes(barrier->sync, barrier->key, passing->node);
    send_to(barrier->sync, passing->node, message);
}

/* Those whose arrivals a node has passed on: by that node. They are taken out. */
static void let_group_pass(struct barrier *barrier,
                           struct wire_passing *passings, unsigned n,
                           const struct message *leave)
{
    const node_id leader = barrier->ways[passings[0].node];
    uint8_t *body = scratch_get(barrier->sync, n * WIRE_SIZE_passing);
    struct wire_writer writer = {body, body + n * WIRE_SIZE_passing, 0};
    struct message message = {.type = MESSAGE_barrier_pass, .body = body};

    message.u.barrier_pass.key = barrier->key;
    message.u.barrier_pass.result = leave->u.barrier_leave.result;
    message.u.barrier_pass.count = leave->u.barrier_leave.count;
    for (unsigned i = 0; i < n; i++) {
        if (passings[i].n_threads > 0 &&
            barrier->ways[passings[i].node] == leader) {
            wire_put_passing(&writer, &passings[i]);
            passings[i].n_threads = 0;
        }
    }
    message.body_size = (uint32_t)(writer.at - body);
    order_relays(barrier->sync, barrier->key, leader);
    send_to(barrier->sync, leader, &message);
}

/* Each by the way that its arrivals came: T2 of barrier_relay.c. */
static void let_nodes_pass(struct barrier *barrier, struct message *message)
{
    struct wire_passing passings[TM_MAX_NODES];
    const unsigned n = list_passings(barrier, passings);

    if (n > BARRIER_ALONE_MAX) {
        choose_leaders(barrier, passings, n);
    }
    for (unsigned i = 0; i < n; i++) {
        if (passings[i].n_threads == 0) {
            continue; // told with others
        }
        if (barrier->ways[passings[i].node] == NODE_NONE) {
            let_node_pass(barrier, &passings[i], message);
        } else {
            let_group_pass(barrier, &passings[i], n - i, message);
        }
    }
}

static void let_all_pass(struct barrier *barrier)
{
    struct message message = {.type = MESSAGE_barrier_leave};

    message.u.barrier_leave.key = barrier->key;
    if (kind_reduces(barrier->kind)) {
        message.u.barrier_leave.result =
            reduce_bits(barrier->values, barrier->n_values, barrier->op,
                        barrier->kind == ARRIVE_DOUBLE);
    }
    message.u.barrier_leave.count = barrier->most;
    let_nodes_pass(barrier, &message);
    barrier->n_arrived = 0;
    barrier->n_values = 0;
    barrier->episode++;
}

/* ---- arrivals ---- */

void barrier_keep_values(struct barrier *barrier, struct wire_reader *body,
                         uint32_t n)
{
    vector_reserve(barrier->values, barrier->n_room, barrier->n_values + n);
    for (uint32_t i = 0; i < n; i++) {
        barrier->values[barrier->n_values++] = wire_get_contribution(body);
    }
}

static void report_difference(struct barrier *barrier,
                              const struct message_barrier_arrive *arrive)
{
    bool is_kind = arrive->kind != barrier->kind;
    char first[PLACE_SIZE];
    char second[PLACE_SIZE];

    report_error(
        barrier->sync,
        "threads %llu and %llu meet at the barrier at 0x%llx %s, %s "
        "and %s%s%s",
        (number)barrier->first, (number)arrive->thread, (number)barrier->key,
        is_kind ? "by different calls" : "with different operations",
        is_kind ? kind_names[barrier->kind] : op_names[barrier->op],
        is_kind ? kind_names[arrive->kind] : op_names[arrive->op],
        place_text(barrier->sync, ", in ", barrier->first_place, first),
        place_text(barrier->sync, " and in ", arrive->place, second));
}

/* Can this arrival join the episode? Says so if not. */
static bool fits(struct barrier *barrier,
                 const struct message_barrier_arrive *arrive)
{
    char place[PLACE_SIZE];

    if (barrier->count == 0) {
        report_error(barrier->sync,
                     "thread %llu waits at the barrier at 0x%llx which was "
                     "never initialised%s",
                     (number)arrive->thread, (number)barrier->key,
                     place_text(barrier->sync, ", in ", arrive->place, place));
        return false;
    }
    if (barrier->n_arrived == 0 ||
        (arrive->kind == barrier->kind && arrive->op == barrier->op)) {
        return true;
    }
    report_difference(barrier, arrive);
    return false;
}

void barrier_expect(struct barrier *barrier)
{
    barrier->check_ns = time_now(barrier->sync) + CHECK_NS;
    barrier_watch(barrier);
}

static void begin_episode(struct barrier *barrier,
                          const struct message_barrier_arrive *arrive)
{
    barrier->kind = arrive->kind;
    barrier->op = arrive->op;
    barrier->first = arrive->thread;
    barrier->first_place = arrive->place;
    barrier->most = 0;
    barrier_expect(barrier);
}

void barrier_make_counts(struct barrier *barrier)
{
    barrier->n_of_node = calloc(TM_MAX_NODES, sizeof *barrier->n_of_node);
    barrier->ways = calloc(TM_MAX_NODES, sizeof *barrier->ways);
    ensure_memory(barrier->n_of_node != NULL && barrier->ways != NULL);
}

/* Threads of a node have arrived.
 * @param way     that has passed them on, or NODE_NONE
 * @param values  theirs come next, if they reduce */
static void count_arrivals(struct barrier *barrier, node_id way,
                           struct wire_arrived arrived,
                           const struct message_barrier_arrive *arrive,
                           struct wire_reader *values)
{
    uint32_t n_left = arrived.n_threads;

    while (n_left > 0) {
        uint32_t n = barrier->count - barrier->n_arrived;

        n = n_left < n ? n_left : n;
        if (barrier->n_arrived == 0) {
            begin_episode(barrier, arrive);
        }
        if (barrier->most < arrive->count) {
            barrier->most = arrive->count;
        }
        if (kind_reduces(arrive->kind)) {
            barrier_keep_values(barrier, values, n);
        }
        barrier->n_of_node[arrived.node] += n;
        barrier->ways[arrived.node] = way;
        barrier->n_arrived += n;
        n_left -= n;
        if (barrier->n_arrived == barrier->count) {
            let_all_pass(barrier);
        }
    }
}

/* May such an arrival be? @param size  of the values in its message */
static bool is_arrival(const struct message_barrier_arrive *arrive, size_t size)
{
    const size_t n_values = kind_reduces(arrive->kind) ? arrive->n_threads : 0;

    return arrive->n_threads > 0 && arrive->kind <= ARRIVE_INT64 &&
           arrive->op <= TM_MAX && size == n_values * WIRE_SIZE_contribution;
}

/* The manager's record of a barrier where these may meet, or NULL: that is told. */
static struct barrier *meeting_of(struct sync *sync,
                                  const struct message_barrier_arrive *arrive)
{
    struct barrier *barrier = barrier_of(sync, arrive->key);

    if (!fits(barrier, arrive)) {
        return NULL;
    }
    if (barrier->n_of_node == NULL) {
        barrier_make_counts(barrier);
    }
    return barrier;
}

tm_status barrier_receive_arrive(struct sync *sync, node_id from,
                                 const struct message *message)
{
    const struct message_barrier_arrive *arrive = &message->u.barrier_arrive;
    struct wire_reader values = wire_read_body(message);
    struct barrier *barrier;

    if (!is_arrival(arrive, message->body_size)) {
        return TM_EWIRE;
    }
    if (!is_manager(sync, arrive->key)) {
        if (sync->port->roster.n_live <= BARRIER_ALONE_MAX) {
            return TM_EWIRE; // nobody leads others
        }
        relay_arrivals(barrier_of(sync, arrive->key), from, message);
        return TM_OK;
    }
    barrier = meeting_of(sync, arrive);
    if (barrier != NULL) {
        count_arrivals(barrier, NODE_NONE,
                       (struct wire_arrived){from, arrive->n_threads}, arrive,
                       &values);
    }
    return TM_OK;
}

/* Of other nodes that there are, as many threads as it says. */
static bool nodes_fit(const struct sync *sync, unsigned n_nodes,
                      uint64_t n_threads, struct wire_reader nodes)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        const struct wire_arrived arrived = wire_get_arrived(&nodes);

        if (arrived.node == sync->port->self || arrived.n_threads == 0 ||
            arrived.n_threads > n_threads ||
            !roster_has(&sync->port->roster, arrived.node)) {
            return false;
        }
        n_threads -= arrived.n_threads;
    }
    return n_threads == 0 && !nodes.failed;
}

tm_status barrier_receive_relay(struct sync *sync, node_id from,
                                const struct message *message)
{
    const struct message_barrier_relay *relay = &message->u.barrier_relay;
    const struct message_barrier_arrive arrive = {
        .key = relay->key,
        .n_threads = relay->n_threads,
        .kind = relay->kind,
        .op = relay->op,
        .thread = relay->thread,
        .place = relay->place,
        .count = relay->count,
    };
    const size_t size = relay->n_nodes * (size_t)WIRE_SIZE_arrived;
    struct wire_reader nodes = wire_read_body(message);
    struct wire_reader values = nodes;
    struct barrier *barrier;

    if (!is_manager(sync, relay->key) || message->body_size < size ||
        !is_arrival(&arrive, message->body_size - size) ||
        !nodes_fit(sync, relay->n_nodes, relay->n_threads, nodes)) {
        return TM_EWIRE;
    }
    (void)wire_get_bytes(&values, size);
    barrier = meeting_of(sync, &arrive);
    for (unsigned i = 0; barrier != NULL && i < relay->n_nodes; i++) {
        count_arrivals(barrier, from, wire_get_arrived(&nodes), &arrive,
                       &values);
    }
    return TM_OK;
}

void meeting_poll(struct barrier *barrier, uint64_t now_ns)
{
    struct message message = {.type = MESSAGE_barrier_check};

    if (barrier->n_arrived == 0 || now_ns < barrier->check_ns) {
        return;
    }
    barrier->check_ns = now_ns + CHECK_NS;
    message.u.barrier_check.key = barrier->key;
    message.u.barrier_check.episode = barrier->episode;
    message.u.barrier_check.n_arrived = barrier->n_arrived;
    send_to(barrier->sync, ROOT, &message);
}

static void report_starved(struct barrier *barrier)
{
    char count[PLACE_SIZE];
    char first[PLACE_SIZE];

    report_error(barrier->sync,
                 "the barrier at 0x%llx counts %u threads, but only %u have "
                 "arrived and no thread is left that could%s%s",
                 (number)barrier->key, barrier->count, barrier->n_arrived,
                 place_text(barrier->sync, "; the count is given in ",
                            barrier->count_place, count),
                 place_text(barrier->sync, ", the first waits in ",
                            barrier->first_place, first));
}

tm_status barrier_receive_starved(struct sync *sync, node_id from,
                                  const struct message *message)
{
    uint64_t key = message->u.barrier_starved.key;
    struct barrier *barrier = table_find(&sync->barriers, key);

    if (from != ROOT || barrier == NULL || !is_manager(sync, key)) {
        return TM_EWIRE;
    }
    if (barrier->episode == message->u.barrier_starved.episode &&
        barrier->n_arrived == message->u.barrier_starved.n_arrived) {
        report_starved(barrier);
    }
    return TM_OK;
}

bool meeting_is_valid(const struct barrier *barrier)
{
    uint64_t n = 0;

    if (barrier->n_of_node == NULL) {
        return barrier->n_arrived == 0;
    }
    for (unsigned node = 0; node < TM_MAX_NODES; node++) {
        n += barrier->n_of_node[node];
    }
    if (n != barrier->n_arrived ||        // I2
        (n > 0 && n >= barrier->count)) { // I1; it may be another's by now
        return false;
    }
    if (barrier->n_values != (kind_reduces(barrier->kind) ? n : 0)) { // I2
        return false;
    }
    return n == 0 || barrier->is_watched; // I4
}
