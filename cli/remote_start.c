// SPDX-License-Identifier: BSD-3-Clause
#include "remote_start.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/message.h"
#include "os/descriptor.h"

static void put_text(struct buffer *body, const char *text)
{
    buffer_append(body, text, strlen(text) + 1);
}

static void put_number(struct buffer *body, uint64_t number)
{
    uint8_t bytes[8];
    struct wire_writer writer = {.at = bytes, .end = bytes + sizeof bytes};

    wire_put_u64(&writer, number);
    buffer_append(body, bytes, sizeof bytes);
}

static void put_real(struct buffer *body, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    put_number(body, bits);
}

static void put_list(struct buffer *body, char **list)
{
    unsigned n = 0;

    while (list[n] != NULL) {
        n++;
    }
    put_number(body, n);
    for (unsigned i = 0; i < n; i++) {
        put_text(body, list[i]);
    }
}

void remote_start_put(const struct remote_start *start, struct buffer *body)
{
    put_number(body, start->n_nodes);
    put_number(body, start->n_before);
    put_number(body, start->joins);
    put_text(body, start->folder);
    put_text(body, start->address);
    put_list(body, start->argv);
    put_list(body, start->variables);
    put_number(body, start->n_here);
    for (unsigned i = 0; i < start->n_here; i++) {
        const struct host *host = &start->nodes[i].host;

        put_number(body, start->nodes[i].node);
        put_number(body, host->workers);
        put_number(body, host->memory);
        put_real(body, host->speed);
        put_real(body, host->share);
        put_text(body, host->label);
    }
}

static const char *get_text(struct wire_reader *reader)
{
    const char *text = wire_get_string(reader);

    return text != NULL ? text : "";
}

static double get_real(struct wire_reader *reader)
{
    uint64_t bits = wire_get_u64(reader);
    double number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static unsigned get_unsigned(struct wire_reader *reader)
{
    uint64_t number = wire_get_u64(reader);

    if (number > UINT_MAX) {
        reader->failed = 1;
        return 0;
    }
    return (unsigned)number;
}

/** A number of things of which each takes a byte at least. */
static unsigned get_count(struct wire_reader *reader)
{
    uint64_t n = wire_get_u64(reader);

    if (n > (uint64_t)(reader->end - reader->at)) {
        reader->failed = 1;
        return 0;
    }
    return (unsigned)n;
}

static char **get_list(struct wire_reader *reader)
{
    unsigned n = get_count(reader);
    char **list = calloc((size_t)n + 1, sizeof *list);

    for (unsigned i = 0; i < n && list != NULL; i++) {
        list[i] = (char *)get_text(reader);
    }
    return list;
}

static void get_nodes(struct wire_reader *reader, struct remote_start *start)
{
    start->n_here = get_count(reader);
    start->nodes = calloc(start->n_here + 1u, sizeof *start->nodes);
    for (unsigned i = 0; i < start->n_here && start->nodes != NULL; i++) {
        struct remote_node_start *node = &start->nodes[i];

        node->node = get_unsigned(reader);
        node->host.workers = get_unsigned(reader);
        node->host.memory = wire_get_u64(reader);
        node->host.speed = get_real(reader);
        node->host.share = get_real(reader);
        wire_get_text(reader, node->host.label, sizeof node->host.label);
    }
}

static int makes_sense(const struct remote_start *start)
{
    int does = start->n_nodes >= 1 && start->n_nodes <= TM_MAX_NODES &&
               start->n_here >= 1 && start->n_here <= start->n_nodes &&
               start->n_before <= start->n_nodes - start->n_here &&
               start->joins <= INT_MAX && start->argv[0] != NULL;

    for (unsigned i = 0; i < start->n_here; i++) {
        does = does && start->nodes[i].node < start->n_nodes;
    }
    return does;
}

tm_status remote_start_get(const void *bytes, size_t size,
                           struct remote_start *start)
{
    struct wire_reader reader = wire_read(bytes, size);
    struct remote_start found = {.n_nodes = get_unsigned(&reader)};
    tm_status status = TM_OK;

    found.n_before = get_unsigned(&reader);
    found.joins = get_unsigned(&reader);
    found.folder = get_text(&reader);
    found.address = get_text(&reader);
    found.argv = get_list(&reader);
    found.variables = get_list(&reader);
    get_nodes(&reader, &found);
    if (found.argv == NULL || found.variables == NULL || found.nodes == NULL) {
        status = TM_ENOMEM;
    } else if (reader.failed || reader.at != reader.end ||
               !makes_sense(&found)) {
        status = TM_EWIRE;
    }
    if (status != TM_OK) {
        remote_start_release(&found);
        return status;
    }
    *start = found;
    return TM_OK;
}

void remote_start_release(struct remote_start *start)
{
    free(start->argv);
    free(start->variables);
    free(start->nodes);
    *start = (struct remote_start){0};
}

static int has_address(const struct ifaddrs *card, int family,
                       const void *wanted)
{
    if (card->ifa_addr == NULL || card->ifa_addr->sa_family != family) {
        return 0;
    }
    if (family == AF_INET) {
        const struct sockaddr_in *in =
            (const struct sockaddr_in *)(const void *)card->ifa_addr;

        return memcmp(&in->sin_addr, wanted, sizeof in->sin_addr) == 0;
    }
    return memcmp(&((const struct sockaddr_in6 *)(const void *)card->ifa_addr)
                       ->sin6_addr,
                  wanted, sizeof(struct in6_addr)) == 0;
}

int find_device(const char *address, char *device, size_t size)
{
    struct in6_addr wanted = {0};
    int family = inet_pton(AF_INET, address, &wanted) == 1 ? AF_INET : AF_INET6;
    struct ifaddrs *cards = NULL;
    int found = 0;

    if ((family == AF_INET6 && inet_pton(AF_INET6, address, &wanted) != 1) ||
        getifaddrs(&cards) != 0) {
        return 0;
    }
    for (const struct ifaddrs *card = cards; card != NULL && !found;
         card = card->ifa_next) {
        found =
            has_address(card, family, &wanted) && strlen(card->ifa_name) < size;
        if (found) {
            snprintf(device, size, "%s", card->ifa_name);
        }
    }
    freeifaddrs(cards);
    return found;
}

// To connect a datagram socket sends nothing; the kernel chooses the way.
void find_own_address(const char *other, char *address, size_t size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    int fd;

    address[0] = '\0';
    if (getaddrinfo(other, "9", &hints, &found) != 0) {
        return;
    }
    fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(fd, (struct sockaddr *)&own, &length) == 0 &&
        getnameinfo((struct sockaddr *)&own, length, address, (socklen_t)size,
                    NULL, 0, NI_NUMERICHOST) != 0) {
        address[0] = '\0';
    }
    descriptor_close(fd);
    freeaddrinfo(found);
}
