// SPDX-License-Identifier: BSD-3-Clause
#include "net/doorbell.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int is_readable(const struct doorbell *doorbell, int timeout_ms)
{
    struct pollfd wait = {.fd = doorbell_fd(doorbell), .events = POLLIN};

    return poll(&wait, 1, timeout_ms) == 1;
}

static void attach_peer(struct doorbell_peer *peer,
                        const struct doorbell *doorbell)
{
    uint8_t bytes[DOORBELL_BYTES];

    doorbell_describe(doorbell, bytes);
    assert_int_equal(doorbell_attach(peer, bytes), TM_OK);
}

static void only_an_armed_doorbell_is_rung_and_once(void **unused)
{
    struct doorbell *doorbell = doorbell_new();
    struct doorbell_peer peer;

    (void)unused;
    assert_non_null(doorbell);
    attach_peer(&peer, doorbell);
    doorbell_ring(&peer);
    assert_false(is_readable(doorbell, 0));
    for (int i = 0; i < 3; i++) {
        doorbell_arm(doorbell);
        assert_false(is_readable(doorbell, 0));
        doorbell_ring(&peer);
        doorbell_ring(&peer);
        assert_true(is_readable(doorbell, 0));
    }
    doorbell_detach(&peer);
    doorbell_free(doorbell);
}

static void nobody_rings_while_one_of_two_polls(void **unused)
{
    struct doorbell *doorbell = doorbell_new();
    struct doorbell_peer peer;

    (void)unused;
    attach_peer(&peer, doorbell);
    doorbell_note_polling(doorbell, 1);
    doorbell_note_polling(doorbell, 1);
    doorbell_arm(doorbell);
    doorbell_note_polling(doorbell, 0);
    doorbell_ring(&peer);
    assert_false(is_readable(doorbell, 0));
    doorbell_note_polling(doorbell, 0);
    doorbell_ring(&peer);
    assert_true(is_readable(doorbell, 0));
    doorbell_detach(&peer);
    doorbell_free(doorbell);
}

static void what_is_no_doorbell_is_not_rung(void **unused)
{
    struct doorbell *doorbell = doorbell_new();
    uint8_t bytes[DOORBELL_BYTES];
    struct doorbell_peer peer;

    (void)unused;
    doorbell_describe(NULL, bytes);
    assert_int_equal(doorbell_attach(&peer, bytes), TM_OK);
    assert_null(peer.word);
    assert_false(doorbell_is_gone(&peer));
    doorbell_ring(&peer);
    doorbell_describe(doorbell, bytes);
    bytes[DOORBELL_BYTES - 1] ^= 1; // the cookie: its number is another's now
    assert_int_equal(doorbell_attach(&peer, bytes), TM_EPEER);
    assert_null(peer.word);
    doorbell_describe(doorbell, bytes);
    bytes[4] = 0; // a descriptor that is no doorbell's
    assert_int_equal(doorbell_attach(&peer, bytes), TM_EPEER);
    assert_null(peer.word);
    doorbell_free(doorbell);
}

static void a_ring_after_the_owner_is_gone_does_no_harm(void **unused)
{
    struct doorbell *doorbell = doorbell_new();
    struct doorbell_peer peer;

    (void)unused;
    attach_peer(&peer, doorbell);
    doorbell_arm(doorbell);
    doorbell_free(doorbell);
    doorbell_ring(&peer); // a SIGPIPE would end the test
    doorbell_detach(&peer);
}

static pid_t start_owner(uint8_t bytes[DOORBELL_BYTES])
{
    int described[2];
    pid_t pid;

    assert_int_equal(pipe(described), 0);
    pid = fork();
    if (pid == 0) {
        doorbell_describe(doorbell_new(), bytes);
        _exit(write(described[1], bytes, DOORBELL_BYTES) < 0 || pause());
    }
    assert_int_equal(read(described[0], bytes, DOORBELL_BYTES), DOORBELL_BYTES);
    close(described[0]);
    close(described[1]);
    return pid;
}

static void wait_until_ended(pid_t pid)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

// Also as long as nobody has waited for its process.
static void an_owner_that_has_ended_is_gone(void **unused)
{
    uint8_t bytes[DOORBELL_BYTES];
    struct doorbell_peer early;
    struct doorbell_peer late;
    pid_t pid = start_owner(bytes);

    (void)unused;
    assert_int_equal(doorbell_attach(&early, bytes), TM_OK);
    assert_false(doorbell_is_gone(&early));
    kill(pid, SIGKILL);
    wait_until_ended(pid);
    for (int is_waited_for = 0; is_waited_for < 2; is_waited_for++) {
        assert_true(doorbell_is_gone(&early));
        assert_int_equal(doorbell_attach(&late, bytes), TM_EPEER);
        waitpid(pid, NULL, 0);
    }
    doorbell_detach(&early);
}

// A connection takes two descriptors, of which it keeps one.
static void a_limit_is_no_end_of_the_owner(void **unused)
{
    struct doorbell *doorbell = doorbell_new();
    const int next = dup(0);
    struct rlimit before;
    struct doorbell_peer peer;
    uint8_t bytes[DOORBELL_BYTES];

    (void)unused;
    assert_true(next > 0);
    close(next);
    doorbell_describe(doorbell, bytes);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (unsigned room = 0; room < 3; room++) {
        const struct rlimit limit = {(rlim_t)next + room, before.rlim_max};

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        errno = 0;
        assert_int_equal(doorbell_attach(&peer, bytes),
                         room < 2 ? TM_ESYSTEM : TM_OK);
        assert_int_equal(errno, room < 2 ? EMFILE : 0);
        assert_int_equal(peer.word != NULL, room == 2);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    doorbell_detach(&peer);
    doorbell_free(doorbell);
}

enum { N_MESSAGES = 20000 };

struct shared {
    struct doorbell_peer peer;
    _Atomic unsigned n_sent;
};

static void *send_all(void *argument)
{
    struct shared *shared = argument;

    for (unsigned i = 0; i < N_MESSAGES; i++) {
        atomic_fetch_add_explicit(&shared->n_sent, 1, memory_order_release);
        doorbell_ring(&shared->peer);
        for (unsigned pause = i * 7919 % 1000; pause > 0; pause--) {
            __builtin_ia32_pause();
        }
    }
    return NULL;
}

// B1: the receiver never sleeps over a message, however they meet.
static void no_message_lies_while_its_receiver_sleeps(void **unused)
{
    struct doorbell *doorbell = doorbell_new();
    struct shared shared = {0};
    unsigned n_seen = 0;
    pthread_t sender;

    (void)unused;
    attach_peer(&shared.peer, doorbell);
    assert_int_equal(pthread_create(&sender, NULL, send_all, &shared), 0);
    while (n_seen < N_MESSAGES) {
        unsigned n_sent;

        if (n_seen % 3 == 0) {
            doorbell_note_polling(doorbell, 1);
            doorbell_arm(doorbell);
            doorbell_note_polling(doorbell, 0);
        } else {
            doorbell_arm(doorbell);
        }
        n_sent = atomic_load_explicit(&shared.n_sent, memory_order_acquire);
        if (n_sent == n_seen) {
            assert_true(is_readable(doorbell, 20000));
        }
        n_seen = n_sent;
    }
    pthread_join(sender, NULL);
    doorbell_detach(&shared.peer);
    doorbell_free(doorbell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_an_armed_doorbell_is_rung_and_once),
        cmocka_unit_test(nobody_rings_while_one_of_two_polls),
        cmocka_unit_test(what_is_no_doorbell_is_not_rung),
        cmocka_unit_test(a_ring_after_the_owner_is_gone_does_no_harm),
        cmocka_unit_test(an_owner_that_has_ended_is_gone),
        cmocka_unit_test(a_limit_is_no_end_of_the_owner),
        cmocka_unit_test(no_message_lies_while_its_receiver_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
