// SPDX-License-Identifier: BSD-3-Clause
#include "web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "os/descriptor.h"

/** Bytes that a connection takes before it is read: who stalls has some old events, not
 * megabytes of them, and gets the latest behind those. Connections have it from the socket
 * that listens. */
#define SEND_ROOM (64 << 10)

/** An address of either family. */
union place {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t fill_place(const struct web_address *at, union place *place)
{
    *place = (union place){
        .v4 = {.sin_family = AF_INET, .sin_port = htons(at->port)}};
    if (inet_pton(AF_INET, at->host, &place->v4.sin_addr) == 1) {
        return sizeof place->v4;
    }
    *place = (union place){
        .v6 = {.sin6_family = AF_INET6, .sin6_port = htons(at->port)}};
    inet_pton(AF_INET6, at->host, &place->v6.sin6_addr);
    return sizeof place->v6;
}

// @return a socket that listens, -1 with errno set
static int listen_at(union place *place, socklen_t size)
{
    const int yes = 1;
    const int room = SEND_ROOM;
    int fd = socket(place->any.sa_family,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (bind(fd, &place->any, size) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, &place->any, &size) != 0) {
        descriptor_close(fd);
        return -1;
    }
    return fd;
}

static int make_token(char *token)
{
    uint8_t bytes[(WEB_TOKEN_SIZE - 1) / 2];

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        return 0;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    return 1;
}

static const char *hint_of(int error)
{
    return error == EADDRINUSE
               ? "; something else listens there: give another port, or none"
           : error == EADDRNOTAVAIL
               ? "; that is no address of this machine: see \"ip address\""
           : error == EACCES ? "; ports below 1024 are root's: give another"
                             : "";
}

// All addresses of this machine are none that a browser could be given.
static int is_any(const struct web_address *at)
{
    return strcmp(at->host, "0.0.0.0") == 0 || strcmp(at->host, "::") == 0;
}

static void describe(struct web *web, const struct web_address *at,
                     const union place *place)
{
    const int is_v6 = place->any.sa_family == AF_INET6 && !is_any(at);
    char name[65] = "";

    if (!is_any(at) || gethostname(name, sizeof name - 1) != 0) {
        snprintf(name, sizeof name, "%s", at->host);
    }
    snprintf(web->url, sizeof web->url, "http://%s%s%s:%u/?token=%s",
             is_v6 ? "[" : "", name, is_v6 ? "]" : "",
             ntohs(place->any.sa_family == AF_INET6 ? place->v6.sin6_port
                                                    : place->v4.sin_port),
             web->token);
}

int web_listen(const char *command, const struct web_address *at,
               struct web *web)
{
    union place place;
    const socklen_t size = fill_place(at, &place);

    *web = (struct web){.fd = -1};
    if (web_lacks() != NULL) {
        fprintf(stderr, "%s: there is no live page: %s\n", command,
                web_lacks());
        return EXIT_CONFIG;
    }
    web->fd = listen_at(&place, size);
    if (web->fd < 0 || !make_token(web->token)) {
        fprintf(stderr, "%s: cannot show a live page at %s:%u: %s%s\n", command,
                at->host, at->port, strerror(errno), hint_of(errno));
        descriptor_drop(&web->fd);
        return EXIT_CONFIG;
    }
    describe(web, at, &place);
    return 0;
}
