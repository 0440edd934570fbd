// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_TCP_SOCKET_H
#define NET_TCP_SOCKET_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/status.h"

/*
 * Sockets of TCP: addresses, listening, connecting, settings.
 */

/** An address with its port. */
struct tcp_place {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name;
    socklen_t size; ///< 0: none
};

/** The most bytes of an encoded place. */
#define TCP_PLACE_MAX 19u

/** Room for the text of any place. */
#define TCP_PLACE_TEXT 64u

/** "10.0.0.1:4711", or "[fd00::1]:4711". @param[out] text  [TCP_PLACE_TEXT] */
void tcp_place_text(const struct tcp_place *place, char *text);

/** @param[out] bytes  [TCP_PLACE_MAX]  @return the bytes that it takes */
size_t tcp_place_encode(const struct tcp_place *place, uint8_t *bytes);

/** Accepts any bytes. @return TM_OK, TM_EWIRE */
TM_CHECKED tm_status tcp_place_decode(const void *bytes, size_t size,
                                      struct tcp_place *place);

/** Ports that may be used; 0 to 0: the system chooses. */
struct tcp_ports {
    uint16_t first;
    uint16_t last;
    int is_open_within; ///< for connections from this host, too
};

/**
 * Listen on the address of one network card, for connections that come by it.
 *
 * @param[out] place  where
 * @param[out] fd     does not block, is not inherited
 * @return TM_OK
 * @return TM_EBUSY    no port can be had (logged, with address and reason)
 * @return TM_ESYSTEM  the card has no address (logged)
 * Context: any thread; does not block.
 */
TM_CHECKED tm_status tcp_listen(const char *device,
                                const struct tcp_ports *ports,
                                struct tcp_place *place, int *fd);

/** Begin to connect: when it is done, or has failed, the socket can be written.
 * @return the socket, which does not block and is not inherited; -1: errno */
int tcp_connect(const struct tcp_place *place);

/** @return what a connection that was begun has failed of, as errno; 0: nothing */
int tcp_error(int fd);

/** Settings of a connection: what is sent goes at once, and what is not acknowledged
 * for so long ends it. @param timeout_s  0: the system's time, some 15 minutes */
void tcp_settle(int fd, unsigned timeout_s);

#endif
