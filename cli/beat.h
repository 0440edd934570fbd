// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_BEAT_H
#define CLI_BEAT_H

#include <stdint.h>

/*
 * Launcher and agents send each other a beat every second, because nothing else
 * tells that a host is gone: a connection over a cable that is cut stays open.
 */

#define BEAT_S 1.0
#define BEAT_SUSPECT_S 3.0
#define BEAT_LOST_S 5.0

/** The same where nodes of other hosts see a death sooner. ssh's connection, over which
 * beats go, may need twice as long as a cable was out to notice that it is back. */
#define BEAT_WATCHED_LOST_S 9.0

/** At least so often beat_look() must be called. */
#define BEAT_POLL_MS 500

struct beat {
    uint64_t sent_ns;   ///< the last own one
    uint64_t looked_ns; ///< when beat_look() was called last
    uint64_t since_ns;  ///< silence before this time does not count
    int is_paused;      ///< silence does not count now
    int is_watched;     ///< nodes of several hosts look after each other
    double slowdown;    ///< TM_TEST_SLOWDOWN
};

enum beat_state { BEAT_ALIVE, BEAT_SUSPECT, BEAT_LOST };

void beat_start(struct beat *beat);

/** Is it time to send one? If so, it counts as sent. */
int beat_is_due(struct beat *beat, uint64_t now_ns);

/** Notice if this process itself was stopped for a while: then others had no
 * chance to be heard. */
void beat_look(struct beat *beat, uint64_t now_ns);

/** How somebody is who was heard last at that time. */
enum beat_state beat_of(const struct beat *beat, uint64_t heard_ns,
                        uint64_t now_ns);

/** Seconds of silence after which somebody is lost. */
double beat_lost_s(const struct beat *beat);

#endif
