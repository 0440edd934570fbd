// SPDX-License-Identifier: BSD-3-Clause
//
// Hosts are told apart by what decides whether two processes can share memory as
// nodes do: the kernel that runs, and the namespaces of processes and of networks
// that they are in. Names and addresses would not do: containers of one machine have
// names of their own, and two machines may have the same.
//
// A network that leads from each host to all others is one of which each host has an
// address of its own. Bridges that container engines make have the same address on
// every host, and lead nowhere.
#include "cluster/host_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/message.h"

// ---- asking the system ----

static void read_word(const char *path, char *word, size_t size)
{
    FILE *file = fopen(path, "re");

    word[0] = '\0';
    if (file != NULL) {
        if (fgets(word, (int)size, file) != NULL) {
            word[strcspn(word, " \n")] = '\0';
        }
        fclose(file);
    }
}

static void identify(char *identity, size_t size)
{
    char boot[48];
    char processes[32];
    char networks[32];
    ssize_t length;

    read_word("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    length = readlink("/proc/self/ns/pid", processes, sizeof processes - 1);
    processes[length > 0 ? length : 0] = '\0';
    length = readlink("/proc/self/ns/net", networks, sizeof networks - 1);
    networks[length > 0 ? length : 0] = '\0';
    snprintf(identity, size, "%s %s %s", boot, processes, networks);
}

static void find_route(char *route, size_t size)
{
    FILE *file = fopen("/proc/net/route", "re");
    char line[256];
    char device[32];
    unsigned destination;

    route[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%31s %x", device, &destination) == 2 &&
            destination == 0) {
            snprintf(route, size, "%s", device);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static unsigned count_bits(const uint8_t *mask, unsigned n_bytes)
{
    unsigned n_bits = 0;

    while (n_bits < 8 * n_bytes && mask[n_bits / 8] >> (7 - n_bits % 8) & 1) {
        n_bits++;
    }
    return n_bits;
}

/** @return 1, 0 if it is no address by which other hosts could be reached */
static int take_address(const struct ifaddrs *card,
                        struct host_address *address)
{
    const void *bytes;
    const void *mask;

    if (card->ifa_addr == NULL || card->ifa_netmask == NULL ||
        (card->ifa_flags & (IFF_UP | IFF_LOOPBACK)) != IFF_UP ||
        strlen(card->ifa_name) >= sizeof address->device) {
        return 0;
    }
    *address = (struct host_address){0};
    if (card->ifa_addr->sa_family == AF_INET) {
        bytes = &((struct sockaddr_in *)(void *)card->ifa_addr)->sin_addr;
        mask = &((struct sockaddr_in *)(void *)card->ifa_netmask)->sin_addr;
        memcpy(address->bytes, bytes, 4);
        address->n_bits = (uint8_t)count_bits(mask, 4);
    } else if (card->ifa_addr->sa_family == AF_INET6) {
        bytes = &((struct sockaddr_in6 *)(void *)card->ifa_addr)->sin6_addr;
        mask = &((struct sockaddr_in6 *)(void *)card->ifa_netmask)->sin6_addr;
        memcpy(address->bytes, bytes, 16);
        address->n_bits = (uint8_t)count_bits(mask, 16);
        address->is_ipv6 = 1;
        if (IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)bytes)) {
            return 0;
        }
    } else {
        return 0;
    }
    snprintf(address->device, sizeof address->device, "%s", card->ifa_name);
    return 1;
}

static void list_addresses(struct host_facts *facts)
{
    struct ifaddrs *cards = NULL;
    struct host_address address;

    facts->n_addresses = 0;
    if (getifaddrs(&cards) != 0) {
        return;
    }
    for (uint8_t is_ipv6 = 0; is_ipv6 < 2; is_ipv6++) {
        for (const struct ifaddrs *card = cards; card != NULL;
             card = card->ifa_next) {
            if (take_address(card, &address) && address.is_ipv6 == is_ipv6 &&
                facts->n_addresses < FACTS_ADDRESSES_MAX) {
                facts->addresses[facts->n_addresses++] = address;
            }
        }
    }
    freeifaddrs(cards);
}

void host_facts_collect(struct host_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    identify(facts->identity, sizeof facts->identity);
    if (gethostname(facts->name, sizeof facts->name - 1) != 0) {
        facts->name[0] = '\0';
    }
    find_route(facts->route, sizeof facts->route);
    list_addresses(facts);
}

// ---- bytes ----

size_t host_facts_encode(const struct host_facts *facts, uint8_t *bytes)
{
    struct wire_writer writer = {.at = bytes, .end = bytes + HOST_FACTS_MAX};

    wire_put_string(&writer, facts->identity);
    wire_put_string(&writer, facts->name);
    wire_put_string(&writer, facts->route);
    wire_put_u8(&writer, (uint8_t)facts->n_addresses);
    for (unsigned i = 0; i < facts->n_addresses; i++) {
        const struct host_address *address = &facts->addresses[i];

        wire_put_bytes(&writer, address->bytes, sizeof address->bytes);
        wire_put_u8(&writer, address->is_ipv6);
        wire_put_u8(&writer, address->n_bits);
        wire_put_string(&writer, address->device);
    }
    return (size_t)(writer.at - bytes);
}

static void get_address(struct wire_reader *reader,
                        struct host_address *address)
{
    const void *bytes = wire_get_bytes(reader, sizeof address->bytes);

    if (bytes != NULL) {
        memcpy(address->bytes, bytes, sizeof address->bytes);
    }
    address->is_ipv6 = wire_get_u8(reader);
    address->n_bits = wire_get_u8(reader);
    wire_get_text(reader, address->device, sizeof address->device);
    if (address->is_ipv6 > 1 ||
        address->n_bits > (address->is_ipv6 ? 128 : 32)) {
        reader->failed = 1;
    }
}

tm_status host_facts_decode(const void *bytes, size_t size,
                            struct host_facts *facts)
{
    struct wire_reader reader = wire_read(bytes, size);

    memset(facts, 0, sizeof *facts);
    wire_get_text(&reader, facts->identity, sizeof facts->identity);
    wire_get_text(&reader, facts->name, sizeof facts->name);
    wire_get_text(&reader, facts->route, sizeof facts->route);
    facts->n_addresses = wire_get_u8(&reader);
    if (facts->n_addresses > FACTS_ADDRESSES_MAX) {
        return TM_EWIRE;
    }
    for (unsigned i = 0; i < facts->n_addresses; i++) {
        get_address(&reader, &facts->addresses[i]);
    }
    return reader.failed || reader.at != reader.end ? TM_EWIRE : TM_OK;
}

// ---- choosing ----

unsigned host_facts_number(const struct host_facts *all, unsigned n,
                           uint16_t *host_of)
{
    unsigned n_hosts = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned first = 0;

        while (strcmp(all[first].identity, all[i].identity) != 0) {
            first++;
        }
        host_of[i] = (uint16_t)first;
        n_hosts += first == i;
    }
    return n_hosts;
}

static int is_in_network(const struct host_address *address,
                         const struct host_address *network)
{
    unsigned n_bytes = network->n_bits / 8;
    unsigned n_rest = network->n_bits % 8;

    return address->is_ipv6 == network->is_ipv6 &&
           address->n_bits == network->n_bits &&
           memcmp(address->bytes, network->bytes, n_bytes) == 0 &&
           (n_rest == 0 ||
            (address->bytes[n_bytes] ^ network->bytes[n_bytes]) >>
                    (8 - n_rest) ==
                0);
}

/** @return the host's address in a network, NULL */
static const struct host_address *find_in(const struct host_facts *facts,
                                          const struct host_address *network)
{
    for (unsigned i = 0; i < facts->n_addresses; i++) {
        if (is_in_network(&facts->addresses[i], network)) {
            return &facts->addresses[i];
        }
    }
    return NULL;
}

/** Has every host an address of its own there? */
static int leads_to_all(const struct host_facts *all, unsigned n,
                        const struct host_address *network)
{
    for (unsigned i = 0; i < n; i++) {
        const struct host_address *address = find_in(&all[i], network);

        if (address == NULL) {
            return 0;
        }
        for (unsigned k = 0; k < i; k++) {
            if (memcmp(find_in(&all[k], network)->bytes, address->bytes,
                       sizeof address->bytes) == 0 &&
                strcmp(all[k].identity, all[i].identity) != 0) {
                return 0;
            }
        }
    }
    return 1;
}

const char *host_facts_device(const struct host_facts *all, unsigned n,
                              unsigned self)
{
    for (unsigned i = 0; i < all[0].n_addresses; i++) {
        const struct host_address *network = &all[0].addresses[i];

        if (leads_to_all(all, n, network)) {
            return find_in(&all[self], network)->device;
        }
    }
    return all[self].route[0] != '\0' ? all[self].route : NULL;
}
