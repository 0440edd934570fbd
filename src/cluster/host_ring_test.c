// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes on hosts drawn at random, of which some have left: hosts are one ring.
#include "cluster/host_ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

enum { N_SEEDS = 300, MOST_NODES = 40 };

struct world {
    struct roster roster;
    uint16_t host_of[TM_MAX_NODES];
    unsigned n_hosts; // with nodes
};

static unsigned draw(uint64_t *state, unsigned n)
{
    *state = random_mix(*state + 1);
    return (unsigned)(*state % n);
}

static void count_hosts(struct world *world)
{
    uint8_t has_nodes[MOST_NODES] = {0};

    world->n_hosts = 0;
    for (unsigned i = 0; i < world->roster.n_live; i++) {
        const uint16_t host = world->host_of[world->roster.live[i]];

        world->n_hosts += !has_nodes[host];
        has_nodes[host] = 1;
    }
}

static void make_world(struct world *world, uint64_t seed)
{
    uint64_t state = seed;
    const unsigned n_nodes = 1 + draw(&state, MOST_NODES);
    const unsigned n_hosts = 1 + draw(&state, n_nodes);

    memset(world, 0, sizeof *world);
    roster_init(&world->roster, n_nodes);
    for (unsigned i = 0; i < n_nodes; i++) {
        world->host_of[i] = (uint16_t)draw(&state, n_hosts);
    }
    for (unsigned i = 1; i < n_nodes; i++) {
        if (draw(&state, 4) == 0) {
            roster_remove(&world->roster, (node_id)i);
        }
    }
    count_hosts(world);
}

static int leads(const struct world *world, node_id node)
{
    return host_ring_is_leader(&world->roster, world->host_of, node);
}

static node_id next(const struct world *world, node_id node)
{
    return host_ring_next(&world->roster, world->host_of, node);
}

static void each_host_has_one_leader(void **unused)
{
    static struct world world;

    (void)unused;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        unsigned n_leaders = 0;

        make_world(&world, seed);
        for (unsigned i = 0; i < world.roster.n_live; i++) {
            n_leaders += leads(&world, world.roster.live[i]) != 0;
        }
        assert_int_equal(n_leaders, world.n_hosts);
        assert_true(leads(&world, 0));
    }
}

static void nodes_of_a_host_have_the_same_next_host(void **unused)
{
    static struct world world;

    (void)unused;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        make_world(&world, seed);
        for (unsigned i = 0; i < world.roster.n_live; i++) {
            const node_id node = world.roster.live[i];
            const node_id buddy = next(&world, node);

            if (world.n_hosts == 1) {
                assert_int_equal(buddy, NODE_NONE);
                continue;
            }
            assert_true(leads(&world, buddy));
            assert_int_not_equal(world.host_of[buddy], world.host_of[node]);
            for (unsigned k = 0; k < i; k++) {
                const node_id other = world.roster.live[k];

                if (world.host_of[other] == world.host_of[node]) {
                    assert_int_equal(next(&world, other), buddy);
                }
            }
        }
    }
}

static void hosts_are_one_ring(void **unused)
{
    static struct world world;

    (void)unused;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        node_id at = 0;
        unsigned n = 0;

        make_world(&world, seed);
        while (world.n_hosts > 1 && (n == 0 || at != 0)) {
            at = next(&world, at);
            assert_true(++n <= world.n_hosts);
        }
        assert_int_equal(n, world.n_hosts > 1 ? world.n_hosts : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_host_has_one_leader),
        cmocka_unit_test(nodes_of_a_host_have_the_same_next_host),
        cmocka_unit_test(hosts_are_one_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
