// SPDX-License-Identifier: BSD-3-Clause
#include "beat.h"

#include "base/clock.h"
#include "job.h"

#define SECOND_NS 1e9
#define STOPPED_S 1.5 // several times BEAT_POLL_MS

void beat_start(struct beat *beat)
{
    uint64_t now_ns = clock_now_ns();

    *beat = (struct beat){
        .looked_ns = now_ns,
        .since_ns = now_ns,
        .slowdown = job_slowdown(),
    };
}

int beat_is_due(struct beat *beat, uint64_t now_ns)
{
    if ((double)(now_ns - beat->sent_ns) < BEAT_S * SECOND_NS) {
        return 0;
    }
    beat->sent_ns = now_ns;
    return 1;
}

void beat_look(struct beat *beat, uint64_t now_ns)
{
    if (beat->is_paused ||
        (double)(now_ns - beat->looked_ns) > STOPPED_S * SECOND_NS) {
        beat->since_ns = now_ns;
    }
    beat->looked_ns = now_ns;
}

double beat_lost_s(const struct beat *beat)
{
    return (beat->is_watched ? BEAT_WATCHED_LOST_S : BEAT_LOST_S) *
           beat->slowdown;
}

enum beat_state beat_of(const struct beat *beat, uint64_t heard_ns,
                        uint64_t now_ns)
{
    uint64_t from_ns = heard_ns > beat->since_ns ? heard_ns : beat->since_ns;
    double silence_s =
        now_ns > from_ns ? (double)(now_ns - from_ns) / SECOND_NS : 0;

    if (silence_s >= beat_lost_s(beat)) {
        return BEAT_LOST;
    }
    return silence_s >= BEAT_SUSPECT_S * beat->slowdown ? BEAT_SUSPECT
                                                        : BEAT_ALIVE;
}
