// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/ensure.h"
#include "base/memory.h"
#include "protocol/protocol_rows.h"
#include "runtime/node.h"

enum { N_PAGES = 1000, THREAD = 7 };

static struct access_sets *sets_with(const struct wire_access_run *runs,
                                     unsigned n)
{
    static const struct node_tracking said = {.took_ns = 1, .iteration = 30};
    uint8_t body[16 * WIRE_SIZE_access_run];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct access_sets *sets = access_sets_new(1, 1, N_PAGES);

    ensure_memory(sets != NULL);
    for (unsigned i = 0; i < n; i++) {
        wire_put_access_run(&writer, &runs[i]);
    }
    ensure(access_sets_add(sets, 0, THREAD, body,
                           (uint32_t)(writer.at - body)) == TM_OK);
    ensure(access_sets_done(sets, 0, &said) == TM_OK);
    return sets;
}

static void set_blocks(struct script_notes *notes,
                       const struct profile_block *blocks, uint32_t n)
{
    notes->n_blocks = n;
    notes->blocks = memory_new(n, sizeof *blocks);
    memcpy(notes->blocks, blocks, n * sizeof *blocks);
}

static void assert_runs(const struct profile_round *round,
                        const struct profile_run *runs, uint32_t n)
{
    assert_int_equal(round->first[0], 0);
    assert_int_equal(round->first[1], n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(round->runs[i].page, runs[i].page);
        assert_int_equal(round->runs[i].n_pages, runs[i].n_pages);
        assert_int_equal(round->runs[i].flags, runs[i].flags);
        assert_int_equal(round->runs[i].diff_bytes, runs[i].diff_bytes);
    }
}

// Blocks were freed between the two rounds: readers of profiles want runs in blocks.
static void runs_lie_in_the_blocks_of_the_last_round(void **state)
{
    static const struct profile_block blocks[] = {
        {10, 10}, {20, 5}, {40, 10}, {60, 4}};
    static const struct wire_access_run before[] = {
        {.page = 0, .n_pages = 10, .flags = 1},                   // gone
        {.page = 5, .n_pages = 50, .flags = 3, .diff_bytes = 9},  // in parts
        {.page = 12, .n_pages = 13, .flags = 2, .diff_bytes = 8}, // of two
        {.page = 63, .n_pages = 1, .flags = 1},
        {.page = 64, .n_pages = 100, .flags = 1}, // gone
    };
    static const struct profile_run kept[] = {
        {10, 15, 3, 9}, {40, 10, 3, 9}, {12, 13, 2, 8}, {63, 1, 1, 0}};
    static const struct wire_access_run last[] = {
        {.page = 40, .n_pages = 3, .flags = 1}};
    static const struct profile_run as_last[] = {{40, 3, 1, 0}};
    static const uint64_t numbers[] = {THREAD};
    struct node *node = memory_new(1, sizeof *node);
    struct profile_script script;

    (void)state;
    node->options.protocol = all_protocols.rows[0]->id;
    node->script.sets[0] = sets_with(before, 5);
    node->script.sets[1] = sets_with(last, 1);
    set_blocks(&node->script, blocks, 4);
    script_fill(node, &script, numbers, 1);
    assert_int_equal(script.n_rounds, 2);
    assert_runs(&script.rounds[0], kept, 4);
    assert_runs(&script.rounds[1], as_last, 1);
    script_release(&script);
    script_close(node);
    free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_lie_in_the_blocks_of_the_last_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
