// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_TCP_H
#define NET_TCP_H

#include "net/inbox.h"
#include "net/transport.h"

/*
 * The wire between hosts: one connection of TCP for each pair of nodes. tcp.c says
 * how. Used inside of net/ only; all calls under the node lock.
 */
struct tcp;

/** Listen, unless the device is NULL: then others are connected to, only.
 * @param inbox, pool  outlive it; what arrives is delivered to the inbox
 * @return as open() of a transport; TM_EBUSY: no port can be had */
TM_CHECKED tm_status tcp_open(struct tcp **tcp, const struct net_config *config,
                              struct inbox *inbox, struct frame_pool *pool);

/** Push out what is queued, until a time, say goodbye and free all. */
void tcp_close(struct tcp *tcp, uint64_t deadline_ns);

/** @param[out] bytes  [TCP_PLACE_MAX]  where it listens
 * @return the bytes of that */
size_t tcp_address(const struct tcp *tcp, uint8_t *bytes);

/** Take the job's key: before the first tcp_add(). @return as seals_new() */
TM_CHECKED tm_status tcp_take_key(struct tcp *tcp, const uint8_t *job_key);

/** As add_peer() of a transport. */
TM_CHECKED tm_status tcp_add(struct tcp *tcp, node_id node, const void *address,
                             size_t size, int comes);

/** Wait until all that have been added are connected, at most 10 s. Delivers nothing.
 * @param[out] why  [room]  on failure
 * @return TM_OK, TM_EPEER */
TM_CHECKED tm_status tcp_meet(struct tcp *tcp, char *why, size_t room);

/* As the slots of a transport. */
void tcp_remove(struct tcp *tcp, node_id node);
void tcp_set_epoch(struct tcp *tcp, uint32_t epoch);
void tcp_send(struct tcp *tcp, node_id to, const struct message *message);
void tcp_progress(struct tcp *tcp);

/** Must progress be called before anything arrives? */
int tcp_is_restless(const struct tcp *tcp);

/** Readable while something is to be done, without any preparation. */
int tcp_fd(const struct tcp *tcp);

#endif
