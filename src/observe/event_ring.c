// SPDX-License-Identifier: BSD-3-Clause
#include "observe/event_ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/ensure.h"

struct event_ring {
    struct event *events; ///< [room]
    size_t room;
    _Atomic uint64_t n_put;
};

struct event_ring *event_ring_new(size_t bytes)
{
    struct event_ring *ring = calloc(1, sizeof *ring);

    if (ring == NULL) {
        return NULL;
    }
    ring->room = bytes / sizeof *ring->events;
    ensure(ring->room > 0);
    ring->events =
        mmap(NULL, ring->room * sizeof *ring->events, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ring->events == MAP_FAILED) {
        free(ring);
        return NULL;
    }
    return ring;
}

void event_ring_free(struct event_ring *ring)
{
    if (ring != NULL) {
        munmap(ring->events, ring->room * sizeof *ring->events);
        free(ring);
    }
}

void event_ring_put(struct event_ring *ring, const struct event *event)
{
    const uint64_t number =
        atomic_fetch_add_explicit(&ring->n_put, 1, memory_order_relaxed);

    ring->events[number % ring->room] = *event;
}

uint64_t event_ring_n_put(const struct event_ring *ring)
{
    return atomic_load_explicit(&ring->n_put, memory_order_relaxed);
}

uint64_t event_ring_first(const struct event_ring *ring)
{
    const uint64_t n = event_ring_n_put(ring);

    return n > ring->room ? n - ring->room : 0;
}

const struct event *event_ring_at(const struct event_ring *ring,
                                  uint64_t number)
{
    ensure(number < event_ring_n_put(ring));
    return &ring->events[number % ring->room];
}
