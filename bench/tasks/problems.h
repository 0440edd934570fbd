// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_TASKS_PROBLEMS_H
#define BENCH_TASKS_PROBLEMS_H
/*
 * Five problems for tasks, the same for Teamster (tasks.c), OpenMP (openmp.c) and an MPI
 * program with a master and workers (mpi.c):
 *
 *     PROGRAM fib|queens|tree|quicksort|matmul [SIZE [CUT]]
 *
 * What is to be done is an *item*, which opens into several others, or is a leaf, which is
 * computed as it is: below the cut. So all programs have the same leaves, compiled once. They
 * print the time from the first item until main() has read the result, and its checksum.
 */

#include <stdint.h>

enum { PARTS_MAX = 64 };

/** Something to do; which of these it is says the problem. */
struct item {
    union {
        int n; ///< fib(n)
        struct queens {
            uint32_t columns, left, right; ///< taken: straight, aslant
            int row;
        } queens;
        struct branch {
            uint64_t seed;
            int depth;
            uint32_t n_above; ///< nodes above it that it counts as well
        } branch;
        struct part {
            uint64_t first, end; ///< keys, or rows
        } part;
    };
};

/** What items are about: keys of quicksort, matrices of matmul; else NULL. */
struct data {
    uint32_t *keys; ///< [size]
    double *a;      ///< [size][size]
    double *b;      ///< [size][size]
    double *c;      ///< [size][size], the product
};

/** The command line; of each process. */
struct problem {
    const char *name;
    int size;
    int cut;
    int least_cut;
    /** Take an item apart. @param parts  [PARTS_MAX] @return how many; 0: it is a leaf */
    int (*open)(const struct data *data, const struct item *item,
                struct item *parts);
    /** Compute a leaf. @return what is added to the result */
    uint64_t (*leaf)(const struct data *data, const struct item *item);
    void (*fill)(const struct data *data);     ///< with start values
    uint64_t (*read)(const struct data *data); ///< the result, to be added
};

extern struct problem problem;

/** Read the command line. */
void problem_choose(int argc, char **argv);

/** @return the item that is all there is to do */
struct item problem_whole(void);

/** Get memory for what the problem is about, zeros, and fill it.
 *  @param get  memory, of which tasks read what main() has written, or other memory; returns
 *              NULL if there is none: the program ends then */
void problem_begin(struct data *data, void *(*get)(uint64_t size, int is_read));

/** All is done that was begun at start_s; leaves have come to sum. Print both. */
void problem_end(const struct data *data, double start_s, uint64_t sum);

/** @return fib(n), below the cut */
uint64_t fib_leaf(int n);

#endif
