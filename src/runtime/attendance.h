// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_ATTENDANCE_H
#define RUNTIME_ATTENDANCE_H

#include <stdatomic.h>
#include <stdint.h>

/* Who attends to the network of a node: its service thread, awake or asleep, or workers
 * that have nothing to run and poll. Only decisions are here, no thread, clock or system
 * call: those who call them carry them out. attendance.c has the tables. */

/** What is to be done after an event, in this order; a set. */
enum attendance_action {
    ATTENDANCE_MUTE = 1,    ///< senders need not ring: note_polling(1)
    ATTENDANCE_UNMUTE = 2,  ///< they ring again: note_polling(0)
    ATTENDANCE_RECHECK = 4, ///< poll once more, under the node lock
    ATTENDANCE_WAKE = 8,    ///< wake the service thread
};

/** Of a node; all of its kernel threads use it, without a lock. */
struct attendance {
    int spins; ///< there are processors for all; set before there are other threads
    int is_alone; ///< and so there are, but no other nodes: set likewise
    _Atomic uint32_t polling;          ///< a state, and how many workers poll
    _Atomic uint64_t polled_ns;        ///< when a worker last polled
    _Atomic uint64_t polled_short_ns;  ///< the end of the last short polling
    _Atomic uint64_t polling_since_ns; ///< since when, while a worker does
    _Atomic uint64_t crowded_until_ns; ///< others want this processor
};

// ---- workers that have nothing to run; where it does not spin nobody is told

/** A worker begins to poll. @return actions */
unsigned attendance_begin_polling(struct attendance *attendance,
                                  uint64_t now_ns);

/** It stops.
 * @param has_doorbell  do senders ring only if nobody polls?
 * @param since_ns      when this worker began
 * @return actions */
unsigned attendance_end_polling(struct attendance *attendance, int has_doorbell,
                                uint64_t since_ns, uint64_t now_ns);

/** @return until when a worker that has nothing to run may keep its processor busy */
uint64_t attendance_poll_until_ns(const struct attendance *attendance,
                                  uint64_t now_ns);

/** Is a worker to poll now? Then that is noted. @param until_ns  of the above */
int attendance_polls(struct attendance *attendance, uint64_t now_ns,
                     uint64_t until_ns);

/** A worker has offered its processor to others between two polls. */
void attendance_note_gap(struct attendance *attendance, uint64_t before_ns,
                         uint64_t after_ns);

// ---- the service thread

/** What it does. */
enum attendant_state {
    ATTENDANT_POLLS, ///< takes what there is, and does what is due
    ATTENDANT_ARMS,  ///< from now on arrivals end its sleep
    ATTENDANT_POLLS_LAST,
    ATTENDANT_SLEEPS, ///< until something arrives, or is due
    ATTENDANT_NAPS,   ///< for a time, whatever arrives: a worker polls
    ATTENDANT_YIELDS, ///< the same: a sender needs a processor
};

/** What waits until its receivers have room. */
struct attendant_unsent {
    unsigned n;       ///< messages
    uint64_t n_steps; ///< by which pieces of such may have gone, so far
};

enum attendant_event {
    ATTENDANT_NOTHING, ///< it polled, and there was nothing
    ATTENDANT_COVERED, ///< the same, but a worker polls, or more will come soon
    ATTENDANT_NEWS,    ///< it polled, and something had come
    ATTENDANT_ARMED,   ///< the transport is
    ATTENDANT_REFUSED, ///< it cannot be: something is there
    ATTENDANT_N_EVENTS
};

struct attendant {
    enum attendant_state state;
    uint64_t news_ns;               ///< when something came
    uint64_t tick_ns;               ///< when it last did what is due by time
    unsigned n_stuck;               ///< how often it was refused since
    struct attendant_unsent unsent; ///< when it last went to sleep
    uint64_t unsent_ns;             ///< since when nothing of that has gone
};

/** It goes on after it has polled or slept: it polls again, or naps while a worker
 * covers for it.
 * @return actions, to be carried out before it does what its state says */
unsigned attendant_go_on(struct attendant *attendant,
                         struct attendance *attendance, int has_doorbell,
                         uint64_t now_ns);

/** An event. Afterwards the state says what it does next. */
void attendant_step(struct attendant *attendant, enum attendant_event event,
                    uint64_t now_ns);

/** Is what is due by time to be done now? */
int attendant_ticks(const struct attendant *attendant, uint64_t now_ns);

/** It has polled, and there was nothing. Need it not arm and sleep yet: a worker covers for
 * it, or more often follows what has come just now?
 * @param is_idle  no thread of the node can run */
int attendant_is_covered(const struct attendant *attendant,
                         const struct attendance *attendance, int has_doorbell,
                         int is_idle, uint64_t now_ns);

/** @return for how long it naps */
uint64_t attendant_nap_ns(const struct attendant *attendant,
                          const struct attendance *attendance, int has_doorbell,
                          uint64_t now_ns);

/** @return for how long it sleeps, if nothing arrives
 * @param is_busy     something is due by time
 * @param due_ns      when something else is due; UINT64_MAX: nothing is */
uint64_t attendant_sleep_ns(struct attendant *attendant,
                            const struct attendance *attendance,
                            int has_doorbell, int is_busy,
                            struct attendant_unsent unsent, uint64_t due_ns,
                            uint64_t now_ns);

#endif
