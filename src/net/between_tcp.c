// SPDX-License-Identifier: BSD-3-Clause
//
// TCP (net/tcp.h) as a wire between hosts.
#include "base/ensure.h"
#include "net/address.h"
#include "net/between.h"
#include "net/tcp.h"
#include "net/tcp_socket.h"

static tm_status open_end(void **end, const struct net_config *config,
                          struct inbox *inbox, struct frame_pool *pool)
{
    struct tcp *tcp;
    tm_status status = tcp_open(&tcp, config, inbox, pool);

    if (status == TM_OK) {
        *end = tcp;
    }
    return status;
}

static void close_end(void *end, uint64_t deadline_ns)
{
    tcp_close(end, deadline_ns);
}

static size_t write_address(const void *end, uint8_t *bytes)
{
    uint8_t place[TCP_PLACE_MAX];
    size_t size = tcp_address(end, place);

    ensure(address_wrapped_size(size) <= BETWEEN_PLACE_MAX);
    address_wrap(place, size, bytes);
    return address_wrapped_size(size);
}

static tm_status take_key(void *end, const uint8_t *job_key)
{
    return tcp_take_key(end, job_key);
}

static tm_status add_node(void *end, node_id node, const void *address,
                          size_t size, int comes)
{
    const void *place = comes ? NULL : address_unwrap(address, size);

    if (!comes && place == NULL) {
        return TM_EWIRE;
    }
    return tcp_add(end, node, place, comes ? 0 : size - address_wrapped_size(0),
                   comes);
}

static tm_status meet_all(void *end, char *why, size_t room)
{
    return tcp_meet(end, why, room);
}

static void remove_node(void *end, node_id node)
{
    tcp_remove(end, node);
}

static void set_epoch(void *end, uint32_t epoch)
{
    tcp_set_epoch(end, epoch);
}

static void send_message(void *end, node_id to, const struct message *message)
{
    tcp_send(end, to, message);
}

static void make_progress(void *end)
{
    tcp_progress(end);
}

static int arm_end(void *end)
{
    return !tcp_is_restless(end);
}

static int fd_of_end(const void *end)
{
    return tcp_fd(end);
}

static unsigned count_unsent(const void *end)
{
    (void)end;
    return 0; // its descriptor tells
}

static uint64_t count_steps(const void *end)
{
    (void)end;
    return 0;
}

const struct between between_tcp = {
    .open = open_end,
    .close = close_end,
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
