// SPDX-License-Identifier: BSD-3-Clause
//
// A change of the roster (net/roster.h): one node comes, or one leaves. The root
// takes all nodes through these steps, one change after the other:
//
//   IDLE      a request is there, and no plan or tracking is under way
//             leave -> EVACUATE, join -> FREEZE
//   EVACUATE  all know who leaves: nothing more goes there; its threads move away
//             at their next iteration ends; when it has none -> FREEZE
//   FREEZE    threads do not enter the runtime any more; what is under way goes on
//             until nothing is -> SWITCH; or, threads have come to the leaver
//             meanwhile: thaw, -> EVACUATE
//   SWITCH    everybody takes the new roster, and forgets the leaver; the root tells
//             the newcomer of all blocks
//   SPREAD    directory entries and managers go to their new nodes; the leaver gives
//             its pages away
//   GO        threads go on; the leaver ends -> IDLE
//
// In FREEZE, SWITCH and SPREAD the root asks all nodes again and again (change_step,
// with a new round) what there is under way (change_state). A step is over when, in
// two rounds one after the other, all say that they stand still, as many messages
// have been received as sent, and the numbers are the same in both: then none was on
// its way when the first of the two ended ([Mattern87], four counters).
//
// N1 Between the last round of FREEZE and GO nothing happens at any node but what
//    the steps do: no thread is in the runtime, no message is on its way.
// N2 A node in SPREAD hears only of nodes that have the new roster, since SWITCH was
//    over everywhere.
// N3 The leaver has no thread from FREEZE on: nobody can bring one there but by a
//    message, and none is on its way.
// N4 Until SWITCH begins nothing has changed and the root may give up: GO without a
//    change. From there on only a death ends it, and with it the run.
// N5 Counts of a node that has left are added to those of the others ever after, so
//    that sent and received stay equal.
#include "reconfig/membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"

enum step { IDLE, EVACUATE, FREEZE, SWITCH, SPREAD, GO };

/** What follows a step that is over. */
static const enum step next_step[] = {
    [FREEZE] = SWITCH,
    [SWITCH] = SPREAD,
    [SPREAD] = GO,
};

#define SECOND_NS UINT64_C(1000000000)
#define WAITS_AFTER_NS (3 * SECOND_NS)
#define AGAIN_NS (SECOND_NS / 5) // threads are told again where to go
#define FREEZE_MAX_NS (10 * SECOND_NS)

struct request {
    node_id node;
    int comes;
};

/** What all nodes have said in a round. */
struct tally {
    unsigned n_answers;
    int is_still;
    uint64_t sent;
    uint64_t received;
};

struct membership {
    struct port *port;
    struct engine *engine;
    struct sync *sync;
    struct membership_ops ops;

    enum step done; ///< the latest step that this node has taken
    unsigned turn;  ///< of membership_refuge()

    // the root's
    struct request requests[TM_MAX_NODES]; ///< the first is under way
    unsigned n_requests;
    enum step step;
    uint64_t since_ns; ///< the request was begun
    uint64_t step_ns;  ///< and this step
    uint64_t told_ns;  ///< threads were told to leave
    int has_told;      ///< that it waits
    int has_threads;   ///< the leaver, in this round
    uint32_t round;
    int is_asking; ///< answers are awaited
    node_id members[TM_MAX_NODES];
    unsigned n_members;
    struct tally tally;
    struct tally last;    ///< of the round before
    int was_quiet;        ///< in the round before
    uint64_t leaver_sent; ///< in this round
    uint64_t leaver_received;
    uint64_t gone_sent; ///< N5
    uint64_t gone_received;
};

static uint64_t now_ns(const struct membership *membership)
{
    return membership->port->now_ns(membership->port->owner);
}

int membership_is_aside(unsigned type)
{
    return type == MESSAGE_change_step || type == MESSAGE_change_state ||
           type == MESSAGE_leave_ask || type == MESSAGE_beat ||
           type == MESSAGE_idle || type == MESSAGE_idle_ask ||
           type == MESSAGE_waits || type == MESSAGE_waits_ask ||
           type == MESSAGE_finish;
}

// ---- every node: the steps

static void take_roster(struct membership *membership,
                        const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    struct roster before = membership->port->roster;
    struct roster *roster = &membership->port->roster;

    memset(roster->is_live, 0, sizeof roster->is_live);
    roster->n_ids = wire_get_u16(&reader);
    roster->n_live = 0;
    while (reader.at < reader.end && roster->n_live < TM_MAX_NODES) {
        node_id node = wire_get_u16(&reader);

        if (node < TM_MAX_NODES) {
            roster->is_live[node] = 1;
            roster->live[roster->n_live++] = node;
        }
    }
    roster->epoch = message->u.change_step.epoch;
    roster->leaving = NODE_NONE;
    ensure(roster_is_valid(roster));
    engine_roster_changed(membership->engine, &before);
    sync_roster_changed(membership->sync, &before);
    membership->ops.switched(membership->ops.owner, &before);
    if (membership->port->self == 0 &&
        message->u.change_step.comes != NODE_NONE) {
        engine_describe_blocks(membership->engine,
                               message->u.change_step.comes);
    }
}

static void freeze(struct membership *membership, int is_frozen)
{
    engine_freeze(membership->engine, is_frozen);
    sync_freeze(membership->sync, is_frozen);
    membership->ops.freeze(membership->ops.owner, is_frozen);
}

static void go_on(struct membership *membership, node_id leaves)
{
    const struct membership_ops *ops = &membership->ops;

    membership->port->roster.leaving = leaves;
    freeze(membership, 0);
    if (!roster_has(&membership->port->roster, membership->port->self)) {
        ops->gone(ops->owner);
    }
}

static void take_step(struct membership *membership,
                      const struct message *message)
{
    const struct message_change_step *step = &message->u.change_step;

    membership->done = (enum step)step->step;
    switch (membership->done) {
    case EVACUATE:
        membership->port->roster.leaving = step->leaves;
        if (step->leaves == membership->port->self) {
            // Pages follow those who ask for them first.
            engine_leaving(membership->engine, 0, UINT64_MAX);
        }
        break;
    case FREEZE:
        freeze(membership, 1);
        break;
    case SWITCH:
        take_roster(membership, message);
        break;
    case SPREAD:
        engine_spread(membership->engine);
        sync_spread(membership->sync);
        break;
    case GO:
        go_on(membership, step->leaves);
        break;
    default:
        break;
    }
}

static void answer(struct membership *membership,
                   const struct message_change_step *step)
{
    const struct membership_ops *ops = &membership->ops;
    struct message message = {.type = MESSAGE_change_state};
    struct message_change_state *state = &message.u.change_state;

    state->step = step->step;
    state->round = step->round;
    state->is_still = engine_is_still(membership->engine) != 0;
    state->n_threads = ops->n_threads(ops->owner);
    ops->count(ops->owner, &state->sent, &state->received);
    port_send(membership->port, 0, &message);
}

static tm_status receive_step(struct membership *membership, node_id from,
                              const struct message *message)
{
    const struct message_change_step *step = &message->u.change_step;

    if (from != 0 || step->step < EVACUATE || step->step > GO) {
        return TM_EWIRE;
    }
    if (membership->done != (enum step)step->step || step->step == EVACUATE) {
        take_step(membership, message);
    }
    if (step->step != EVACUATE && step->step != GO) {
        answer(membership, step);
    }
    return TM_OK;
}

node_id membership_refuge(struct membership *membership)
{
    node_id nodes[TM_MAX_NODES];
    unsigned n = roster_open(&membership->port->roster, nodes);

    return nodes[membership->turn++ % n];
}

void membership_leave(struct membership *membership)
{
    struct message message = {
        .type = MESSAGE_leave_ask,
        .u.leave_ask = {.node = membership->port->self},
    };

    port_send(membership->port, 0, &message);
}

// ---- the root: rounds

static const struct request *current(const struct membership *membership)
{
    return &membership->requests[0];
}

static void send_step(struct membership *membership, node_id leaves,
                      const uint8_t *body, size_t size)
{
    const struct request *request = current(membership);
    const struct message message = {
        .type = MESSAGE_change_step,
        .u.change_step =
            {
                .step = (uint8_t)membership->step,
                .round = membership->round,
                .epoch = membership->port->roster.epoch +
                         (membership->done < SWITCH),
                .comes = request->comes ? request->node : NODE_NONE,
                .leaves = leaves,
            },
        .body = size > 0 ? body : NULL,
        .body_size = (uint32_t)size,
    };

    for (unsigned i = 0; i < membership->n_members; i++) {
        port_send(membership->port, membership->members[i], &message);
    }
}

// The roster as it will be.
static size_t write_roster(const struct membership *membership, uint8_t *body,
                           size_t room)
{
    const struct request *request = current(membership);
    struct roster roster = membership->port->roster;
    struct wire_writer writer = {body, body + room, 0};

    if (request->comes) {
        roster_add(&roster, request->node);
    } else {
        roster_remove(&roster, request->node);
    }
    wire_put_u16(&writer, (uint16_t)roster.n_ids);
    for (unsigned i = 0; i < roster.n_live; i++) {
        wire_put_u16(&writer, roster.live[i]);
    }
    return (size_t)(writer.at - body);
}

static void ask(struct membership *membership)
{
    const struct request *request = current(membership);
    uint8_t body[2 * TM_MAX_NODES + 2];
    size_t size = 0;

    if (membership->step == SWITCH && membership->done < SWITCH) {
        size = write_roster(membership, body, sizeof body);
    }
    membership->round++;
    membership->is_asking = 1;
    membership->tally = (struct tally){
        .is_still = 1,
        .sent = membership->gone_sent,
        .received = membership->gone_received,
    };
    send_step(membership, request->comes ? NODE_NONE : request->node, body,
              size);
}

static void enter(struct membership *membership, enum step step)
{
    membership->step = step;
    membership->step_ns = now_ns(membership);
    membership->was_quiet = 0;
    membership->has_threads = 0;
    if (step != EVACUATE && step != IDLE) {
        ask(membership);
    }
}

static void tell(struct membership *membership, enum membership_news news,
                 const char *why)
{
    const struct membership_ops *ops = &membership->ops;
    const struct request *request = current(membership);

    ops->tell(ops->owner, request->node, request->comes, news, why);
}

static void take_off(struct membership *membership)
{
    membership->n_requests--;
    memmove(&membership->requests[0], &membership->requests[1],
            membership->n_requests * sizeof membership->requests[0]);
}

// Threads go on, with the change or without it.
static void thaw(struct membership *membership, node_id leaves)
{
    membership->step = GO;
    membership->is_asking = 0;
    send_step(membership, leaves, NULL, 0);
}

static void finish(struct membership *membership)
{
    if (!current(membership)->comes) {
        membership->gone_sent += membership->leaver_sent; // N5
        membership->gone_received += membership->leaver_received;
    }
    thaw(membership, NODE_NONE);
    membership->step = IDLE;
    tell(membership, MEMBERSHIP_DONE, "");
    take_off(membership);
}

static void refuse(struct membership *membership, const char *why)
{
    thaw(membership, NODE_NONE);
    membership->step = IDLE;
    tell(membership, MEMBERSHIP_REFUSED, why);
    take_off(membership);
}

static int is_quiet(const struct tally *tally)
{
    return tally->is_still && tally->sent == tally->received;
}

static void end_round(struct membership *membership)
{
    const struct tally *tally = &membership->tally;
    int is_same = membership->was_quiet &&
                  tally->sent == membership->last.sent &&
                  tally->received == membership->last.received;

    membership->is_asking = 0;
    if (membership->step == FREEZE && membership->has_threads) { // N3
        thaw(membership, current(membership)->node);
        enter(membership, EVACUATE);
        return;
    }
    membership->was_quiet = is_quiet(tally);
    membership->last = *tally;
    if (!membership->was_quiet) {
        return; // again at the next tick
    }
    if (!is_same) {
        ask(membership);
    } else if (next_step[membership->step] == GO) {
        finish(membership);
    } else {
        enter(membership, next_step[membership->step]);
    }
}

static int is_member(const struct membership *membership, node_id node)
{
    for (unsigned i = 0; i < membership->n_members; i++) {
        if (membership->members[i] == node) {
            return 1;
        }
    }
    return 0;
}

static tm_status receive_state(struct membership *membership, node_id from,
                               const struct message_change_state *state)
{
    struct tally *tally = &membership->tally;

    if (membership->port->self != 0 || !is_member(membership, from)) {
        return TM_EWIRE;
    }
    if (!membership->is_asking || state->round != membership->round) {
        return TM_OK; // of a round that was given up
    }
    tally->is_still &= state->is_still;
    tally->sent += state->sent;
    tally->received += state->received;
    if (!current(membership)->comes && from == current(membership)->node) {
        membership->has_threads = state->n_threads > 0;
        membership->leaver_sent = state->sent;
        membership->leaver_received = state->received;
    }
    if (++tally->n_answers == membership->n_members) {
        end_round(membership);
    }
    return TM_OK;
}

// ---- the root: threads leave

unsigned membership_neediest(const uint32_t *n_on, const double *power,
                             unsigned n)
{
    unsigned best = 0;

    for (unsigned i = 1; i < n; i++) {
        if ((n_on[i] + 1) / power[i] < (n_on[best] + 1) / power[best]) {
            best = i;
        }
    }
    return best;
}

static unsigned weigh_nodes(const struct membership *membership, node_id *nodes,
                            uint32_t *n_on, double *power)
{
    const struct membership_ops *ops = &membership->ops;
    unsigned n = roster_open(&membership->port->roster, nodes);

    for (unsigned i = 0; i < n; i++) {
        n_on[i] = sync_n_threads_on(membership->sync, nodes[i]);
        power[i] = ops->power(ops->owner, nodes[i]);
    }
    return n;
}

static void send_threads_away(struct membership *membership)
{
    const struct membership_ops *ops = &membership->ops;
    node_id nodes[TM_MAX_NODES];
    uint32_t n_on[TM_MAX_NODES];
    double power[TM_MAX_NODES];
    unsigned n = weigh_nodes(membership, nodes, n_on, power);
    uint32_t cursor = 0;
    uint64_t thread;

    while ((thread = sync_next_thread_on(
                membership->sync, current(membership)->node, &cursor)) != 0) {
        unsigned to = membership_neediest(n_on, power, n);

        n_on[to]++;
        ops->move(ops->owner, thread, nodes[to]);
    }
    membership->told_ns = now_ns(membership);
}

static void evacuate(struct membership *membership)
{
    uint64_t at_ns = now_ns(membership);

    if (sync_n_threads_on(membership->sync, current(membership)->node) == 0) {
        enter(membership, FREEZE);
        return;
    }
    if (at_ns - membership->told_ns >= AGAIN_NS) {
        send_threads_away(membership);
    }
    if (!membership->has_told &&
        at_ns - membership->since_ns >= WAITS_AFTER_NS) {
        membership->has_told = 1;
        tell(membership, MEMBERSHIP_WAITS,
             "its threads have not come to an iteration's end yet "
             "(tm_iteration_end)");
    }
}

// ---- the root: requests

static void list_members(struct membership *membership)
{
    const struct roster *roster = &membership->port->roster;

    membership->n_members = roster->n_live;
    memcpy(membership->members, roster->live,
           roster->n_live * sizeof roster->live[0]);
    if (current(membership)->comes) {
        membership->members[membership->n_members++] =
            current(membership)->node;
    }
}

static void begin(struct membership *membership)
{
    membership->since_ns = now_ns(membership);
    membership->told_ns = 0;
    membership->has_told = 0;
    list_members(membership);
    if (current(membership)->comes) {
        enter(membership, FREEZE);
        return;
    }
    enter(membership, EVACUATE);
    send_step(membership, current(membership)->node, NULL, 0);
}

void membership_tick(struct membership *membership)
{
    const struct membership_ops *ops = &membership->ops;

    if (membership->n_requests == 0) {
        return;
    }
    if (membership->step == IDLE) {
        if (ops->is_ready(ops->owner)) {
            begin(membership);
        }
    } else if (membership->step == EVACUATE) {
        evacuate(membership);
    } else if (membership->step == FREEZE &&
               now_ns(membership) - membership->step_ns > FREEZE_MAX_NS) {
        log_debug("no standstill: %u of %u nodes have answered, %s; %llu sent, "
                  "%llu received",
                  membership->tally.n_answers, membership->n_members,
                  membership->tally.is_still ? "all stand" : "not all stand",
                  (unsigned long long)membership->tally.sent,
                  (unsigned long long)membership->tally.received);
        refuse(membership, "the nodes did not come to a standstill"); // N4
    } else if (!membership->is_asking) {
        ask(membership);
    }
}

int membership_is_busy(const struct membership *membership)
{
    return membership->n_requests > 0;
}

static void add_request(struct membership *membership, node_id node, int comes)
{
    const struct membership_ops *ops = &membership->ops;
    const char *why = NULL;

    for (unsigned i = 0; i < membership->n_requests; i++) {
        if (membership->requests[i].node == node) {
            return; // it is being done
        }
    }
    if (!comes && node == 0) {
        why = "it is the root, where main() runs: it cannot leave";
    } else if (!comes && !roster_has(&membership->port->roster, node)) {
        why = "there is no such node";
    } else if (membership->n_requests == TM_MAX_NODES) {
        why = "too many changes are waiting";
    }
    if (why != NULL) {
        ops->tell(ops->owner, node, comes, MEMBERSHIP_REFUSED, why);
        return;
    }
    membership->requests[membership->n_requests++] =
        (struct request){node, comes};
}

void membership_remove(struct membership *membership, node_id node)
{
    add_request(membership, node, 0);
}

void membership_add(struct membership *membership, node_id node)
{
    ensure(!roster_has(&membership->port->roster, node));
    add_request(membership, node, 1);
}

tm_status membership_receive(struct membership *membership, node_id from,
                             const struct message *message)
{
    switch (message->type) {
    case MESSAGE_change_step:
        return receive_step(membership, from, message);
    case MESSAGE_change_state:
        return receive_state(membership, from, &message->u.change_state);
    default:
        if (membership->port->self != 0 || message->u.leave_ask.node != from) {
            return TM_EWIRE;
        }
        membership_remove(membership, from);
        return TM_OK;
    }
}

struct membership *membership_new(struct port *port, struct engine *engine,
                                  struct sync *sync,
                                  const struct membership_ops *ops)
{
    struct membership *membership = calloc(1, sizeof *membership);

    if (membership != NULL) {
        membership->port = port;
        membership->engine = engine;
        membership->sync = sync;
        membership->ops = *ops;
    }
    return membership;
}

void membership_free(struct membership *membership)
{
    free(membership);
}
