// SPDX-License-Identifier: BSD-3-Clause
//
// Who of launcher and agents is alive, from an agent's first greeting on. Nothing else
// tells that a host is gone: a connection over a cable that is cut stays open.
//
//   by ssh     each second launcher and agents send each other MUX_BEAT; whatever
//              comes over the connection counts
//   by nodes   to the launcher: each second the leaders of hosts say how long ago they have
//              heard those in front of them in the ring (cluster/host_ring.c, BOOT_HEARD), and
//              so that the hosts of these are alive.
//              To an agent: the launcher numbers its beats, and tells nodes too
//              (BOOT_LIFE); nodes tell each other the highest number that they know
//              (MESSAGE_beat), and each its agent, by a socket (TEAMSTER_LIFE_FD)
//
// I1  Who is heard by one way is alive: ssh's connection alone may be stuck for long,
//     since TCP waits longer each time before it tries again, and an agent may be
//     stopped while its nodes work.
// I2  A beat of the launcher is news to an agent only if its number is higher than any
//     before, so nodes cannot keep a dead launcher alive by telling each other of it.
// I3  Silence is counted as in cluster/silence.c.
#include "beat.h"

#include "base/clock.h"
#include "job.h"

#define SECOND_NS 1e9

void beat_start(struct beat *beat)
{
    *beat = (struct beat){.slowdown = job_slowdown()};
    watch_start(&beat->watch, clock_now_ns());
}

int beat_is_due(struct beat *beat, uint64_t now_ns)
{
    if ((double)(now_ns - beat->sent_ns) < BEAT_S * SECOND_NS) {
        return 0;
    }
    beat->sent_ns = now_ns;
    beat->n_sent++;
    return 1;
}

void beat_poll(struct beat *beat, uint64_t now_ns)
{
    if (beat->is_paused) {
        beat->watch.polled_ns = now_ns;
    }
    watch_poll(&beat->watch, now_ns);
}

void beat_expect(const struct beat *beat, struct beat_peer *peer)
{
    silence_end(&peer->by_ssh, &beat->watch);
    silence_end(&peer->silence, &beat->watch);
}

void beat_hear(const struct beat *beat, struct beat_peer *peer,
               uint64_t heard_ns)
{
    if (heard_ns != peer->heard_ns) {
        peer->heard_ns = heard_ns;
        beat_expect(beat, peer);
    }
}

void beat_hear_by_nodes(const struct beat *beat, struct beat_peer *peer,
                        uint64_t ago_ns)
{
    silence_shorten(&peer->silence, &beat->watch, ago_ns);
}

double beat_lost_s(const struct beat *beat)
{
    return (beat->is_watched ? BEAT_WATCHED_LOST_S : BEAT_LOST_S) *
           beat->slowdown;
}

enum beat_state beat_of(const struct beat *beat, struct beat_peer *peer)
{
    static const enum beat_state states[] = {
        [SILENCE_SHORT] = BEAT_ALIVE,
        [SILENCE_SUSPECT] = BEAT_SUSPECT,
        [SILENCE_LOST] = BEAT_LOST,
    };
    double suspect_s = BEAT_SUSPECT_S * beat->slowdown;

    return states[silence_judge(&peer->silence, &beat->watch,
                                (uint64_t)(suspect_s * SECOND_NS),
                                (uint64_t)(beat_lost_s(beat) * SECOND_NS))];
}

int beat_is_cut(const struct beat *beat, const struct beat_peer *peer)
{
    return (double)silence_ns(&peer->by_ssh, &beat->watch) >=
           BEAT_SUSPECT_S * beat->slowdown * SECOND_NS;
}
