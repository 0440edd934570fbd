// SPDX-License-Identifier: BSD-3-Clause
// Pieces of a loop: each iteration is done once, by who has its piece.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/pieces.h"

enum { N_NODES = 4, LENGTH = 5000, ROUNDS = 200 };

static void draw_owners(uint32_t *node_of, unsigned n)
{
    unsigned i = 0;

    while (i < n) {
        const unsigned end = i + 1 + (unsigned)rand() % 24;
        const uint32_t node = (uint32_t)rand() % N_NODES;

        for (; i < end && i < n; i++) {
            node_of[i] = node;
        }
    }
}

// @param[in,out] n_done  [end - first] one more for each iteration of the node's runs
static void do_runs(const uint32_t *node_of, const struct grid *grid,
                    uint32_t node, unsigned *n_done)
{
    struct piece_run runs[NODE_PIECES_MAX];
    const unsigned n_runs = pieces_list_runs(node_of, grid->n, node, runs);

    assert_true(n_runs <= NODE_PIECES_MAX);
    for (unsigned i = 0; i < n_runs; i++) {
        const unsigned end = runs[i].piece + runs[i].n;

        for (int64_t k = piece_at(grid, runs[i].piece); k < piece_at(grid, end);
             k++) {
            n_done[k - grid->first]++;
        }
        for (unsigned k = runs[i].piece; k < end; k++) {
            assert_int_equal(node_of[k], node);
        }
        assert_true(end == grid->n || node_of[end] != node);
    }
}

static void each_iteration_is_done_once(void **state)
{
    static uint32_t node_of[NODE_PIECES_MAX];
    static unsigned n_done[LENGTH];

    (void)state;
    srand(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const int64_t first = rand() % 1000 - 500;
        const int64_t end = first + 1 + rand() % LENGTH;
        const struct grid grid = {first, end,
                                  pieces_count(N_NODES, first, end)};

        memset(n_done, 0, sizeof n_done);
        draw_owners(node_of, grid.n);
        for (uint32_t node = 0; node < N_NODES; node++) {
            do_runs(node_of, &grid, node, n_done);
        }
        for (int64_t k = 0; k < end - first; k++) {
            assert_int_equal(n_done[k], 1);
        }
    }
}

static void pieces_are_who_has_their_middle(void **state)
{
    static const struct share shares[3] = {
        {.first = 0, .end = 100},
        {.first = 100, .end = 100},
        {.first = 100, .end = 1000},
    };
    uint32_t node_of[100];

    (void)state;
    pieces_of_shares(shares, 3, 100, node_of);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(node_of[i], i < 10 ? 0 : 2);
    }
}

static void there_are_no_more_pieces_than_iterations(void **state)
{
    const struct grid vast = {-5, INT64_MAX / 2, 7};

    (void)state;
    assert_int_equal(pieces_count(2, 0, 100000), 2 * SHARE_BINS);
    assert_int_equal(pieces_count(3, 5, 8), 3);
    assert_int_equal(pieces_count(40, 0, 100000), 640);
    assert_int_equal(piece_at(&vast, 0), -5);
    assert_int_equal(piece_at(&vast, 7), INT64_MAX / 2);
}

static void what_is_too_long_to_tell_is_not_possible(void **state)
{
    static uint32_t node_of[NODE_PIECES_MAX + 1];

    (void)state;
    assert_int_equal(pieces_are_possible(node_of, NODE_PIECES_MAX, 1, 4096), 1);
    assert_int_equal(pieces_are_possible(node_of, NODE_PIECES_MAX + 1, 1, 4096),
                     0);
    for (unsigned i = 0; i < 100; i++) {
        node_of[i] = i % 2;
    }
    assert_int_equal(pieces_are_possible(node_of, 100, 2, 50 * 12), 1);
    assert_int_equal(pieces_are_possible(node_of, 100, 2, 50 * 12 - 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_iteration_is_done_once),
        cmocka_unit_test(pieces_are_who_has_their_middle),
        cmocka_unit_test(there_are_no_more_pieces_than_iterations),
        cmocka_unit_test(what_is_too_long_to_tell_is_not_possible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
