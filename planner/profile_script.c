// SPDX-License-Identifier: BSD-3-Clause
// The part of a profile that says what threads do, iteration after iteration.
#include "base/memory.h"
#include "planner/profile_read_priv.h"

enum { NUMBERS_OF_RUN = 4 };

static int read_block(const struct spot *blocks, uint32_t index,
                      struct profile_script *script)
{
    struct profile_block *block = &script->blocks[index];
    struct spot element;
    uint32_t numbers[2];

    if (!spot_element(blocks, index, JSON_ARRAY, &element)) {
        return 0;
    }
    if (json_array_size(element.value) != 2) {
        return spot_refuse(&element, "must be [page, pages]");
    }
    if (!spot_counts(&element, 0, UINT32_MAX, numbers)) {
        return 0;
    }
    *block = (struct profile_block){numbers[0], numbers[1]};
    if (block->n_pages == 0 ||
        (index > 0 && block->page < block[-1].page + block[-1].n_pages)) {
        return spot_refuse(&element, "is empty, or not behind the one before");
    }
    return 1;
}

static int read_blocks(const struct spot *object, struct profile_script *script)
{
    struct spot blocks;

    if (!spot_member(object, "blocks", JSON_ARRAY, &blocks)) {
        return 0;
    }
    if (json_array_size(blocks.value) >= UINT32_MAX) {
        return spot_refuse(&blocks, "has too many elements");
    }
    script->n_blocks = (uint32_t)json_array_size(blocks.value);
    script->blocks = memory_new(script->n_blocks, sizeof *script->blocks);
    for (uint32_t b = 0; b < script->n_blocks; b++) {
        if (!read_block(&blocks, b, script)) {
            return 0;
        }
    }
    return 1;
}

// Are all pages of a run pages of blocks?
static int is_in_blocks(const struct profile_script *script,
                        const struct profile_run *run)
{
    uint64_t page = run->page;
    uint32_t low = 0;
    uint32_t high = script->n_blocks;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (script->blocks[middle].page + script->blocks[middle].n_pages <=
            page) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low < script->n_blocks && script->blocks[low].page <= page &&
           page < run->page + run->n_pages) {
        page = script->blocks[low].page + script->blocks[low].n_pages;
        low++;
    }
    return page >= run->page + run->n_pages;
}

static int makes_sense(const struct profile_script *script,
                       const uint32_t *numbers)
{
    const struct profile_run run = {numbers[0], numbers[1], 0, 0};
    const uint32_t flags = numbers[2] % PROFILE_WRITTEN_BEHIND(0);
    const uint32_t diff_bytes = numbers[3];

    return run.n_pages > 0 && numbers[2] <= UINT16_MAX && flags >= 1 &&
           flags <= (USE_READ | USE_WRITE) && diff_bytes <= TM_PAGE_SIZE &&
           (diff_bytes == 0 || (flags & USE_WRITE) != 0) &&
           is_in_blocks(script, &run);
}

static int take_runs(const struct spot *thread,
                     const struct profile_script *script,
                     const uint32_t *numbers, size_t n_runs,
                     struct profile_run *runs)
{
    for (size_t k = 0; k < n_runs; k++) {
        const uint32_t *of_run = &numbers[k * NUMBERS_OF_RUN];

        if (!makes_sense(script, of_run)) {
            return spot_refuse(thread,
                               "run %zu: must be page, pages, flags 1 to 3, "
                               "bytes changed, in the blocks",
                               k);
        }
        runs[k] = (struct profile_run){
            of_run[0], of_run[1], (uint16_t)of_run[2], (uint16_t)of_run[3]};
    }
    return 1;
}

static int read_thread_runs(const struct spot *thread,
                            const struct profile_script *script,
                            struct profile_run *runs)
{
    const size_t n = json_array_size(thread->value);
    uint32_t *numbers;
    int is_good;

    if (n % NUMBERS_OF_RUN != 0) {
        return spot_refuse(thread, "has %zu numbers; a run has 4", n);
    }
    numbers = memory_new(n, sizeof *numbers);
    is_good = spot_counts(thread, 0, UINT32_MAX, numbers) &&
              take_runs(thread, script, numbers, n / NUMBERS_OF_RUN, runs);
    free(numbers);
    return is_good;
}

// @return 0 refused; else where each thread's runs begin is set
static int count_runs(const struct spot *threads, uint32_t n_threads,
                      struct profile_round *round)
{
    struct spot thread;
    uint64_t n = 0;

    for (uint32_t i = 0; i < n_threads; i++) {
        round->first[i] = (uint32_t)n;
        if (!spot_element(threads, i, JSON_ARRAY, &thread)) {
            return 0;
        }
        n += json_array_size(thread.value) / NUMBERS_OF_RUN;
    }
    round->first[n_threads] = (uint32_t)n;
    return n < UINT32_MAX || spot_refuse(threads, "has too many runs");
}

static int read_round(const struct spot *object, uint32_t n_threads,
                      const struct profile_script *script,
                      struct profile_round *round)
{
    struct spot threads;
    struct spot thread;

    round->first = memory_new((size_t)n_threads + 1, sizeof *round->first);
    if (!spot_has_only(object, "iteration threads") ||
        !member_whole(object, "iteration", 1, PROFILE_COUNT_MAX,
                      &round->iteration) ||
        !spot_array(object, "threads", n_threads, &threads) ||
        !count_runs(&threads, n_threads, round)) {
        return 0;
    }
    round->runs = memory_new(round->first[n_threads], sizeof *round->runs);
    for (uint32_t i = 0; i < n_threads; i++) {
        if (!spot_element(&threads, i, JSON_ARRAY, &thread) ||
            !read_thread_runs(&thread, script, &round->runs[round->first[i]])) {
            return 0;
        }
    }
    return 1;
}

static int read_rounds(const struct spot *object, uint32_t n_threads,
                       struct profile_script *script)
{
    struct spot rounds;
    struct spot element;

    if (!spot_member(object, "rounds", JSON_ARRAY, &rounds)) {
        return 0;
    }
    if (json_array_size(rounds.value) == 0 ||
        json_array_size(rounds.value) > 1024) {
        return spot_refuse(&rounds, "has %zu elements; allowed: 1 to 1024",
                           json_array_size(rounds.value));
    }
    script->n_rounds = (uint32_t)json_array_size(rounds.value);
    script->rounds = memory_new(script->n_rounds, sizeof *script->rounds);
    for (uint32_t r = 0; r < script->n_rounds; r++) {
        if (!spot_element(&rounds, r, JSON_OBJECT, &element) ||
            !read_round(&element, n_threads, script, &script->rounds[r])) {
            return 0;
        }
    }
    return 1;
}

int read_script(struct profile *profile, const struct spot *document)
{
    struct profile_script *script = &profile->script;
    struct spot object;

    if (json_object_get(document->value, "script") == NULL) {
        return 1; // an older profile, or of a short run
    }
    return spot_member(document, "script", JSON_OBJECT, &object) &&
           spot_has_only(&object, "protocol n_barriers blocks rounds") &&
           member_text(&object, "protocol", script->protocol,
                       sizeof script->protocol) &&
           member_count(&object, "n_barriers", 1, 1u << 20,
                        &script->n_barriers) &&
           read_blocks(&object, script) &&
           read_rounds(&object, profile->view.n_threads, script);
}

void script_free(struct profile_script *script)
{
    for (uint32_t r = 0; r < script->n_rounds; r++) {
        free(script->rounds[r].first);
        free(script->rounds[r].runs);
    }
    free(script->rounds);
    free(script->blocks);
    *script = (struct profile_script){0};
}
