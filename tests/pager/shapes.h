// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_PAGER_SHAPES_H
#define TESTS_PAGER_SHAPES_H

#include "trace.h"

/** A kind of program, as the pages that its threads use. */
struct shape {
    const char *name;
    void (*make)(struct trace *trace, uint32_t n_workers);
    int is_regular; ///< each iteration uses the same pages in the same order
};

extern const struct shape shapes[];
extern const unsigned n_shapes;

#endif
