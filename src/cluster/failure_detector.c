// SPDX-License-Identifier: BSD-3-Clause
//
// A node that has been stopped, or that no cable leads to any more, does not say
// so, and nothing below says it in time: TCP keeps the connection of a stopped
// process for ever. So each node sends each other a beat every second, and any
// message counts as one.
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
//     each message; polls are much more frequent than beats.
// I3  Nodes begin when the launcher lets them go, each at its own pace: where hundreds share
//     a few processors the last one begins many seconds after the first. So among more than
//     CROWD nodes who has not been heard yet has START_NS more. If its process has ended,
//     its launcher or agent says so at once.
// I4  Beats grow as the square of the number of nodes: those of 256 nodes, one a second to
//     each other, would need a processor of their own. Among more than CROWD nodes both
//     the time between beats and the time of silence are longer in proportion, so that no
//     node sends more than CROWD beats a second. What nodes that share so few processors
//     do in turn takes longer, too: detector_stretch_ns().
#include "cluster/failure_detector.h"

#define BEAT_NS UINT64_C(1000000000)
#define START_NS UINT64_C(30000000000)
#define CROWD 64

void detector_init(struct failure_detector *detector, const struct port *port,
                   double timeout_s)
{
    *detector = (struct failure_detector){
        .port = port,
        .timeout_ns = (uint64_t)(timeout_s * 1e9),
    };
    watch_start(&detector->watch, port->now_ns(port->owner));
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
        silence_end(&detector->nodes[from].silence, &detector->watch); // I2
    }
}

static int is_crowd(const struct failure_detector *detector)
{
    return detector->port->roster.n_live > CROWD;
}

uint64_t detector_stretch_ns(const struct failure_detector *detector,
                             uint64_t ns)
{
    const unsigned n = detector->port->roster.n_live;

    return is_crowd(detector) ? ns * n / CROWD : ns; // I4
}

static uint64_t beat_ns(const struct failure_detector *detector)
{
    return detector_stretch_ns(detector, BEAT_NS);
}

static void send_beats(struct failure_detector *detector, uint64_t now_ns)
{
    const struct message message = {.type = MESSAGE_beat,
                                    .u.beat = {.number = detector->n_beats,
                                               .launcher = detector->launcher}};

    const struct roster *roster = &detector->port->roster;

    if (now_ns - detector->sent_ns < beat_ns(detector)) {
        return;
    }
    detector->sent_ns = now_ns;
    detector->n_beats++;
    for (unsigned i = 0; i < roster->n_live; i++) {
        if (roster->live[i] != detector->port->self) {
            port_send(detector->port, roster->live[i], &message);
        }
    }
}

static enum detector_event judge(const struct failure_detector *detector,
                                 struct detector_node *node)
{
    uint64_t lost_ns = detector_stretch_ns(detector, detector->timeout_ns);
    uint64_t more_ns =
        is_crowd(detector) && !node->has_begun ? START_NS : 0; // I3
    enum silence_state state =
        silence_judge(&node->silence, &detector->watch,
                      more_ns + lost_ns / 5 * 3, more_ns + lost_ns);
    int was_suspect = node->is_suspect;

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
    return 1;
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
    return silence_ns(&detector->nodes[node].silence, &detector->watch) >=
           2 * beat_ns(detector);
}

uint64_t detector_away_ns(const struct failure_detector *detector)
{
    return detector->port->now_ns(detector->port->owner) -
           detector->watch.polled_ns;
}
