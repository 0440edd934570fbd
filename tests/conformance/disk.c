// SPDX-License-Identifier: BSD-3-Clause
//
// Memory is short: pages go to a swap file, and come back some time later.
#include "disk.h"

static void answer(void *owner, uint64_t argument)
{
    struct world *world = owner;

    pager_poll(world->nodes[argument].pager);
    if (world->n_ended < world->n_threads || world->lives_left > 0) {
        sim_after(world->sim, 1000 + sim_random(world->sim, 300000), answer,
                  world, argument);
    }
}

int disk_answers_last(struct world *world)
{
    int n_found = 0;

    if (!world->has_budget) {
        return 0;
    }
    for (unsigned i = 0; i < world->n_nodes; i++) {
        if (swap_file_in_flight(world->nodes[i].swap) > 0) {
            pager_poll(world->nodes[i].pager);
            n_found++;
        }
    }
    return n_found > 0;
}

// What each thread would use, in some order: right or wrong.
static void learn(struct world *world, struct node *node)
{
    struct replace *replace = pager_replace(node->pager);
    uint32_t threads[MAX_THREADS];
    page_no pages[N_PAGES];

    for (unsigned i = 0; i < MAX_THREADS; i++) {
        page_no at = node->space.heap_page + sim_random(world->sim, N_PAGES);
        unsigned n = (unsigned)sim_random(world->sim, N_PAGES);

        for (unsigned k = 0; k < n; k++) {
            pages[k] = at + k;
        }
        threads[i] = i;
        replace_learn(replace, i, pages, n);
    }
    replace_order(replace, 0, threads, MAX_THREADS);
}

void disk_open(struct world *world, unsigned i, int answers)
{
    const struct swap_settings settings = {.folder = "/dev/shm",
                                           .engine = "at once"};
    struct node *node = &world->nodes[i];
    const struct pager_host host = engine_pager_host(node->engine);
    uint64_t budget = 2 + sim_random(world->sim, 24);

    CHECK(swap_file_open(&node->swap, &settings) == TM_OK);
    node->pager = pager_new(&node->space, node->swap, budget, &host);
    CHECK(node->pager != NULL);
    engine_keep_copies(node->engine, (int)sim_random(world->sim, 2));
    if (sim_random(world->sim, 2)) {
        learn(world, node);
    }
    if (answers) {
        sim_after(world->sim, 1000, answer, world, i);
    }
}
