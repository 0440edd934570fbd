// SPDX-License-Identifier: BSD-3-Clause
//
// From a profile's script to what threads do in this run, where blocks lie at addresses of
// its own.
//
// At first, before the first barrier, threads fill memory as programs do that have each
// thread fill what it will use: who writes a page first in the rounds fills it, and what
// nobody writes is dealt out over all threads, block by block.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/vector.h"
#include "simulate/lab_priv.h"

enum { FILL_BYTES = 8 };

struct builder {
    const struct profile_script *script;
    const page_no *pages;
    struct play_part *part;
    uint32_t room;
};

static void add_run(struct builder *builder, const struct play_run *run)
{
    struct play_part *part = builder->part;

    vector_reserve(part->runs, builder->room, part->n_runs + 1);
    part->runs[part->n_runs++] = *run;
    part->n_touches += run->n_pages;
}

// The block that a page of the script lies in, or the one behind it.
static uint32_t find_block(const struct profile_script *script, uint64_t page)
{
    uint32_t low = 0;
    uint32_t high = script->n_blocks;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct profile_block *block = &script->blocks[middle];

        if (block->page + block->n_pages <= page) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static unsigned count_bits(unsigned bits)
{
    return (unsigned)__builtin_popcount(bits);
}

// Of one phase in which it writes.
static uint16_t diff_of_phase(const struct profile_script *script,
                              const struct profile_run *run)
{
    const unsigned writes = run->flags / PROFILE_WRITTEN_BEHIND(0);
    const unsigned n = writes != 0 ? count_bits(writes) : script->n_barriers;

    return (uint16_t)((run->diff_bytes + n - 1) / n);
}

// A run of the script, cut where blocks end.
static void take_run(struct builder *builder, const struct profile_run *run)
{
    const struct profile_script *script = builder->script;
    uint64_t page = run->page;
    const uint64_t end = page + run->n_pages;

    for (uint32_t b = find_block(script, page); page < end; b++) {
        const struct profile_block *block = &script->blocks[b];
        const uint64_t block_end = block->page + block->n_pages;
        const uint64_t stop = end < block_end ? end : block_end;

        add_run(builder,
                &(struct play_run){
                    .page = builder->pages[b] + (page - block->page),
                    .n_pages = (uint32_t)(stop - page),
                    .flags = run->flags % PROFILE_WRITTEN_BEHIND(0),
                    .diff_bytes = diff_of_phase(script, run),
                    .writes = (uint8_t)(run->flags / PROFILE_WRITTEN_BEHIND(0)),
                    .block = b,
                });
        page = stop;
    }
}

static void take_rounds(struct play *play, const struct profile_script *script,
                        const page_no *pages)
{
    for (uint32_t r = 0; r < script->n_rounds; r++) {
        const struct profile_round *round = &script->rounds[r];

        for (uint32_t i = 0; i < play->n_threads; i++) {
            struct builder builder = {
                .script = script,
                .pages = pages,
                .part = &play->rounds[r * play->n_threads + i],
            };

            for (uint32_t k = round->first[i]; k < round->first[i + 1]; k++) {
                take_run(&builder, &round->runs[k]);
            }
        }
    }
}

// ---- what is filled by whom

static void claim_written(const struct play *play, uint32_t *filler)
{
    for (uint32_t p = 0; p < play->n_rounds * play->n_threads; p++) {
        const struct play_part *part = &play->rounds[p];

        for (uint32_t k = 0; k < part->n_runs; k++) {
            const struct play_run *run = &part->runs[k];

            for (uint32_t i = 0; i < run->n_pages; i++) {
                if ((run->flags & USE_WRITE) && filler[run->page + i] == 0) {
                    filler[run->page + i] = p % play->n_threads + 1;
                }
            }
        }
    }
}

static void fill_block(struct play *play, struct builder *builders,
                       const uint32_t *filler, page_no page, uint64_t n_pages,
                       uint32_t block)
{
    for (uint64_t i = 0; i < n_pages; i++) {
        const uint32_t who = filler[page + i] > 0
                                 ? filler[page + i] - 1
                                 : (uint32_t)(i * play->n_threads / n_pages);
        struct play_part *part = builders[who].part;
        struct play_run *last =
            part->n_runs > 0 ? &part->runs[part->n_runs - 1] : NULL;

        if (last != NULL && last->block == block &&
            last->page + last->n_pages == page + i) {
            last->n_pages++;
            part->n_touches++;
        } else {
            add_run(&builders[who], &(struct play_run){.page = page + i,
                                                       .n_pages = 1,
                                                       .flags = USE_WRITE,
                                                       .diff_bytes = FILL_BYTES,
                                                       .block = block});
        }
    }
}

// The page behind all blocks.
static page_no end_of_all(const struct profile_script *script,
                          const page_no *pages)
{
    page_no end = 0;

    for (uint32_t b = 0; b < script->n_blocks; b++) {
        const page_no end_here = pages[b] + script->blocks[b].n_pages;

        end = end_here > end ? end_here : end;
    }
    return end;
}

static void make_fills(struct play *play, const struct profile_script *script,
                       const page_no *pages)
{
    const page_no n_all = end_of_all(script, pages);
    uint32_t *filler = memory_new(n_all, sizeof *filler);
    struct builder *builders = memory_new(play->n_threads, sizeof *builders);

    for (uint32_t i = 0; i < play->n_threads; i++) {
        builders[i].part = &play->fills[i];
    }
    claim_written(play, filler);
    for (uint32_t b = 0; b < script->n_blocks; b++) {
        fill_block(play, builders, filler, pages[b], script->blocks[b].n_pages,
                   b);
        play->n_pages += script->blocks[b].n_pages;
    }
    free(builders);
    free(filler);
}

void play_init(struct play *play, const struct profile_script *script,
               uint32_t n_threads, const page_no *pages)
{
    *play = (struct play){
        .n_threads = n_threads,
        .n_rounds = script->n_rounds,
        .rounds = memory_new((size_t)script->n_rounds * n_threads,
                             sizeof(struct play_part)),
        .fills = memory_new(n_threads, sizeof(struct play_part)),
    };
    take_rounds(play, script, pages);
    make_fills(play, script, pages);
}

void play_release(struct play *play)
{
    for (uint32_t p = 0; p < play->n_rounds * play->n_threads; p++) {
        free(play->rounds[p].runs);
    }
    for (uint32_t i = 0; i < play->n_threads; i++) {
        free(play->fills[i].runs);
    }
    free(play->rounds);
    free(play->fills);
}

struct page_use *play_uses(const struct play *play, uint32_t thread,
                           uint32_t round, size_t *n)
{
    const struct play_part *part =
        &play->rounds[round * play->n_threads + thread];
    struct page_use *uses = memory_new(part->n_touches, sizeof *uses);

    *n = 0;
    for (uint32_t k = 0; k < part->n_runs; k++) {
        for (uint32_t i = 0; i < part->runs[k].n_pages; i++) {
            uses[(*n)++] =
                (struct page_use){part->runs[k].page + i, part->runs[k].flags,
                                  part->runs[k].diff_bytes};
        }
    }
    return uses;
}
