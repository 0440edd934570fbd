// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIMULATE_EVENTS_H
#define SIMULATE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Everything that will happen in a simulation, in order of virtual time, and of calls where
 * times are equal; and the numbers drawn from its seed. The same seed and the same calls
 * give the same events.
 */

typedef void event_fn(void *owner, uint64_t argument);

/** What is to happen. */
struct event {
    uint64_t time_ns;
    uint64_t number; ///< of order
    event_fn *happen;
    void *owner;
    uint64_t argument;
};

/** All fields are readable. */
struct events {
    uint64_t random;
    uint64_t now_ns;
    uint64_t n_events;  ///< the number of the next
    struct event *heap; ///< [n_in_heap], room for n_room
    size_t n_in_heap;
    size_t n_room;
};

void events_init(struct events *events, uint64_t seed);
/** What has not happened is dropped. */
void events_release(struct events *events);

/** Call happen(owner, argument) at a time, not before now, behind all that is to happen
 * then already. */
void events_at(struct events *events, uint64_t time_ns, event_fn *happen,
               void *owner, uint64_t argument);

/** Put an event back, at another time and in its old order among those of that time. */
void events_put_off(struct events *events, const struct event *event,
                    uint64_t time_ns);

/** Take the next event; the clock stays. @return 0: there is none */
int events_take(struct events *events, struct event *event);

/** Take it, set the clock to its time, and have it happen. @return 0: there is none */
int events_step(struct events *events);

/** The next random number, uniform in [0, bound), bound > 0. */
uint64_t events_random(struct events *events, uint64_t bound);

#endif
