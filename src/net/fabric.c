// SPDX-License-Identifier: BSD-3-Clause
//
// UCX between hosts, --fabric=ucx: for networks whose hosts are all trusted. UCX checks
// nobody and encrypts nothing; what it has to offer is RDMA, where that is there. Each node
// has a worker with the network's transports, besides that for its own host, and a *path* to
// each node of another host: an endpoint, and frames of which fabric_frames.c tells.
//
// As over TCP one of two nodes is told to connect to the other (`comes` of net_place). Its
// hello, the first frame, carries its worker's address, by which the other makes its endpoint
// and answers with its own. So two nodes never connect to each other at the same moment,
// and a node can be added to others that had no worker of this kind when it started.
//
//   state        until                                        then
//   ABSENT       add                                          AWAITED, ASKING
//   AWAITED      its hello has come, and is answered          UP
//   ASKING       the answer to the hello is there             UP
//   these two    CONNECT_S have passed                        LOST
//   UP           UCX says that the endpoint has failed        LOST
//   UP           remove                                       FENCED
//   FENCED       UCX says that the endpoint has failed        LOST
//   LOST         add                                          as from ABSENT
//
// Endpoints are in error mode PEER: UCX tells of a connection that has ended, which over TCP
// is when the other process does. It cannot tell that of a host that is cut off, and not
// all transports do: who is alive is decided by signs of life. Endpoints are closed with
// the worker and not before, so what waited for a node that is lost is forgotten, not
// freed. A child of fork() has the connections, too, until it calls exec*(): with one that
// does not, its parent's death is heard of by silence only.
//
// What UCX tells of a path in a call is noted there, and acted upon when UCX has returned:
// no endpoint is made inside of a call.
//
// E1  Deadlines are in time in which this node did poll (time_ns).
// E2  One that takes nothing while FULL_BYTES wait is lost after FULL_NS.
// E3  One is lost if more waits for all than there is memory for: the one for which most
//     does.
// E4  An end that was announced by a goodbye, or is that of a removed node, is no loss.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "net/digest.h"
#include "net/fabric_priv.h"
#include "net/tcp_socket.h"
#include "os/kthread.h"

/** How often progress lets UCX poll, at most: other work must get its turn. */
#define N_POLLS 32

/** The most that a poll counts for: E1. */
#define POLL_NS 200000000u

/** How long a node has to answer. */
#define CONNECT_S 10u

/** When a node that takes nothing is lost: E2. */
#define FULL_BYTES (UINT64_C(64) << 20)
#define FULL_NS UINT64_C(3000000000)

// ---- paths ----

node_id path_number(const struct path *path)
{
    return (node_id)(path - path->fabric->paths);
}

static void set_state(struct path *path, enum path_state state)
{
    path->fabric->n_timed += (unsigned)path_is_timed(state);
    path->fabric->n_timed -= (unsigned)path_is_timed(path->state);
    path->state = state;
}

void path_tell(struct path *path, enum net_event event, const char *why)
{
    path->fabric->n_events += !path->has_event;
    path->has_event = 1;
    path->event = event;
    snprintf(path->why, sizeof path->why, "%s", why);
}

static void forget_event(struct path *path)
{
    path->fabric->n_events -= (unsigned)path->has_event;
    path->has_event = 0;
}

static void lose_path(struct path *path, const char *why)
{
    int is_event = path->state != PATH_FENCED && !path->has_said_bye; // E4

    log_debug("the path to node %u ends: %s", path_number(path), why);
    path_forget(path);
    set_state(path, PATH_LOST);
    if (is_event) {
        path_tell(path, NET_PEER_LOST, why);
    }
}

static void endpoint_has_failed(void *owner, ucp_ep_h endpoint,
                                ucs_status_t status)
{
    struct path *path = owner;

    if (endpoint == path->endpoint) { // else there is another one by now
        path->failure = status;
        path->fabric->has_news = 1;
    }
}

static tm_status connect_path(struct path *path, const void *address,
                              size_t size)
{
    const ucp_err_handler_t failed = {.cb = endpoint_has_failed, .arg = path};
    struct wire *wire = &path->fabric->wire;
    ucs_status_t result = UCS_OK;
    tm_status status =
        wire_connect(wire, address, size, &failed, &path->endpoint, &result);

    if (status == TM_EPEER) {
        log_debug("no endpoint to node %u: %s", path_number(path),
                  wire->ucx.ucs_status_string(result));
    }
    return status;
}

static void say_hello(struct path *path)
{
    const struct wire *wire = &path->fabric->wire;

    path_send_text(path, FABRIC_HELLO, wire->address, wire->address_size);
}

// ---- opening and closing ----

static tm_status open_wire(struct fabric *fabric,
                           const struct net_config *config)
{
    const struct ucx_request request = {
        .reach = UCX_BETWEEN_HOSTS,
        .n_nodes = config->n_nodes,
        .has_drivers = 1,
        .device = config->device,
        .first_port = config->first_port,
        .last_port = config->last_port,
    };
    tm_status status;

    fabric->wire.owner = fabric;
    status = wire_open(&fabric->wire, &request, fabric_frame_has_come);
    if (status == TM_OK && fabric->wire.address_size > BETWEEN_PLACE_MAX) {
        log_error("UCX's address has %zu bytes, and %u is the most: "
                  "UCX_NET_DEVICES with fewer devices makes it shorter",
                  fabric->wire.address_size, BETWEEN_PLACE_MAX);
        wire_close(&fabric->wire);
        status = TM_ESYSTEM;
    }
    return status;
}

static tm_status open_fabric(void **end, const struct net_config *config,
                             struct inbox *inbox, struct frame_pool *pool)
{
    struct fabric *fabric =
        calloc(1, sizeof *fabric + config->n_nodes * sizeof(struct path));
    tm_status status;

    (void)
        pool; // UCX keeps frames until they have gone: by their pool it is found whose
    if (fabric == NULL) {
        log_error("no memory for the paths to %u nodes", config->n_nodes);
        return TM_ENOMEM;
    }
    fabric->inbox = inbox;
    fabric->event = config->event;
    fabric->owner = config->owner;
    fabric->self = config->self;
    fabric->n_nodes = config->n_nodes;
    fabric->timeout_s = config->timeout_s;
    fabric->most_waiting = config->most_waiting;
    frame_pool_init(&fabric->pool);
    status = open_wire(fabric, config);
    if (status != TM_OK) {
        free(fabric);
        return status;
    }
    *end = fabric;
    return TM_OK;
}

static void poll_worker(struct fabric *fabric)
{
    const struct wire *wire = &fabric->wire;

    unsigned polls = 0;

    while (polls < N_POLLS &&
           wire->ucx.ucp_worker_progress(wire->worker) != 0) {
        polls++;
    }
    fabric->n_steps += polls > 0 && fabric->n_unsent > 0;
}

/** Until all that was queued for nodes that take it has gone, or a time. */
static void push_out(struct fabric *fabric, uint64_t deadline_ns)
{
    poll_worker(fabric);
    while (fabric->n_unsent > 0 && clock_now_ns() < deadline_ns) {
        kthread_sleep_until(clock_now_ns() + 200000);
        poll_worker(fabric);
    }
}

static void free_path(struct path *path)
{
    order_release(&path->order);
}

static void close_fabric(void *end, uint64_t deadline_ns)
{
    struct fabric *fabric = end;

    fabric->is_closing = 1;
    for (unsigned i = 0; i < fabric->n_begun; i++) {
        if (fabric->paths[i].state == PATH_UP) {
            path_send_text(&fabric->paths[i], FABRIC_BYE, NULL, 0);
        }
    }
    push_out(fabric, deadline_ns);
    wire_close(&fabric->wire);
    for (unsigned i = 0; i < fabric->n_begun; i++) {
        free_path(&fabric->paths[i]);
    }
    frame_pool_release(&fabric->pool);
    free(fabric);
}

static size_t write_address(const void *end, uint8_t *bytes)
{
    const struct wire *wire = &((const struct fabric *)end)->wire;

    memcpy(bytes, wire->address, wire->address_size);
    return wire->address_size;
}

static tm_status take_key(void *end, const uint8_t *job_key)
{
    struct fabric *fabric = end;
    struct wire_reader reader;
    uint8_t digest[DIGEST_SIZE];
    struct digests *digests;
    tm_status status = digests_open(&digests);

    if (status != TM_OK) {
        return status;
    }
    digest_of(digests, 0, job_key, 32, digest);
    digests_close(digests);
    reader = wire_read(digest, sizeof digest);
    fabric->run = wire_get_u32(&reader);
    ucx_note_descriptors(&fabric->before);
    return TM_OK;
}

// ---- members ----

// Of most nodes that there may be nothing is ever heard: their paths are memory that is
// never touched.
static struct path *begun_path(struct fabric *fabric, node_id node)
{
    ensure(node < fabric->n_nodes && node != fabric->self);
    while (fabric->n_begun <= node) {
        struct path *path = &fabric->paths[fabric->n_begun++];

        path->fabric = fabric;
        order_init(&path->order);
    }
    return &fabric->paths[node];
}

/** Forget what there was under this number. */
static void renew_path(struct path *path)
{
    order_release(&path->order);
    forget_event(path);
    path_count_again(path);
    path->endpoint = NULL;
    path->sent = 0;
    path->is_heard = 0;
    path->is_open = 0;
    path->has_said_bye = 0;
    path->failure = UCS_OK;
    path->since = path->fabric->epoch;
    path->begun_ns = path->fabric->time_ns;
}

static tm_status add_node(void *end, node_id node, const void *address,
                          size_t size, int comes)
{
    struct path *path = begun_path(end, node);
    tm_status status = TM_OK;

    renew_path(path);
    if (!comes) {
        status = connect_path(path, address, size);
    }
    if (status == TM_OK) {
        set_state(path, comes ? PATH_AWAITED : PATH_ASKING);
    }
    if (status == TM_OK && !comes) {
        say_hello(path);
    }
    return status;
}

static void remove_node(void *end, node_id node)
{
    struct path *path = begun_path(end, node);

    path->since = path->fabric->epoch;
    if (path->state == PATH_UP && !path->has_said_bye) {
        path_send_text(path, FABRIC_FENCED, NULL, 0);
        set_state(path, PATH_FENCED);
    } else if (path->state != PATH_FENCED) {
        path_forget(path);
        set_state(path, PATH_ABSENT);
    }
    forget_event(path);
}

static void set_epoch(void *end, uint32_t epoch)
{
    struct fabric *fabric = end;

    ensure(epoch >= fabric->epoch);
    fabric->epoch = epoch;
}

static void send_message(void *end, node_id to, const struct message *message)
{
    struct fabric *fabric = end;
    struct path *path = &fabric->paths[to];

    ensure(to < fabric->n_nodes && to != fabric->self);
    if ((path->state == PATH_UP || path->state == PATH_ASKING) &&
        path->failure == UCS_OK) {
        path_send(path, message);
    }
}

// ---- progress ----

/** Its hello has come. */
static void make_up(struct path *path)
{
    const struct frame *hello = path->hello;
    int is_met = path->state == PATH_ASKING ||
                 connect_path(path, hello->bytes + FABRIC_LABEL,
                              hello->size - FABRIC_LABEL) == TM_OK;

    if (!is_met) {
        lose_path(path, "UCX finds no way to it");
        return;
    }
    if (path->state == PATH_AWAITED) {
        say_hello(path);
    }
    set_state(path, PATH_UP);
    if (!path->fabric->is_meeting) {
        path_tell(path, NET_PEER_UP, "");
    }
}

static void tell_transports(const struct path *path)
{
    char text[256];

    wire_transports(&path->fabric->wire, path->endpoint, text, sizeof text);
    log_debug("node %u is reached with UCX by %s", path_number(path),
              text[0] != '\0' ? text : "transports that it does not name");
}

static void look_at_path(struct path *path)
{
    if (path->hello != NULL) {
        if (path_is_timed(path->state)) {
            make_up(path);
        }
        frame_put(path->hello);
        path->hello = NULL;
    }
    if (path->state == PATH_UP && path->is_heard && !path->is_open &&
        !path->fabric->is_meeting) {
        tell_transports(path);
        path_open(path);
    }
    if (path->failure != UCS_OK && path->state != PATH_LOST &&
        path->state != PATH_ABSENT) {
        lose_path(path,
                  path->fabric->wire.ucx.ucs_status_string(path->failure));
    }
}

// What is delivered of one path may change another.
static void look_at_news(struct fabric *fabric)
{
    while (fabric->has_news) {
        fabric->has_news = 0;
        for (unsigned i = 0; i < fabric->n_begun; i++) {
            look_at_path(&fabric->paths[i]);
        }
    }
}

static void check_path(struct path *path)
{
    const uint64_t time_ns = path->fabric->time_ns;
    char why[sizeof path->why];

    if (path_is_timed(path->state) &&
        time_ns - path->begun_ns >= CONNECT_S * UINT64_C(1000000000)) {
        snprintf(why, sizeof why,
                 "it does not answer over UCX within %u s: are UCX_TLS and "
                 "UCX_NET_DEVICES right for all hosts (UCX_LOG_LEVEL=info says "
                 "more), does a firewall forbid it (--port-range)?",
                 CONNECT_S);
        lose_path(path, why);
    } else if (path->state == PATH_UP && path->waiting >= FULL_BYTES &&
               time_ns - path->taken_ns > FULL_NS) {
        snprintf(why, sizeof why, "it takes nothing, and %llu MiB wait for it",
                 (unsigned long long)(path->waiting >> 20));
        lose_path(path, why);
    }
}

static struct path *find_fullest(struct fabric *fabric)
{
    struct path *found = NULL;

    for (unsigned i = 0; i < fabric->n_begun; i++) {
        struct path *path = &fabric->paths[i];

        if (!path->is_forgotten &&
            (found == NULL || path->waiting > found->waiting)) {
            found = path;
        }
    }
    return found;
}

static void check_waiting(struct fabric *fabric)
{
    struct path *path;
    char why[sizeof path->why];

    if (fabric->most_waiting == 0 || fabric->waiting <= fabric->most_waiting) {
        return;
    }
    path = find_fullest(fabric);
    ensure(path != NULL);
    snprintf(
        why, sizeof why,
        "it takes too little: %llu MiB wait for it, and there is no memory "
        "for more",
        (unsigned long long)(path->waiting >> 20));
    lose_path(path, why);
}

static void check_time(struct fabric *fabric)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t passed_ns = now_ns - fabric->polled_ns;

    fabric->time_ns += passed_ns < POLL_NS ? passed_ns : POLL_NS; // E1
    fabric->polled_ns = now_ns;
    for (unsigned i = 0; i < fabric->n_begun; i++) {
        check_path(&fabric->paths[i]);
    }
    check_waiting(fabric);
}

static void poll_all(struct fabric *fabric)
{
    poll_worker(fabric);
    if (fabric->has_news) {
        look_at_news(fabric);
    }
    if (fabric->n_timed > 0 || fabric->waiting >= FULL_BYTES ||
        (fabric->most_waiting > 0 && fabric->waiting > fabric->most_waiting)) {
        check_time(fabric);
    }
}

static void tell_events(struct fabric *fabric)
{
    for (unsigned i = 0; i < fabric->n_begun && fabric->n_events > 0; i++) {
        struct path *path = &fabric->paths[i];

        if (path->has_event) {
            forget_event(path);
            fabric->event(fabric->owner, path->event, (node_id)i, path->why);
        }
    }
}

static void make_progress(void *end)
{
    struct fabric *fabric = end;

    poll_all(fabric);
    if (fabric->n_events > 0) {
        tell_events(fabric);
    }
}

static int arm_end(void *end)
{
    const struct fabric *fabric = end;

    return !fabric->has_news && fabric->n_events == 0 &&
           fabric->wire.ucx.ucp_worker_arm(fabric->wire.worker) == UCS_OK;
}

static int fd_of_end(const void *end)
{
    return wire_fd(&((const struct fabric *)end)->wire);
}

static unsigned count_unsent(const void *end)
{
    return ((const struct fabric *)end)->n_unsent;
}

static uint64_t count_steps(const void *end)
{
    return ((const struct fabric *)end)->n_steps;
}

// ---- meeting ----

/** @return one that is lost; NULL: none */
static const struct path *find_lost(const struct fabric *fabric)
{
    for (unsigned i = 0; i < fabric->n_begun; i++) {
        if (fabric->paths[i].has_event) {
            return &fabric->paths[i];
        }
    }
    return NULL;
}

static tm_status meet_all(void *end, char *why, size_t room)
{
    struct fabric *fabric = end;
    const struct path *lost = NULL;

    fabric->is_meeting = 1;
    while (fabric->n_timed > 0 && lost == NULL) {
        poll_all(fabric);
        lost = find_lost(fabric);
        kthread_sleep_until(clock_now_ns() + 100000);
    }
    fabric->is_meeting = 0;
    if (lost != NULL) {
        snprintf(why, room, "no connection to node %u: %s", path_number(lost),
                 lost->why);
        return TM_EPEER;
    }
    // Of TCP: a cable that is soon back does no harm.
    ucx_settle_new_descriptors(&fabric->before, tcp_settle, fabric->timeout_s);
    fabric->has_news = 1; // all are to be opened
    return TM_OK;
}

const struct between between_ucx = {
    .needs_drivers = 1,
    .open = open_fabric,
    .close = close_fabric,
    .address = write_address,
    .take_key = take_key,
    .add = add_node,
    .meet = meet_all,
    .remove = remove_node,
    .set_epoch = set_epoch,
    .send = send_message,
    .progress = make_progress,
    .arm = arm_end,
    .fd = fd_of_end,
    .n_unsent = count_unsent,
    .n_steps = count_steps,
};
