// SPDX-License-Identifier: BSD-3-Clause
// What holds at any time over all nodes, and of copies when everything has been
// released.
#include <stdio.h>

#include "death.h"
#include "steps.h"
#include "world.h"

// What the nodes have of a page, together.
struct page_holders {
    unsigned n_owners;
    unsigned n_exclusive;
    unsigned n_copies;
};

static void check_node(struct world *world, unsigned number,
                       struct page_holders holders[N_PAGES])
{
    const struct node *node = &world->nodes[number];

    CHECK(engine_is_valid(node->engine));
    CHECK(track_is_valid(node->track));
    if (death_is_gone(world, (node_id)number) ||
        !roster_has(roster_of(world), (node_id)number)) {
        return;
    }
    for (unsigned i = 0; i < N_PAGES; i++) {
        const struct page *record = &node->space.pages[world->pages[i]];

        CHECK(engine_page_is_valid(node->engine, world->pages[i]));
        steps_check_page(world, number, world->pages[i]); // W1
        if (engine_is_quiet(node->engine)) {              // F2
            CHECK(record->pushing == 0 || record->busy);
            CHECK(!record->in_flight);
        }
        holders[i].n_owners += record->is_owner;
        holders[i].n_exclusive += record->state == PAGE_EXCLUSIVE;
        holders[i].n_copies += record->state != PAGE_ABSENT;
    }
}

// H3: a directory node without a hint would grant the page once more.
static void check_is_known(const struct world *world, page_no page)
{
    const node_id directory = roster_pick(roster_of(world), page / SPACE_BLOCK);

    CHECK(death_is_gone(world, directory) ||
          world->nodes[directory].space.pages[page].hint != 0);
}

void check_world(struct world *world)
{
    const int is_changing = changes_is_frozen(world);
    struct page_holders holders[N_PAGES] = {0};

    for (unsigned i = 0; i < world->n_nodes; i++) {
        check_node(world, i, holders);
    }
    for (unsigned i = 0; i < N_PAGES; i++) {
        CHECK(holders[i].n_owners <= 1); // E1
        CHECK(holders[i].n_exclusive == 0 || drops_copies(world) ||
              holders[i].n_copies == 1); // E3, S1
        if (holders[i].n_owners > 0 && !is_changing) {
            check_is_known(world, world->pages[i]);
        }
    }
}

// Looks at each page of the space: not after every step.
void check_pagers(struct world *world)
{
    static unsigned n_steps;

    if (!world->has_budget || n_steps++ % 64 != 0) {
        return;
    }
    for (unsigned i = 0; i < world->n_nodes; i++) {
        CHECK(pager_is_valid(world->nodes[i].pager));
    }
}

static void say_copies(struct world *world, unsigned at, unsigned byte)
{
    fprintf(stderr, "page %u byte %u should be %u\n", at, byte,
            world->oracle[at * TM_PAGE_SIZE + byte]);
    for (unsigned i = 0; i < world->n_nodes; i++) {
        const struct space *space = &world->nodes[i].space;
        const struct page *page = &space->pages[world->pages[at]];

        fprintf(stderr,
                "node %u has %u: state %u, access %u, owner %u, version %u, "
                "base %u\n",
                i, (uint8_t)space_bytes(space, world->pages[at])[byte],
                page->state, page->access, page->is_owner, page->version,
                page->base);
    }
}

// E4: what has been released is in every copy.
static void check_copy(struct world *world, unsigned node, unsigned at)
{
    const struct space *space = &world->nodes[node].space;
    const char *bytes = space_bytes(space, world->pages[at]);
    const char *expected = (char *)world->oracle + at * TM_PAGE_SIZE;
    const struct page_part part = own_part(world, at);

    if (space->pages[world->pages[at]].state == PAGE_ABSENT ||
        (drops_copies(world) && // a copy is dropped before its use
         (!space->pages[world->pages[at]].is_owner ||
          world->protocol == TM_HOMELESS) && // there it is no home
         !space->pages[world->pages[at]].subscribed)) {
        return;
    }
    for (unsigned i = part.offset; i < part.offset + part.size; i++) {
        if (bytes[i] != expected[i]) {
            say_copies(world, at, i);
            fail("a copy is up to date", __LINE__);
        }
    }
}

void check_copies(struct world *world, unsigned node)
{
    for (unsigned at = 0; at < N_PAGES; at++) {
        check_copy(world, node, at);
    }
}
