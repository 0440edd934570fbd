// SPDX-License-Identifier: BSD-3-Clause
//
// Two processes, each with one end of the transport, connected as nodes are. The
// child answers, asleep between messages as the service thread of an idle node is,
// until the socket between the two is closed: so it ends also if the parent is
// killed. A wait ends with the deadline.
#include "neighbour.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/transport.h"
#include "observe/probe.h"
#include "os/kthread.h"

#define PATIENCE_NS (5ull * 1000 * 1000 * 1000)
#define ADDRESS_MAX 4096u

struct end {
    struct net *net;
    struct port port;
    struct probe probe;
    int socket;
    int is_over;
    uint64_t deadline_ns;
};

static void send_message(void *owner, node_id to, const struct message *message)
{
    struct end *end = owner;

    transport_ucx.send(end->net, to, message);
}

static uint64_t now_ns(void *owner)
{
    (void)owner;
    return clock_now_ns();
}

static void receive(void *owner, node_id from, const struct message *message)
{
    struct end *end = owner;
    int is_over = 0;

    if (message->type == MESSAGE_probe &&
        probe_receive(&end->probe, &end->port, from, message, &is_over) ==
            TM_OK) {
        end->is_over |= is_over;
    }
}

static int transfer(int fd, void *bytes, size_t size, int is_out)
{
    char *at = bytes;

    while (size > 0) {
        ssize_t done =
            is_out ? send(fd, at, size, MSG_NOSIGNAL) : recv(fd, at, size, 0);

        if (done <= 0) {
            return 0;
        }
        at += done;
        size -= (size_t)done;
    }
    return 1;
}

/** Give the other process bytes, take as many of it. */
static int swap_bytes(int fd, void *own, void *other, size_t size)
{
    return transfer(fd, own, size, 1) && transfer(fd, other, size, 0);
}

static tm_status connect_end(struct end *end)
{
    struct {
        uint32_t size;
        uint8_t bytes[ADDRESS_MAX];
    } own = {0}, other;
    struct net_place places[2] = {{0}};
    const void *address;
    size_t size;
    node_id self = end->port.self;
    tm_status status;
    char why[256];

    transport_ucx.address(end->net, &address, &size);
    if (size > ADDRESS_MAX) {
        return TM_ELIMIT;
    }
    own.size = (uint32_t)size;
    memcpy(own.bytes, address, size);
    if (!swap_bytes(end->socket, &own, &other, sizeof own)) {
        return TM_EPEER;
    }
    places[1 - self].address = other.bytes;
    places[1 - self].size = other.size;
    status = transport_ucx.connect(end->net, places, NULL, why, sizeof why);
    if (status != TM_OK) {
        log_error("%s", why);
    }
    return status;
}

static tm_status open_end(struct end *end, node_id self, int socket)
{
    char ready = 1;
    tm_status status;

    *end = (struct end){
        .port = {.self = self,
                 .owner = end,
                 .send = send_message,
                 .now_ns = now_ns},
        .socket = socket,
        .deadline_ns = clock_now_ns() + PATIENCE_NS,
    };
    roster_init(&end->port.roster, 2);
    status = transport_ucx.open(&end->net, &(struct net_config){
                                               .self = self,
                                               .n_nodes = 2,
                                               .n_here = 2,
                                               .receive = receive,
                                               .owner = end,
                                           });
    if (status != TM_OK) {
        return status;
    }
    status = connect_end(end);
    if (status == TM_OK && !swap_bytes(socket, &ready, &ready, 1)) {
        status = TM_EPEER;
    }
    if (status != TM_OK) {
        transport_ucx.close(end->net);
    }
    return status;
}

/** Handle messages until the probe is over, or the other process has gone. */
static void serve(struct end *end)
{
    struct pollfd fds[2] = {
        {.fd = transport_ucx.wait_fd(end->net), .events = POLLIN},
        {.fd = end->socket, .events = POLLIN},
    };

    while (!end->is_over && fds[1].revents == 0 &&
           clock_now_ns() < end->deadline_ns) {
        if (transport_ucx.progress(end->net) == 0 &&
            transport_ucx.arm(end->net)) {
            poll(fds, 2, 100);
        }
    }
}

static _Noreturn void be_neighbour(int socket)
{
    struct end end;

    if (open_end(&end, 1, socket) == TM_OK) {
        (void)kthread_hurry(pthread_self()); // as service threads, if permitted
        serve(&end);
        transport_ucx.close(end.net);
    }
    _exit(0);
}

static tm_status ask_neighbour(int socket, struct node_costs *costs)
{
    struct end end;
    tm_status status = open_end(&end, 0, socket);

    if (status != TM_OK) {
        return status;
    }
    (void)kthread_hurry(pthread_self());
    probe_start(&end.probe, &end.port, 1);
    serve(&end);
    kthread_calm(pthread_self());
    if (end.is_over) {
        probe_result(&end.probe, costs);
    }
    transport_ucx.close(end.net);
    return end.is_over ? TM_OK : TM_EPEER;
}

tm_status neighbour_measure(struct node_costs *costs)
{
    int sockets[2];
    pid_t child;
    tm_status status;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        log_error("cannot make a pair of sockets: %m");
        return TM_ESYSTEM;
    }
    child = fork();
    if (child == 0) {
        close(sockets[0]);
        be_neighbour(sockets[1]);
    }
    close(sockets[1]);
    if (child < 0) {
        log_error("cannot make a process: %m");
        close(sockets[0]);
        return TM_ESYSTEM;
    }
    status = ask_neighbour(sockets[0], costs);
    close(sockets[0]);
    waitpid(child, NULL, 0);
    return status;
}
