// SPDX-License-Identifier: BSD-3-Clause
//
// PROTOCOL/globals: the block under test is part of the TM_SHARED variables, or in the
// heap behind them. So the directory nodes of its pages are not all the root, as they
// are else: the heap begins at a block of another one, and the block may lie across a
// border. The variables have contents from the start, and an owner of whom no
// directory node has been told by a message.
#include "world.h"

#include <string.h>

static uint8_t first_byte_of(page_no page)
{
    return (uint8_t)(page * 7 + 1);
}

void globals_open(struct world *world, unsigned node)
{
    struct space *space = &world->nodes[node].space;

    for (page_no page = 0; page < space->n_globals; page++) {
        memset(space_place(space, page), first_byte_of(page), TM_PAGE_SIZE);
    }
    engine_add_globals(world->nodes[node].engine, 0);
}

int globals_lend(struct world *world)
{
    page_no first;

    if (!world->has_globals || world->globals_are_used ||
        sim_random(world->sim, 3) == 0) {
        return 0;
    }
    world->globals_are_used = 1;
    world->block = 0;
    first = N_GLOBALS - N_PAGES - (page_no)sim_random(world->sim, N_PAGES);
    for (unsigned at = 0; at < N_PAGES; at++) {
        world->pages[at] = first + at;
        memset(world->oracle + at * TM_PAGE_SIZE, first_byte_of(first + at),
               TM_PAGE_SIZE);
    }
    return 1;
}

uint64_t globals_gap(const struct world *world)
{
    if (!world->has_globals || sim_random(world->sim, 2) == 0) {
        return 0;
    }
    return (SPACE_BLOCK - 1 - sim_random(world->sim, N_PAGES)) * TM_PAGE_SIZE;
}
