// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "place/first_mapping.h"

#define MAX_NODES 8u
#define ANY UINT64_MAX

static void expect(const struct first_node *nodes, uint32_t n_nodes,
                   uint32_t n_threads, double pages, const uint32_t *wanted)
{
    uint32_t counts[MAX_NODES];

    first_mapping_share_out(nodes, n_nodes, n_threads, pages, counts);
    for (uint32_t x = 0; x < n_nodes; x++) {
        assert_int_equal(counts[x], wanted[x]);
    }
}

static void equal_nodes_get_as_many(void **state)
{
    const struct first_node nodes[] = {
        {1, 1, 0, ANY}, {1, 1, 0, ANY}, {1, 1, 0, ANY}};

    (void)state;
    expect(nodes, 3, 9, 5, (uint32_t[]){3, 3, 3});
    expect(nodes, 3, 2, 5, (uint32_t[]){0, 1, 1});
    expect(nodes, 3, 4, 5, (uint32_t[]){1, 1, 2});
    expect(nodes, 3, 0, 5, (uint32_t[]){0, 0, 0});
}

static void threads_go_in_proportion_to_power(void **state)
{
    const struct first_node nodes[] = {
        {4, 1, 0, ANY}, {1, 1, 0, ANY}, {3, 1, 0, ANY}};

    (void)state;
    expect(nodes, 3, 16, 5, (uint32_t[]){8, 2, 6});
    // One on the slow node would take longer than all three on the fast ones.
    expect(nodes, 3, 3, 5, (uint32_t[]){2, 0, 1});
}

static void processors_count(void **state)
{
    const struct first_node nodes[] = {{1, 4, 0, ANY}, {1, 1, 0, ANY}};

    (void)state;
    expect(nodes, 2, 10, 5, (uint32_t[]){8, 2});
    // With 4 processors 5 threads take as long as 8.
    expect(nodes, 2, 5, 5, (uint32_t[]){4, 1});
}

static void memory_is_a_gate(void **state)
{
    const struct first_node nodes[] = {
        {4, 1, 0, 20}, {1, 1, 0, 1000}, {3, 1, 0, 35}};

    (void)state;
    expect(nodes, 3, 16, 10, (uint32_t[]){2, 11, 3});
    // Nobody has room: by power, as if there was no gate.
    expect(nodes, 3, 16, 2000, (uint32_t[]){8, 2, 6});
    expect(nodes, 3, 16, 0, (uint32_t[]){8, 2, 6});
}

static void threads_that_are_there_count(void **state)
{
    const struct first_node nodes[] = {
        {1, 1, 4, ANY}, {1, 1, 0, ANY}, {1, 1, 2, 20}};

    (void)state;
    expect(nodes, 3, 6, 5, (uint32_t[]){0, 4, 2});
    expect(nodes, 3, 6, 10, (uint32_t[]){1, 5, 0});
}

static void powers_that_are_nearly_equal_are(void **state)
{
    struct first_node nodes[] = {
        {1.00, 1, 0, ANY}, {0.91, 1, 0, ANY}, {0.98, 1, 0, ANY}};
    struct first_node unlike[] = {{1.00, 1, 0, ANY}, {0.85, 1, 0, ANY}};

    (void)state;
    first_mapping_level(nodes, 3);
    expect(nodes, 3, 300, 5, (uint32_t[]){100, 100, 100});
    first_mapping_level(unlike, 2);
    expect(unlike, 2, 185, 5, (uint32_t[]){100, 85});
}

/** Of threads that are alike no other counts are done sooner, if memory is no matter: a
 * thread of the slowest node would make every other node as slow. */
static void no_counts_are_done_sooner(void **state)
{
    uint64_t draws = 20261126;

    (void)state;
    for (unsigned k = 0; k < 2000; k++) {
        struct first_node nodes[MAX_NODES];
        uint32_t counts[MAX_NODES];
        const uint32_t n_nodes = 1 + (uint32_t)random_index(&draws, MAX_NODES);
        const uint32_t n_threads = (uint32_t)random_index(&draws, 200);
        double longest = 0;
        uint32_t sum = 0;

        for (uint32_t x = 0; x < n_nodes; x++) {
            nodes[x] = (struct first_node){
                .power = 1 + (double)random_index(&draws, 100),
                .n_processors = 1 + (uint32_t)random_index(&draws, 8),
                .memory_pages = ANY,
            };
        }
        first_mapping_share_out(nodes, n_nodes, n_threads, 1, counts);
        for (uint32_t x = 0; x < n_nodes; x++) {
            const uint32_t rounds =
                (counts[x] + nodes[x].n_processors - 1) / nodes[x].n_processors;
            const double took = rounds / nodes[x].power;

            longest = took > longest ? took : longest;
            sum += counts[x];
        }
        assert_int_equal(sum, n_threads);
        for (uint32_t x = 0; x < n_nodes; x++) {
            const uint32_t rounds =
                counts[x] / nodes[x].n_processors + 1; // with one more

            assert_true(rounds / nodes[x].power >= longest * (1 - 1e-12));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_get_as_many),
        cmocka_unit_test(threads_go_in_proportion_to_power),
        cmocka_unit_test(processors_count),
        cmocka_unit_test(memory_is_a_gate),
        cmocka_unit_test(threads_that_are_there_count),
        cmocka_unit_test(powers_that_are_nearly_equal_are),
        cmocka_unit_test(no_counts_are_done_sooner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
