// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_IRREGULAR_GUPS_END_H
#define BENCH_IRREGULAR_GUPS_END_H
/*
 * The end of gups.c and gups_exchange.c.
 */

#include "gups.h"
#include "program.h"

/** Look whether each update was done once, and print what they took.
 * @param table  [program.size] */
static inline void gups_end(const uint64_t *table)
{
    uint64_t sum = 0;
    uint64_t all = 0;

    for (size_t i = 0; i < program.size; i++) {
        all ^= table[i];
        sum += table[i] * (2 * i + 1);
    }
    if (all != gups_expected(program.n_threads, program.n_rounds)) {
        PROGRAM_FAIL("not each update was done once");
    }
    program_print("updates",
                  (double)program.n_threads * program.n_rounds * GUPS_BATCH,
                  sum);
}

#endif
