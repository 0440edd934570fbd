// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two threads that wait for each other in turn, by two semaphores, with a word that both
 * write. With more threads: pairs of such.
 *
 *     pingpong [THREADS [ROUNDS TRIPS]]
 */
#include "program.h"

enum { PAIRS_MAX = 32 };

static TM_SHARED struct pair {
    tm_sem turns[2];
    uint64_t word;
} pairs[PAIRS_MAX];

static void *play(void *arg)
{
    const size_t me = (size_t)arg;
    const size_t n_pairs = program.n_threads / 2;
    const size_t side = me / n_pairs; // the other one is far away in numbers
    struct pair *pair = &pairs[me % n_pairs];

    for (size_t i = 0; i < program.size; i++) {
        tm_sem_wait(&pair->turns[side]);
        if (pair->word != 2 * i + side) {
            PROGRAM_FAIL("turn %zu of side %zu comes at %zu", i, side,
                         (size_t)pair->word);
        }
        pair->word++;
        tm_sem_post(&pair->turns[1 - side]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;

    program_begin(argc, argv, (struct program){2, 10000, 1});
    program.n_threads -= program.n_threads % 2;
    program.n_threads += program.n_threads == 0 ? 2 : 0;
    for (size_t i = 0; i < program.n_threads / 2; i++) {
        tm_sem_init(&pairs[i].turns[0], 1);
        tm_sem_init(&pairs[i].turns[1], 0);
    }
    program_run(play);
    for (size_t i = 0; i < program.n_threads / 2; i++) {
        sum += pairs[i].word;
    }
    program_print("round trips", (double)program.size, sum);
    return 0;
}
