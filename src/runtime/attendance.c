// SPDX-License-Identifier: BSD-3-Clause
//
// Who attends to the network of a node, so that a message is handled soon and nobody is
// woken for nothing. Waking a sleeping kernel thread on another processor takes longer than
// all the rest of a fetch, and its sender pays for it. So a worker that has nothing to run
// polls for a while, senders are muted meanwhile (net/doorbell.h), and the service thread
// sleeps. Who has an event carries out its actions, in the order of `enum
// attendance_action`.
//
// Polling, of all workers together. WATCHED: the service thread polls periodically, and
// takes over what a worker has LEFT to it.
//
//     event                   OPEN     WATCHED  POLLED  POLLED,   LEFT,
//                                                       WATCHED   WATCHED
//     a worker begins         POLLED   POLLED,  same    same      POLLED,
//                             mute     WATCHED                    WATCHED
//                                      mute
//     one of several stops                      same    same
//     the last stops, short                     OPEN    LEFT
//                                               unmute
//     the last stops                            OPEN    WATCHED
//                                               unmute  unmute
//     the service thread      WATCHED  same     POLLED, same      same
//     watches                                   WATCHED
//     it watches no longer    same     OPEN     same    POLLED    OPEN
//                                                                 unmute
//
// With `unmute` a worker polls once more (recheck), and the service thread polls next in
// any case. Polling is short between barriers one after the other: a thread runs for a
// microsecond, and whoever sends something meanwhile would ring. Where senders cannot be
// muted (no doorbell), the service thread naps while workers poll, and who stops after long
// polling wakes it instead.
//
// The service thread:
//
//     event                      POLLS   ARMS             POLLS_LAST  SLEEPS, NAPS, YIELDS
//     nothing                    ARMS                     SLEEPS
//     nothing, but covered       POLLS
//     news                       POLLS                    POLLS
//     armed                              POLLS_LAST
//     refused                            POLLS or YIELDS
//     goes on, not covered       POLLS                                POLLS
//     goes on, a worker covers   NAPS                                 NAPS
//
// It polls, too, when something is due by time. It yields when it was refused again and
// again: a transport may say that something is there, and nothing can be taken, since its
// sender has lost its processor in the middle of it; to poll on at real-time priority could
// keep it from that.
//
// W1  No wake is lost: whoever has senders ring, by arming or by `unmute`, polls
//     afterwards, and sleeps only if that finds nothing.
// W2  Somebody attends: senders are mute only while a worker polls, or the service thread
//     watches and naps no longer than a period. Both are in one word, so who leaves its
//     polling and who stops watching cannot miss each other.
// W3  Nobody is kept awake with nothing to say: who polls has senders muted, and to be
//     rung once takes another arming or unmuting.
// W4  The service thread's priority is bounded (service_priority.c).
// W5  Who waits for room at a receiver looks for it soon, and less often the longer there
//     is none: where hundreds of nodes send to one they would keep the processors from it.
//     A piece of a long message that has gone is room, too.
#include "runtime/attendance.h"

#include "base/ensure.h"

#define MS_NS (1000 * 1000u)
#define TICK_NS MS_NS
#define LAZY_TICK_NS (20 * MS_NS)
#define POLLING_TICK_NS (2 * MS_NS)
#define POLLING_SPIN_NS (100 * 1000u)
#define LONG_SPIN_NS (2 * MS_NS)
#define SHORT_POLLING_NS (30 * 1000u)
#define LONG_POLLING_NS (80 * 1000u)
#define POLLING_MARGIN_NS (20 * 1000u)
#define CROWDED_NS (50 * 1000u)
#define LOST_NS MS_NS
#define CROWDED_FOR_NS (500 * MS_NS)
#define STUCK_POLLS 4u
#define STUCK_NS (50 * 1000u)
#define UNSENT_NS (50 * 1000u)

// ---- polling

enum polling { OPEN, WATCHED, POLLED, BOTH, LEFT, N_STATES };

enum polling_event { BEGINS, STOPS_SHORT, STOPS, WATCHES, UNWATCHES, N_EVENTS };

enum {
    MUTE = ATTENDANCE_MUTE,
    UNMUTE = ATTENDANCE_UNMUTE,
    RECHECK = ATTENDANCE_UNMUTE | ATTENDANCE_RECHECK,
};

static const struct polling_rule {
    uint8_t next; ///< enum polling
    uint8_t actions;
} polling_rules[N_EVENTS][N_STATES] = {
    [BEGINS] = {{POLLED, MUTE}, {BOTH, MUTE}, {POLLED}, {BOTH}, {BOTH}},
    [STOPS_SHORT] = {[POLLED] = {OPEN, RECHECK}, [BOTH] = {LEFT}},
    [STOPS] = {[POLLED] = {OPEN, RECHECK}, [BOTH] = {WATCHED, RECHECK}},
    [WATCHES] = {{WATCHED}, {WATCHED}, {BOTH}, {BOTH}, {LEFT}},
    [UNWATCHES] = {{OPEN}, {OPEN}, {POLLED}, {POLLED}, {OPEN, UNMUTE}},
};

// A word: a state, and above it how many workers poll.
#define STATE_OF(word) ((word)&0xff)
#define ONE_POLLER 0x100u

// @return the word after the event
static uint32_t apply_event(uint32_t word, enum polling_event event,
                            unsigned *actions)
{
    const struct polling_rule *rule = &polling_rules[event][STATE_OF(word)];
    const int stops = event == STOPS || event == STOPS_SHORT;

    *actions = 0;
    if (stops && word >= 2 * ONE_POLLER) {
        return word - ONE_POLLER;
    }
    ensure(!stops || word >= ONE_POLLER);
    *actions = rule->actions;
    word = word - STATE_OF(word) + rule->next;
    return event == BEGINS ? word + ONE_POLLER
                           : word - (stops ? ONE_POLLER : 0);
}

static unsigned note_event(struct attendance *attendance,
                           enum polling_event event)
{
    uint32_t word = atomic_load(&attendance->polling);
    uint32_t after;
    unsigned actions;

    do {
        after = apply_event(word, event, &actions);
    } while (after != word &&
             !atomic_compare_exchange_weak(&attendance->polling, &word, after));
    return actions;
}

static int is_polled(const struct attendance *attendance)
{
    return atomic_load_explicit(&attendance->polling, memory_order_relaxed) >=
           ONE_POLLER;
}

unsigned attendance_begin_polling(struct attendance *attendance,
                                  uint64_t now_ns)
{
    if (!attendance->spins) {
        return 0;
    }
    if (!is_polled(attendance)) {
        atomic_store_explicit(&attendance->polling_since_ns, now_ns,
                              memory_order_relaxed);
    }
    return note_event(attendance, BEGINS);
}

// The service thread polls when its nap ends, which may be long after long polling.
static unsigned end_without_doorbell(struct attendance *attendance,
                                     uint64_t now_ns)
{
    uint64_t first_ns = atomic_load_explicit(&attendance->polling_since_ns,
                                             memory_order_relaxed);
    unsigned actions = note_event(attendance, STOPS);

    return actions != 0 && now_ns > first_ns + LONG_POLLING_NS
               ? ATTENDANCE_UNMUTE | ATTENDANCE_WAKE
               : actions & ATTENDANCE_UNMUTE;
}

unsigned attendance_end_polling(struct attendance *attendance, int has_doorbell,
                                uint64_t since_ns, uint64_t now_ns)
{
    if (!attendance->spins) {
        return 0;
    }
    if (!has_doorbell) {
        return end_without_doorbell(attendance, now_ns);
    }
    if (now_ns >= since_ns + SHORT_POLLING_NS) {
        return note_event(attendance, STOPS);
    }
    atomic_store_explicit(&attendance->polled_short_ns, now_ns,
                          memory_order_relaxed);
    return note_event(attendance, STOPS_SHORT);
}

static int is_crowded(const struct attendance *attendance, uint64_t now_ns)
{
    return now_ns <= atomic_load_explicit(&attendance->crowded_until_ns,
                                          memory_order_relaxed);
}

uint64_t attendance_poll_until_ns(const struct attendance *attendance,
                                  uint64_t now_ns)
{
    if (is_crowded(attendance, now_ns)) {
        return attendance->spins ? now_ns + POLLING_SPIN_NS : now_ns;
    }
    return now_ns + (attendance->spins ? LONG_SPIN_NS : POLLING_SPIN_NS);
}

int attendance_polls(struct attendance *attendance, uint64_t now_ns,
                     uint64_t until_ns)
{
    if (now_ns >= until_ns ||
        (!attendance->spins && is_crowded(attendance, now_ns))) {
        return 0;
    }
    atomic_store_explicit(&attendance->polled_ns, now_ns, memory_order_relaxed);
    return 1;
}

// Who asks for a processor keeps it for milliseconds, and to be woken is faster than
// that: then no more of it for a while. The same if somebody took it between two polls.
void attendance_note_gap(struct attendance *attendance, uint64_t before_ns,
                         uint64_t after_ns)
{
    const uint64_t most_ns =
        attendance->spins || attendance->is_alone ? LOST_NS : CROWDED_NS;

    if (after_ns - before_ns > most_ns) {
        atomic_store_explicit(&attendance->crowded_until_ns,
                              after_ns + CROWDED_FOR_NS, memory_order_relaxed);
    }
}

// ---- the service thread

static const enum attendant_state
    next_state[ATTENDANT_SLEEPS][ATTENDANT_N_EVENTS] = {
        [ATTENDANT_POLLS] = {[ATTENDANT_NOTHING] = ATTENDANT_ARMS,
                             [ATTENDANT_COVERED] = ATTENDANT_POLLS,
                             [ATTENDANT_NEWS] = ATTENDANT_POLLS},
        [ATTENDANT_ARMS] = {[ATTENDANT_ARMED] = ATTENDANT_POLLS_LAST,
                            [ATTENDANT_REFUSED] = ATTENDANT_POLLS},
        [ATTENDANT_POLLS_LAST] = {[ATTENDANT_NOTHING] = ATTENDANT_SLEEPS,
                                  [ATTENDANT_NEWS] = ATTENDANT_POLLS},
};

void attendant_step(struct attendant *attendant, enum attendant_event event,
                    uint64_t now_ns)
{
    ensure(attendant->state <= ATTENDANT_POLLS_LAST);
    attendant->state = next_state[attendant->state][event];
    if (event == ATTENDANT_NEWS) {
        attendant->news_ns = now_ns;
        attendant->n_stuck = 0;
    } else if (event == ATTENDANT_REFUSED) {
        attendant->n_stuck++;
        if (attendant->n_stuck >= STUCK_POLLS) {
            attendant->state = ATTENDANT_YIELDS;
        }
    } else if (attendant->state == ATTENDANT_SLEEPS) {
        attendant->n_stuck = 0;
    }
}

int attendant_ticks(const struct attendant *attendant, uint64_t now_ns)
{
    return now_ns - attendant->tick_ns >= TICK_NS;
}

// The longest that a request can lie unseen while a worker covers. Where processors are
// scarce every poll takes one from a worker.
static uint64_t period_ns(const struct attendance *attendance)
{
    return attendance->spins ? 50 * 1000u : 100 * 1000u;
}

// Does a worker poll, or did so just now? If senders can ring: has it polled for a short
// time just now, so that it will again?
static int is_covered(const struct attendance *attendance, int has_doorbell,
                      uint64_t now_ns)
{
    const _Atomic uint64_t *then_ns =
        has_doorbell ? &attendance->polled_short_ns : &attendance->polled_ns;

    return now_ns < period_ns(attendance) +
                        atomic_load_explicit(then_ns, memory_order_relaxed);
}

unsigned attendant_go_on(struct attendant *attendant,
                         struct attendance *attendance, int has_doorbell,
                         uint64_t now_ns)
{
    if (!attendant_ticks(attendant, now_ns) &&
        is_covered(attendance, has_doorbell, now_ns)) {
        attendant->state = ATTENDANT_NAPS;
        return note_event(attendance, WATCHES);
    }
    attendant->state = ATTENDANT_POLLS;
    return note_event(attendance, UNWATCHES);
}

int attendant_is_covered(const struct attendant *attendant,
                         const struct attendance *attendance, int has_doorbell,
                         int is_idle, uint64_t now_ns)
{
    return is_covered(attendance, has_doorbell, now_ns) ||
           (attendance->spins && is_idle && !is_polled(attendance) &&
            now_ns - attendant->news_ns < POLLING_SPIN_NS);
}

// A worker that has been polling for long wakes the service thread when it stops, so
// until then naps may be long; each may take a processor from a worker of another node.
static int is_polled_for_long(const struct attendance *attendance,
                              uint64_t now_ns)
{
    return is_polled(attendance) &&
           now_ns > LONG_POLLING_NS + POLLING_MARGIN_NS +
                        atomic_load_explicit(&attendance->polling_since_ns,
                                             memory_order_relaxed);
}

uint64_t attendant_nap_ns(const struct attendant *attendant,
                          const struct attendance *attendance, int has_doorbell,
                          uint64_t now_ns)
{
    if (attendant->state == ATTENDANT_YIELDS) {
        return STUCK_NS;
    }
    return !has_doorbell && is_polled_for_long(attendance, now_ns)
               ? TICK_NS
               : period_ns(attendance);
}

// Senders do not ring a worker that polls, and it may lose its processor.
static uint64_t lazy_ns(const struct attendance *attendance, int has_doorbell,
                        uint64_t now_ns)
{
    return has_doorbell && now_ns < LAZY_TICK_NS + atomic_load_explicit(
                                                       &attendance->polled_ns,
                                                       memory_order_relaxed)
               ? POLLING_TICK_NS
               : LAZY_TICK_NS;
}

// W5: as long again as it has waited.
static uint64_t unsent_ns(struct attendant *attendant,
                          struct attendant_unsent unsent, uint64_t now_ns)
{
    const struct attendant_unsent before = attendant->unsent;

    if (before.n == 0 || unsent.n < before.n ||
        unsent.n_steps != before.n_steps) {
        attendant->unsent_ns = now_ns;
    }
    attendant->unsent = unsent;
    return unsent.n == 0 ? UINT64_MAX
           : now_ns - attendant->unsent_ns > UNSENT_NS
               ? now_ns - attendant->unsent_ns
               : UNSENT_NS;
}

uint64_t attendant_sleep_ns(struct attendant *attendant,
                            const struct attendance *attendance,
                            int has_doorbell, int is_busy,
                            struct attendant_unsent unsent, uint64_t due_ns,
                            uint64_t now_ns)
{
    const uint64_t room_ns = unsent_ns(attendant, unsent, now_ns);
    uint64_t most_ns =
        is_busy ? TICK_NS : lazy_ns(attendance, has_doorbell, now_ns);

    if (due_ns <= now_ns) {
        return 0;
    }
    most_ns = room_ns < most_ns ? room_ns : most_ns;
    return due_ns - now_ns < most_ns ? due_ns - now_ns : most_ns;
}
