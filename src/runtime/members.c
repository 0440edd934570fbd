// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes that come and go (reconfig/membership.h), in a running node: what the machine
// asks for is done here, and what the launcher and the owner of a node want is told
// to it.
//
//   teamster remove     the launcher tells the root: REMOVE
//   teamster add        the launcher starts a node, tells all to connect with it (NEWCOMER),
//                       and the root when they have (ADMIT)
//   SIGTERM to a node   it asks the root to leave; a second one ends it as ever
//
// A frozen node: who calls node_enter() waits there, in place, until it is over
// (stand_still in node.c). The service thread and workers that poll the network go in by
// node_enter_serving(). So nothing begins, and what is under way is answered.
#include "runtime/members.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "runtime/balancing.h"
#include "runtime/cluster_capacity.h"
#include "runtime/connect.h"
#include "runtime/iteration.h"
#include "runtime/node.h"
#include "runtime/parts.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/** So long ways to nodes are kept that have left: they may still be ending. */
#define FORGET_NS (2000 * 1000 * 1000u)

// ---- standing still

// A change is over.
static void note_who_has_left(struct node *node)
{
    const struct roster *roster = &node->port.roster;

    for (unsigned i = 0; i < roster->n_ids; i++) {
        node->members.has_left[i] = !roster->is_live[i];
    }
}

static void freeze(void *owner, int is_frozen)
{
    struct node *node = owner;

    node_freeze(node, is_frozen);
    if (!is_frozen) {
        note_who_has_left(node);
    }
}

// ---- what the machine wants to know

// Or tasks, which end by themselves.
static unsigned n_threads(void *owner)
{
    struct node *node = owner;

    return ult_count(node->ult) + (tasks_are_pending(node->tasking.tasks) != 0);
}

static void count(void *owner, uint64_t *sent, uint64_t *received)
{
    struct node *node = owner;

    *sent = node->n_sent;
    *received = node->n_received;
}

static const char *why_not_yet(void *owner)
{
    struct node *node = owner;

    if (checkpoint_is_busy(node)) {
        return node->checkpoint.is_restoring
                   ? "the run reads what it goes back to"
                   : "a checkpoint is being written";
    }
    if (balancing_is_busy(node) || tracking_is_active(node)) {
        return "an iteration is tracked, or threads are moving";
    }
    return node_step(node) == RUNTIME_RUNNING ? NULL
                                              : "the run begins, or ends";
}

static double power_of(void *owner, node_id id)
{
    struct node *node = owner;

    return cluster_power(node, id);
}

static void move(void *owner, uint64_t thread, node_id to)
{
    struct node *node = owner;

    threads_send(node, thread, to);
}

// ---- what has changed

static void note_come(struct node *node, node_id id)
{
    if (node->has_detector) {
        detector_expect(&node->detector, id);
    }
    log_debug("node %u has joined", id);
}

static void note_gone(struct node *node, node_id id)
{
    struct members *members = &node->members;

    ensure(members->n_gone < TM_MAX_NODES);
    members->gone[members->n_gone++] = id;
    members->gone_ns = clock_now_ns();
    log_debug("node %u has left", id);
}

static void switched(void *owner, const struct roster *before)
{
    struct node *node = owner;
    const struct roster *now = &node->port.roster;
    int is_first = node->n_nodes == 1 || node->members.is_new;

    for (unsigned i = 0; i < now->n_ids; i++) {
        node_id id = (node_id)i;

        if (roster_has(now, id) && !roster_has(before, id)) {
            note_come(node, id);
        } else if (roster_has(before, id) && !roster_has(now, id) &&
                   id != node->self) {
            note_gone(node, id);
        }
    }
    node->n_nodes = now->n_ids;
    node->transport->set_epoch(node->net, now->epoch);
    node->members.is_new = 0;
    parts_roster_changed(node, is_first);
}

static void gone(void *owner)
{
    struct node *node = owner;

    log_debug("this node has left");
    node_finish_soon(node, 0);
}

// Before anything is known of a new node its share of threads, by power, goes there.
static void share_with(struct node *node, node_id id)
{
    const struct roster *roster = &node->port.roster;
    uint32_t n_on[TM_MAX_NODES];
    double power[TM_MAX_NODES];
    double power_sum = 0;
    uint32_t n_all = 0;
    uint32_t n_wanted;

    for (unsigned i = 0; i < roster->n_live; i++) {
        n_on[i] = sync_n_threads_on(node->sync, roster->live[i]);
        n_all += n_on[i];
        power[i] = cluster_power(node, roster->live[i]);
        power_sum += power[i];
    }
    n_wanted = (uint32_t)(n_all * cluster_power(node, id) / power_sum);
    for (uint32_t n = 0; n < n_wanted; n++) {
        unsigned from = 0;
        uint32_t cursor = 0;
        uint64_t thread = 0;

        for (unsigned i = 1; i < roster->n_live; i++) {
            if (n_on[i] / power[i] > n_on[from] / power[from]) {
                from = i;
            }
        }
        if (n_on[from] == 0 || roster->live[from] == id) {
            break;
        }
        // Its last ones: neighbours stay together.
        for (uint32_t k = 0; k < n_on[from]; k++) {
            thread =
                sync_next_thread_on(node->sync, roster->live[from], &cursor);
        }
        n_on[from]--;
        if (thread != 0) {
            threads_send(node, thread, id);
        }
    }
}

static void tell(void *owner, node_id id, int comes,
                 enum membership_report report, const char *why)
{
    struct node *node = owner;

    if (report == MEMBERSHIP_REFUSED) {
        log_warning("node %u cannot %s: %s", id, comes ? "join" : "leave", why);
    }
    if (report == MEMBERSHIP_DONE && comes) {
        iteration_tell_mode(node, id);
        if (balancing_decides(node)) {
            share_with(node, id);
        } else if (node->options.shuffle == 0) {
            why = "threads stay where they are (--policy), so it has none";
        }
    }
    bootstrap_report(&node->bootstrap, id, comes, report, why);
}

// ---- what the launcher wants

// This node has not had to do with other hosts before, perhaps.
static tm_status widen(struct node *node, const uint8_t *key)
{
    const struct net_config config = node_net_config(node);
    tm_status status = node->transport->widen(node->net, &config, key);

    if (status == TM_OK) {
        node->members.is_spread = 1; // life signs begin when all have joined
        node->transport->set_epoch(node->net, node->port.roster.epoch);
    }
    return status;
}

void members_note_hosts(struct node *node, const uint16_t *host_of)
{
    memcpy(node->members.host_of, host_of, node->n_nodes * sizeof *host_of);
}

static void connect_with(struct node *node, const struct boot_change *change)
{
    const struct net_place place = {
        .address = change->card.address,
        .size = change->card.address_size,
        .is_elsewhere = change->host != node->members.host_of[node->self],
    };
    char why[256] = "it cannot reach other hosts";
    tm_status status = TM_OK;

    if (place.is_elsewhere) {
        status = widen(node, change->key);
    }
    if (status == TM_OK) {
        status = node->transport->add_peer(node->net, change->node, &place, why,
                                           sizeof why);
    }
    node->capacity.nodes[change->node] = change->card.capacity;
    node->members.host_of[change->node] = change->host;
    if (status != TM_OK) {
        bootstrap_peered(&node->bootstrap, change->node, why);
    } else if (!place.is_elsewhere) { // else when it is: NET_PEER_UP
        bootstrap_peered(&node->bootstrap, change->node, "");
    }
}

void members_follow(struct node *node)
{
    struct boot_change *change = calloc(1, sizeof *change);

    ensure(change != NULL);
    if (bootstrap_take_change(&node->bootstrap, change) != TM_OK) {
        log_fatal(EXIT_NODE_LOST, "the launcher has gone: node %u ends",
                  node->self);
    }
    node_enter_serving(node);
    switch (change->kind) {
    case BOOT_NEWCOMER:
        connect_with(node, change);
        break;
    case BOOT_ADMIT:
        membership_add(node->members.machine, change->node);
        break;
    default:
        membership_remove(node->members.machine, change->node);
        break;
    }
    node_leave(node);
    explicit_bzero(change->key, sizeof change->key);
    free(change);
}

// ---- what the owner of the node wants

static void terminate(int signal_number)
{
    struct node *const node = &this_node;
    int saved_errno = errno;

    if (atomic_fetch_add_explicit(&node->members.n_terms, 1,
                                  memory_order_relaxed) > 0) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    node_wake_service(node);
    errno = saved_errno;
}

// The program's own handler, if it has one, is its affair.
static void listen_for_owner(struct node *node)
{
    struct sigaction action = {.sa_handler = terminate, .sa_flags = SA_RESTART};
    struct sigaction old;

    if (node->self != 0 && bootstrap_has_launcher(&node->bootstrap) &&
        sigaction(SIGTERM, NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
        sigemptyset(&action.sa_mask);
        sigaction(SIGTERM, &action, NULL);
    }
}

// ---- the run

static void open_members(struct node *node)
{
    const struct membership_ops ops = {
        .owner = node,
        .freeze = freeze,
        .n_threads = n_threads,
        .count = count,
        .why_not_yet = why_not_yet,
        .move = move,
        .power = power_of,
        .switched = switched,
        .gone = gone,
        .tell = tell,
    };

    node->members.is_new = node->bootstrap.joins > 0;
    node->members.machine =
        membership_new(&node->port, node->engine, node->sync, &ops);
    if (node->members.machine == NULL) {
        log_fatal(EXIT_MEMORY, "no memory for the list of members");
    }
}

// All together, some time after the last of them.
static void forget_who_has_left(struct node *node)
{
    struct members *members = &node->members;

    if (node_is_frozen(node)) {
        members->gone_ns = clock_now_ns(); // it is still giving its pages
    }
    if (clock_now_ns() - members->gone_ns <= FORGET_NS) {
        return;
    }
    for (unsigned i = 0; i < members->n_gone; i++) {
        node->transport->remove_peer(node->net, members->gone[i]);
    }
    members->n_gone = 0;
}

static int tick(struct node *node)
{
    struct members *members = &node->members;

    if (atomic_load_explicit(&members->n_terms, memory_order_relaxed) > 0 &&
        !members->has_asked) {
        members->has_asked = 1;
        log_warning("node %u has been asked to end: it leaves the run",
                    node->self);
        membership_leave(members->machine);
    }
    forget_who_has_left(node);
    membership_tick(members->machine);
    return membership_is_busy(members->machine) || node_is_frozen(node);
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    return membership_receive(node->members.machine, from, message);
}

const struct part part_members = {
    .open = open_members,
    .start = listen_for_owner,
    .tick = tick,
    .owns = OWNER_members,
    .receive = receive,
    .save = parts_save_nothing,
};
