// SPDX-License-Identifier: BSD-3-Clause
//
// What the UCX transport does with what is no address and no frame, and how it
// leaves the process that it lives in.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "harness/cluster_harness.h"
#include "harness/harness.h"
#include "net/address.h"
#include "net/ucx.h"

static int start_tests(void **unused)
{
    (void)unused;
    unsetenv("UCX_TLS"); // the default is what counts here
    unsetenv("UCX_MODULES");
    return 0;
}

static void assert_all_ended_well(struct harness_result result, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(result.code[i], 0);
    }
}

// ---- damaged addresses and frames ----

static void receive_nothing(void *owner, node_id from,
                            const struct message *message)
{
    (void)owner;
    (void)from;
    (void)message;
    harness_check(!"nothing is received");
}

static const struct net_config two_nodes = {
    .n_nodes = 2, .n_here = 2, .receive = receive_nothing};

static tm_status connect_to(const struct transport *transport,
                            const uint8_t *address, size_t size)
{
    const struct net_place places[2] = {{0},
                                        {.address = address, .size = size}};
    char why[256];
    struct net *net;
    tm_status status;

    harness_check(transport->open(&net, &two_nodes) == TM_OK);
    status = transport->connect(net, places, NULL, why, sizeof why);
    transport->close(net);
    return status;
}

static void try_damaged_addresses(struct harness_node *node)
{
    uint8_t copy[4096];
    const void *address;
    size_t size;
    uint64_t state = 1;

    node->transport->address(node->net, &address, &size);
    memcpy(copy, address, size);
    harness_check(connect_to(node->transport, copy, size) == TM_OK);
    for (unsigned i = 0; i < 2; i++) {
        size_t at = harness_random(&state) % size;

        harness_check(connect_to(node->transport, copy, at) == TM_EWIRE);
        copy[at] ^= 1;
        harness_check(connect_to(node->transport, copy, size) == TM_EWIRE);
        copy[at] ^= 1;
    }
    node->transport->close(node->net);
}

static void a_damaged_address_is_refused(void **unused)
{
    (void)unused;
    assert_all_ended_well(
        harness_run(&transport_ucx, 1, try_damaged_addresses, NULL), 1);
}

/** Somebody who is no node of the cluster and speaks UCX by hand. */
struct stranger {
    struct wire wire;
    ucp_ep_h endpoint;
};

static ucs_status_t hear_nothing(void *wire, const void *header,
                                 size_t header_size, void *data, size_t size,
                                 const ucp_am_recv_param_t *param)
{
    (void)wire;
    (void)header;
    (void)header_size;
    (void)data;
    (void)size;
    (void)param;
    return UCS_OK;
}

static void open_stranger(struct stranger *stranger, const void *address,
                          size_t size)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
    };
    const struct ucx_request request = {.reach = UCX_ONE_HOST, .n_nodes = 2};
    struct address_parts parts;

    harness_check(address_split(address, size, &parts) == TM_OK);
    params.address = address_unwrap(parts.bytes[ADDRESS_WITHIN_HOST],
                                    parts.size[ADDRESS_WITHIN_HOST]);
    harness_check(wire_open(&stranger->wire, &request, hear_nothing) == TM_OK);
    harness_check(
        stranger->wire.ucx.ucp_ep_create(stranger->wire.worker, &params,
                                         &stranger->endpoint) == UCS_OK);
}

static void close_stranger(struct stranger *stranger)
{
    wire_close(&stranger->wire);
}

static void send_raw(struct stranger *stranger, struct harness_node *node,
                     const void *bytes, size_t size, unsigned flags)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = flags,
    };
    const struct ucx *ucx = &stranger->wire.ucx;
    void *request = ucx->ucp_am_send_nbx(stranger->endpoint, 1, NULL, 0, bytes,
                                         size, &param);
    uint64_t deadline = harness_deadline_ns(10000);

    harness_check(!UCS_PTR_IS_ERR(request));
    while (UCS_PTR_IS_PTR(request) &&
           ucx->ucp_request_check_status(request) == UCS_INPROGRESS) {
        harness_check(clock_now_ns() < deadline);
        ucx->ucp_worker_progress(stranger->wire.worker);
        node->transport->progress(node->net);
    }
    if (UCS_PTR_IS_PTR(request)) {
        ucx->ucp_request_free(request);
    }
    while (node->transport->progress(node->net) > 0) {
    }
}

static uint64_t n_bad(struct harness_node *node)
{
    struct net_counters counters;

    node->transport->counters(node->net, &counters);
    return counters.bad_frames;
}

/** Sequence number and sender. */
#define PREFIX 10u

/** Frame `sequence` of node 1: a thread_stack, its thread is the sequence. */
static uint32_t make_frame(uint8_t *bytes, uint64_t sequence)
{
    struct message message = {.type = MESSAGE_thread_stack,
                              .u.thread_stack = {.thread = sequence}};
    struct wire_writer writer = {.at = bytes, .end = bytes + PREFIX};

    wire_put_u64(&writer, sequence);
    wire_put_u16(&writer, 1);
    return PREFIX + message_encode_header(&message, bytes + PREFIX);
}

static void expect_next_round(struct harness_node *node, node_id from,
                              const struct message *message)
{
    int *next = node->state;

    harness_check(from == 1);
    harness_check(message->type == MESSAGE_thread_stack);
    harness_check(message->u.thread_stack.thread == (uint64_t)*next);
    ++*next;
}

static void send_shuffled(struct stranger *stranger, struct harness_node *node)
{
    static const uint32_t order[] = {3, 1, 0, 2, 6, 7, 5, 4};
    static const int next_after[] = {0, 0, 2, 4, 4, 4, 4, 8};
    const int *next = node->state;
    uint8_t frame[100];

    for (unsigned i = 0; i < 8; i++) {
        uint32_t size = make_frame(frame, order[i]);

        send_raw(stranger, node, frame, size, UCP_AM_SEND_FLAG_EAGER);
        harness_check(*next == next_after[i]);
    }
    harness_check(n_bad(node) == 0);
}

static void send_refused(struct stranger *stranger, struct harness_node *node)
{
    static uint8_t frame[600000];
    uint32_t size = make_frame(frame, 7);
    unsigned eager = UCP_AM_SEND_FLAG_EAGER;

    send_raw(stranger, node, frame, size, eager); // again
    send_raw(stranger, node, frame, size - 1, eager);
    make_frame(frame, 8 + 100000); // too early
    send_raw(stranger, node, frame, size, eager);
    make_frame(frame, 8);
    frame[8] = 0; // from the receiver itself
    send_raw(stranger, node, frame, size, eager);
    frame[8] = 2; // from nobody
    send_raw(stranger, node, frame, size, eager);
    frame[8] = 1;
    send_raw(stranger, node, frame, PREFIX, eager);       // empty
    send_raw(stranger, node, frame, sizeof frame, eager); // too long
    send_raw(stranger, node, frame, 5000, UCP_AM_SEND_FLAG_RNDV);
    harness_check(n_bad(node) == 8);
}

static void send_random(struct stranger *stranger, struct harness_node *node)
{
    uint8_t frame[300];
    uint64_t state = 7;

    for (unsigned i = 0; i < 20000; i++) {
        size_t size = 1 + harness_random(&state) % (sizeof frame - 1);

        for (size_t at = 0; at < size; at++) {
            frame[at] = (uint8_t)harness_random(&state);
        }
        frame[0] = 0xff; // far from the next sequence number
        frame[3] = 0xff;
        send_raw(stranger, node, frame, size, UCP_AM_SEND_FLAG_EAGER);
    }
    harness_check(n_bad(node) == 8 + 20000);
}

static void suffer_a_stranger(struct harness_node *node)
{
    struct stranger stranger = {.endpoint = NULL};
    static int next;
    const void *address;
    size_t size;

    node->state = &next;
    node->receive = expect_next_round;
    if (node->self == 0) {
        harness_check(freopen("/dev/null", "w", stderr) != NULL);
        node->transport->address(node->net, &address, &size);
        open_stranger(&stranger, address, size);
        send_shuffled(&stranger, node);
        send_refused(&stranger, node);
        send_random(&stranger, node);
        harness_check(next == 8);
        close_stranger(&stranger);
    }
    harness_barrier(node);
    node->transport->close(node->net);
}

static void strange_frames_are_counted_and_early_ones_held(void **unused)
{
    (void)unused;
    assert_all_ended_well(
        harness_run(&transport_ucx, 2, suffer_a_stranger, NULL), 2);
}

// ---- manners of a guest ----

struct handlers {
    void (*of[32])(int);
};

static void note_handlers(struct handlers *handlers)
{
    for (int number = 1; number < 32; number++) {
        struct sigaction action;

        harness_check(sigaction(number, NULL, &action) == 0);
        handlers->of[number] = action.sa_handler;
    }
}

static unsigned n_environment(void)
{
    unsigned n = 0;

    while (environ[n] != NULL) {
        n++;
    }
    return n;
}

static unsigned n_kept_on_exec(void)
{
    unsigned n = 0;

    for (int fd = 3; fd < 1000; fd++) {
        int flags = fcntl(fd, F_GETFD);

        n += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return n;
}

static void look_for_listeners(void)
{
    char own[64];
    char line[256];
    FILE *sockets;

    snprintf(own, sizeof own, "/proc/%d/net/tcp", (int)getpid());
    sockets = fopen(own, "r");
    harness_check(sockets != NULL);
    while (fgets(line, sizeof line, sockets) != NULL) {
        char inode[64];
        char command[256];
        char state[8];

        if (sscanf(line, "%*s %*s %*s %7s %*s %*s %*s %*s %*s %63s", state,
                   inode) != 2 ||
            strcmp(state, "0A") != 0) {
            continue;
        }
        snprintf(command, sizeof command,
                 "ls -l /proc/%d/fd | grep -q 'socket:.%s.'", (int)getpid(),
                 inode);
        harness_check(system(command) != 0);
    }
    fclose(sockets);
}

static void look_around(void)
{
    struct handlers before = {0};
    struct handlers after = {0};
    unsigned n_variables = n_environment();
    unsigned n_kept = n_kept_on_exec();
    struct net *net;

    note_handlers(&before);
    harness_check(transport_ucx.open(&net, &two_nodes) == TM_OK);
    note_handlers(&after);
    harness_check(memcmp(&before, &after, sizeof before) == 0);
    harness_check(n_environment() == n_variables);
    harness_check(n_kept_on_exec() == n_kept);
    look_for_listeners();
    transport_ucx.close(net);
}

static void run_guest(struct harness_node *node)
{
    (void)node;
    look_around();
}

static void ucx_behaves_as_a_guest(void **unused)
{
    (void)unused;
    // A process of its own, which looks before and after it opens UCX.
    assert_all_ended_well(harness_run(NULL, 1, run_guest, NULL), 1);
}

// ---- what is told at the start ----

static const struct net_config three_nodes = {
    .n_nodes = 3, .n_here = 3, .receive = receive_nothing};

static struct net *open_with(const char *transports, struct net_place *place)
{
    struct net *net;

    if (transports != NULL) {
        setenv("UCX_TLS", transports, 1);
        setenv("UCX_NET_DEVICES", "lo", 1);
    } else {
        unsetenv("UCX_TLS");
    }
    harness_check(transport_ucx.open(&net, &three_nodes) == TM_OK);
    transport_ucx.address(net, &place->address, &place->size);
    return net;
}

// Of all nodes, also of those that are sent something much later.
static void choose_others_than_one(struct harness_node *node)
{
    struct net_place places[3] = {{0}};
    struct net *last = open_with("tcp", &places[2]);
    struct net *next = open_with("posix", &places[1]);
    struct net *own = open_with("posix", &places[0]);
    char why[256];

    (void)node;
    harness_check(transport_ucx.connect(own, places, NULL, why, sizeof why) ==
                  TM_EPEER);
    harness_check(strstr(why, "cannot connect to node 2: ") == why);
    harness_check(strstr(why, "UCX_TLS must be the same") != NULL);
    transport_ucx.close(own);
    transport_ucx.close(next);
    transport_ucx.close(last);
}

static void transports_that_do_not_suit_all_are_told_at_the_start(void **unused)
{
    (void)unused;
    assert_all_ended_well(harness_run(NULL, 1, choose_others_than_one, NULL),
                          1);
}

static void connect_without_descriptors(struct harness_node *node)
{
    struct net_place places[3] = {{0}};
    struct net *last = open_with(NULL, &places[2]);
    struct net *next = open_with(NULL, &places[1]);
    struct net *own = open_with(NULL, &places[0]);
    const int free_fd = dup(0);
    const struct rlimit none = {(rlim_t)free_fd, (rlim_t)free_fd};
    char why[256];

    (void)node;
    close(free_fd);
    harness_check(setrlimit(RLIMIT_NOFILE, &none) == 0);
    harness_check(transport_ucx.connect(own, places, NULL, why, sizeof why) ==
                  TM_EPEER);
    harness_check(strcmp(why, "cannot connect to node 1: Too many open files; "
                              "see ulimit -n") == 0);
    transport_ucx.close(own);
    transport_ucx.close(next);
    transport_ucx.close(last);
}

static void what_keeps_nodes_apart_is_told_at_the_start(void **unused)
{
    (void)unused;
    assert_all_ended_well(
        harness_run(NULL, 1, connect_without_descriptors, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_address_is_refused),
        cmocka_unit_test(strange_frames_are_counted_and_early_ones_held),
        cmocka_unit_test(ucx_behaves_as_a_guest),
        cmocka_unit_test(transports_that_do_not_suit_all_are_told_at_the_start),
        cmocka_unit_test(what_keeps_nodes_apart_is_told_at_the_start),
    };

    return cmocka_run_group_tests(tests, start_tests, NULL);
}
