// SPDX-License-Identifier: BSD-3-Clause
#include "planner/guess_script.h"

#include "base/memory.h"

static void make_blocks(const struct cluster_view *view,
                        struct profile_script *script)
{
    uint64_t page = 0;

    script->n_blocks = view->n_groups;
    script->blocks = memory_new(view->n_groups, sizeof *script->blocks);
    for (uint32_t g = 0; g < view->n_groups; g++) {
        script->blocks[g] = (struct profile_block){page, view->group_pages[g]};
        page += view->group_pages[g];
    }
}

static void make_round(const struct cluster_view *view,
                       const struct profile_script *script,
                       struct profile_round *round)
{
    round->first =
        memory_new((size_t)view->n_threads + 1, sizeof *round->first);
    round->runs = memory_new(view->n_uses, sizeof *round->runs);
    for (uint32_t u = 0; u < view->n_uses; u++) {
        const struct profile_block *block =
            &script->blocks[view->uses[u].group];

        round->runs[u] = (struct profile_run){
            .page = block->page,
            .n_pages = (uint32_t)block->n_pages,
            .flags = view->uses[u].flags,
            .diff_bytes = view->uses[u].diff_bytes,
        };
    }
    for (uint32_t i = 0; i < view->n_threads; i++) {
        round->first[i] = view->threads[i].first_use;
    }
    round->first[view->n_threads] = view->n_uses;
}

tm_status profile_guess_script(struct profile *profile)
{
    struct profile_script *script = &profile->script;

    if (profile->view.n_groups == 0) {
        return TM_ESTATE;
    }
    script->n_barriers = 1;
    make_blocks(&profile->view, script);
    script->n_rounds = 1;
    script->rounds = memory_new(1, sizeof *script->rounds);
    make_round(&profile->view, script, &script->rounds[0]);
    return TM_OK;
}
