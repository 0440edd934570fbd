// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_IRREGULAR_PROGRAM_H
#define BENCH_IRREGULAR_PROGRAM_H
/*
 * What the programs of this folder have in common: their command line,
 *
 *     PROGRAM [THREADS [SIZE [ROUNDS]]]
 *
 * how they start threads, and what they print: the time from the start of the threads to
 * their end, messages for each operation, and a checksum of the result, which is the same
 * with Teamster on any number of nodes, with POSIX threads (plain/teamster.h) and, where there
 * is such a program, with MPI. A program that finds its result wrong says so and ends with 1.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <teamster.h>

/** The command line. Set before tm_init(), when main() runs on every node: so each node
 *  has it, though it is a plain global. */
struct program {
    unsigned n_threads;
    size_t size;
    unsigned n_rounds;
};

extern struct program program;

/** Read the command line and begin. @param defaults  of what it does not say */
void program_begin(int argc, char **argv, struct program defaults);

/** tm_alloc(), or the end of the program. */
void *program_alloc(const char *name, size_t size);

/** Run threads with the numbers 0 to n_threads - 1 as arguments, until they end. */
void program_run(void *(*start)(void *));

/** Print what the threads took. @param operation  what is done n_operations times */
void program_print(const char *operation, double n_operations, uint64_t sum);

/** The program ends, with what is wrong. */
#define PROGRAM_FAIL(...)                                                      \
    (printf("result: WRONG: "), printf(__VA_ARGS__), printf("\n"), exit(1))

/** Where a thread's part of n things begins; that of the next thread is its end. */
static inline size_t part_start(size_t n, size_t thread)
{
    return n * thread / program.n_threads;
}

/** A number that looks drawn by lot and is the same in each run. */
static inline uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

/** A number from 0 to 1, of the same kind. */
static inline double mix_double(uint64_t number)
{
    return (double)(mix(number + 1) >> 11) * 0x1p-53;
}

#endif
