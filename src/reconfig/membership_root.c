// SPDX-License-Identifier: BSD-3-Clause
//
// How the root leads a change of the roster: requests, the steps of membership.c, and
// the rounds of questions that end a step.
//
// All threads wait while a standstill is awaited, and nobody listens for signs of life
// of the one that comes, for it is no member yet: its host may be gone. So it has
// SILENT_MAX_NS to answer, as members have by default to be heard; the others have longer
// to come to rest, FREEZE_MAX_NS.
#include "reconfig/membership_priv.h"

#include <string.h>

#include "base/ensure.h"
#include "base/log.h"

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
#define SILENT_MAX_NS (5 * SECOND_NS)

static uint64_t now_ns(const struct membership *membership)
{
    return membership->port->now_ns(membership->port->owner);
}

// ---- rounds

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
static size_t write_roster(const struct membership *membership, uint8_t *body)
{
    const struct request *request = current(membership);
    struct roster roster = membership->port->roster;

    if (request->comes) {
        roster_add(&roster, request->node);
    } else {
        roster_remove(&roster, request->node);
    }
    return roster_encode(&roster, body);
}

static void ask(struct membership *membership)
{
    const struct request *request = current(membership);
    uint8_t body[ROSTER_BYTES_MAX];
    size_t size = 0;

    if (membership->step == SWITCH && membership->done < SWITCH) {
        size = write_roster(membership, body);
    }
    membership->round++;
    membership->is_asking = 1;
    membership->asked_ns = now_ns(membership);
    membership->comer_owes = request->comes;
    membership->answers = (struct round_answers){
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

static void tell(struct membership *membership, enum membership_report report,
                 const char *why)
{
    const struct membership_ops *ops = &membership->ops;
    const struct request *request = current(membership);

    ops->tell(ops->owner, request->node, request->comes, report, why);
}

// Once before it begins, and once while threads leave: for what, if it takes long.
static void tell_waits(struct membership *membership, const char *why)
{
    if (!membership->has_told &&
        now_ns(membership) - membership->since_ns >= WAITS_AFTER_NS) {
        membership->has_told = 1;
        tell(membership, MEMBERSHIP_WAITS, why);
    }
}

static void take_off(struct membership *membership)
{
    membership->since_ns = 0;
    membership->has_told = 0;
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

static void end(struct membership *membership, enum membership_report report,
                const char *why)
{
    thaw(membership, NODE_NONE);
    membership->step = IDLE;
    tell(membership, report, why);
    take_off(membership);
}

static void finish(struct membership *membership)
{
    if (!current(membership)->comes) {
        membership->gone_sent += membership->leaver_sent; // N5
        membership->gone_received += membership->leaver_received;
    }
    end(membership, MEMBERSHIP_DONE, "");
}

static int is_quiet(const struct round_answers *answers)
{
    return answers->is_still && answers->sent == answers->received;
}

static void end_round(struct membership *membership)
{
    const struct round_answers *answers = &membership->answers;
    int is_same = membership->was_quiet &&
                  answers->sent == membership->last.sent &&
                  answers->received == membership->last.received;

    membership->is_asking = 0;
    if (membership->step == FREEZE && membership->has_threads) { // N3
        membership->freeze_ns = now_ns(membership) + AGAIN_NS;
        thaw(membership, current(membership)->node);
        enter(membership, EVACUATE);
        return;
    }
    membership->was_quiet = is_quiet(answers);
    membership->last = *answers;
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

tm_status membership_receive_state(struct membership *membership, node_id from,
                                   const struct message_change_state *state)
{
    struct round_answers *answers = &membership->answers;

    if (membership->port->self != 0 || !is_member(membership, from)) {
        return TM_EWIRE;
    }
    if (!membership->is_asking || state->round != membership->round) {
        return TM_OK; // of a round that was given up
    }
    answers->is_still &= state->is_still;
    answers->sent += state->sent;
    answers->received += state->received;
    if (from == current(membership)->node && current(membership)->comes) {
        membership->comer_owes = 0;
    } else if (from == current(membership)->node) {
        membership->has_threads = state->n_threads > 0;
        membership->leaver_sent = state->sent;
        membership->leaver_received = state->received;
    }
    if (++answers->n_answers == membership->n_members) {
        end_round(membership);
    }
    return TM_OK;
}

// ---- threads leave

// Threads are spread over nodes by power: what the root does before anything has been
// measured with the new nodes.
// @return the index of the node that most wants one more
static unsigned find_neediest(const uint32_t *n_on, const double *power,
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
        unsigned to = find_neediest(n_on, power, n);

        n_on[to]++;
        ops->move(ops->owner, thread, nodes[to]);
    }
    membership->told_ns = now_ns(membership);
}

static void evacuate(struct membership *membership)
{
    const uint64_t at_ns = now_ns(membership);
    const int has_threads =
        sync_n_threads_on(membership->sync, current(membership)->node) > 0;

    if (!has_threads && at_ns >= membership->freeze_ns) {
        enter(membership, FREEZE);
        return;
    }
    if (at_ns - membership->told_ns >= AGAIN_NS) {
        send_threads_away(membership);
    }
    tell_waits(membership,
               has_threads ? "its threads have not come to an iteration's end "
                             "yet (tm_iteration_end)"
                           : "its tasks have not ended yet");
}

// ---- requests

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
    membership->freeze_ns = 0;
    membership->has_told = 0;
    list_members(membership);
    if (current(membership)->comes) {
        enter(membership, FREEZE);
        return;
    }
    enter(membership, EVACUATE);
    send_step(membership, current(membership)->node, NULL, 0);
}

static void begin_if_ready(struct membership *membership)
{
    const struct membership_ops *ops = &membership->ops;
    const char *why = ops->why_not_yet(ops->owner);

    if (why == NULL) {
        begin(membership);
        return;
    }
    if (membership->since_ns == 0) {
        membership->since_ns = now_ns(membership);
    }
    tell_waits(membership, why);
}

// N4
static const char *why_give_up(const struct membership *membership)
{
    uint64_t at_ns = now_ns(membership);

    if (membership->is_asking && membership->comer_owes &&
        at_ns - membership->asked_ns > SILENT_MAX_NS) {
        return "it is silent";
    }
    if (at_ns - membership->step_ns > FREEZE_MAX_NS) {
        return "the nodes did not come to a standstill";
    }
    return NULL;
}

static void await_standstill(struct membership *membership)
{
    const char *why = why_give_up(membership);

    if (why != NULL) {
        log_debug("no standstill: %u of %u nodes have answered, %s; %llu sent, "
                  "%llu received",
                  membership->answers.n_answers, membership->n_members,
                  membership->answers.is_still ? "all stand" : "not all stand",
                  (unsigned long long)membership->answers.sent,
                  (unsigned long long)membership->answers.received);
        end(membership, MEMBERSHIP_REFUSED, why);
    } else if (!membership->is_asking) {
        ask(membership);
    }
}

void membership_tick(struct membership *membership)
{
    if (membership->n_requests == 0) {
        return;
    }
    if (membership->step == IDLE) {
        begin_if_ready(membership);
    } else if (membership->step == EVACUATE) {
        evacuate(membership);
    } else if (membership->step == FREEZE) {
        await_standstill(membership);
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

uint64_t membership_gone_sent(const struct membership *membership)
{
    return membership->gone_sent;
}

uint64_t membership_gone_received(const struct membership *membership)
{
    return membership->gone_received;
}
