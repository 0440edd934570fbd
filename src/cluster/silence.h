// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_SILENCE_H
#define CLUSTER_SILENCE_H

#include <stdint.h>

/** Who polls, and the time in which he did; silence.c says what counts. */
struct watch {
    uint64_t polled_ns; ///< the clock at the last poll
    uint64_t time_ns;   ///< of polling
    uint64_t gap_ns; ///< by how much the last poll was too late to count whole
};

/** Between somebody's signs of life. */
struct silence {
    uint64_t since_ns; ///< of the watch's time
    uint64_t due_ns;   ///< the poll that has found it too long first; 0: none
};

enum silence_state { SILENCE_SHORT, SILENCE_SUSPECT, SILENCE_LOST };

/** Begin to poll. */
void watch_start(struct watch *watch, uint64_t now_ns);

/** Poll. To be called several times a second. */
void watch_poll(struct watch *watch, uint64_t now_ns);

/** Somebody has been heard, or counts from now on. */
void silence_end(struct silence *silence, const struct watch *watch);

/** Others have heard somebody, so long ago. */
void silence_shorten(struct silence *silence, const struct watch *watch,
                     uint64_t ago_ns);

/** @return nanoseconds, in time of polling */
uint64_t silence_ns(const struct silence *silence, const struct watch *watch);

/** How somebody is at the last poll.
 * @param suspect_ns, lost_ns  silences after which he is suspect, lost */
enum silence_state silence_judge(struct silence *silence,
                                 const struct watch *watch, uint64_t suspect_ns,
                                 uint64_t lost_ns);

#endif
