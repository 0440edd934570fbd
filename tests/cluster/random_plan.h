// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_CLUSTER_RANDOM_PLAN_H
#define TESTS_CLUSTER_RANDOM_PLAN_H
/*
 * What a seed says about the bytes of random_program: pure arithmetic, the same
 * on every node.
 *
 * A program is a sequence of phases, with a barrier of some kind behind each. In
 * each phase each block gets one stroke: part of its bytes, cut into grains of 1
 * to 5000 bytes; some grains stay as they are, the others are each written by
 * one thread. A byte's value follows from block, phase and index. So what a byte
 * must hold at any time is known without a record of it: the value of the last
 * phase that wrote it, or what it held at the start.
 */
#include "program.h"

enum { MOST_BLOCKS = 8, MOST_WORKERS = 32, FEW_WORKERS = 16 };

/** What the seed says once; in shared memory, constant while threads run. */
struct plan {
    uint64_t seed;
    unsigned n_threads;
    unsigned n_phases;
    unsigned n_blocks;
    unsigned sizes[MOST_BLOCKS];
    unsigned char *blocks[MOST_BLOCKS];
};

/** The writes of one phase to one block. */
struct stroke {
    uint64_t key;
    unsigned start;
    unsigned end;
    unsigned grain;
    unsigned percent; ///< of the grains that are written
};

static inline struct stroke stroke_of(const struct plan *plan, unsigned block,
                                      unsigned phase)
{
    static const unsigned grains[] = {1, 1, 2, 3, 8, 8, 100, 4096, 5000};
    uint64_t state = mix(plan->seed, (uint64_t)block << 32 | phase);
    const unsigned size = plan->sizes[block];
    struct stroke stroke;
    unsigned most;

    stroke.grain = grains[draw(&state, sizeof grains / sizeof grains[0])];
    most = stroke.grain < 64 ? 3000 : size;
    most = most > size ? size : most;
    stroke.start = (unsigned)draw(&state, size - most + 1);
    stroke.end = stroke.start + 1 + (unsigned)draw(&state, most);
    stroke.end = stroke.end > size ? size : stroke.end;
    stroke.percent = 10 + (unsigned)draw(&state, 91);
    stroke.key = state;
    return stroke;
}

/** @return the thread that writes a byte, or -1 */
static inline int stroke_writer(const struct plan *plan,
                                const struct stroke *stroke, unsigned i)
{
    uint64_t random;

    if (i < stroke->start || i >= stroke->end) {
        return -1;
    }
    random = mix(stroke->key, (i - stroke->start) / stroke->grain);
    if (random % 100 >= stroke->percent) {
        return -1;
    }
    return (int)((random >> 32) % plan->n_threads);
}

/** The value that a phase gives to a byte that it writes. */
static inline unsigned char value_of(const struct plan *plan, unsigned block,
                                     unsigned phase, unsigned i)
{
    return (unsigned char)mix(plan->seed + phase, (uint64_t)block << 32 | i);
}

/** What a byte holds before the first phase. Odd blocks are filled by main(). */
static inline unsigned char start_value(unsigned block, unsigned i)
{
    return block % 2 == 1 ? (unsigned char)(i * 7 + block) : 0;
}

/** What a byte holds when `n_phases` phases are over. */
static inline unsigned char value_after(const struct plan *plan, unsigned block,
                                        unsigned n_phases, unsigned i)
{
    while (n_phases-- > 0) {
        const struct stroke stroke = stroke_of(plan, block, n_phases);

        if (stroke_writer(plan, &stroke, i) >= 0) {
            return value_of(plan, block, n_phases, i);
        }
    }
    return start_value(block, i);
}

#endif
