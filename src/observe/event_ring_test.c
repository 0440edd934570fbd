// SPDX-License-Identifier: BSD-3-Clause
#include "observe/event_ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>

enum { ROOM = 100, N_WRITERS = 4, N_EACH = 5000 };

static void put(struct event_ring *ring, uint64_t n)
{
    event_ring_put(ring, &(struct event){.subject = n});
}

static void the_latest_stay(void **state)
{
    struct event_ring *ring = event_ring_new(ROOM * sizeof(struct event));

    (void)state;
    assert_non_null(ring);
    assert_int_equal(event_ring_n_put(ring), 0);
    assert_int_equal(event_ring_first(ring), 0);
    for (uint64_t i = 0; i < 5 * ROOM / 2; i++) {
        put(ring, i);
        assert_int_equal(event_ring_n_put(ring), i + 1);
        assert_int_equal(event_ring_first(ring), i < ROOM ? 0 : i + 1 - ROOM);
        for (uint64_t k = event_ring_first(ring); k <= i; k++) {
            assert_int_equal(event_ring_at(ring, k)->subject, k);
        }
    }
    event_ring_free(ring);
}

static void *put_many(void *ring)
{
    for (uint64_t i = 0; i < N_EACH; i++) {
        put(ring, i);
    }
    return NULL;
}

static void threads_put_side_by_side(void **state)
{
    struct event_ring *ring =
        event_ring_new(N_WRITERS * N_EACH * sizeof(struct event));
    unsigned seen[N_EACH] = {0};
    pthread_t writers[N_WRITERS];

    (void)state;
    assert_non_null(ring);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        assert_int_equal(pthread_create(&writers[i], NULL, put_many, ring), 0);
    }
    for (unsigned i = 0; i < N_WRITERS; i++) {
        pthread_join(writers[i], NULL);
    }
    assert_int_equal(event_ring_first(ring), 0);
    assert_int_equal(event_ring_n_put(ring), N_WRITERS * N_EACH);
    for (uint64_t i = 0; i < N_WRITERS * N_EACH; i++) {
        seen[event_ring_at(ring, i)->subject]++;
    }
    for (unsigned i = 0; i < N_EACH; i++) {
        assert_int_equal(seen[i], N_WRITERS);
    }
    event_ring_free(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_stay),
        cmocka_unit_test(threads_put_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
