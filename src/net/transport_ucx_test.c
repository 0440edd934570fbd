// SPDX-License-Identifier: BSD-3-Clause
//
// Real processes over UCX. Tests run over shared memory, the default, and over TCP
// on the loopback interface, which stands for the network between hosts; some
// with both to choose from, as in a cluster of several hosts with several nodes.
#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "harness/cluster_harness.h"
#include "harness/harness.h"

static void use_shared_memory(void)
{
    unsetenv("UCX_TLS");
    unsetenv("UCX_NET_DEVICES");
    harness_between = NULL;
}

static void use_tcp(void)
{
    setenv("UCX_TLS", "tcp", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
}

/** With nodes of other hosts UCX is used, too, over TCP. */
static void use_fabric(void)
{
    setenv("UCX_TLS", "tcp", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    harness_between = &between_ucx;
}

static void use_both(void)
{
    setenv("UCX_TLS", "posix,tcp", 1);
    unsetenv("UCX_NET_DEVICES");
}

/** Where segments are made. */
static char folder[] = "/dev/shm/transport_ucx_test-XXXXXX";

static int start_tests(void **unused)
{
    (void)unused;
    setenv("UCX_MODULES", "none", 1); // no drivers of cards: they take time
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    setenv("TEAMSTER_FOLDER", folder, 1);
    return 0;
}

static int end_tests(void **unused)
{
    (void)unused;
    return rmdir(folder);
}

/** @return how many files there are in the folder */
static unsigned n_segments(void)
{
    DIR *files = opendir(folder);
    unsigned n = 0;

    harness_check(files != NULL);
    while (readdir(files) != NULL) {
        n++;
    }
    closedir(files);
    return n - 2; // "." and ".."
}

static void assert_all_ended_well(struct harness_result result, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(result.code[i], 0);
    }
}

// ---- many messages of all sizes ----

struct traffic {
    unsigned n_messages; ///< from each node to each
    uint32_t longest;    ///< body
    int asleep;
};

struct flow {
    uint64_t sent_state;
    uint64_t received_state;
    unsigned n_sent;
    unsigned n_received;
};

struct traffic_state {
    struct flow flows[HARNESS_MAX_NODES];
    unsigned n_complete;
    int is_complete;
};

/** Short ones, pages, and long ones now and then. */
static uint32_t random_size(uint64_t *state, uint32_t longest)
{
    switch (harness_random(state) % 64) {
    case 0:
        return (uint32_t)(harness_random(state) % (longest + 1));
    case 1:
        return longest;
    default:
        return (uint32_t)(harness_random(state) % 4200);
    }
}

static void fill(uint8_t *body, uint32_t size, uint64_t *state)
{
    uint64_t word = harness_random(state);

    for (uint32_t i = 0; i < size; i++) {
        body[i] = (uint8_t)(word >> (i % 57)) ^ (uint8_t)i;
    }
}

static void check_body(const uint8_t *body, uint32_t size, uint64_t *state)
{
    uint64_t word = harness_random(state);

    for (uint32_t i = 0; i < size; i++) {
        if (body[i] != ((uint8_t)(word >> (i % 57)) ^ (uint8_t)i)) {
            harness_check(!"a byte of the body is right");
        }
    }
}

static void take_traffic(struct harness_node *node, node_id from,
                         const struct message *message)
{
    const struct traffic *traffic = node->argument;
    struct traffic_state *state = node->state;
    struct flow *flow = &state->flows[from];

    harness_check(from < node->n_nodes);
    harness_check(message->type == MESSAGE_thread_stack);
    harness_check(message->u.thread_stack.thread == flow->n_received);
    harness_check(message->u.thread_stack.offset == from);
    harness_check(message->body_size ==
                  random_size(&flow->received_state, traffic->longest));
    check_body(message->body, message->body_size, &flow->received_state);
    if (++flow->n_received == traffic->n_messages) {
        state->is_complete = ++state->n_complete == node->n_nodes;
    }
}

static void send_traffic(struct harness_node *node, node_id to)
{
    static uint8_t body[MESSAGE_BODY_MAX];
    const struct traffic *traffic = node->argument;
    struct traffic_state *state = node->state;
    struct flow *flow = &state->flows[to];
    uint32_t size = random_size(&flow->sent_state, traffic->longest);
    struct message message = {
        .type = MESSAGE_thread_stack,
        .u.thread_stack = {.thread = flow->n_sent++, .offset = node->self},
        .body = body,
        .body_size = size,
    };

    fill(body, size, &flow->sent_state);
    node->transport->send(node->net, to, &message);
    memset(body, 0xdd, size < 64 ? size : 64); // the frame must be a copy
}

static void exchange(struct harness_node *node)
{
    const struct traffic *traffic = node->argument;
    static struct traffic_state state;
    struct net_counters counters;

    for (unsigned i = 0; i < node->n_nodes; i++) {
        state.flows[i].sent_state = 1000u * node->self + i;
        state.flows[i].received_state = 1000u * i + node->self;
    }
    node->state = &state;
    node->receive = take_traffic;
    for (unsigned i = 0; i < traffic->n_messages; i++) {
        for (unsigned to = 0; to < node->n_nodes; to++) {
            send_traffic(node, (node_id)to);
        }
        if (i % 16 == 15) {
            node->transport->progress(node->net);
        }
    }
    harness_wait(node, &state.is_complete, traffic->asleep);
    harness_barrier_with_progress(node); // the others have not all they need
    node->transport->counters(node->net, &counters);
    harness_check(counters.bad_frames == 0);
    harness_check(counters.messages_sent ==
                  (uint64_t)(node->n_nodes - 1) * traffic->n_messages);
    harness_check(counters.messages_received == counters.messages_sent);
    node->transport->close(node->net);
}

static void two_nodes_exchange_20000_messages_in_order_and_intact(void **unused)
{
    struct traffic traffic = {20000, 50000, 0};

    (void)unused;
    use_shared_memory();
    assert_all_ended_well(harness_run(&transport_ucx, 2, exchange, &traffic),
                          2);
    traffic = (struct traffic){5000, 50000, 0};
    use_tcp();
    assert_all_ended_well(harness_run(&transport_ucx, 2, exchange, &traffic),
                          2);
    use_shared_memory();
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 2, 2, exchange, &traffic), 2);
    use_fabric();
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 2, 2, exchange, &traffic), 2);
    use_shared_memory();
}

static void the_longest_messages_arrive_intact(void **unused)
{
    struct traffic traffic = {600, MESSAGE_BODY_MAX, 1};

    (void)unused;
    use_shared_memory();
    assert_all_ended_well(harness_run(&transport_ucx, 2, exchange, &traffic),
                          2);
    use_tcp();
    assert_all_ended_well(harness_run(&transport_ucx, 2, exchange, &traffic),
                          2);
    use_shared_memory();
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 2, 2, exchange, &traffic), 2);
    use_fabric();
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 2, 2, exchange, &traffic), 2);
    use_shared_memory();
}

static void four_nodes_exchange_messages_all_to_all_asleep(void **unused)
{
    struct traffic traffic = {800, 20000, 1};

    (void)unused;
    use_shared_memory();
    assert_all_ended_well(harness_run(&transport_ucx, 4, exchange, &traffic),
                          4);
    assert_int_equal(n_segments(), 0);
    use_tcp();
    assert_all_ended_well(harness_run(&transport_ucx, 4, exchange, &traffic),
                          4);
    use_both();
    assert_all_ended_well(harness_run(&transport_ucx, 4, exchange, &traffic),
                          4);
    use_shared_memory();
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 4, 2, exchange, &traffic), 4);
    use_fabric();
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 4, 2, exchange, &traffic), 4);
    use_shared_memory();
    assert_int_equal(n_segments(), 0);
}

// ---- sleep ----

static void note_arrival(struct harness_node *node, node_id from,
                         const struct message *message)
{
    (void)from;
    (void)message;
    *(int *)node->state = 1;
}

static int becomes_readable(struct harness_node *node, int timeout_ms)
{
    struct pollfd wait = {.fd = node->transport->wait_fd(node->net),
                          .events = POLLIN};

    return poll(&wait, 1, timeout_ms) == 1;
}

static void get_armed(struct harness_node *node)
{
    do {
        node->transport->progress(node->net);
    } while (!node->transport->arm(node->net) ||
             node->transport->progress(node->net) > 0);
}

static void wake_a_sleeper(struct harness_node *node)
{
    struct message message = {.type = MESSAGE_thread_stack};
    static int has_come;

    node->state = &has_come;
    node->receive = note_arrival;
    for (unsigned i = 0; i < 50; i++) {
        if (node->self == 0) {
            get_armed(node);
            harness_check(!has_come);
            harness_barrier(node);
            harness_check(becomes_readable(node, 10000));
            harness_wait(node, &has_come, 1);
            has_come = 0;
        } else {
            harness_barrier(node);
            if (node->self == 1 + i % (node->n_nodes - 1)) {
                node->transport->send(node->net, 0, &message);
            }
        }
        harness_barrier_with_progress(node);
    }
    // What one sends oneself keeps one from sleeping.
    node->transport->send(node->net, node->self, &message);
    harness_check(!node->transport->arm(node->net));
    harness_wait(node, &has_come, 0);
    node->transport->close(node->net);
}

static void poll_while_armed(struct harness_node *node)
{
    struct message message = {.type = MESSAGE_thread_stack};
    static int has_come;

    node->state = &has_come;
    node->receive = note_arrival;
    harness_check(node->transport->has_doorbell(node->net));
    for (unsigned i = 0; i < 50; i++) {
        const unsigned sender = 1 + i % (node->n_nodes - 1);

        has_come = 0;
        if (node->self == 0) {
            get_armed(node);
            node->transport->note_polling(node->net, 1);
        }
        harness_barrier(node);
        if (node->self == sender) {
            node->transport->send(node->net, 0, &message);
        }
        harness_barrier(node);
        if (node->self == 0) {
            harness_check(!becomes_readable(node, 0));
            node->transport->note_polling(node->net, 0);
            harness_wait(node, &has_come, 0);
            get_armed(node);
        }
        harness_barrier(node);
        if (node->self == sender) {
            node->transport->send(node->net, 0, &message);
        } else if (node->self == 0) {
            harness_check(becomes_readable(node, 10000));
        }
        harness_barrier_with_progress(node);
    }
    node->transport->close(node->net);
}

static void who_looks_is_not_woken(void **unused)
{
    (void)unused;
    use_shared_memory();
    assert_all_ended_well(
        harness_run(&transport_ucx, 2, poll_while_armed, NULL), 2);
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 3, 2, poll_while_armed, NULL), 3);
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 2, 2, poll_while_armed, NULL), 2);
    use_fabric();
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 3, 2, poll_while_armed, NULL), 3);
    use_shared_memory();
}

static void count_arrivals(struct harness_node *node, node_id from,
                           const struct message *message)
{
    (void)from;
    (void)message;
    *(int *)node->state += 1;
}

#define N_FLOOD 120 // more than there is room for on the way
#define N_TURNS 10

static uint64_t n_rings(struct harness_node *node)
{
    struct net_counters counters;

    node->transport->counters(node->net, &counters);
    return counters.rings;
}

#define N_ROOM 64 // pieces that fit into a node's queue
#define N_LONG 16 // frames of 8 pieces each

// Node 0 has frames that wait for node 1, which begins and ends polling, and takes none.
static void flood_one(struct harness_node *node)
{
    struct message message = {.type = MESSAGE_thread_stack};

    for (unsigned i = 0; node->self == 0 && i < N_FLOOD; i++) {
        node->transport->send(node->net, 1, &message);
    }
    harness_barrier(node);
    for (unsigned i = 0; i < N_TURNS; i++) {
        if (node->self == 1) {
            node->transport->note_polling(node->net, 1);
            node->transport->note_polling(node->net, 0);
        }
        harness_barrier(node);
        for (unsigned k = 0; node->self == 0 && k < 10; k++) {
            node->transport->progress(node->net);
        }
        harness_barrier(node);
    }
    if (node->self == 0) {
        harness_check(node->transport->n_unsent(node->net) > 0);
        harness_check(n_rings(node) == 1);
    }
}

// All but two sleep, and nobody sends them anything.
static void let_others_sleep(struct harness_node *node)
{
    static int n_come;

    node->state = &n_come;
    node->receive = count_arrivals;
    if (node->self != 0) {
        get_armed(node);
    }
    harness_barrier(node);
    flood_one(node);
    harness_check(node->self != 1 || becomes_readable(node, 0));
    while (node->self == 1 && n_come < N_FLOOD) {
        node->transport->progress(node->net);
    }
    while (node->self == 0 && node->transport->n_unsent(node->net) > 0) {
        node->transport->progress(node->net);
    }
    harness_barrier(node);
    harness_check(node->self < 2 || !becomes_readable(node, 0));
    harness_barrier(node);
    node->transport->close(node->net);
}

static void who_is_sent_nothing_is_not_rung(void **unused)
{
    (void)unused;
    use_shared_memory();
    assert_all_ended_well(
        harness_run(&transport_ucx, 4, let_others_sleep, NULL), 4);
}

// Node WHO sends node 1 so many frames of a piece each, or one of 8.
static void send_frames(struct harness_node *node, node_id who, unsigned n,
                        uint32_t size)
{
    static uint8_t body[MESSAGE_BODY_MAX];
    struct message message = {
        .type = MESSAGE_thread_stack, .body = body, .body_size = size};

    for (unsigned i = 0; node->self == who && i < n; i++) {
        node->transport->send(node->net, 1, &message);
    }
    harness_barrier(node);
}

static void make_progress(struct harness_node *node, node_id who, unsigned n)
{
    for (unsigned i = 0; node->self == who && i < n; i++) {
        node->transport->progress(node->net);
    }
    harness_barrier(node);
}

// All have sent node 1 something, and so are connected with it: half of what has room, so
// that what it has taken is free again.
static void meet_node_1(struct harness_node *node)
{
    const int *n_come = node->state;

    send_frames(node, 0, 1, MESSAGE_BODY_MAX);
    send_frames(node, 2, 1, MESSAGE_BODY_MAX);
    send_frames(node, 2, N_ROOM / 2 - 16, 10);
    while (node->self == 1 && *n_come < 2 + N_ROOM / 2 - 16) {
        node->transport->progress(node->net);
    }
    harness_barrier_with_progress(node);
}

// Node 2 leaves room for two pieces of a frame of 8, then for three.
static void step_piece_by_piece(struct harness_node *node)
{
    const struct transport *transport = node->transport;
    static int n_come;
    uint64_t n_steps;

    node->state = &n_come;
    node->receive = count_arrivals;
    meet_node_1(node);
    send_frames(node, 2, N_ROOM - 2, 10);
    send_frames(node, 0, 1, MESSAGE_BODY_MAX);
    make_progress(node, 0, 100);
    n_steps = transport->n_steps(node->net);
    make_progress(node, 0, 100);
    harness_check(transport->n_steps(node->net) == n_steps);
    make_progress(node, 1, 10);
    send_frames(node, 2, N_ROOM - 3, 10);
    make_progress(node, 0, 1);
    if (node->self == 0) {
        harness_check(transport->n_unsent(node->net) == 1);
        harness_check(transport->n_steps(node->net) > n_steps);
    }
    harness_barrier_with_progress(node);
    transport->close(node->net);
}

static void pieces_that_have_gone_are_steps(void **unused)
{
    (void)unused;
    use_shared_memory();
    assert_all_ended_well(
        harness_run(&transport_ucx, 3, step_piece_by_piece, NULL), 3);
}

// Node 1 sleeps whenever it has nothing, and is sent long frames.
static void sleep_between_pieces(struct harness_node *node)
{
    static uint8_t body[MESSAGE_BODY_MAX];
    struct message message = {
        .type = MESSAGE_thread_stack, .body = body, .body_size = sizeof body};
    static int n_come;

    node->state = &n_come;
    node->receive = count_arrivals;
    for (unsigned i = 0; i < 20; i++) {
        n_come = 0;
        if (node->self == 1) {
            get_armed(node);
        }
        harness_barrier(node);
        for (unsigned k = 0; node->self == 0 && k < N_LONG; k++) {
            node->transport->send(node->net, 1, &message);
        }
        while (node->self == 0 && node->transport->n_unsent(node->net) > 0) {
            node->transport->progress(node->net);
        }
        while (node->self == 1 && n_come < N_LONG) {
            if (node->transport->arm(node->net) &&
                node->transport->progress(node->net) == 0) {
                harness_check(becomes_readable(node, 10000));
            }
            node->transport->progress(node->net);
        }
        harness_barrier_with_progress(node);
    }
    node->transport->close(node->net);
}

static void long_frames_wake_who_sleeps(void **unused)
{
    (void)unused;
    use_shared_memory();
    assert_all_ended_well(
        harness_run(&transport_ucx, 2, sleep_between_pieces, NULL), 2);
}

static void an_armed_node_is_woken_by_a_message(void **unused)
{
    (void)unused;
    use_shared_memory();
    assert_all_ended_well(harness_run(&transport_ucx, 4, wake_a_sleeper, NULL),
                          4); // three of them connect meanwhile
    use_tcp();
    assert_all_ended_well(harness_run(&transport_ucx, 2, wake_a_sleeper, NULL),
                          2);
    use_shared_memory();
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 3, 2, wake_a_sleeper, NULL), 3);
    use_fabric();
    assert_all_ended_well(
        harness_run_on_hosts(&transport_ucx, 3, 2, wake_a_sleeper, NULL), 3);
    use_shared_memory();
}

// ---- death ----

static void outlive_a_peer(struct harness_node *node)
{
    static uint8_t body[100000];
    struct message message = {.type = MESSAGE_thread_stack, .body = body};
    static int has_come;
    uint64_t start;

    node->state = &has_come;
    node->receive = note_arrival;
    node->transport->send(node->net, (node_id)(1 - node->self), &message);
    harness_wait(node, &has_come, 0);
    harness_barrier(node);
    if (node->self == 1) {
        raise(SIGKILL);
    }
    for (unsigned i = 0; i < 2000; i++) {
        message.body_size = i % 100 == 0 ? sizeof body : i;
        node->transport->send(node->net, 1, &message);
        node->transport->progress(node->net);
        if (i % 100 == 0) {
            usleep(1000);
        }
    }
    start = clock_now_ns();
    node->transport->close(node->net);
    // 100 ms are promised; this only excludes that it waits for the dead.
    harness_check(clock_now_ns() - start < 10000000000u);
}

static void kill_a_peer(unsigned n_hosts)
{
    struct harness_result result =
        harness_run_on_hosts(&transport_ucx, 2, n_hosts, outlive_a_peer, NULL);

    assert_int_equal(result.code[0], 0);
    assert_int_equal(result.code[1], 128 + SIGKILL);
}

static void a_killed_peer_does_no_harm_and_leaves_nothing(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < 3; i++) { // it dies at different moments
        use_shared_memory();
        kill_a_peer(1);
        kill_a_peer(2);
        use_tcp();
        kill_a_peer(1);
        use_both();
        kill_a_peer(1);
    }
    assert_int_equal(n_segments(), 0);
}

// ---- segments ----

static void count_segments(struct harness_node *node)
{
    harness_check(n_segments() >= 2);
    harness_check(getenv("TEAMSTER_FOLDER") == NULL);
    harness_check(getenv("UCX_POSIX_DIR") == NULL);
    harness_barrier(node);
    node->transport->close(node->net);
}

static void segments_are_made_in_the_folder_of_the_run(void **unused)
{
    (void)unused;
    use_shared_memory();
    setenv("UCX_POSIX_USE_PROC_LINK", "n", 1); // they keep their names
    assert_all_ended_well(harness_run(&transport_ucx, 2, count_segments, NULL),
                          2);
    unsetenv("UCX_POSIX_USE_PROC_LINK");
    assert_int_equal(n_segments(), 0);
}

// ---- what is queued at the end ----

#define N_LAST 120 // more than there is room for on the way
#define CAME_SHORT 3

static void close_with_a_full_queue(struct harness_node *node)
{
    static uint8_t body[20000];
    struct message message = {
        .type = MESSAGE_thread_stack, .body = body, .body_size = sizeof body};
    static int n_come;

    node->state = &n_come;
    node->receive = count_arrivals;
    if (node->self == 0) {
        for (unsigned i = 0; i < N_LAST; i++) {
            node->transport->send(node->net, 1, &message);
        }
    } else {
        uint64_t deadline = clock_now_ns() + 1000000000u;

        while (n_come < N_LAST) {
            node->transport->progress(node->net);
            if (clock_now_ns() > deadline) {
                _exit(CAME_SHORT);
            }
        }
    }
    node->transport->close(node->net);
}

static void close_pushes_out_what_is_queued(void **unused)
{
    struct harness_result result;
    unsigned n_tries = 0;

    (void)unused;
    use_shared_memory();
    // It may give up after 100 ms, and the receiver may not have run by then.
    do {
        result = harness_run(&transport_ucx, 2, close_with_a_full_queue, NULL);
        assert_int_equal(result.code[0], 0);
    } while (result.code[1] == CAME_SHORT && ++n_tries < 10);
    assert_int_equal(result.code[1], 0);
}

// ---- connections ----

/** Of all nodes of a run. */
static struct shared {
    unsigned n_descriptors[HARNESS_MAX_NODES];
    pid_t pid[HARNESS_MAX_NODES];
    uint8_t address[HARNESS_MAX_NODES][4096];
    size_t address_size[HARNESS_MAX_NODES];
} * shared;

static void share(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
}

static void show_address(struct harness_node *node)
{
    const void *address;

    node->transport->address(node->net, &address,
                             &shared->address_size[node->self]);
    memcpy(shared->address[node->self], address,
           shared->address_size[node->self]);
    shared->pid[node->self] = getpid();
    harness_barrier(node);
}

static unsigned n_descriptors(void)
{
    DIR *files = opendir("/proc/self/fd");
    unsigned n = 0;

    harness_check(files != NULL);
    while (readdir(files) != NULL) {
        n++;
    }
    closedir(files);
    return n;
}

static void send_one(struct harness_node *node, node_id to)
{
    const struct message message = {.type = MESSAGE_thread_stack};

    node->transport->send(node->net, to, &message);
}

/** From one to another, which waits for it. */
static void pass_one(struct harness_node *node, node_id from, node_id to)
{
    if (node->self == from) {
        send_one(node, to);
    } else if (node->self == to) {
        *(int *)node->state = 0;
        harness_wait(node, node->state, 0);
    }
    harness_barrier(node);
}

static void count_connections(struct harness_node *node)
{
    const unsigned before = n_descriptors();
    static int has_come;

    node->state = &has_come;
    node->receive = note_arrival;
    shared->n_descriptors[node->self] = before;
    harness_barrier(node);
    pass_one(node, 0, 1); // connected since the start
    harness_check(n_descriptors() == before);
    for (unsigned i = 0; i < 2; i++) {
        pass_one(node, 0, 3);
        harness_check(n_descriptors() == before + (node->self == 0));
    }
    pass_one(node, 2, 0);
    harness_check(n_descriptors() ==
                  before + (node->self == 0 || node->self == 2));
    harness_barrier(node);
    node->transport->close(node->net);
}

static void nodes_connect_when_they_have_something_to_say(void **unused)
{
    unsigned of_four;

    (void)unused;
    use_shared_memory();
    share();
    assert_all_ended_well(
        harness_run(&transport_ucx, 4, count_connections, NULL), 4);
    of_four = shared->n_descriptors[2];
    assert_all_ended_well(
        harness_run(&transport_ucx, 8, count_connections, NULL), 8);
    assert_int_equal(shared->n_descriptors[2], of_four);
    munmap(shared, sizeof *shared);
}

static struct {
    unsigned n;
    node_id node;
    char why[64];
} losses;

static void note_loss(struct harness_node *node, enum net_event event,
                      node_id about, const char *why)
{
    (void)node;
    harness_check(event == NET_PEER_LOST);
    losses.n++;
    losses.node = about;
    snprintf(losses.why, sizeof losses.why, "%s", why);
}

/** The program has opened all files that it may. @return what to give it back */
static struct rlimit use_up_descriptors(void)
{
    const int next = dup(0);
    struct rlimit before;
    struct rlimit limit;

    harness_check(next >= 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
    close(next);
    limit = (struct rlimit){(rlim_t)next, before.rlim_max};
    harness_check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return before;
}

static void check_loss(struct harness_node *node, unsigned n, const char *why)
{
    harness_check(losses.n == n - 1); // by progress() only
    harness_check(!node->transport->arm(node->net));
    for (unsigned i = 0; i < 3; i++) {
        node->transport->progress(node->net);
    }
    harness_check(losses.n == n && losses.node == 2);
    harness_check(strcmp(losses.why, why) == 0);
    harness_check(node->transport->n_unsent(node->net) == 0);
}

static void add_again(struct harness_node *node, node_id number, node_id who)
{
    const struct net_place place = {.address = shared->address[who],
                                    .size = shared->address_size[who]};
    char why[256];

    if (node->self == 0) {
        node->transport->remove_peer(node->net, number);
        harness_check(node->transport->add_peer(node->net, number, &place, why,
                                                sizeof why) == TM_OK);
    }
}

// Node 0 loses node 2, and goes on with others, and with one that comes in its place.
static void run_out_of_descriptors(struct harness_node *node)
{
    static int has_come;

    node->state = &has_come;
    node->receive = note_arrival;
    node->event = note_loss;
    show_address(node);
    if (node->self == 0) {
        const struct rlimit before = use_up_descriptors();

        send_one(node, 2);
        harness_check(setrlimit(RLIMIT_NOFILE, &before) == 0);
        check_loss(node, 1, "Too many open files");
        send_one(node, 2);
    }
    harness_barrier_with_progress(node);
    harness_check(!has_come);
    pass_one(node, 0, 3);
    add_again(node, 2, 2);
    pass_one(node, 0, 2);
    harness_check(losses.n == (node->self == 0));
    node->transport->close(node->net);
}

static void who_cannot_connect_is_told_so(void **unused)
{
    (void)unused;
    use_shared_memory();
    share();
    assert_all_ended_well(
        harness_run(&transport_ucx, 4, run_out_of_descriptors, NULL), 4);
    munmap(shared, sizeof *shared);
}

// A long message needs more of the other's memory than the connection does.
static void run_out_when_connected(struct harness_node *node)
{
    static uint8_t body[20000];
    const struct message message = {
        .type = MESSAGE_thread_stack, .body = body, .body_size = sizeof body};
    static int has_come;

    node->state = &has_come;
    node->receive = note_arrival;
    node->event = note_loss;
    pass_one(node, 0, 2);
    if (node->self == 0) {
        const struct rlimit before = use_up_descriptors();

        node->transport->send(node->net, 2, &message);
        for (unsigned i = 0; i < 100; i++) {
            node->transport->progress(node->net);
        }
        harness_check(setrlimit(RLIMIT_NOFILE, &before) == 0);
        harness_check(losses.n == 1 && losses.node == 2);
        harness_check(node->transport->n_unsent(node->net) == 0);
        send_one(node, 2);
    }
    harness_barrier(node);
    node->transport->close(node->net);
}

static void who_can_send_no_more_is_told_so(void **unused)
{
    (void)unused;
    use_shared_memory();
    assert_all_ended_well(
        harness_run(&transport_ucx, 3, run_out_when_connected, NULL), 3);
}

// One number is another node's, before anything is sent there and after.
static void use_a_number_again(struct harness_node *node)
{
    static int has_come;

    node->state = &has_come;
    node->receive = note_arrival;
    show_address(node);
    add_again(node, 2, 3);
    if (node->self == 0) {
        send_one(node, 2);
    } else if (node->self == 3) {
        harness_wait(node, &has_come, 0);
    }
    harness_barrier(node);
    harness_check(has_come == (node->self == 3));
    add_again(node, 2, 2);
    pass_one(node, 0, 2);
    add_again(node, 2, 2); // nothing is sent there any more
    if (node->self == 0) {
        node->transport->remove_peer(node->net, 2);
        send_one(node, 2);
    }
    harness_barrier(node);
    node->transport->close(node->net);
}

static void a_number_leads_to_who_has_it_now(void **unused)
{
    (void)unused;
    use_shared_memory();
    share();
    assert_all_ended_well(
        harness_run(&transport_ucx, 4, use_a_number_again, NULL), 4);
    munmap(shared, sizeof *shared);
}

// Nobody need have waited for it.
static void wait_until_gone(pid_t pid)
{
    uint64_t deadline = harness_deadline_ns(20000);
    char file[64];

    snprintf(file, sizeof file, "/proc/%d/fd/0", (int)pid);
    while (access(file, F_OK) == 0) {
        harness_check(clock_now_ns() < deadline);
        usleep(1000);
    }
}

// Who is alive is decided elsewhere.
static void send_first_to_a_dead_node(struct harness_node *node)
{
    static int has_come;

    node->state = &has_come;
    node->receive = note_arrival;
    node->event = note_loss;
    show_address(node);
    if (node->self == 2) {
        raise(SIGKILL);
    }
    wait_until_gone(shared->pid[2]);
    if (node->self == 0) {
        send_one(node, 2);
        get_armed(node);
        harness_check(losses.n == 0);
        harness_check(node->transport->n_unsent(node->net) == 0);
        send_one(node, 1);
    } else {
        harness_wait(node, &has_come, 1);
    }
    node->transport->close(node->net);
}

static void who_has_ended_before_it_was_needed_does_no_harm(void **unused)
{
    struct harness_result result;

    (void)unused;
    use_shared_memory();
    share();
    result = harness_run(&transport_ucx, 3, send_first_to_a_dead_node, NULL);
    assert_int_equal(result.code[0], 0);
    assert_int_equal(result.code[1], 0);
    assert_int_equal(result.code[2], 128 + SIGKILL);
    munmap(shared, sizeof *shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_nodes_exchange_20000_messages_in_order_and_intact),
        cmocka_unit_test(the_longest_messages_arrive_intact),
        cmocka_unit_test(four_nodes_exchange_messages_all_to_all_asleep),
        cmocka_unit_test(an_armed_node_is_woken_by_a_message),
        cmocka_unit_test(who_looks_is_not_woken),
        cmocka_unit_test(who_is_sent_nothing_is_not_rung),
        cmocka_unit_test(long_frames_wake_who_sleeps),
        cmocka_unit_test(pieces_that_have_gone_are_steps),
        cmocka_unit_test(a_killed_peer_does_no_harm_and_leaves_nothing),
        cmocka_unit_test(segments_are_made_in_the_folder_of_the_run),
        cmocka_unit_test(close_pushes_out_what_is_queued),
        cmocka_unit_test(nodes_connect_when_they_have_something_to_say),
        cmocka_unit_test(who_cannot_connect_is_told_so),
        cmocka_unit_test(who_can_send_no_more_is_told_so),
        cmocka_unit_test(a_number_leads_to_who_has_it_now),
        cmocka_unit_test(who_has_ended_before_it_was_needed_does_no_harm),
    };

    return cmocka_run_group_tests(tests, start_tests, end_tests);
}
