// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_ARGUMENTS_H
#define BENCH_ARGUMENTS_H
/*
 * The arguments of the programs that those of apps/ are compared with:
 *
 *     PROGRAM SIZE ITERATIONS [root]
 *
 * With `root`, one process has all start values and hands them out; otherwise
 * each process writes its own.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    size_t size;
    unsigned n_iterations;
    bool init_on_root;
};

static inline struct arguments arguments_parse(int argc, char **argv)
{
    struct arguments arguments = {0};

    if (argc >= 3) {
        arguments.size = strtoul(argv[1], NULL, 10);
        arguments.n_iterations = (unsigned)strtoul(argv[2], NULL, 10);
        arguments.init_on_root = argc == 4 && strcmp(argv[3], "root") == 0;
    }
    if (arguments.size < 1 || arguments.n_iterations < 1 ||
        argc != 3 + arguments.init_on_root) {
        fprintf(stderr, "usage: %s SIZE ITERATIONS [root]\n", argv[0]);
        exit(64);
    }
    return arguments;
}

/** malloc(), or the end of the program. */
static inline double *doubles_new(size_t n)
{
    double *values = malloc(n * sizeof *values);

    if (values == NULL) {
        fprintf(stderr, "out of memory: %zu doubles\n", n);
        exit(71);
    }
    return values;
}

#endif
