// SPDX-License-Identifier: BSD-3-Clause
// observe/access_sets.c: the runs of pages that nodes say their threads use, on the root.
// What is taken are pages of the space, and can be asked for by thread.
#include "fuzz.h"
#include "observe/access_sets.h"

enum { N_NODES = 3, N_PAGES = 2048, PARTS = 32 };

static void look(struct access_sets *sets)
{
    if (!access_sets_is_complete(sets) || access_sets_expand(sets) != TM_OK) {
        return;
    }
    for (uint32_t i = 0; i < access_sets_n_threads(sets); i++) {
        size_t n_uses = 0;
        size_t n_pages = 0;
        const struct thread_accesses *thread = access_sets_at(sets, i);
        const struct wire_access_run *runs = thread->runs;

        FUZZ_CHECK(thread->node < N_NODES);
        access_sets_find(sets, thread->thread, &n_uses);
        for (size_t k = 0; k < thread->n_runs; k++) {
            FUZZ_CHECK(runs[k].page < N_PAGES);
            FUZZ_CHECK(runs[k].n_pages <= N_PAGES - runs[k].page);
            n_pages += runs[k].n_pages;
        }
        FUZZ_CHECK(n_uses <= n_pages);
    }
}

/** A part of a thread's set: node u8, thread u8, length u8, runs; length 255: the node
 * has sent all. */
static void take_part(struct access_sets *sets, struct wire_reader *input)
{
    node_id node = wire_get_u8(input) % N_NODES;
    uint64_t thread = wire_get_u8(input);
    size_t length = wire_get_u8(input);
    const struct node_tracking said = {.is_done = 1};

    if (length == 255) {
        (void)!access_sets_done(sets, node, &said);
        return;
    }
    if (length > fuzz_left(input)) {
        length = fuzz_left(input);
    }
    (void)!access_sets_add(sets, node, thread, wire_get_bytes(input, length),
                           (uint32_t)length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);
    struct access_sets *sets = access_sets_new(1, N_NODES, N_PAGES);
    const struct node_tracking said = {.is_done = 1};

    FUZZ_CHECK(sets != NULL);
    for (unsigned i = 0; i < PARTS && fuzz_left(&input) > 0; i++) {
        take_part(sets, &input);
    }
    for (node_id node = 0; node < N_NODES; node++) {
        (void)!access_sets_done(sets, node, &said);
    }
    look(sets);
    access_sets_free(sets);
    return 0;
}
