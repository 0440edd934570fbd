// SPDX-License-Identifier: BSD-3-Clause
// What one thread writes before tm_atomic_store() another one sees behind tm_atomic_load(),
// wherever the flag is and wherever the data are:   flags
//
// On three nodes two threads take turns, by a flag of their own, to write an array and to
// look whether it is what the other one wrote. Beside the flag, on its page, is a word that
// both read without asking, so that the page moves and is copied as any other.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <teamster.h>

enum { N_NODES = 3, ROUNDS = 40, WORDS = 1536 };

struct turns {
    int64_t flag; ///< whose turn, and how many there have been
    int64_t beside;
};

static TM_SHARED struct turns *turns;
static TM_SHARED int64_t *data;
static TM_SHARED int64_t n_wrong[2];

static void *alloc_on(unsigned node, size_t size)
{
    return tm_alloc(size,
                    &(tm_alloc_attr){.placement = TM_ON_NODE, .node = node});
}

static int64_t count_wrong(int64_t turn)
{
    int64_t n = turns->beside != 0;

    for (unsigned i = 0; i < WORDS; i++) {
        n += data[i] != turn * (i + 1);
    }
    return n;
}

static void *take_turns(void *me)
{
    for (int64_t turn = (intptr_t)me; turn < ROUNDS; turn += 2) {
        while (tm_atomic_load(&turns->flag) != turn) {
            tm_thread_yield();
        }
        n_wrong[(intptr_t)me] += count_wrong(turn);
        for (unsigned i = 0; i < WORDS; i++) {
            data[i] = (turn + 1) * (i + 1);
        }
        tm_atomic_store(&turns->flag, turn + 1);
    }
    return NULL;
}

static int play(unsigned flag_node, unsigned data_node)
{
    tm_thread players[2];
    int64_t n;

    turns = alloc_on(flag_node, 2 * sizeof *data * WORDS);
    data = alloc_on(data_node, sizeof *data * WORDS);
    memset(n_wrong, 0, sizeof n_wrong);
    for (intptr_t i = 0; i < 2; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node = (unsigned)i};

        if (tm_thread_create(&players[i], &attr, take_turns, (void *)i)) {
            return 0;
        }
    }
    tm_thread_join(players[0], NULL);
    tm_thread_join(players[1], NULL);
    n = n_wrong[0] + n_wrong[1];
    if (n != 0) {
        printf("flag of node %u, data of node %u: %" PRId64 " words wrong\n",
               flag_node, data_node, n);
    }
    tm_free(turns);
    tm_free(data);
    return n == 0;
}

int main(int argc, char **argv)
{
    int is_right = 1;

    tm_init(&argc, &argv);
    for (unsigned i = 0; i < N_NODES * N_NODES; i++) {
        is_right &= play(i % N_NODES, i / N_NODES);
    }
    if (is_right) {
        puts("flags: all right");
    }
    return !is_right;
}
