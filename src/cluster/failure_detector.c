// SPDX-License-Identifier: BSD-3-Clause
//
// A node that has been stopped, or that no cable leads to any more, does not say
// so, and nothing below says it in time: TCP keeps the connection of a stopped
// process for ever. So nodes send each other a beat every second, and any
// message counts as one. Not each to each other: host_ring.c says which nodes are
// near each other. What another node is to this one:
//
//   near      its beats come here. It is judged always.
//   quiet     not near, and whatever has been sent to it, it has said something since:
//             nobody here waits for it. It is not judged: others do that.
//   awaited   not near, and something has been sent to it since it was heard. It is
//             judged, and each second that it is silent it is asked for a beat.
//
//   quiet to awaited: detector_sent(). Awaited to quiet: detector_hear(). To and from near:
//   detector_follow(), when nodes have come or gone.
//
// How one that is judged is:
//
//   heard within 3/5 of the time   alive
//   silent for longer              suspect: DETECTOR_SUSPECT, once; DETECTOR_BACK if it
//                                  is heard again
//   silent for all of it           DETECTOR_LOST, at each poll
//   not heard yet, in a crowd      the same START_NS later
//
// I1  Time in which this node itself did not poll does not count (silence.c): it was
//     stopped, or had no processor, and could hear nobody.
// I2  A silence begins with the poll before the message, so that no clock is read for
//     each message; polls are much more frequent than beats. That of a node that becomes
//     near or awaited begins then.
// I3  Nodes begin when the launcher lets them go, each at its own pace: where hundreds share
//     a few processors the last one begins many seconds after the first. So among more than
//     CROWD nodes who has not been heard yet has START_NS more. If its process has ended,
//     its launcher or agent says so at once.
// I4  What many nodes of a host do in turn takes longer, and so does a beat. Among more than
//     CROWD nodes, of which more than HOST_CROWD are on one host, the time of silence is
//     longer in proportion: detector_stretch_ns().
// I5  Who has sent a message judges its receiver until that has said something. Whatever a
//     node waits for, be it by way of others, is an answer that one node has yet to get from
//     another one; so no wait is for ever, and a way that is broken, in one direction
//     only perhaps, is noticed by who uses it.
// I6  Beats to those near are no more each second than host_ring.c R2 says; then there is at
//     most one question a second to each node that was sent something, and its answer. So
//     no node sends for the mere number of nodes.
// I7  What is news of the launcher goes on with the next poll: by a chain of hosts, too,
//     it is there in time.
#include "cluster/failure_detector.h"

#include "cluster/host_ring.h"

#define BEAT_NS UINT64_C(1000000000)
#define START_NS UINT64_C(30000000000)
#define CROWD 64
#define HOST_CROWD 16

void detector_init(struct failure_detector *detector, const struct port *port,
                   const uint16_t *host_of, double timeout_s)
{
    *detector = (struct failure_detector){
        .port = port,
        .host_of = host_of,
        .timeout_ns = (uint64_t)(timeout_s * 1e9),
    };
    watch_start(&detector->watch, port->now_ns(port->owner));
    detector_follow(detector);
}

static int is_expected(const struct detector_node *node)
{
    return (node->near & HOST_RING_FROM) != 0;
}

static int is_judged(const struct detector_node *node)
{
    return is_expected(node) || node->is_awaited;
}

void detector_follow(struct failure_detector *detector)
{
    const struct roster *roster = &detector->port->roster;
    uint8_t near[TM_MAX_NODES] = {0};

    host_ring_mark_near(roster, detector->host_of, detector->port->self, near);
    detector->n_on_host = host_ring_fullest(roster, detector->host_of);
    for (unsigned i = 0; i < roster->n_ids; i++) {
        struct detector_node *node = &detector->nodes[i];
        const int was_judged = is_judged(node);

        node->near = near[i];
        node->is_awaited = node->is_awaited && roster->is_live[i];
        if (is_judged(node) && !was_judged) { // I2
            silence_end(&node->silence, &detector->watch);
        }
    }
}

void detector_expect(struct failure_detector *detector, node_id node)
{
    detector->nodes[node].is_suspect = 0;
    detector->nodes[node].has_begun = 1;
    silence_end(&detector->nodes[node].silence, &detector->watch);
}

void detector_hear(struct failure_detector *detector, node_id from)
{
    if (from < TM_MAX_NODES) {
        detector->nodes[from].has_begun = 1;
        detector->nodes[from].is_awaited = 0;
        silence_end(&detector->nodes[from].silence, &detector->watch); // I2
    }
}

void detector_sent(struct failure_detector *detector, node_id to)
{
    struct detector_node *node = &detector->nodes[to];

    if (!is_judged(node)) {
        silence_end(&node->silence, &detector->watch); // I2
    }
    node->is_awaited = 1; // I5
}

static int is_crowd(const struct failure_detector *detector)
{
    return detector->port->roster.n_live > CROWD;
}

uint64_t detector_stretch_ns(const struct failure_detector *detector,
                             uint64_t ns)
{
    const unsigned n = detector->n_on_host;

    return is_crowd(detector) && n > HOST_CROWD ? ns * n / HOST_CROWD
                                                : ns; // I4
}

static void send_beat(const struct failure_detector *detector, node_id to,
                      int asks, node_id lost)
{
    const struct message message = {.type = MESSAGE_beat,
                                    .u.beat = {.number = detector->n_beats,
                                               .launcher = detector->launcher,
                                               .asks = (uint8_t)asks,
                                               .lost = lost}};

    port_send(detector->port, to, &message);
}

static void send_beats(struct failure_detector *detector, uint64_t now_ns)
{
    const struct roster *roster = &detector->port->roster;

    if (!detector->has_news && now_ns - detector->sent_ns < BEAT_NS) {
        return;
    }
    detector->sent_ns = now_ns;
    detector->has_news = 0;
    detector->n_beats++;
    for (unsigned i = 0; i < roster->n_live; i++) {
        if (detector->nodes[roster->live[i]].near & HOST_RING_TO) {
            send_beat(detector, roster->live[i], 0, NODE_NONE);
        }
    }
}

// The first time when a second has passed: most have answered by then.
static void ask_awaited(struct failure_detector *detector, uint64_t now_ns)
{
    const struct roster *roster = &detector->port->roster;

    if (now_ns - detector->asked_ns < BEAT_NS) {
        return;
    }
    detector->asked_ns = now_ns;
    for (unsigned i = 0; i < roster->n_live; i++) {
        const struct detector_node *node = &detector->nodes[roster->live[i]];

        if (node->is_awaited && !is_expected(node) &&
            silence_ns(&node->silence, &detector->watch) >= BEAT_NS) {
            send_beat(detector, roster->live[i], 1, NODE_NONE);
        }
    }
}

void detector_answer(struct failure_detector *detector, node_id to)
{
    send_beat(detector, to, 0, NODE_NONE);
}

void detector_tell_lost(struct failure_detector *detector, node_id lost)
{
    const struct roster *roster = &detector->port->roster;

    for (unsigned i = 0; i < roster->n_live; i++) {
        const node_id to = roster->live[i];

        if (to != lost && to != detector->port->self) {
            send_beat(detector, to, 0, lost);
        }
    }
}

static enum silence_state state_of(const struct failure_detector *detector,
                                   struct detector_node *node)
{
    uint64_t lost_ns = detector_stretch_ns(detector, detector->timeout_ns);
    uint64_t more_ns =
        is_crowd(detector) && !node->has_begun ? START_NS : 0; // I3

    return is_judged(node)
               ? silence_judge(&node->silence, &detector->watch,
                               more_ns + lost_ns / 5 * 3, more_ns + lost_ns)
               : SILENCE_SHORT;
}

static enum detector_event judge(const struct failure_detector *detector,
                                 struct detector_node *node)
{
    const enum silence_state state = state_of(detector, node);
    const int was_suspect = node->is_suspect;

    if (state == SILENCE_LOST) {
        return DETECTOR_LOST;
    }
    node->is_suspect = state == SILENCE_SUSPECT;
    if (node->is_suspect == was_suspect) {
        return DETECTOR_NOTHING;
    }
    return node->is_suspect ? DETECTOR_SUSPECT : DETECTOR_BACK;
}

enum detector_event detector_poll(struct failure_detector *detector,
                                  node_id *node)
{
    const struct roster *roster = &detector->port->roster;
    uint64_t now_ns = detector->port->now_ns(detector->port->owner);

    watch_poll(&detector->watch, now_ns); // I1
    send_beats(detector, now_ns);
    ask_awaited(detector, now_ns);
    for (unsigned i = 0; i < roster->n_live && detector->timeout_ns > 0; i++) {
        enum detector_event event = DETECTOR_NOTHING;

        *node = roster->live[i];
        if (*node != detector->port->self) {
            event = judge(detector, &detector->nodes[*node]);
        }
        if (event != DETECTOR_NOTHING) {
            return event;
        }
    }
    return DETECTOR_NOTHING;
}

int detector_hear_launcher(struct failure_detector *detector, uint32_t number)
{
    if (number <= detector->launcher) {
        return 0;
    }
    detector->launcher = number;
    detector->has_news = 1; // I7
    return 1;
}

int detector_expects(const struct failure_detector *detector, node_id node)
{
    return roster_has(&detector->port->roster, node) &&
           is_expected(&detector->nodes[node]);
}

unsigned detector_silent_s(const struct failure_detector *detector,
                           node_id node)
{
    return (
        unsigned)(silence_ns(&detector->nodes[node].silence, &detector->watch) /
                  BEAT_NS);
}

uint8_t detector_tenths(const struct failure_detector *detector, node_id node)
{
    uint64_t tenths =
        silence_ns(&detector->nodes[node].silence, &detector->watch) /
        (BEAT_NS / 10);

    return (uint8_t)(tenths < 255 ? tenths : 255);
}

int detector_is_silent(const struct failure_detector *detector, node_id node)
{
    return is_judged(&detector->nodes[node]) &&
           silence_ns(&detector->nodes[node].silence, &detector->watch) >=
               2 * BEAT_NS;
}

uint64_t detector_away_ns(const struct failure_detector *detector)
{
    const uint64_t now_ns = detector->port->now_ns(detector->port->owner);
    const uint64_t since_ns = now_ns - detector->watch.polled_ns;

    return since_ns > detector->watch.gap_ns ? since_ns
                                             : detector->watch.gap_ns;
}
