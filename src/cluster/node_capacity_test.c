// SPDX-License-Identifier: BSD-3-Clause
#include "cluster/node_capacity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define NEAR 1e-6

static struct node_capacity full_capacity(void)
{
    return (struct node_capacity){
        .host = "n1.example",
        .name = "quick",
        .machine = 0x1122334455667788,
        .mflops = 12345.678901,
        .spread = 0.031,
        .declared_speed = 0.001,
        .share = 0.25,
        .n_processors = 4,
        .n_workers = 3,
        .processor_pool = 98,
        .memory_total = (uint64_t)1 << 40,
        .memory_free = 123456789,
        .memory_declared = 45 << 20,
        .memory_pool = 99,
        .total_by = MEMORY_BY_OPTION,
        .free_by = MEMORY_BY_CGROUP2,
    };
}

static void capacities_survive_their_encoding(void **state)
{
    uint8_t bytes[NODE_CAPACITY_MAX];
    struct wire_writer writer = {bytes, bytes + sizeof bytes, 0};
    struct wire_reader reader = {bytes, bytes + sizeof bytes, 0};
    struct node_capacity capacity = full_capacity();
    struct node_capacity copy;

    (void)state;
    node_capacity_put(&writer, &capacity);
    assert_false(writer.failed);
    node_capacity_get(&reader, &copy);
    assert_false(reader.failed);
    assert_ptr_equal(reader.at, writer.at);
    assert_string_equal(copy.host, capacity.host);
    assert_string_equal(copy.name, capacity.name);
    assert_int_equal(copy.machine, capacity.machine);
    assert_float_equal(copy.mflops, capacity.mflops, NEAR);
    assert_float_equal(copy.spread, capacity.spread, NEAR);
    assert_float_equal(copy.declared_speed, capacity.declared_speed, NEAR);
    assert_float_equal(copy.share, capacity.share, NEAR);
    assert_int_equal(copy.n_processors, 4);
    assert_int_equal(copy.n_workers, 3);
    assert_int_equal(copy.processor_pool, 98);
    assert_int_equal(copy.memory_total, capacity.memory_total);
    assert_int_equal(copy.memory_free, capacity.memory_free);
    assert_int_equal(copy.memory_declared, capacity.memory_declared);
    assert_int_equal(copy.memory_pool, 99);
    assert_int_equal(copy.total_by, MEMORY_BY_OPTION);
    assert_int_equal(copy.free_by, MEMORY_BY_CGROUP2);
}

static void the_longest_names_fit_the_room_promised(void **state)
{
    uint8_t bytes[NODE_CAPACITY_MAX];
    struct wire_writer writer = {bytes, bytes + sizeof bytes, 0};
    struct node_capacity capacity = full_capacity();

    (void)state;
    memset(capacity.host, 'h', sizeof capacity.host - 1);
    memset(capacity.name, 'n', sizeof capacity.name - 1);
    node_capacity_put(&writer, &capacity);
    assert_false(writer.failed);
}

static void nodes_without_a_name_go_by_their_number(void **state)
{
    const struct node_capacity capacity[] = {
        {.name = "n2"}, {.name = "quick"}, {.name = ""}, {.name = ""}};
    static const char *const names[] = {"n2", "quick", "node2", "n5"};
    static const unsigned numbers[] = {0, 1, 2, 5};
    char name[64];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        capacity_name(capacity, 4, i, numbers[i], name, sizeof name);
        assert_string_equal(name, names[i]);
    }
}

static void random_bytes_do_no_harm(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    uint8_t bytes[NODE_CAPACITY_MAX];

    (void)state;
    print_message("seed %u\n", seed);
    for (int round = 0; round < 5000; round++) {
        size_t size = (size_t)rand_r(&seed) % sizeof bytes;
        struct wire_reader reader = {bytes, bytes + size, 0};
        struct node_capacity copy;
        double power[1];

        for (size_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t)(rand_r(&seed) % 7 == 0 ? 0 : rand_r(&seed));
        }
        node_capacity_get(&reader, &copy);
        if (!reader.failed) {
            assert_true(strlen(copy.host) < sizeof copy.host);
            assert_in_range(copy.total_by, 0, MEMORY_BY_OPTION);
            capacity_powers(&copy, 1, power);
            assert_true(power[0] == 1);
        }
    }
}

static void powers_are_measured_unless_all_declare_theirs(void **state)
{
    struct node_capacity capacity[3] = {
        {.mflops = 2000, .declared_speed = 500},
        {.mflops = 1000, .declared_speed = 400},
        {.mflops = 3000},
    };
    double power[3];

    (void)state;
    capacity_powers(capacity, 3, power);
    assert_float_equal(power[0], 1, NEAR);
    assert_float_equal(power[1], 0.5, NEAR);
    assert_float_equal(power[2], 1.5, NEAR);
    capacity_powers(capacity, 2, power);
    assert_float_equal(power[0], 1, NEAR);
    assert_float_equal(power[1], 0.8, NEAR);
}

static void a_node_that_was_not_measured_counts_as_the_root(void **state)
{
    struct node_capacity capacity[2] = {{.mflops = 2000}, {.mflops = 0}};
    double power[2];

    (void)state;
    capacity_powers(capacity, 2, power);
    assert_float_equal(power[1], 1, NEAR);
    capacity[0].mflops = 0;
    capacity[1].mflops = 7;
    capacity_powers(capacity, 2, power);
    assert_float_equal(power[0], 1, NEAR);
    assert_float_equal(power[1], 1, NEAR);
}

static void nodes_of_one_machine_divide_its_memory(void **state)
{
    struct node_capacity capacity[5] = {
        {.memory_free = 1000, .memory_pool = 1},
        {.memory_free = 900, .memory_pool = 1},
        {.memory_free = 1000, .memory_pool = 1, .memory_declared = 300},
        {.memory_free = 800, .memory_pool = 2},
        {.memory_free = 5, .memory_pool = 3, .memory_declared = 50},
    };

    (void)state;
    assert_int_equal(capacity_memory(capacity, 5, 0), 350); // (1000 - 300) / 2
    assert_int_equal(capacity_memory(capacity, 5, 1), 300);
    assert_int_equal(capacity_memory(capacity, 5, 2), 300);
    assert_int_equal(capacity_memory(capacity, 5, 3), 800);
    assert_int_equal(capacity_memory(capacity, 5, 4), 50);
    capacity[3].free_by = MEMORY_BY_CGROUP2; // seven eighths
    assert_int_equal(capacity_memory(capacity, 5, 3), 700);
    capacity[2].memory_declared = 5000;
    assert_int_equal(capacity_memory(capacity, 5, 0), 0);
}

static void nodes_that_share_processors_are_found(void **state)
{
    struct node_capacity capacity[5];
    uint32_t crowds[5];

    (void)state;
    for (unsigned i = 0; i < 5; i++) { // bound to others: 0, 2, 4; 1, 3
        capacity[i] = (struct node_capacity){
            .machine = 7,
            .processor_pool = i % 2,
            .n_processors = 2,
            .n_workers = 1,
            .share = 1,
        };
    }
    capacity_crowds(capacity, 5, crowds);
    assert_int_equal(crowds[0], 1);
    assert_int_equal(crowds[1], 0); // two workers, two processors
    assert_int_equal(crowds[2], 1);
    assert_int_equal(crowds[3], 0);
    assert_int_equal(crowds[4], 1);
    capacity[3].n_workers = 2;
    capacity[0].share = 0.5; // emulated: half a processor each
    capacity[2].share = 0.5;
    capacity_crowds(capacity, 5, crowds);
    assert_int_equal(crowds[0], 0);
    assert_int_equal(crowds[1], 2);
    assert_int_equal(crowds[4], 0);
    assert_int_equal(capacity_n_sharing(capacity, 5, 2), 3);
    assert_int_equal(capacity_n_sharing(capacity, 2, 2), 1); // below it
    assert_int_equal(capacity_n_sharing(capacity, 3, 3), 1);
}

static void copies_are_kept_where_that_is_cheaper(void **state)
{
    struct node_costs costs = {
        .swap_in_ns = 6000, .swap_out_ns = 5000, .fetch_ns = 11001};

    (void)state;
    assert_true(node_costs_keep_copies(&costs)); // a slow network
    costs.fetch_ns = 11000;
    assert_false(node_costs_keep_copies(&costs));
    costs.fetch_ns = 0; // alone, or not known yet
    assert_false(node_costs_keep_copies(&costs));
    costs.fetch_ns = 11001;
    costs.swap_out_ns = 0;
    assert_false(node_costs_keep_copies(&costs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_share_processors_are_found),
        cmocka_unit_test(copies_are_kept_where_that_is_cheaper),
        cmocka_unit_test(capacities_survive_their_encoding),
        cmocka_unit_test(the_longest_names_fit_the_room_promised),
        cmocka_unit_test(nodes_without_a_name_go_by_their_number),
        cmocka_unit_test(random_bytes_do_no_harm),
        cmocka_unit_test(powers_are_measured_unless_all_declare_theirs),
        cmocka_unit_test(a_node_that_was_not_measured_counts_as_the_root),
        cmocka_unit_test(nodes_of_one_machine_divide_its_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
