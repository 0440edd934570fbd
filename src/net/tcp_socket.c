// SPDX-License-Identifier: BSD-3-Clause
//
// Sockets of the wire between hosts. A node listens on the address of one card and,
// where the system allows that (Linux 5.7, or root), for what comes by this card only:
// otherwise a host with two cards would also take what comes by the other.
//
// A cable that is back must be noticed soon. TCP tries again after .2, .4, .8, ... s,
// so a cut of 3 s is survived after 6, when the node has been declared dead. Linux
// 6.15 can be told not to wait for longer than a second; before that, connections with
// little under way can be told not to double the time for the first tries.
#include "net/tcp_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "net/message.h"
#include "os/descriptor.h"
#include "os/unseen.h"

/** Connections that wait to be accepted. */
#define N_WAITING 512

/** The longest time between two tries. The C library may be older than that. */
#define RTO_MAX_MS 1000
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

/** Room for the text of an address without port. */
#define HOST_TEXT INET6_ADDRSTRLEN

// ---- places ----

static int is_v4(const struct tcp_place *place)
{
    return place->name.any.sa_family == AF_INET;
}

static uint16_t port_of(const struct tcp_place *place)
{
    return ntohs(is_v4(place) ? place->name.v4.sin_port
                              : place->name.v6.sin6_port);
}

static void set_port(struct tcp_place *place, unsigned port)
{
    if (is_v4(place)) {
        place->name.v4.sin_port = htons((uint16_t)port);
    } else {
        place->name.v6.sin6_port = htons((uint16_t)port);
    }
}

/** The bytes of the address, without the port. */
static void *address_in(struct tcp_place *place, size_t *size)
{
    *size = is_v4(place) ? sizeof place->name.v4.sin_addr
                         : sizeof place->name.v6.sin6_addr;
    return is_v4(place) ? (void *)&place->name.v4.sin_addr
                        : (void *)&place->name.v6.sin6_addr;
}

void tcp_place_text(const struct tcp_place *place, char *text)
{
    struct tcp_place copy = *place;
    char host[HOST_TEXT] = "?";
    size_t size;

    inet_ntop(place->name.any.sa_family, address_in(&copy, &size), host,
              sizeof host);
    snprintf(text, TCP_PLACE_TEXT, is_v4(place) ? "%s:%u" : "[%s]:%u", host,
             port_of(place));
}

size_t tcp_place_encode(const struct tcp_place *place, uint8_t *bytes)
{
    struct wire_writer writer = {.at = bytes, .end = bytes + TCP_PLACE_MAX};
    struct tcp_place copy = *place;
    size_t size;
    const void *address = address_in(&copy, &size);

    wire_put_u8(&writer, is_v4(place) ? 4 : 6);
    wire_put_u16(&writer, port_of(place));
    wire_put_bytes(&writer, address, size);
    return (size_t)(writer.at - bytes);
}

tm_status tcp_place_decode(const void *bytes, size_t size,
                           struct tcp_place *place)
{
    struct wire_reader reader = {.at = bytes,
                                 .end = (const uint8_t *)bytes + size};
    unsigned version = wire_get_u8(&reader);
    unsigned port = wire_get_u16(&reader);
    void *address;
    size_t address_size;

    *place = (struct tcp_place){.size = sizeof place->name.v6};
    place->name.any.sa_family = AF_INET6;
    if (version == 4) {
        place->size = sizeof place->name.v4;
        place->name.any.sa_family = AF_INET;
    }
    address = address_in(place, &address_size);
    if (reader.failed || (version != 4 && version != 6) || port == 0 ||
        (size_t)(reader.end - reader.at) != address_size) {
        return TM_EWIRE;
    }
    memcpy(address, reader.at, address_size);
    set_port(place, port);
    return TM_OK;
}

// ---- listening ----

/** An address that other hosts can use: no link-local one. */
static int is_usable(const struct ifaddrs *card, const char *device, int family)
{
    return card->ifa_addr != NULL && card->ifa_addr->sa_family == family &&
           strcmp(card->ifa_name, device) == 0 &&
           (family == AF_INET ||
            !IN6_IS_ADDR_LINKLOCAL(
                &((struct sockaddr_in6 *)(void *)card->ifa_addr)->sin6_addr));
}

/** The first of a card, of version 4 if it has one. */
static tm_status address_of_card(const char *device, struct tcp_place *place)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *cards = NULL;

    place->size = 0;
    if (getifaddrs(&cards) != 0) {
        log_error("cannot list the network cards: %m");
        return TM_ESYSTEM;
    }
    for (unsigned i = 0; i < 2 && place->size == 0; i++) {
        for (struct ifaddrs *card = cards; card != NULL && place->size == 0;
             card = card->ifa_next) {
            if (is_usable(card, device, families[i])) {
                place->size =
                    i == 0 ? sizeof place->name.v4 : sizeof place->name.v6;
                memcpy(&place->name, card->ifa_addr, place->size);
            }
        }
    }
    freeifaddrs(cards);
    if (place->size == 0) {
        log_error("the network card %s has no address", device);
        return TM_ESYSTEM;
    }
    return TM_OK;
}

/** @param device  what comes by others is not taken; NULL: it is
 * @return the socket, -1: errno */
static int listen_on(const struct tcp_place *place, const char *device)
{
    const int on = 1;
    int fd = socket(place->name.any.sa_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (device != NULL) {
        (void)setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
                         (socklen_t)strlen(device));
    }
    if (unseen_bind(fd, &place->name.any, place->size) == 0 &&
        listen(fd, N_WAITING) == 0) {
        return fd;
    }
    descriptor_close(fd);
    return -1;
}

static void tell_refused(const struct tcp_place *place,
                         const struct tcp_ports *ports)
{
    char text[TCP_PLACE_TEXT];
    int error = errno;

    tcp_place_text(place, text);
    errno = error;
    if (ports->first == ports->last) {
        log_error("cannot listen on %s: %m", text);
    } else {
        log_error("cannot listen on any port from %u on to %s: %m",
                  ports->first, text);
    }
}

tm_status tcp_listen(const char *device, const struct tcp_ports *ports,
                     struct tcp_place *place, int *fd)
{
    tm_status status = address_of_card(device, place);

    if (status != TM_OK) {
        return status;
    }
    for (unsigned port = ports->first; port <= ports->last; port++) {
        set_port(place, port);
        *fd = listen_on(place, ports->is_open_within ? NULL : device);
        if (*fd >= 0) {
            getsockname(*fd, &place->name.any, &place->size);
            return TM_OK;
        }
    }
    tell_refused(place, ports);
    return TM_EBUSY;
}

// ---- connections ----

int tcp_connect(const struct tcp_place *place)
{
    int fd = socket(place->name.any.sa_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return -1;
    }
    if (unseen_connect(fd, &place->name.any, place->size) == 0 ||
        errno == EINPROGRESS) {
        return fd;
    }
    descriptor_close(fd);
    return -1;
}

int tcp_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error
                                                                    : errno;
}

static int set_number(int fd, int level, int name, unsigned number)
{
    const int value = (int)number;

    return setsockopt(fd, level, name, &value, sizeof value);
}

// Connections of which nobody waits for anything are most of those of many nodes: each second
// would be as many packets as there are pairs of nodes. What is under way is watched by its
// deadline, and who is waited for by failure_detector.c. Firewalls forget later than that.
#define KEEP_IDLE_S 60

void tcp_settle(int fd, unsigned timeout_s)
{
    (void)set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (set_number(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, RTO_MAX_MS) != 0) {
        (void)set_number(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
    }
    (void)set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, timeout_s * 1000);
    (void)set_number(fd, SOL_SOCKET, SO_KEEPALIVE, timeout_s != 0);
    if (timeout_s != 0) {
        (void)set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S);
        (void)set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
        (void)set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, timeout_s);
    }
}
