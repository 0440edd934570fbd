// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/host_facts.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct host_facts host(const char *identity)
{
    struct host_facts facts = {0};

    snprintf(facts.identity, sizeof facts.identity, "%s", identity);
    snprintf(facts.route, sizeof facts.route, "route-%s", identity);
    return facts;
}

/** Give a host a card. @param address  "10.0.0.1/24" */
static void add(struct host_facts *facts, const char *device,
                const char *address)
{
    struct host_address *made = &facts->addresses[facts->n_addresses++];
    char text[64];
    unsigned n_bits;

    assert_int_equal(sscanf(address, "%63[^/]/%u", text, &n_bits), 2);
    made->is_ipv6 = strchr(text, ':') != NULL;
    assert_int_equal(
        inet_pton(made->is_ipv6 ? AF_INET6 : AF_INET, text, made->bytes), 1);
    made->n_bits = (uint8_t)n_bits;
    snprintf(made->device, sizeof made->device, "%s", device);
}

static void hosts_are_numbered_by_their_first_node(void **state)
{
    struct host_facts all[] = {host("a"), host("b"), host("a"), host("c"),
                               host("b")};
    static const uint16_t expected[] = {0, 1, 0, 3, 1};
    uint16_t host_of[5];

    (void)state;
    assert_int_equal(host_facts_number(all, 5, host_of), 3);
    assert_memory_equal(host_of, expected, sizeof expected);
}

static void the_network_of_all_hosts_is_chosen(void **state)
{
    struct host_facts all[] = {host("a"), host("b"), host("c")};

    (void)state;
    add(&all[0], "eth0", "192.168.1.1/24");
    add(&all[0], "ib0", "10.1.0.1/16");
    add(&all[1], "eno1", "192.168.1.2/24");
    add(&all[1], "ib1", "10.1.7.2/16");
    add(&all[2], "ib0", "10.1.200.3/16");
    assert_string_equal(host_facts_device(all, 2, 0), "eth0");
    assert_string_equal(host_facts_device(all, 2, 1), "eno1");
    assert_string_equal(host_facts_device(all, 3, 0), "ib0");
    assert_string_equal(host_facts_device(all, 3, 1), "ib1");
}

static void networks_of_another_length_or_family_do_not_count(void **state)
{
    struct host_facts all[] = {host("a"), host("b")};

    (void)state;
    add(&all[0], "eth0", "10.1.0.1/16");
    add(&all[0], "eth1", "fd00::1/64");
    add(&all[1], "eth0", "10.1.0.2/24");
    add(&all[1], "eth7", "fd00::2/64");
    assert_string_equal(host_facts_device(all, 2, 0), "eth1");
    assert_string_equal(host_facts_device(all, 2, 1), "eth7");
}

static void networks_whose_bits_end_within_a_byte_are_told_apart(void **state)
{
    struct host_facts all[] = {host("a"), host("b")};

    (void)state;
    add(&all[0], "eth0", "10.0.0.1/20");
    add(&all[1], "eth0", "10.0.16.1/20");
    assert_string_equal(host_facts_device(all, 2, 0), "route-a");
    all[1].n_addresses = 0;
    add(&all[1], "eth0", "10.0.15.1/20");
    assert_string_equal(host_facts_device(all, 2, 0), "eth0");
}

static void bridges_with_one_address_on_all_hosts_lead_nowhere(void **state)
{
    struct host_facts all[] = {host("a"), host("b"), host("b")};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        add(&all[i], "docker0", "172.17.0.1/16");
    }
    add(&all[0], "eth0", "10.0.0.1/8");
    add(&all[1], "eth0", "10.0.0.2/8");
    add(&all[2], "eth0", "10.0.0.2/8");
    assert_string_equal(host_facts_device(all, 3, 2), "eth0");
}

static void without_a_common_network_the_route_is_taken(void **state)
{
    struct host_facts all[] = {host("a"), host("b")};

    (void)state;
    add(&all[0], "eth0", "10.0.0.1/24");
    add(&all[1], "eth0", "10.0.1.1/24");
    assert_string_equal(host_facts_device(all, 2, 1), "route-b");
    all[1].route[0] = '\0';
    assert_null(host_facts_device(all, 2, 1));
}

static void facts_survive_their_encoding(void **state)
{
    static struct host_facts own;
    static struct host_facts found;
    uint8_t bytes[HOST_FACTS_MAX + 1];
    size_t size;

    (void)state;
    host_facts_collect(&own);
    assert_true(own.identity[0] != '\0');
    own.n_addresses = 0;
    for (unsigned i = 0; i < FACTS_ADDRESSES_MAX; i++) {
        add(&own, "a-name-of-thirty-one-characters", "10.0.0.1/24");
    }
    size = host_facts_encode(&own, bytes);
    assert_int_equal(host_facts_decode(bytes, size, &found), TM_OK);
    assert_memory_equal(&own, &found, sizeof own);
    assert_int_equal(host_facts_decode(bytes, size + 1, &found), TM_EWIRE);
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(host_facts_decode(bytes, cut, &found), TM_EWIRE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_numbered_by_their_first_node),
        cmocka_unit_test(the_network_of_all_hosts_is_chosen),
        cmocka_unit_test(networks_of_another_length_or_family_do_not_count),
        cmocka_unit_test(networks_whose_bits_end_within_a_byte_are_told_apart),
        cmocka_unit_test(bridges_with_one_address_on_all_hosts_lead_nowhere),
        cmocka_unit_test(without_a_common_network_the_route_is_taken),
        cmocka_unit_test(facts_survive_their_encoding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
