// SPDX-License-Identifier: BSD-3-Clause
// Loops whose pieces are placed, on a made-up cluster: an entry takes as long as the slowest
// node, which computes and pages in what does not fit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reconfig/loop_scheme.h"

enum { N_NODES = 2, N_PIECES = 128, PAGES_OF_PIECE = 10 };

#define PIECE_S 1e-3
#define PAGE_IN_S 1e-3 // with an ordinary disk

struct world {
    struct scheme *loop;
    uint64_t n_entries;
    uint64_t memory_pages[N_NODES];
    double page_in_s;
    double extra_s; // that an entry takes longer if pieces are not as at first
    uint32_t first[N_PIECES];
    uint32_t node_of[N_PIECES];
    int is_to_track;
    int is_to_think;
    int n_tracked;
    struct page_use pages[N_PIECES][PAGES_OF_PIECE + 1];
    uint64_t now_ns;
    char said[1u << 16];
};

static void op_track(void *owner)
{
    ((struct world *)owner)->is_to_track = 1;
}

static double op_tracking_s(void *owner)
{
    (void)owner;
    return 0.02;
}

static void op_think(void *owner)
{
    ((struct world *)owner)->is_to_think = 1;
}

static void op_move(void *owner, uint64_t thread, node_id node)
{
    ((struct world *)owner)->node_of[LOOP_PIECE(thread)] = node;
}

static void op_describe(void *owner, unsigned node, struct node_view *view)
{
    const struct world *world = owner;

    *view = (struct node_view){
        .name = "n",
        .power = 1,
        .n_processors = 1,
        .memory_pages = world->memory_pages[node],
        .free_pages = 1,
        .total_pages = world->memory_pages[node],
        .swap_in_s = world->page_in_s / 2,
        .swap_out_s = world->page_in_s / 2,
        .fetch_s = 20e-6,
        .packet_s = 5e-6,
        .packet_bytes = 8192,
    };
}

// The last page is the next piece's first, too.
static const struct page_use *op_uses(void *owner, uint64_t thread, size_t *n)
{
    struct world *world = owner;
    const unsigned piece = LOOP_PIECE(thread);

    for (unsigned i = 0; i <= PAGES_OF_PIECE; i++) {
        world->pages[piece][i] = (struct page_use){
            .page = piece * PAGES_OF_PIECE + i,
            .flags = i < PAGES_OF_PIECE ? USE_READ | USE_WRITE : USE_READ,
            .diff_bytes = i < PAGES_OF_PIECE ? 4096 : 0,
        };
    }
    *n = PAGES_OF_PIECE + 1;
    return world->n_tracked > 0 ? world->pages[piece] : NULL;
}

static void op_set_period(void *owner, uint64_t period, uint64_t phase)
{
    (void)owner;
    (void)period;
    (void)phase;
    fail_msg("entries are marked");
}

static void op_leave(void *owner, const struct remap *plan,
                     const uint32_t *from, const uint32_t *to, int has_moved)
{
    (void)owner;
    (void)plan;
    (void)from;
    (void)to;
    (void)has_moved;
}

static void op_explain(void *owner, const char *text)
{
    struct world *world = owner;

    strncat(world->said, text, sizeof world->said - strlen(world->said) - 1);
}

static void open_world(struct world *world, double page_in_s, uint64_t memory_0,
                       uint64_t memory_1)
{
    const struct scheme_config config = {.policy = policy_find(NULL),
                                         .n_nodes = N_NODES,
                                         .explains = 1,
                                         .is_marked = 1};
    const struct scheme_ops ops = {
        .owner = world,
        .track = op_track,
        .tracking_s = op_tracking_s,
        .think = op_think,
        .move = op_move,
        .set_period = op_set_period,
        .leave = op_leave,
        .describe = op_describe,
        .uses = op_uses,
        .explain = op_explain,
    };

    memset(world, 0, sizeof *world);
    world->page_in_s = page_in_s;
    world->memory_pages[0] = memory_0;
    world->memory_pages[1] = memory_1;
    for (unsigned i = 0; i < N_PIECES; i++) {
        world->first[i] = i * N_NODES / N_PIECES;
    }
    memcpy(world->node_of, world->first, sizeof world->first);
    world->loop = scheme_new(&config, &ops);
    assert_non_null(world->loop);
}

static unsigned pieces_of(const struct world *world, uint32_t node)
{
    unsigned n = 0;

    for (unsigned i = 0; i < N_PIECES; i++) {
        n += world->node_of[i] == node;
    }
    return n;
}

static double lack_of(const struct world *world, uint32_t node)
{
    return fmax(0, pieces_of(world, node) * (double)PAGES_OF_PIECE -
                       (double)world->memory_pages[node]);
}

static void report_node(const struct world *world, uint32_t node,
                        struct history_node *report)
{
    const double lack = lack_of(world, node);
    const int is_first =
        memcmp(world->node_of, world->first, sizeof world->first) == 0;

    report->comp_s =
        pieces_of(world, node) * PIECE_S + (is_first ? 0 : world->extra_s);
    report->mem_s = lack * world->page_in_s;
    report->busy_s = report->comp_s + report->mem_s;
    report->out_s = report->mem_s / 2;
    report->pages_in = lack;
    report->pages_out = lack;
}

static void do_what_is_asked(struct world *world, int was_to_track)
{
    struct scheme *scheme = world->loop;

    if (was_to_track) {
        world->is_to_track = 0;
        world->n_tracked++;
        scheme_tracked(scheme, 1);
    }
    if (world->is_to_think) {
        world->is_to_think = 0;
        scheme_think(scheme);
        scheme_thought(scheme, 0);
    }
}

// @return how long the last entry has taken
static double enter(struct world *world, unsigned n_entries)
{
    double longest_s = 0;

    for (unsigned k = 0; k < n_entries; k++) {
        const int was_to_track = world->is_to_track;
        struct history_node reports[N_NODES];
        double piece_s[N_PIECES];

        longest_s = 0;
        for (uint32_t i = 0; i < N_NODES; i++) {
            report_node(world, i, &reports[i]);
            longest_s = fmax(longest_s, reports[i].busy_s);
        }
        for (unsigned i = 0; i < N_PIECES; i++) {
            piece_s[i] = PIECE_S;
        }
        world->now_ns += (uint64_t)(longest_s * 1e9);
        loop_take_entry(world->loop,
                        &(struct loop_entry){++world->n_entries, N_NODES,
                                             N_PIECES, reports, world->node_of,
                                             piece_s},
                        world->now_ns);
        do_what_is_asked(world, was_to_track);
    }
    return longest_s;
}

static void a_node_short_of_memory_gives_pieces_away(void **state)
{
    static struct world world;
    double before_s;
    double after_s;

    (void)state;
    open_world(&world, PAGE_IN_S, 2000, 300);
    before_s = enter(&world, 1);
    after_s = enter(&world, 80);
    assert_int_equal(world.n_tracked, 1);
    assert_true(lack_of(&world, 1) < 100);
    assert_true(after_s < 0.3 * before_s);
    assert_non_null(strstr(world.said, "iteration "));
    assert_non_null(strstr(world.said, "kept; "));
    scheme_free(world.loop);
}

static void every_piece_may_leave_the_root(void **state)
{
    static struct world world;

    (void)state;
    open_world(&world, 100 * PAGE_IN_S, 0, 4000);
    (void)enter(&world, 80);
    assert_int_equal(pieces_of(&world, 0), 0);
    scheme_free(world.loop);
}

static void a_loop_in_balance_is_left_alone(void **state)
{
    static struct world world;

    (void)state;
    open_world(&world, PAGE_IN_S, 2000, 2000);
    (void)enter(&world, 200);
    assert_int_equal(world.n_tracked, 0);
    assert_memory_equal(world.node_of, world.first, sizeof world.first);
    scheme_free(world.loop);
}

static void a_change_for_the_worse_is_taken_back(void **state)
{
    static struct world world;

    (void)state;
    open_world(&world, PAGE_IN_S, 2000, 300);
    world.extra_s = 2;
    (void)enter(&world, 80);
    assert_non_null(strstr(world.said, "taken back"));
    assert_memory_equal(world.node_of, world.first, sizeof world.first);
    scheme_free(world.loop);
}

static void shortage_is_a_part_of_the_time(void **state)
{
    struct history_node reports[N_NODES] = {
        {.busy_s = 1},
        {.busy_s = 1, .mem_s = 0.04, .pages_in = 100},
    };

    (void)state;
    assert_false(loop_is_short(reports, N_NODES));
    reports[1].mem_s = 0.06;
    assert_true(loop_is_short(reports, N_NODES));
    reports[1].pages_in = 3;
    assert_false(loop_is_short(reports, N_NODES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_short_of_memory_gives_pieces_away),
        cmocka_unit_test(every_piece_may_leave_the_root),
        cmocka_unit_test(a_loop_in_balance_is_left_alone),
        cmocka_unit_test(a_change_for_the_worse_is_taken_back),
        cmocka_unit_test(shortage_is_a_part_of_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
