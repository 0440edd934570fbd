// SPDX-License-Identifier: BSD-3-Clause
//
// With --save-profile, what threads do is noted for `teamster simulate`: the root has two
// iterations tracked, an even and an odd one, after the first ones, and keeps what was found with
// the blocks that there were. Two, since programs go from one grid to another and back.
//
// Nodes say which iteration they have tracked, as their threads count; a round in which they
// did not track the same one is of no use, and another is asked for.
//
// The blocks are those of the last round. What the round before found in blocks that have
// been freed since is left out: runs lie in blocks.
#include "runtime/script.h"
#include "base/memory.h"
#include "base/vector.h"
#include "runtime/node.h"
#include "runtime/registry.h"
#include "runtime/tracking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PROFILE_WRITTEN_BEHIND(1) == WRITTEN_BEHIND(1),
               "a profile has the flags of a run as they travel");

/** Iterations that end before one is tracked: the first ones fetch, and it is by them that
 * threads are moved, which slow ones would disturb. */
enum { SCRIPT_AFTER = 20 };

/** Iterations that are tracked for it at most. */
enum { TRIES_MAX = 8 };

int script_is_wanted(struct node *node)
{
    const char *path = node->options.save_profile;

    return node->self == 0 && path[0] != '\0' && strcmp(path, "none") != 0;
}

// ---- the blocks, first one first

static unsigned count_extents(const struct engine *engine, page_no below)
{
    const struct extent *extent;
    unsigned n = 0;

    while (below > 0 &&
           (extent = engine_extent_below(engine, below - 1)) != NULL) {
        below = extent->page;
        n++;
    }
    return n;
}

static void take_blocks(struct node *node, struct script_notes *notes)
{
    page_no below = node->space.n_pages;
    uint32_t at = count_extents(node->engine, below);

    free(notes->blocks);
    notes->n_blocks = at;
    notes->blocks = memory_new(at, sizeof *notes->blocks);
    while (at > 0) {
        const struct extent *extent =
            engine_extent_below(node->engine, below - 1);

        below = extent->page;
        notes->blocks[--at] =
            (struct profile_block){extent->page, extent->n_pages};
    }
}

// ---- rounds of tracking

// The iteration that all nodes have tracked; 0: not the same.
static uint64_t iteration_of(struct node *node, const struct access_sets *sets)
{
    uint64_t iteration = 0;

    for (unsigned i = 0; i < node->n_nodes; i++) {
        const struct node_tracking *said = access_sets_node(sets, (node_id)i);

        if (said->took_ns == 0) {
            continue; // it has no part in iterations
        }
        if (iteration != 0 && said->iteration != iteration) {
            return 0;
        }
        iteration = said->iteration;
    }
    return iteration;
}

static void take_round(struct node *node, struct access_sets *sets)
{
    struct script_notes *notes = &node->script;
    const uint64_t iteration = iteration_of(node, sets);
    struct access_sets **kept = &notes->sets[iteration % SCRIPT_ROUNDS];

    if (!access_sets_is_whole(sets) || iteration == 0 || *kept != NULL) {
        access_sets_free(sets);
        return;
    }
    *kept = sets;
    if (node->access_sets == NULL && access_sets_expand(sets) == TM_OK) {
        access_sets_hold(sets); // for a profile without a decision
        node->access_sets = sets;
    }
    notes->iteration[iteration % SCRIPT_ROUNDS] = iteration;
    take_blocks(node, notes);
}

void script_passes(struct node *node)
{
    const uint64_t next = node->tracking.n_iterations + 2;

    if (script_is_wanted(node) && next > SCRIPT_AFTER + 1 &&
        node->script.sets[next % SCRIPT_ROUNDS] == NULL &&
        node->script.n_tries < TRIES_MAX && !tracking_is_active(node)) {
        node->script.n_tries++;
        (void)tracking_ask(node, TRACKING_FOR_SCRIPT, take_round);
    }
}

// ---- as a profile has it

struct run_list {
    struct profile_run *runs; // [n]
    uint32_t n;
    uint32_t room;
};

static uint64_t end_of(const struct profile_block *block)
{
    return (uint64_t)block->page + block->n_pages;
}

// The first block that ends behind a page.
static uint32_t block_behind(const struct script_notes *notes, uint64_t page)
{
    uint32_t low = 0;
    uint32_t high = notes->n_blocks;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (end_of(&notes->blocks[middle]) <= page) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// The pages of a run that lie in blocks: a piece of it for each row of neighbours.
static void add_pieces(struct run_list *list, const struct script_notes *notes,
                       const struct wire_access_run *run)
{
    const uint64_t end = (uint64_t)run->page + run->n_pages;
    uint64_t page = run->page;
    uint32_t b = block_behind(notes, page);

    while (b < notes->n_blocks && notes->blocks[b].page < end) {
        const uint64_t from =
            notes->blocks[b].page > page ? notes->blocks[b].page : page;

        page = from;
        while (b < notes->n_blocks && notes->blocks[b].page <= page) {
            page = end_of(&notes->blocks[b++]);
        }
        page = page < end ? page : end;
        vector_reserve(list->runs, list->room, list->n + 1);
        list->runs[list->n++] = (struct profile_run){
            (page_no)from, (page_no)(page - from), run->flags, run->diff_bytes};
    }
}

// @param numbers  [n_threads] of the profile's threads
static void fill_round(struct profile_round *round,
                       const struct script_notes *notes,
                       const struct access_sets *sets, const uint64_t *numbers,
                       uint32_t n_threads)
{
    struct run_list list = {0};

    round->first = memory_new((size_t)n_threads + 1, sizeof *round->first);
    for (uint32_t i = 0; i < n_threads; i++) {
        const struct thread_accesses *thread =
            access_sets_thread(sets, numbers[i]);

        round->first[i] = list.n;
        for (size_t k = 0; thread != NULL && k < thread->n_runs; k++) {
            add_pieces(&list, notes, &thread->runs[k]);
        }
    }
    round->first[n_threads] = list.n;
    round->runs = list.runs;
}

void script_fill(struct node *node, struct profile_script *script,
                 const uint64_t *numbers, uint32_t n_threads)
{
    const struct script_notes *notes = &node->script;
    const uint32_t n_barriers = node->iteration.n_in_last;

    *script = (struct profile_script){0};
    for (unsigned r = 0; r < SCRIPT_ROUNDS; r++) {
        if (notes->sets[r] == NULL) {
            return; // the run was too short
        }
    }
    snprintf(script->protocol, sizeof script->protocol, "%s",
             protocol_by_id(&all_protocols, node->options.protocol)->name);
    script->n_barriers = n_barriers > 0 ? n_barriers : 1;
    script->n_blocks = notes->n_blocks;
    script->blocks = notes->blocks;
    script->n_rounds = SCRIPT_ROUNDS;
    script->rounds = memory_new(SCRIPT_ROUNDS, sizeof *script->rounds);
    for (unsigned r = 0; r < SCRIPT_ROUNDS; r++) {
        script->rounds[r].iteration = notes->iteration[r];
        fill_round(&script->rounds[r], notes, notes->sets[r], numbers,
                   n_threads);
    }
}

void script_close(struct node *node)
{
    for (unsigned r = 0; r < SCRIPT_ROUNDS; r++) {
        if (node->script.sets[r] != NULL) {
            access_sets_free(node->script.sets[r]);
        }
    }
    free(node->script.blocks);
    node->script = (struct script_notes){0};
}

void script_release(struct profile_script *script)
{
    for (uint32_t r = 0; r < script->n_rounds; r++) {
        free(script->rounds[r].first);
        free(script->rounds[r].runs);
    }
    free(script->rounds);
    *script = (struct profile_script){0};
}
