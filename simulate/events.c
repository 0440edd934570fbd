// SPDX-License-Identifier: BSD-3-Clause
//
// A binary heap by time, and by number of order where times are equal. What happens puts
// what follows from it into the heap; time stands still meanwhile.
//
// Nothing but the seed and the calls decides what happens: no address, no clock, no order
// of hash tables. Time never runs backwards.
#include "simulate/events.h"

#include "base/ensure.h"
#include "base/random.h"
#include "base/vector.h"

void events_init(struct events *events, uint64_t seed)
{
    *events = (struct events){.random = seed};
}

void events_release(struct events *events)
{
    free(events->heap);
    *events = (struct events){0};
}

uint64_t events_random(struct events *events, uint64_t bound)
{
    uint64_t unfair;
    uint64_t x;

    ensure(bound > 0);
    unfair = -bound % bound; // 2^64 mod bound
    do {
        x = random_next(&events->random);
    } while (x < unfair);
    return x % bound;
}

static int is_before(const struct event *a, const struct event *b)
{
    return a->time_ns < b->time_ns ||
           (a->time_ns == b->time_ns && a->number < b->number);
}

static void swap_events(struct event *a, struct event *b)
{
    struct event other = *a;

    *a = *b;
    *b = other;
}

static void push_event(struct events *events, const struct event *event)
{
    struct event *heap;
    size_t at = events->n_in_heap++;

    vector_reserve(events->heap, events->n_room, at + 1);
    heap = events->heap;
    heap[at] = *event;
    while (at > 0 && is_before(&heap[at], &heap[(at - 1) / 2])) {
        swap_events(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct events *events)
{
    struct event *heap = events->heap;
    const size_t n = events->n_in_heap;
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (child >= n || !is_before(&heap[child], &heap[at])) {
            return;
        }
        swap_events(&heap[child], &heap[at]);
        at = child;
    }
}

void events_at(struct events *events, uint64_t time_ns, event_fn *happen,
               void *owner, uint64_t argument)
{
    const struct event event = {
        .time_ns = time_ns,
        .number = events->n_events++,
        .happen = happen,
        .owner = owner,
        .argument = argument,
    };

    ensure(happen != NULL && time_ns >= events->now_ns);
    push_event(events, &event);
}

void events_put_off(struct events *events, const struct event *event,
                    uint64_t time_ns)
{
    struct event later = *event;

    later.time_ns = time_ns;
    push_event(events, &later);
}

int events_take(struct events *events, struct event *event)
{
    if (events->n_in_heap == 0) {
        return 0;
    }
    *event = events->heap[0];
    events->heap[0] = events->heap[--events->n_in_heap];
    sift_down(events);
    return 1;
}

int events_step(struct events *events)
{
    struct event event;

    if (!events_take(events, &event)) {
        return 0;
    }
    events->now_ns = event.time_ns;
    event.happen(event.owner, event.argument);
    return 1;
}
