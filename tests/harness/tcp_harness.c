// SPDX-License-Identifier: BSD-3-Clause
#include "harness/tcp_harness.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "harness/harness.h"
#include "net/tcp_socket.h"

#define WAIT_S 20
/** An end stands still for longer than a node may: one process is all ends. */
#define STILL_S 60
#define STEP_US 200
#define HEAD_SIZE 9u

// ---- ends ----

static void receive(void *owner, node_id from, const struct message *message)
{
    struct end *end = owner;
    const uint8_t *body = message->body;

    assert_true(from < ENDS_MAX);
    assert_int_equal(message->type, MESSAGE_thread_stack);
    assert_int_equal(message->u.thread_stack.thread, end->from[from].n_come);
    for (uint32_t i = 0; i < message->body_size; i++) {
        if (body[i] != (uint8_t)(i * 31 + message->u.thread_stack.thread)) {
            fail_msg("byte %u of a body is wrong", i);
        }
    }
    end->from[from].n_come++;
    end->from[from].n_bytes += message->body_size;
    if (end->receive != NULL) {
        end->receive(end, from);
    }
}

static void note_event(void *owner, enum net_event event, node_id node,
                       const char *why)
{
    struct end *end = owner;

    assert_true(node < ENDS_MAX);
    end->from[node].n_up += event == NET_PEER_UP;
    end->from[node].n_lost += event == NET_PEER_LOST;
    end->from[node].n_fenced += event == NET_FENCED;
    if (event == NET_PEER_LOST) {
        snprintf(end->from[node].why, sizeof end->from[node].why, "%s", why);
    }
}

void end_open_with(struct end *end, const struct net_config *config,
                   const uint8_t *job_key)
{
    static struct descriptor_set sockets;
    struct net_config full = *config;

    memset(end, 0, sizeof *end);
    full.n_nodes = ENDS_MAX;
    full.device = "lo";
    full.sockets = &sockets;
    full.event = note_event;
    full.owner = end;
    frame_pool_init(&end->pool);
    inbox_init(&end->inbox, config->self, receive, end);
    assert_int_equal(tcp_open(&end->tcp, &full, &end->inbox, &end->pool),
                     TM_OK);
    assert_int_equal(tcp_take_key(end->tcp, job_key), TM_OK);
    end->address_size = tcp_address(end->tcp, end->address);
}

void end_open(struct end *end, node_id self)
{
    end_open_with(end, &(struct net_config){.self = self, .timeout_s = STILL_S},
                  harness_job_key);
}

void end_close(struct end *end)
{
    if (end->tcp != NULL) {
        tcp_close(end->tcp, clock_now_ns() + 100000000u);
        frame_pool_release(&end->pool);
        end->tcp = NULL;
    }
}

void ends_add(struct end *ends, node_id a, node_id b)
{
    node_id low = a < b ? a : b;
    node_id high = a < b ? b : a;

    assert_int_equal(tcp_add(ends[high].tcp, low, NULL, 0, 1), TM_OK);
    assert_int_equal(tcp_add(ends[low].tcp, high, ends[high].address,
                             ends[high].address_size, 0),
                     TM_OK);
}

void ends_open(struct end *ends, unsigned n_ends)
{
    for (unsigned i = 0; i < n_ends; i++) {
        end_open(&ends[i], (node_id)i);
    }
    ends_connect(ends, n_ends);
}

void ends_connect(struct end *ends, unsigned n_ends)
{
    for (unsigned i = 0; i < n_ends; i++) {
        for (unsigned j = 0; j < i; j++) {
            ends_add(ends, (node_id)i, (node_id)j);
        }
    }
    for (unsigned i = 0; i < n_ends; i++) {
        for (unsigned j = 0; j < i; j++) {
            ends_wait(ends, n_ends, &ends[i].from[j].n_up, 1);
            ends_wait(ends, n_ends, &ends[j].from[i].n_up, 1);
        }
    }
}

void ends_close(struct end *ends, unsigned n_ends)
{
    for (unsigned i = 0; i < n_ends; i++) {
        end_close(&ends[i]);
    }
}

static void progress_all(struct end *ends, unsigned n_ends)
{
    for (unsigned i = 0; i < n_ends; i++) {
        if (ends[i].tcp != NULL) {
            tcp_progress(ends[i].tcp);
        }
    }
}

void ends_progress(struct end *ends, unsigned n_ends, unsigned for_ms)
{
    uint64_t end_ns = clock_now_ns() + for_ms * 1000000u;

    do {
        progress_all(ends, n_ends);
        usleep(STEP_US);
    } while (clock_now_ns() < end_ns);
}

void ends_wait(struct end *ends, unsigned n_ends,
               const volatile unsigned *counter, unsigned value)
{
    uint64_t deadline_ns = harness_deadline_ns(WAIT_S * 1000u);

    while (*counter < value) {
        progress_all(ends, n_ends);
        if (clock_now_ns() > deadline_ns) {
            fail_msg("after %u s a counter is %u, not %u", WAIT_S, *counter,
                     value);
        }
    }
}

void end_send(struct end *end, node_id to, unsigned round, uint32_t body_size)
{
    static uint8_t body[MESSAGE_BODY_MAX];
    const struct message message = {
        .type = MESSAGE_thread_stack,
        .u.thread_stack = {.thread = round},
        .body = body,
        .body_size = body_size,
    };

    for (uint32_t i = 0; i < body_size; i++) {
        body[i] = (uint8_t)(i * 31 + round);
    }
    tcp_send(end->tcp, to, &message);
}

unsigned end_n_refused(const struct end *end)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < NET_N_REFUSALS; i++) {
        n += end->inbox.counters.refused[i];
    }
    return (unsigned)n;
}

// ---- the hand ----

void hand_connect(struct hand *hand, const struct end *end)
{
    struct tcp_place place;

    memset(hand, 0, sizeof *hand);
    assert_int_equal(tcp_place_decode(end->address, end->address_size, &place),
                     TM_OK);
    hand->fd = socket(place.name.any.sa_family, SOCK_STREAM, 0);
    assert_int_equal(connect(hand->fd, &place.name.any, place.size), 0);
    assert_int_equal(seals_new(&hand->seals, harness_job_key, 0), TM_OK);
}

void hand_close(struct hand *hand)
{
    close(hand->fd);
    seals_free(hand->seals);
}

void hand_write(struct hand *hand, const void *bytes, size_t size)
{
    if (size > 0) { // it may be closed at the other end
        ssize_t sent = send(hand->fd, bytes, size, MSG_NOSIGNAL);

        assert_true(sent == (ssize_t)size || errno == EPIPE ||
                    errno == ECONNRESET);
    }
}

/** @return 0 if the other end closes before */
static int read_all(struct hand *hand, struct end *end, uint8_t *bytes,
                    size_t size)
{
    uint64_t deadline_ns = harness_deadline_ns(WAIT_S * 1000u);

    while (size > 0) {
        ssize_t got = recv(hand->fd, bytes, size, MSG_DONTWAIT);

        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            return 0;
        }
        if (got > 0) {
            bytes += got;
            size -= (size_t)got;
        }
        assert_true(clock_now_ns() < deadline_ns);
        tcp_progress(end->tcp);
    }
    return 1;
}

int hand_greet(struct hand *hand, struct end *end, const struct hello *hello,
               struct answer *answer)
{
    handshake_hello(hand->seals, hello, &hand->handshake);
    hand_write(hand, hand->handshake.said, HELLO_SIZE);
    if (!read_all(hand, end, hand->handshake.said + HELLO_SIZE, ANSWER_SIZE)) {
        return 0;
    }
    assert_int_equal(handshake_read_answer(hand->seals, &hand->handshake,
                                           answer, &hand->lanes),
                     TM_OK);
    return 1;
}

size_t hand_frame(struct hand *hand, unsigned kind, uint32_t epoch,
                  uint8_t *bytes)
{
    const struct message message = {.type = MESSAGE_thread_stack,
                                    .u.thread_stack = {.thread = hand->n_sent}};
    struct seal_frame parts = {.bytes = bytes, .head_size = HEAD_SIZE};
    struct wire_writer head = {bytes, bytes + HEAD_SIZE, 0};

    if (kind == 1) {
        parts.text_size = message_encode_header(&message, bytes + HEAD_SIZE);
        hand->n_sent++;
    }
    wire_put_u32(&head, (uint32_t)(parts.text_size + SEAL_TAG_SIZE));
    wire_put_u32(&head, epoch);
    wire_put_u8(&head, (uint8_t)kind);
    seals_seal(hand->seals, &hand->lanes.out, &parts);
    return HEAD_SIZE + parts.text_size + SEAL_TAG_SIZE;
}

int hand_is_closed(struct hand *hand, struct end *end)
{
    uint64_t end_ns = harness_deadline_ns(2000);
    uint8_t bytes[64];

    while (clock_now_ns() < end_ns) {
        ssize_t got = recv(hand->fd, bytes, sizeof bytes, MSG_DONTWAIT);

        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            return 1;
        }
        tcp_progress(end->tcp);
        usleep(STEP_US);
    }
    return 0;
}
