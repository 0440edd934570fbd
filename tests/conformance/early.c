// SPDX-License-Identifier: BSD-3-Clause
//
// What is used before all know of it: nodes fetch ahead where a block is being told of
// still, as the pager does by an order of use that was another block's; and whoever gets
// an address may tell it to anybody, who must know the block then. The second of two small
// blocks needs no extent of its own, and must wait for that of the first one.
#include "early.h"

struct asker {
    struct waiter waiter; // first: found from it
    struct world *world;
    int is_done;
};

void early_fetch(struct world *world)
{
    const unsigned node = world->n_steps / 3 % world->n_nodes;

    if (world->n_steps++ % 3 == 0 &&
        roster_has(roster_of(world), (node_id)node)) {
        engine_fetch_ahead(world->nodes[node].engine,
                           world->nodes[node].space.heap_page, 128,
                           node % 2 == 0);
    }
}

static void check_all_know(struct waiter *waiter)
{
    struct asker *asker = (struct asker *)waiter;
    const struct world *world = asker->world;
    page_no page;

    CHECK(waiter->status == TM_OK);
    page = page_at(world, waiter->result);
    for (unsigned i = 0; i < world->n_nodes; i++) {
        const struct extent *extent =
            engine_extent_below(world->nodes[i].engine, page);

        CHECK(!roster_has(roster_of(world), (node_id)i) ||
              (extent != NULL && page < extent->page + extent->n_pages));
    }
    asker->is_done = 1;
}

void early_allocate_two(struct world *world)
{
    const struct roster *live = roster_of(world);
    struct asker askers[2] = {{{.wake = check_all_know}, world, 0},
                              {{.wake = check_all_know}, world, 0}};

    for (unsigned i = 0; i < 2; i++) {
        engine_alloc(world->nodes[live->live[i % live->n_live]].engine, 40,
                     NULL, "test.c", 1, &askers[i].waiter);
    }
    while (!askers[0].is_done || !askers[1].is_done) {
        CHECK(sim_step(world->sim));
    }
}
