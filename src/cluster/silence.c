// SPDX-License-Identifier: BSD-3-Clause
//
// How long somebody has been silent, for nodes (failure_detector.c), and for launcher and agents
// (cli/beat.c). Whoever listens may itself be stopped, starved or busy with paging, and
// hears nobody meanwhile.
//
// I1  Silence is counted in time of polling: of the time between two polls at
//     most POLL_MAX_NS. So a gap of one's own makes nobody silent for longer.
// I2  Nor does it make any silence shorter: one that had begun goes on. Who polls with
//     pauses finds a loss later by these pauses, and not later than that.
// I3  It takes two polls to lose somebody: what has come in a gap is heard between them.
#include "cluster/silence.h"

#define POLL_MAX_NS UINT64_C(500000000)

void watch_start(struct watch *watch, uint64_t now_ns)
{
    *watch = (struct watch){.polled_ns = now_ns};
}

void watch_poll(struct watch *watch, uint64_t now_ns)
{
    uint64_t passed_ns = now_ns - watch->polled_ns;
    uint64_t counted_ns = passed_ns < POLL_MAX_NS ? passed_ns : POLL_MAX_NS;

    watch->polled_ns = now_ns;
    watch->time_ns += counted_ns; // I1, I2
    watch->gap_ns = passed_ns - counted_ns;
}

void silence_end(struct silence *silence, const struct watch *watch)
{
    *silence = (struct silence){.since_ns = watch->time_ns};
}

void silence_shorten(struct silence *silence, const struct watch *watch,
                     uint64_t ago_ns)
{
    uint64_t heard_ns = watch->time_ns > ago_ns ? watch->time_ns - ago_ns : 0;

    if (heard_ns > silence->since_ns) {
        *silence = (struct silence){.since_ns = heard_ns};
    }
}

uint64_t silence_ns(const struct silence *silence, const struct watch *watch)
{
    return watch->time_ns - silence->since_ns;
}

enum silence_state silence_judge(struct silence *silence,
                                 const struct watch *watch, uint64_t suspect_ns,
                                 uint64_t lost_ns)
{
    uint64_t length_ns = silence_ns(silence, watch);

    if (length_ns < suspect_ns) {
        return SILENCE_SHORT;
    }
    if (length_ns >= lost_ns && silence->due_ns == 0) {
        silence->due_ns = watch->polled_ns;
    }
    return silence->due_ns != 0 && silence->due_ns != watch->polled_ns
               ? SILENCE_LOST
               : SILENCE_SUSPECT; // I3
}
