// SPDX-License-Identifier: BSD-3-Clause
#include "net/bell.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

static int is_readable(const struct bell *bell, int timeout_ms)
{
    struct pollfd wait = {.fd = bell_fd(bell), .events = POLLIN};

    return poll(&wait, 1, timeout_ms) == 1;
}

static void take(struct rope *rope, const struct bell *bell)
{
    uint8_t bytes[BELL_BYTES];

    bell_describe(bell, bytes);
    rope_take(rope, bytes);
}

static void only_an_armed_bell_is_rung_and_once(void **unused)
{
    struct bell *bell = bell_new();
    struct rope rope;

    (void)unused;
    assert_non_null(bell);
    assert_false(bell_is_rung_by(bell, 1));
    take(&rope, bell);
    assert_true(bell_is_rung_by(bell, 1));
    rope_pull(&rope);
    assert_false(is_readable(bell, 0));
    for (int i = 0; i < 3; i++) {
        bell_arm(bell);
        assert_false(is_readable(bell, 0));
        rope_pull(&rope);
        rope_pull(&rope);
        assert_true(is_readable(bell, 0));
    }
    rope_drop(&rope);
    bell_free(bell);
}

static void nobody_rings_while_one_of_two_looks(void **unused)
{
    struct bell *bell = bell_new();
    struct rope rope;

    (void)unused;
    take(&rope, bell);
    bell_look(bell, 1);
    bell_look(bell, 1);
    bell_arm(bell);
    bell_look(bell, 0);
    rope_pull(&rope);
    assert_false(is_readable(bell, 0));
    bell_look(bell, 0);
    rope_pull(&rope);
    assert_true(is_readable(bell, 0));
    rope_drop(&rope);
    bell_free(bell);
}

static void what_is_no_bell_is_not_rung(void **unused)
{
    struct bell *bell = bell_new();
    uint8_t bytes[BELL_BYTES];
    struct rope rope;

    (void)unused;
    bell_describe(NULL, bytes);
    rope_take(&rope, bytes);
    assert_null(rope.word);
    rope_pull(&rope);
    bell_describe(bell, bytes);
    bytes[BELL_BYTES - 1] ^= 1; // the cookie
    rope_take(&rope, bytes);
    assert_null(rope.word);
    assert_true(bell_is_rung_by(bell, 0));
    rope_drop(&rope);
    bell_free(bell);
}

static void a_ring_after_the_owner_is_gone_does_no_harm(void **unused)
{
    struct bell *bell = bell_new();
    struct rope rope;

    (void)unused;
    take(&rope, bell);
    bell_arm(bell);
    bell_free(bell);
    rope_pull(&rope); // a SIGPIPE would end the test
    rope_drop(&rope);
}

enum { N_MESSAGES = 20000 };

struct shared {
    struct rope rope;
    _Atomic unsigned n_sent;
};

static void *send_all(void *argument)
{
    struct shared *shared = argument;

    for (unsigned i = 0; i < N_MESSAGES; i++) {
        atomic_fetch_add_explicit(&shared->n_sent, 1, memory_order_release);
        rope_pull(&shared->rope);
        for (unsigned pause = i * 7919 % 1000; pause > 0; pause--) {
            __builtin_ia32_pause();
        }
    }
    return NULL;
}

// B1: the receiver never sleeps over a message, however they meet.
static void no_message_lies_while_its_receiver_sleeps(void **unused)
{
    struct bell *bell = bell_new();
    struct shared shared = {0};
    unsigned n_seen = 0;
    pthread_t sender;

    (void)unused;
    take(&shared.rope, bell);
    assert_int_equal(pthread_create(&sender, NULL, send_all, &shared), 0);
    while (n_seen < N_MESSAGES) {
        unsigned n_sent;

        if (n_seen % 3 == 0) {
            bell_look(bell, 1);
            bell_arm(bell);
            bell_look(bell, 0);
        } else {
            bell_arm(bell);
        }
        n_sent = atomic_load_explicit(&shared.n_sent, memory_order_acquire);
        if (n_sent == n_seen) {
            assert_true(is_readable(bell, 20000));
        }
        n_seen = n_sent;
    }
    pthread_join(sender, NULL);
    rope_drop(&shared.rope);
    bell_free(bell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_an_armed_bell_is_rung_and_once),
        cmocka_unit_test(nobody_rings_while_one_of_two_looks),
        cmocka_unit_test(what_is_no_bell_is_not_rung),
        cmocka_unit_test(a_ring_after_the_owner_is_gone_does_no_harm),
        cmocka_unit_test(no_message_lies_while_its_receiver_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
