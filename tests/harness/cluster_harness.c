// SPDX-License-Identifier: BSD-3-Clause
#include "harness/cluster_harness.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "harness/harness.h"

#define WAIT_S 20
#define RUN_S 30
#define ADDRESS_MAX 4096

/** Shared by all processes of a run. */
struct board {
    uint8_t address[HARNESS_MAX_NODES][ADDRESS_MAX];
    size_t size[HARNESS_MAX_NODES];
    unsigned n_arrived; ///< at barriers, all of them together
};

static struct board *board;

uint64_t harness_random(uint64_t *state)
{
    return random_next(state);
}

void harness_check_at(int holds, const char *expression, const char *file,
                      int line)
{
    if (!holds) {
        fprintf(stderr, "%s:%d: %s does not hold\n", file, line, expression);
        _exit(1);
    }
}

static void wait_for_all(struct harness_node *node, int with_progress)
{
    uint64_t deadline = harness_deadline_ns(WAIT_S * 1000);
    unsigned n_nodes = node->n_nodes;
    unsigned arrived =
        __atomic_add_fetch(&board->n_arrived, 1, __ATOMIC_ACQ_REL);
    unsigned wanted = (arrived + n_nodes - 1) / n_nodes * n_nodes;

    while (__atomic_load_n(&board->n_arrived, __ATOMIC_ACQUIRE) < wanted) {
        harness_check(clock_now_ns() < deadline);
        if (!with_progress || node->transport->progress(node->net) == 0) {
            usleep(100);
        }
    }
}

void harness_barrier(struct harness_node *node)
{
    wait_for_all(node, 0);
}

void harness_barrier_with_progress(struct harness_node *node)
{
    wait_for_all(node, 1);
}

void harness_wait(struct harness_node *node, const volatile int *done,
                  int asleep)
{
    uint64_t deadline = harness_deadline_ns(WAIT_S * 1000);

    while (!*done) {
        if (node->transport->progress(node->net) > 0) {
            continue;
        }
        harness_check(clock_now_ns() < deadline);
        if (asleep && node->transport->arm(node->net) &&
            node->transport->progress(node->net) == 0) {
            struct pollfd wait = {
                .fd = node->transport->wait_fd(node->net),
                .events = POLLIN,
            };

            poll(&wait, 1, 1000);
        }
    }
}

static void receive(void *owner, node_id from, const struct message *message)
{
    struct harness_node *node = owner;

    harness_check(node->receive != NULL);
    node->receive(node, from, message);
}

static void note_event(void *owner, enum net_event event, node_id about,
                       const char *why)
{
    struct harness_node *node = owner;

    if (node->event != NULL) {
        node->event(node, event, about, why);
    }
}

int harness_is_plain;
const struct between *harness_between;

static unsigned host_of(const struct harness_node *node, unsigned number)
{
    return number % node->n_hosts;
}

static struct net_config config_of(struct harness_node *node)
{
    static struct descriptor_set sockets;
    struct net_config config = {
        .self = node->self,
        .n_nodes = node->n_nodes,
        .between = harness_between,
        .device = node->n_hosts > 1 ? "lo" : NULL,
        .is_plain = harness_is_plain,
        .sockets = &sockets,
        .event = note_event,
        .receive = receive,
        .owner = node,
    };

    for (unsigned i = 0; i < node->n_nodes; i++) {
        config.n_here += host_of(node, i) == host_of(node, node->self);
    }
    return config;
}

static void connect_node(struct harness_node *node)
{
    const struct net_config config = config_of(node);
    struct net_place places[HARNESS_MAX_NODES];
    const void *own;
    size_t own_size;
    char why[256];

    harness_check(node->transport->open(&node->net, &config) == TM_OK);
    node->transport->address(node->net, &own, &own_size);
    harness_check(own_size <= ADDRESS_MAX);
    memcpy(board->address[node->self], own, own_size);
    board->size[node->self] = own_size;
    harness_barrier(node);
    for (unsigned i = 0; i < node->n_nodes; i++) {
        places[i] = (struct net_place){
            board->address[i], board->size[i],
            host_of(node, i) != host_of(node, node->self), i < node->self};
    }
    harness_check(node->transport->connect(node->net, places, harness_job_key,
                                           why, sizeof why) == TM_OK);
    harness_barrier(node);
}

static pid_t start_node(struct harness_node *node, harness_body *body)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (node->transport != NULL) {
            connect_node(node);
        }
        body(node);
        // exit() would run the test library's own end.
        fflush(NULL);
        _exit(0);
    }
    return pid;
}

static int end_of(pid_t pid, uint64_t deadline)
{
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (clock_now_ns() > deadline) {
            kill(pid, SIGKILL);
        }
        usleep(500);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct harness_result harness_run(const struct transport *transport,
                                  unsigned n_nodes, harness_body *body,
                                  void *argument)
{
    return harness_run_on_hosts(transport, n_nodes, 1, body, argument);
}

struct harness_result harness_run_on_hosts(const struct transport *transport,
                                           unsigned n_nodes, unsigned n_hosts,
                                           harness_body *body, void *argument)
{
    struct harness_result result = {0};
    pid_t pids[HARNESS_MAX_NODES];
    uint64_t deadline = harness_deadline_ns(RUN_S * 1000);

    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    harness_check(board != MAP_FAILED);
    for (unsigned i = 0; i < n_nodes; i++) {
        struct harness_node node = {
            .transport = transport,
            .self = (node_id)i,
            .n_nodes = n_nodes,
            .n_hosts = n_hosts,
            .argument = argument,
        };

        pids[i] = start_node(&node, body);
        harness_check(pids[i] > 0);
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        result.code[i] = end_of(pids[i], deadline);
    }
    munmap(board, sizeof *board);
    return result;
}
