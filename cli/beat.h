// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_BEAT_H
#define CLI_BEAT_H

#include <stdint.h>

#include "cluster/silence.h"

/*
 * Signs of life between launcher and agents: beat.c says by which ways they come.
 */

#define BEAT_S 1.0
#define BEAT_SUSPECT_S 3.0
#define BEAT_LOST_S 5.0

/** The same where nodes of other hosts see a death sooner. ssh's connection, over which
 * beats go, may need twice as long as a cable was out to notice that it is back. */
#define BEAT_WATCHED_LOST_S 9.0

/** At least so often beat_poll() must be called. */
#define BEAT_POLL_MS 250

/** Who listens: the launcher to all agents, or an agent to the launcher. */
struct beat {
    uint64_t sent_ns; ///< the last own one
    uint32_t n_sent;
    struct watch watch;
    int is_paused;   ///< silence does not count now
    int is_watched;  ///< nodes of several hosts look after each other
    double slowdown; ///< TM_TEST_SLOWDOWN
};

/** Who is listened to. */
struct beat_peer {
    uint64_t heard_ns;      ///< the clock, when something came last over ssh
    struct silence by_ssh;  ///< since then
    struct silence silence; ///< since something came by any way
};

enum beat_state { BEAT_ALIVE, BEAT_SUSPECT, BEAT_LOST };

void beat_start(struct beat *beat);

/** Is it time to send one? If so, it counts as sent. */
int beat_is_due(struct beat *beat, uint64_t now_ns);

/** Poll the clock, which notices if this process itself was stopped. */
void beat_poll(struct beat *beat, uint64_t now_ns);

/** Somebody counts from now on. */
void beat_expect(const struct beat *beat, struct beat_peer *peer);

/** What has been heard of somebody: over ssh last at that time of the clock, by nodes so
 * long ago. */
void beat_hear(const struct beat *beat, struct beat_peer *peer,
               uint64_t heard_ns);
void beat_hear_by_nodes(const struct beat *beat, struct beat_peer *peer,
                        uint64_t ago_ns);

/** How somebody is, by all ways. */
enum beat_state beat_of(const struct beat *beat, struct beat_peer *peer);

/** Has nothing come over ssh for so long that it would be suspect? */
int beat_is_cut(const struct beat *beat, const struct beat_peer *peer);

/** Seconds of silence after which somebody is lost. */
double beat_lost_s(const struct beat *beat);

#endif
