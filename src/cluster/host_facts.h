// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_HOST_FACTS_H
#define CLUSTER_HOST_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * What a node says of its host where no launcher of ours has chosen: enough to find
 * who shares memory with whom, and which network leads from each host to all others.
 */

#define FACTS_ADDRESSES_MAX 16u

/** Room that any facts fit in. */
#define HOST_FACTS_MAX 2048u

/** An address of a network card. */
struct host_address {
    uint8_t bytes[16]; ///< in network order; the first 4 if it is IPv4
    uint8_t is_ipv6;
    uint8_t n_bits;  ///< of the network, from the front
    char device[32]; ///< the card's name
};

struct host_facts {
    char identity[128]; ///< equal for processes that can share memory
    char name[64];      ///< for messages
    char route[32];     ///< the card of the default route; "": none
    unsigned n_addresses;
    struct host_address addresses[FACTS_ADDRESSES_MAX]; ///< IPv4 first
};

/** Ask the system. What it does not tell is left out. */
void host_facts_collect(struct host_facts *facts);

/** Encode and decode; decoding accepts any bytes.
 * @return the bytes written, at most HOST_FACTS_MAX
 * @return TM_OK, TM_EWIRE */
size_t host_facts_encode(const struct host_facts *facts, uint8_t *bytes);
TM_CHECKED tm_status host_facts_decode(const void *bytes, size_t size,
                                       struct host_facts *facts);

/**
 * Number the hosts: nodes of one have the number of its first node.
 *
 * @param all           [n]
 * @param[out] host_of  [n]
 * @return how many hosts there are
 */
unsigned host_facts_number(const struct host_facts *all, unsigned n,
                           uint16_t *host_of);

/**
 * Choose the network card by which a node reaches the other hosts: that of the
 * first network, in the order of node 0's cards, that every host has a card in; if
 * there is none, that of the default route. So all nodes choose the same network.
 *
 * @param all  [n]
 * @return the card's name, in `all`; NULL if there is none
 */
const char *host_facts_device(const struct host_facts *all, unsigned n,
                              unsigned self);

#endif
