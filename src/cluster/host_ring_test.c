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

/** near[a][b]: what b is to a */
static uint8_t near[MOST_NODES][TM_MAX_NODES];

// @return how many signs of life go each time
static unsigned mark_all(const struct world *world)
{
    unsigned n = 0;

    for (unsigned i = 0; i < world->roster.n_live; i++) {
        const node_id node = world->roster.live[i];

        host_ring_mark_near(&world->roster, world->host_of, node, near[node]);
        for (unsigned k = 0; k < world->roster.n_ids; k++) {
            n += (near[node][k] & HOST_RING_TO) != 0;
        }
    }
    return n;
}

static void what_is_given_is_expected(void **unused)
{
    static struct world world;

    (void)unused;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        make_world(&world, seed);
        mark_all(&world);
        for (unsigned a = 0; a < world.roster.n_ids; a++) {
            for (unsigned b = 0; b < world.roster.n_ids; b++) {
                if (roster_has(&world.roster, (node_id)a) &&
                    roster_has(&world.roster, (node_id)b)) {
                    assert_int_equal((near[a][b] & HOST_RING_TO) != 0,
                                     (near[b][a] & HOST_RING_FROM) != 0);
                } else if (roster_has(&world.roster, (node_id)a)) {
                    assert_int_equal(near[a][b], 0);
                }
            }
        }
    }
}

static void signs_of_life_grow_as_nodes_do(void **unused)
{
    static struct world world;

    (void)unused;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        unsigned n;

        make_world(&world, seed);
        n = mark_all(&world);
        assert_true(n <= 2 * (world.roster.n_live - world.n_hosts) +
                             HOST_RING_REACH * world.n_hosts);
    }
}

static void of_few_hosts_all_leaders_expect_each_other(void **unused)
{
    static struct world world;

    (void)unused;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        make_world(&world, seed);
        mark_all(&world);
        for (unsigned a = 0;
             a < world.roster.n_ids && world.n_hosts <= HOST_RING_REACH + 1;
             a++) {
            for (unsigned b = 0; b < world.roster.n_ids; b++) {
                if (a != b && roster_has(&world.roster, (node_id)a) &&
                    roster_has(&world.roster, (node_id)b) &&
                    leads(&world, (node_id)a) && leads(&world, (node_id)b)) {
                    assert_int_equal(near[a][b], HOST_RING_TO | HOST_RING_FROM);
                }
            }
        }
    }
}

static int is_missed(const struct world *world, const uint8_t *is_dead)
{
    for (unsigned i = 0; i < world->roster.n_live; i++) {
        const node_id node = world->roster.live[i];

        for (unsigned k = 0; k < world->roster.n_ids && !is_dead[node]; k++) {
            if ((near[node][k] & HOST_RING_FROM) && is_dead[k]) {
                return 1;
            }
        }
    }
    return 0;
}

static void who_dies_is_missed(void **unused)
{
    static struct world world;

    (void)unused;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        uint64_t state = seed + 1;
        const unsigned share = 1 + draw(&state, 8);
        const int is_hosts = (int)draw(&state, 2);
        uint8_t is_dead[MOST_NODES] = {0};
        uint8_t host_died[MOST_NODES];
        unsigned n_dead = 0;

        make_world(&world, seed);
        mark_all(&world);
        for (unsigned i = 0; i < MOST_NODES; i++) {
            host_died[i] = draw(&state, 8) < share;
        }
        for (unsigned i = 0; i < world.roster.n_live; i++) {
            const node_id node = world.roster.live[i];

            is_dead[node] = is_hosts ? host_died[world.host_of[node]]
                                     : draw(&state, 8) < share;
            n_dead += is_dead[node];
        }
        if (n_dead > 0 && n_dead < world.roster.n_live) {
            assert_true(is_missed(&world, is_dead));
        }
    }
}

// Each host, and the HOST_RING_REACH ones behind it, which would notice.
static void neighbours_that_die_together_are_missed(void **unused)
{
    static struct world world;

    (void)unused;
    memset(&world, 0, sizeof world);
    roster_init(&world.roster, MOST_NODES);
    for (unsigned i = 0; i < MOST_NODES; i++) {
        world.host_of[i] = (uint16_t)(i / 2); // two a host
    }
    mark_all(&world);
    for (unsigned first = 0; first < MOST_NODES / 2; first++) {
        uint8_t is_dead[MOST_NODES] = {0};

        for (unsigned i = 0; i < 2 * (1 + HOST_RING_REACH); i++) {
            is_dead[(2 * first + i) % MOST_NODES] = 1;
        }
        assert_true(is_missed(&world, is_dead));
    }
}

static void a_leader_that_leaves_has_a_successor(void **unused)
{
    static struct world world;

    (void)unused;
    memset(&world, 0, sizeof world);
    roster_init(&world.roster, 6);
    for (unsigned i = 0; i < 6; i++) {
        world.host_of[i] = (uint16_t)(i / 2);
    }
    mark_all(&world);
    assert_int_equal(near[0][2], HOST_RING_TO | HOST_RING_FROM);
    assert_int_equal(near[0][3], 0);
    roster_remove(&world.roster, 2);
    mark_all(&world);
    assert_int_equal(near[0][2], 0);
    assert_int_equal(near[0][3], HOST_RING_TO | HOST_RING_FROM);
    roster_add(&world.roster, 6);
    world.host_of[6] = 1;
    mark_all(&world);
    assert_int_equal(near[0][6], 0); // 3 leads there
    assert_int_equal(near[3][6], HOST_RING_TO | HOST_RING_FROM);
}

static void the_fullest_host_is_known(void **unused)
{
    static struct world world;

    (void)unused;
    memset(&world, 0, sizeof world);
    roster_init(&world.roster, 7);
    for (unsigned i = 0; i < 7; i++) {
        world.host_of[i] = (uint16_t)(i % 3); // 3, 2 and 2
    }
    assert_int_equal(host_ring_fullest(&world.roster, world.host_of), 3);
    roster_remove(&world.roster, 3);
    assert_int_equal(host_ring_fullest(&world.roster, world.host_of), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_host_has_one_leader),
        cmocka_unit_test(nodes_of_a_host_have_the_same_next_host),
        cmocka_unit_test(hosts_are_one_ring),
        cmocka_unit_test(what_is_given_is_expected),
        cmocka_unit_test(signs_of_life_grow_as_nodes_do),
        cmocka_unit_test(of_few_hosts_all_leaders_expect_each_other),
        cmocka_unit_test(who_dies_is_missed),
        cmocka_unit_test(neighbours_that_die_together_are_missed),
        cmocka_unit_test(a_leader_that_leaves_has_a_successor),
        cmocka_unit_test(the_fullest_host_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
