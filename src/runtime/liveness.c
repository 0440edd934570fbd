// SPDX-License-Identifier: BSD-3-Clause
//
// Signs of life between the nodes of a run on several hosts. On one host the launcher
// sees each death, and a node that is stopped is somebody's who wants that (a
// debugger), so there are none, until a node of another host joins.
//
// A node is lost when it has been silent for --peer-timeout, or when its connection
// ends, which is at once if its process does. In that case whoever has started it
// knows better of what it has died, or that the run has ended in order, and gets
// GRACE_NS to say so, or longer in a large cluster: when a run ends the first nodes may be
// gone long before the last has read that it ends.
//
// Nodes tell the launcher, which knows names and says each thing once. A node that has
// lost another one cannot go on and ends; the launcher then ends all. One that is cut
// off from the launcher too is ended by the agent of its host, if not by itself.
// Where nobody ends all, or a launcher that is cut off, who ends tells the others without
// which node: not all of them have listened to it.
//
// A beat also carries what is known of the launcher, so that an agent hears of it when
// the launcher's own way there is cut (cli/beat.c); and with its beats the leader of a host
// tells the launcher which other leaders it hears.
//
// A node that is silent when the others end may be frozen, or its host. It shall read
// why it cannot go on when it does (fence_silent): its connections would only say that
// the others are gone. Of those who have listened to it, that is; if the first that it
// finds is the end of a connection to another one, it knows for how long it was away.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/liveness.h"
#include "runtime/node.h"
#include "runtime/progress_told.h"

#define GRACE_NS UINT64_C(1500000000)

/** A launcher gives up a host after that, however patient nodes are (cli/beat.h). */
#define GIVEN_UP_NS UINT64_C(9000000000)

// All members begin now, if some share no memory and they have not begun.
static void begin(struct node *node, int is_first)
{
    (void)is_first;
    if (!roster_has(&node->port.roster, node->self)) {
        node->has_detector = 0; // it leaves: nobody gives it signs any more
    } else if (node->has_detector) {
        detector_follow(&node->detector);
    } else if (node->members.is_spread) {
        node->has_detector = 1;
        detector_init(&node->detector, &node->port, node->members.host_of,
                      node->options.peer_timeout);
    }
}

static void start(struct node *node)
{
    planned_faults_open(&node->planned_faults, node->self,
                        cut_marks_n_back(&node->cut_marks));
    // To one that joins nobody gives a sign before it is a member.
    if (!node->members.is_new) {
        begin(node, 1);
    }
}

static _Noreturn void end_fenced(struct node *node, node_id by,
                                 const char *says)
{
    log_fatal(
        EXIT_MISMATCH,
        "node %u has been away for %.1f s (was it, or its host, stopped?): "
        "node %u %s the others have gone on without it",
        node->self, (double)detector_away_ns(&node->detector) / 1e9, by, says);
}

static int was_given_up(const struct node *node)
{
    const struct failure_detector *detector = &node->detector;
    uint64_t lost_ns;

    if (!node->has_detector) {
        return 0;
    }
    lost_ns = detector_stretch_ns(detector, detector->timeout_ns);
    return detector_away_ns(detector) >=
           (lost_ns > 0 && lost_ns < GIVEN_UP_NS ? lost_ns : GIVEN_UP_NS);
}

static void note_loss(struct node *node, node_id id, const char *why)
{
    struct loss *loss = &node->loss;

    if (loss->seen_ns == 0) {
        loss->seen_ns = clock_now_ns();
        loss->node = id;
        snprintf(loss->why, sizeof loss->why, "%s", why);
    }
}

void liveness_event(void *owner, enum net_event event, node_id id,
                    const char *why)
{
    struct node *node = owner;

    switch (event) {
    case NET_PEER_LOST:
        // One that has left, or that has not joined, is nobody's loss.
        if (!roster_has(&node->port.roster, id)) {
            bootstrap_peered(&node->bootstrap, id, why);
        } else if (was_given_up(node) && !node_is_finishing(node)) {
            end_fenced(node, id, "has ended, so");
        } else {
            note_loss(node, id, why);
        }
        break;
    case NET_FENCED:
        if (node_is_finishing(node)) {
            break; // this node has left
        }
        end_fenced(node, id, "says that");
    case NET_PEER_UP:
        bootstrap_peered(&node->bootstrap, id, "");
        break;
    }
}

static void tell(struct node *node, node_id id, enum boot_peer what,
                 unsigned seconds)
{
    bootstrap_tell_peer(&node->bootstrap, id, what, seconds);
}

static void fence_silent(struct node *node)
{
    const struct roster *roster = &node->port.roster;

    for (unsigned i = 0; i < roster->n_live && node->has_detector; i++) {
        node_id id = roster->live[i];

        if (id != node->self && detector_is_silent(&node->detector, id)) {
            node->transport->remove_peer(node->net, id);
        }
    }
}

void liveness_stop(struct node *node)
{
    node_enter_serving(node);
    fence_silent(node);
    _exit(0);
}

/** @param seconds  of silence; 0: its connection has ended */
static _Noreturn void end_without(struct node *node, node_id id,
                                  unsigned seconds, const char *why)
{
    fence_silent(node);
    if (node->has_detector) {
        detector_tell_lost(&node->detector, id);
    }
    if (!bootstrap_has_launcher(&node->bootstrap)) {
        log_fatal(EXIT_NODE_LOST, "node %u is lost: %s", id, why);
    }
    log_debug("node %u is lost: %s", id, why);
    tell(node, id, BOOT_PEER_LOST, seconds);
    _exit(EXIT_NODE_LOST);
}

static uint64_t grace_ns(const struct node *node)
{
    return node->has_detector ? detector_stretch_ns(&node->detector, GRACE_NS)
                              : GRACE_NS;
}

static void look_at_loss(struct node *node, const struct loss *loss)
{
    if (loss->seen_ns != 0 && !node_is_finishing(node) &&
        node_step(node) == RUNTIME_RUNNING &&
        clock_now_ns() - loss->seen_ns > grace_ns(node)) {
        end_without(node, loss->node, 0, loss->why);
    }
}

/** For the launcher: the other way by which it knows which hosts are alive. */
static void tell_heard(struct node *node)
{
    const struct roster *roster = &node->port.roster;
    const uint16_t *host_of = node->members.host_of;
    struct wire_boot_heard heard[BOOT_HEARD_MAX];
    unsigned n = 0;

    for (unsigned i = 0; i < roster->n_live && n < BOOT_HEARD_MAX; i++) {
        const node_id id = roster->live[i];

        if (host_of[id] != host_of[node->self] &&
            detector_expects(&node->detector, id)) {
            heard[n++] = (struct wire_boot_heard){
                .node = id, .tenths = detector_tenths(&node->detector, id)};
        }
    }
    if (n > 0) {
        bootstrap_tell_heard(&node->bootstrap, heard, n);
    }
}

static void look_at_pulse(struct node *node)
{
    uint32_t n_beats = node->detector.n_beats;
    char why[64];
    unsigned seconds;
    node_id id = node->self;
    enum detector_event event = detector_poll(&node->detector, &id);

    seconds = detector_silent_s(&node->detector, id);
    switch (event) {
    case DETECTOR_SUSPECT:
        tell(node, id, BOOT_PEER_SUSPECT, seconds);
        break;
    case DETECTOR_BACK:
        tell(node, id, BOOT_PEER_BACK, 0);
        break;
    case DETECTOR_LOST:
        snprintf(why, sizeof why, "silent for %u s (--peer-timeout)", seconds);
        end_without(node, id, seconds, why);
    default:
        break;
    }
    if (node->detector.n_beats != n_beats) {
        tell_heard(node);
    }
}

static int tick(struct node *node)
{
    look_at_loss(node, &node->loss);
    if (node->has_detector) {
        look_at_pulse(node);
    }
    if (!node_is_frozen(node)) {
        progress_tell(node, 0);
        process_watch_tick(node);
    }
    return 0;
}

void liveness_hear(struct node *node, node_id from)
{
    if (node->has_detector) {
        detector_hear(&node->detector, from);
    }
}

void liveness_hear_launcher(struct node *node, uint32_t number)
{
    if (node->has_detector && detector_hear_launcher(&node->detector, number)) {
        bootstrap_tell_life(&node->bootstrap, number);
    }
}

static void hear_of_loss(struct node *node, node_id from, node_id lost)
{
    char why[64];

    if (lost != node->self && roster_has(&node->port.roster, lost)) {
        snprintf(why, sizeof why, "node %u says so, and has ended", from);
        note_loss(node, lost, why);
    }
}

// Its sender has been heard already.
static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    liveness_hear_launcher(node, message->u.beat.launcher);
    hear_of_loss(node, from, message->u.beat.lost);
    if (message->u.beat.asks && node->has_detector) {
        detector_answer(&node->detector, from);
    }
    return TM_OK;
}

const struct part part_liveness = {
    .start = start,
    .tick = tick,
    .owns = OWNER_liveness,
    .receive = receive,
    .roster_changed = begin,
    .save = parts_save_nothing,
};
